//! Settings from any environment: lines of `NAME=value`, where a number is a row of the table.
//!
//! Every value is accepted or answered with a warning, the same every time; variables that are not set keep their defaults.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use openmps::settings::{Settings, check_log_options, check_signposts, table};

/// What values are made of.
pub const WORDS: &[&[u8]] = &[
    b"\n0=",
    b"\n6=",
    b"\n13=",
    b"0x",
    b"-1",
    b"1e309",
    b"nan",
    b"inf",
    b"0x1.8p3",
    b"4.0",
    b"3.1",
    b"dump,verify",
    b"trash",
    b"18446744073709551616",
    b"GiB",
    b" ",
    b"+",
    b"\xff",
    b"PYTORCH_MPS_HIGH_WATERMARK_RATIO=",
];

/// Reads settings from the environment that `input` spells.
///
/// # Panics
/// When two readings differ, or an unset variable has an effect.
pub fn run(input: &[u8]) {
    let environment: BTreeMap<&str, OsString> = input.split(|byte| *byte == b'\n').filter_map(assignment).collect();
    let settings = Settings::from_lookup(|name| environment.get(name).cloned());
    let again = Settings::from_lookup(|name| environment.get(name).cloned());
    // As text, since a ratio may be NaN.
    assert_eq!(format!("{settings:?}"), format!("{again:?}"));
    if environment.is_empty() {
        assert_eq!(settings, Settings::default());
    }
    for warning in &settings.warnings {
        let names_its_variable = environment.keys().any(|name| warning.contains(name));
        assert!(names_its_variable, "{warning:?} names no variable that is set");
    }
    // Their refusals are values; the texts must be printable.
    let refusals = [check_log_options(settings.log_profile_info), check_signposts(settings.trace_signposts)];
    assert!(refusals.iter().flat_map(|refusal| refusal.as_ref().err()).all(|error| !error.to_string().is_empty()));
}

/// A variable of the table and its value; none where the line sets none.
fn assignment(line: &[u8]) -> Option<(&'static str, OsString)> {
    let place = line.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (str::from_utf8(&line[..place]).ok()?, &line[place + 1..]);
    let row = name.parse().ok().and_then(|number: usize| table().get(number));
    let setting = row.or_else(|| table().iter().find(|setting| setting.name == name))?;
    // An environment cannot hold the byte 0.
    let value = value.iter().copied().filter(|byte| *byte != 0).collect();
    Some((setting.name, OsString::from_vec(value)))
}
