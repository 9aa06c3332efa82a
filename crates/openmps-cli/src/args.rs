//! What can be typed.

pub(crate) mod trace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use openmps::{CompileOptions, Device, LanguageVersion, MathMode, Settings};

/// Metal kernels without an Apple GPU: checks, shows and precompiles Metal sources and libraries.
#[derive(Debug, Parser)]
#[command(
    name = "openmps",
    version,
    after_help = "Exit status: 0 when all is well, 1 when an input is wrong or an output cannot be written, 2 when the command line is wrong."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile a Metal source and list its kernels.
    Check(Check),
    /// Show what is in a Metal source or library, or all about one kernel.
    Inspect(Inspect),
    /// Compile a Metal source to a Metal library.
    Compile(Compile),
    /// Work with captures of what the device did.
    Trace(trace::Trace),
    /// Launch a kernel on files, made-up arrays and numbers.
    Run(Run),
    /// Run or read a PyTorch program and tell which of its ops a Mac lacks or refuses.
    Doctor(Doctor),
    /// Show device, engine, compiler, cache and settings.
    Info(Info),
    /// Print a script that completes command lines in a shell.
    Completions(Completions),
    /// Print the manual page, or write all pages to a folder.
    Man(Man),
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The Metal source.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) language: Language,
    /// Print JSON, also about errors in the source.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The Metal source or library.
    pub(crate) file: PathBuf,
    /// One kernel: its arguments, AIR and machine code are shown.
    pub(crate) kernel: Option<String>,
    /// A function constant's value for the machine code, by name or index; may be repeated.
    #[arg(long = "constant", value_name = "NAME=VALUE", requires = "kernel")]
    pub(crate) constants: Vec<String>,
    #[command(flatten)]
    pub(crate) language: Language,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Compile {
    /// The Metal source.
    pub(crate) file: PathBuf,
    /// The library to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) language: Language,
    /// Print JSON about what was written, also about errors in the source.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = RUN_HELP)]
pub(crate) struct Run {
    /// The Metal source or library.
    pub(crate) file: PathBuf,
    /// The kernel to launch.
    pub(crate) kernel: String,
    /// Threads of the grid: one to three sizes.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) grid: String,
    /// Threads of a threadgroup; by default as many of the first axis as the kernel allows.
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) group: Option<String>,
    /// A value for the next buffer or texture, or for the one of this name or index (textures: texture0); may be repeated.
    #[arg(long = "arg", value_name = "[NAME=]VALUE", allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
    /// A buffer or texture to show, or to write to a file that ends in .npy, .safetensors or .png; by default all that the kernel may
    /// write are shown.
    #[arg(long = "out", value_name = "NAME[=FILE]")]
    pub(crate) outputs: Vec<String>,
    /// Bytes of dynamic threadgroup memory; may be repeated.
    #[arg(long, value_name = "INDEX=BYTES")]
    pub(crate) threadgroup: Vec<String>,
    /// How all samplers of the kernel sample: words with commas between, nearest or linear, clamp_to_edge, clamp_to_zero, repeat or
    /// mirrored_repeat, and pixel for coordinates in texels.
    #[arg(long, value_name = "WORDS", default_value = "nearest,clamp_to_edge")]
    pub(crate) sampler: String,
    /// A function constant's value, by name or index; may be repeated.
    #[arg(long = "constant", value_name = "NAME=VALUE")]
    pub(crate) constants: Vec<String>,
    /// Where random arrays start.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) language: Language,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a value can be.
const RUN_HELP: &str = "Values: a number (its type is the kernel's, or is said: u32:7), zeros:TYPE, ones:TYPE, iota:TYPE, \
random:TYPE with a TYPE like f32[4] or i32[2,3], FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME, FILE.png. A texture takes an \
array of its axes, outermost first, and perhaps one more of 1, 2 or 4 channels.";

#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Written in Python; described here so that help, completions and manual pages have it.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 when nothing was found, 1 when something was, 2 when there is nothing to examine. Needs PyTorch."
)]
pub(crate) struct Doctor {
    /// Print JSON on standard output; what a script prints goes to standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// A script, a program of torch.export (.pt2), a TorchScript file (.pt), or module:function.
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) program: String,
    /// Arguments of the script.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write a page for each command to this folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// How to compile source; libraries are compiled already.
#[derive(Args, Debug)]
pub(crate) struct Language {
    /// Version of the Metal Shading Language; by default PYTORCH_MPS_METAL_VERSION, else 3.2.
    #[arg(long, value_enum, value_name = "VERSION")]
    metal: Option<Metal>,
    /// Let the compiler change floating-point results for speed; PYTORCH_MPS_FAST_MATH=1 does the same.
    #[arg(long)]
    fast_math: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Metal {
    #[value(name = "3.1")]
    V3_1,
    #[value(name = "3.2")]
    V3_2,
    #[value(name = "4.0")]
    V4_0,
}

impl Language {
    /// The flags, and the settings where there is no flag.
    pub(crate) fn options(&self) -> CompileOptions {
        let options = openmps::library::compile_options(Settings::process(), Device::shared().language_version());
        let language_version = match self.metal {
            Some(Metal::V3_1) => LanguageVersion::Metal3_1,
            Some(Metal::V3_2) => LanguageVersion::Metal3_2,
            Some(Metal::V4_0) => LanguageVersion::Metal4_0,
            None => options.language_version,
        };
        let math_mode = if self.fast_math { MathMode::Fast } else { options.math_mode };
        CompileOptions { language_version, math_mode }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn flags_come_before_settings() {
        let options = |words: &[&str]| {
            let arguments = Arguments::try_parse_from(["openmps", "check", "k.metal"].iter().chain(words)).unwrap();
            let Command::Check(check) = arguments.command else { panic!("another command") };
            check.language.options()
        };
        assert_eq!(options(&["--metal", "4.0"]).language_version, LanguageVersion::Metal4_0);
        assert_eq!(options(&["--metal=3.1", "--fast-math"]).math_mode, MathMode::Fast);
        assert!(Arguments::try_parse_from(["openmps", "check", "k.metal", "--metal", "2.0"]).is_err());
        assert!(Arguments::try_parse_from(["openmps", "inspect", "k.metal", "--constant", "a=1"]).is_err());
        assert!(Arguments::try_parse_from(["openmps", "compile", "k.metal"]).is_err());
    }
}
