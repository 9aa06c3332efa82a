//! `openmps info`: what this installation is, on which machine, and which settings count.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use openmps::limits::ANNOUNCED_OS;
use openmps::settings::{Origin, SettingReport};
use openmps::{Device, Settings};
use openmps_compiler::cache::{CACHE_BYTES_DEFAULT, default_folder, folder_usage};
use serde::Serialize;

use crate::args::Info;
use crate::compiler;
use crate::failure::Failure;
use crate::output;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    device: DeviceReport,
    engine: EngineReport,
    compiler: CompilerReport,
    cache: CacheReport,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct DeviceReport {
    name: String,
    core_count: u32,
    recommended_max_memory_bytes: u64,
    max_buffer_length_bytes: u64,
    announced_macos: String,
}

#[derive(Serialize)]
struct EngineReport {
    name: &'static str,
    cpu: String,
    architecture: &'static str,
    cpu_features: Vec<&'static str>,
    threads: usize,
}

#[derive(Serialize)]
struct CompilerReport {
    path: PathBuf,
    is_installed: bool,
    languages: [&'static str; 3],
}

#[derive(Serialize)]
struct CacheReport {
    folder: Option<PathBuf>,
    files: u64,
    size_bytes: u64,
    size_bytes_max: u64,
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    /// `default`, `environment` or `invalid`.
    origin: &'static str,
    value: String,
    /// What is wrong with an invalid value.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl From<SettingReport> for Setting {
    fn from(report: SettingReport) -> Self {
        let SettingReport { name, origin, value } = report;
        let (origin, problem) = match origin {
            Origin::Default => ("default", None),
            Origin::Environment => ("environment", None),
            Origin::Invalid(problem) => ("invalid", Some(problem)),
        };
        Self { name, origin, value, problem }
    }
}

pub(crate) fn run(info: &Info) -> Result<(), Failure> {
    let report = report();
    if info.json { output::print_json(&report) } else { output::print(&render(&report)) }
}

fn report() -> Report {
    let (device, settings) = (Device::shared(), Settings::process());
    let executable = compiler::executable();
    let folder = settings.cache_dir.clone().or_else(|| default_folder(|name| env::var_os(name)));
    let (files, size_bytes) = folder.as_deref().map_or((0, 0), folder_usage);
    Report {
        version: env!("CARGO_PKG_VERSION"),
        device: DeviceReport {
            name: device.name().to_string(),
            core_count: device.core_count(),
            recommended_max_memory_bytes: device.recommended_max_working_set_bytes(),
            max_buffer_length_bytes: device.max_buffer_length_bytes(),
            announced_macos: format!("{}.{}", ANNOUNCED_OS.0, ANNOUNCED_OS.1),
        },
        engine: EngineReport {
            name: "cpu",
            cpu: cpu_model(),
            architecture: env::consts::ARCH,
            cpu_features: cpu_features(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        },
        compiler: CompilerReport {
            is_installed: is_executable(&executable),
            path: executable,
            languages: ["Metal 3.1", "Metal 3.2", "Metal 4.0"],
        },
        cache: CacheReport { folder, files, size_bytes, size_bytes_max: CACHE_BYTES_DEFAULT },
        settings: openmps::settings::report(|name| env::var_os(name)).into_iter().map(Setting::from).collect(),
    }
}

/// Whether the program is there; a bare name is looked for in `PATH`.
fn is_executable(program: &Path) -> bool {
    if program.components().count() > 1 {
        return program.is_file();
    }
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, name)| name.trim()).to_owned()
}

/// What machine code for kernels may use of this CPU.
#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($feature:tt)*) => { [$(($feature, std::is_x86_feature_detected!($feature))),*] };
    }
    let features = detected!("sse4.2" "avx" "f16c" "fma" "avx2" "bmi2" "avx512f" "avx512bw" "avx512dq" "avx512vl"
        "avx512vnni" "avx512bf16" "avx512fp16");
    features.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// What machine code for kernels may use of this CPU.
#[cfg(not(target_arch = "x86_64"))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}

fn size(bytes: u64) -> String {
    openmps::memory::format::size(bytes)
}

fn render(report: &Report) -> String {
    let Report { version, device, engine, compiler, cache, settings } = report;
    let folder = cache.folder.as_ref().map_or("none".to_owned(), |folder| folder.display().to_string());
    let installed = if compiler.is_installed { "" } else { " (not there)" };
    let mut rows = vec![
        ("openmps", (*version).to_owned()),
        ("device", format!("{}, {} cores", device.name, device.core_count)),
        ("  recommended memory", size(device.recommended_max_memory_bytes)),
        ("  longest buffer", size(device.max_buffer_length_bytes)),
        ("  announced system", format!("macOS {}", device.announced_macos)),
        ("engine", format!("{}, {} threads", engine.name, engine.threads)),
        ("  processor", format!("{} ({})", engine.cpu, engine.architecture)),
        ("  features", engine.cpu_features.join(" ")),
        ("compiler", format!("{}{installed}", compiler.path.display())),
        ("  languages", compiler.languages.join(", ")),
        ("cache", folder),
        ("  holds", format!("{} of {} in {} files", size(cache.size_bytes), size(cache.size_bytes_max), cache.files)),
    ];
    rows.push(("settings", String::new()));
    let mut text = String::new();
    for (name, value) in rows {
        writeln!(text, "{}", format!("{name:<22}{value}").trim_end()).expect("a String takes all text");
    }
    for Setting { name, origin, value, problem } in settings {
        let problem = problem.as_ref().map_or(String::new(), |problem| format!(": {problem}"));
        writeln!(text, "  {name:<34}{value} ({origin}{problem})").expect("a String takes all text");
    }
    text
}
