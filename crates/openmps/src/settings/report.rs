//! Where each setting's value comes from, for `openmps info`.

use std::ffi::OsString;

use super::{Fallback, Settings, check_log_options, check_signposts, table};
use crate::limits::MAX_WATERMARK_RATIO;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The variable is not set.
    Default,
    /// The variable is set, and counts.
    Environment,
    /// The variable is set to something that does not count or raises; with the reason.
    Invalid(String),
}

/// One setting of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingReport {
    /// The variable.
    pub name: &'static str,
    /// Where the value comes from.
    pub origin: Origin,
    /// The variable's text, or what holds without it.
    pub value: String,
}

/// What `get` (name to value) says about every setting, in table order.
pub fn report(get: impl Fn(&str) -> Option<OsString>) -> Vec<SettingReport> {
    let all = Settings::from_lookup(&get);
    let one = |setting: &super::Setting| match get(setting.name) {
        None => SettingReport { name: setting.name, origin: Origin::Default, value: setting.default.into() },
        Some(value) => {
            let mut alone = Settings::default();
            (setting.apply)(&mut alone, &value);
            let problem = alone.warnings.pop().or_else(|| problem(setting.name, &all));
            SettingReport {
                name: setting.name,
                origin: problem.map_or(Origin::Environment, Origin::Invalid),
                value: value.to_string_lossy().into_owned(),
            }
        }
    };
    table().iter().map(one).collect()
}

/// What the first use of a value would raise.
fn problem(name: &str, settings: &Settings) -> Option<String> {
    let (high, low) = (settings.high_watermark_ratio, settings.low_watermark_ratio);
    let is_high_valid = (0.0..=MAX_WATERMARK_RATIO).contains(&high);
    match name {
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO" if !is_high_valid => Some(format!("invalid high watermark ratio {high}")),
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO" | "PYTORCH_MPS_LOW_WATERMARK_RATIO" if is_high_valid => {
            let most = if high == 0.0 { MAX_WATERMARK_RATIO } else { high };
            (!(0.0..=most).contains(&low)).then(|| format!("invalid low watermark ratio {low}"))
        }
        "PYTORCH_MPS_LOG_PROFILE_INFO" => {
            check_log_options(settings.log_profile_info).err().map(|error| error.to_string())
        }
        "PYTORCH_MPS_TRACE_SIGNPOSTS" => check_signposts(settings.trace_signposts).err().map(|error| error.to_string()),
        "PYTORCH_ENABLE_MPS_FALLBACK" => match &settings.enable_fallback {
            Fallback::Invalid(text) => Some(format!("'{text}' is no integer")),
            Fallback::Off | Fallback::On => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(pairs: &[(&str, &str)]) -> Vec<(&'static str, Origin)> {
        let get = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1));
        let reports = report(get).into_iter().filter(|report| report.origin != Origin::Default);
        reports.map(|report| (report.name, report.origin)).collect()
    }

    #[test]
    fn an_empty_environment_is_all_defaults() {
        assert_eq!(origins(&[]), []);
        let all = report(|_| None);
        assert_eq!(all.len(), table().len());
        assert!(all.iter().all(|one| !one.value.is_empty()));
    }

    #[test]
    fn each_value_says_whether_it_counts() {
        let invalid = |text: &str| Origin::Invalid(text.into());
        let cases = [
            ("PYTORCH_MPS_FAST_MATH", "1", Origin::Environment),
            ("PYTORCH_MPS_LOG_PROFILE_INFO", "1023", Origin::Environment),
            (
                "PYTORCH_MPS_LOG_PROFILE_INFO",
                "1024",
                invalid("invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO"),
            ),
            (
                "PYTORCH_MPS_TRACE_SIGNPOSTS",
                "64",
                invalid("invalid profiling options 64 passed to PYTORCH_MPS_TRACE_SIGNPOSTS"),
            ),
            ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "3", invalid("invalid high watermark ratio 3")),
            ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "1", invalid("invalid low watermark ratio 1.4")),
            ("PYTORCH_MPS_LOW_WATERMARK_RATIO", "1.8", invalid("invalid low watermark ratio 1.8")),
            ("PYTORCH_ENABLE_MPS_FALLBACK", "yes", invalid("'yes' is no integer")),
            (
                "PYTORCH_MPS_METAL_VERSION",
                "5",
                invalid("Ignoring PYTORCH_MPS_METAL_VERSION=5, expected 3.1, 3.2 or 4.0"),
            ),
        ];
        for (name, value, origin) in cases {
            assert_eq!(origins(&[(name, value)]), [(name, origin)], "{name}={value}");
        }
        let both = [("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "1"), ("PYTORCH_MPS_LOW_WATERMARK_RATIO", "0.5")];
        assert!(origins(&both).iter().all(|(_, origin)| *origin == Origin::Environment));
    }
}
