//! Each setting: default, each form, out of range, nonsense.

use std::time::Duration;

use super::*;

fn with(pairs: &[(&str, &str)]) -> Settings {
    Settings::from_lookup(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1)))
}

#[test]
fn an_empty_environment_gives_the_defaults() {
    let settings = with(&[]);
    assert_eq!(settings, Settings::default());
    assert_eq!((settings.high_watermark_ratio, settings.low_watermark_ratio), (1.7, 1.4));
    assert!(settings.warnings.is_empty());
}

#[test]
fn every_entry_is_applied_once_and_documented() {
    let mut names: Vec<_> = table().iter().map(|setting| setting.name).collect();
    let page = markdown();
    assert_eq!(page.lines().count(), names.len() + 2);
    for name in &names {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is missing in the page");
        assert_ne!(with(&[(name, "1")]), Settings::default(), "{name}=1 changes nothing");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), table().len());
}

#[test]
fn masks_and_ratios_read_like_c() {
    let settings = with(&[
        ("PYTORCH_DEBUG_MPS_ALLOCATOR", "0x1f"),
        ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "garbage"),
        ("PYTORCH_MPS_LOW_WATERMARK_RATIO", " 0.5 "),
        ("PYTORCH_MPS_LOG_PROFILE_INFO", "017"),
        ("PYTORCH_MPS_TRACE_SIGNPOSTS", "-1"),
    ]);
    assert_eq!(settings.debug_allocator, 31);
    assert_eq!(settings.high_watermark_ratio, 0.0);
    assert_eq!(settings.low_watermark_ratio, 0.5);
    assert_eq!(settings.log_profile_info, 15);
    assert_eq!(settings.trace_signposts, u32::MAX);
}

#[test]
fn switches_follow_their_own_rules() {
    for (text, on) in [("0", false), ("", true), ("false", true), ("00", true), ("1", true)] {
        assert_eq!(with(&[("PYTORCH_MPS_FAST_MATH", text)]).fast_math, on, "PYTORCH_MPS_FAST_MATH={text:?}");
    }
    for text in ["", "0", "1"] {
        assert!(with(&[("PYTORCH_MPS_PREFER_METAL", text)]).prefer_metal);
    }
    for (text, on) in [("1", true), ("0", false), ("", false), ("true", false)] {
        assert_eq!(with(&[("MTL_CAPTURE_ENABLED", text)]).capture_enabled, on);
    }
}

#[test]
fn fallback_takes_integers_only() {
    for (text, fallback) in [
        ("0", Fallback::Off),
        ("00", Fallback::Off),
        ("1", Fallback::On),
        ("-5", Fallback::On),
        (" 2x", Fallback::On),
        ("", Fallback::Invalid(String::new())),
        ("on", Fallback::Invalid("on".into())),
        ("9999999999", Fallback::Invalid("9999999999".into())),
    ] {
        assert_eq!(with(&[("PYTORCH_ENABLE_MPS_FALLBACK", text)]).enable_fallback, fallback, "{text:?}");
    }
}

#[test]
fn metal_version_takes_three_spellings() {
    for (text, version) in
        [("3.1", LanguageVersion::Metal3_1), ("3.2", LanguageVersion::Metal3_2), ("4.0", LanguageVersion::Metal4_0)]
    {
        let settings = with(&[("PYTORCH_MPS_METAL_VERSION", text)]);
        assert_eq!(settings.metal_version, Some(version));
        assert!(settings.warnings.is_empty());
    }
    let settings = with(&[("PYTORCH_MPS_METAL_VERSION", "4")]);
    assert_eq!(settings.metal_version, None);
    assert_eq!(settings.warnings, ["Ignoring PYTORCH_MPS_METAL_VERSION=4, expected 3.1, 3.2 or 4.0"]);
}

#[test]
fn our_own_words_are_checked() {
    assert_eq!(with(&[("OPENMPS_ACTIVATE", "1")]).activate, Activation::Always);
    assert_eq!(with(&[("OPENMPS_ACTIVATE", "0")]).activate, Activation::Never);
    assert!(with(&[("OPENMPS_MULTITHREADED_BACKWARD", "1")]).multithreaded_backward);
    assert!(!with(&[("OPENMPS_MULTITHREADED_BACKWARD", "yes")]).multithreaded_backward);
    let settings = with(&[
        ("OPENMPS_ACTIVATE", "yes"),
        ("OPENMPS_DEBUG", "serial, trash,loud hot"),
        ("OPENMPS_RECOMMENDED_MAX_MEMORY", "1GB"),
        ("OPENMPS_CACHE_DIR", ""),
        ("OPENMPS_DUMP_DIR", "/tmp/d"),
        ("OPENMPS_ENGINE", "fast"),
    ]);
    assert_eq!(settings.activate, Activation::WhenUnclaimed);
    assert_eq!(settings.debug, DebugWords { serial: true, trash: true, hot: true, ..DebugWords::default() });
    assert_eq!(settings.cache_dir, None);
    assert_eq!(settings.dump_dir, Some("/tmp/d".into()));
    assert_eq!(
        settings.warnings,
        [
            "Ignoring OPENMPS_ACTIVATE=yes, expected 0 or 1",
            "Ignoring unknown word loud in OPENMPS_DEBUG, expected dump, verify, serial, trash, panic or hot",
            "Ignoring OPENMPS_ENGINE=fast, expected auto, scalar or vector",
            "Ignoring OPENMPS_RECOMMENDED_MAX_MEMORY=1GB, expected a number of bytes from 1 to 2^63-1",
        ]
    );
    assert_eq!(with(&[("OPENMPS_RECOMMENDED_MAX_MEMORY", "4096")]).recommended_max_memory, Some(4096));
    for refused in ["0", "-1", "9223372036854775808"] {
        assert_eq!(with(&[("OPENMPS_RECOMMENDED_MAX_MEMORY", refused)]).recommended_max_memory, None);
    }
}

#[test]
fn limits_of_the_compiler_are_numbers_in_range() {
    let settings = with(&[("OPENMPS_COMPILER_TIME_LIMIT", "5"), ("OPENMPS_COMPILER_MEMORY_LIMIT", "1073741824")]);
    assert_eq!(settings.compiler_time_limit, Some(Duration::from_secs(5)));
    assert_eq!(settings.compiler_memory_limit, Some(1 << 30));
    assert!(settings.warnings.is_empty());
    for (time, memory) in [("0", "1073741823"), ("86401", "9223372036854775808"), ("1.5", "1G"), ("", "")] {
        let settings = with(&[("OPENMPS_COMPILER_TIME_LIMIT", time), ("OPENMPS_COMPILER_MEMORY_LIMIT", memory)]);
        assert_eq!((settings.compiler_time_limit, settings.compiler_memory_limit), (None, None));
        let expected = [
            format!("Ignoring OPENMPS_COMPILER_TIME_LIMIT={time}, expected a number of seconds from 1 to 86400"),
            format!("Ignoring OPENMPS_COMPILER_MEMORY_LIMIT={memory}, expected a number of bytes from 2^30 to 2^63-1"),
        ];
        assert_eq!(settings.warnings, expected);
    }
}

#[test]
fn a_capture_has_a_limit() {
    assert_eq!(with(&[("OPENMPS_CAPTURE_LIMIT", "1000")]).capture_limit_bytes, 1000);
    for text in ["0", "", "4G", "9223372036854775808"] {
        let settings = with(&[("OPENMPS_CAPTURE_LIMIT", text)]);
        assert_eq!(settings.capture_limit_bytes, crate::limits::CAPTURE_BYTES_MAX);
        let expected = format!("Ignoring OPENMPS_CAPTURE_LIMIT={text}, expected a number of bytes from 1 to 2^63-1");
        assert_eq!(settings.warnings, [expected]);
    }
}

#[test]
fn profiler_masks_are_refused_with_the_whole_value() {
    assert_eq!(check_log_options(1023), Ok(()));
    assert_eq!(
        check_log_options(1024).expect_err("too large").to_string(),
        "invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO"
    );
    assert_eq!(check_signposts(0x7_003f), Ok(()));
    assert_eq!(
        check_signposts(0xf_0040).expect_err("low half").to_string(),
        "invalid profiling options 983104 passed to PYTORCH_MPS_TRACE_SIGNPOSTS"
    );
    assert_eq!(
        check_signposts(0x8_0001).expect_err("high half").to_string(),
        "invalid signpost types 524289 passed to PYTORCH_MPS_TRACE_SIGNPOSTS"
    );
}
