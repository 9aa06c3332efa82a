//! `openmps trace` against a capture that an example makes, with the compiler of the built package (`./dev build`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use openmps_trace::{Capture, Origin, Record, Writer, Written};
use serde_json::Value;

/// A folder of this test alone, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the build folder is writable");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program of this build, in `folder`, with no setting but where the compiler is.
fn program(path: &Path, folder: &Folder) -> Command {
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/openmps/_native");
    assert!(native.join("openmps-compiler").is_file(), "{} has no compiler: run ./dev build", native.display());
    let mut command = Command::new(path);
    command
        .current_dir(&folder.0)
        .env("OPENMPS_COMPILER", native.join("openmps-compiler"))
        .env("OPENMPS_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"))
        .env_remove("PYTORCH_MPS_METAL_VERSION")
        .env_remove("PYTORCH_MPS_FAST_MATH");
    command
}

fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_openmps")).parent().expect("programs lie in a folder").join("examples");
    folder.join(name)
}

fn trace(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_openmps")), folder);
    command.arg("trace").args(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes the example's capture in `folder`: launches of `add`, `scale` and `shrink`.
fn capture(folder: &Folder) -> &'static str {
    let output = program(&example("capture"), folder).env("MTL_CAPTURE_ENABLED", "1").output().expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "0000-example.gputrace\n");
    "0000-example.gputrace"
}

#[test]
fn launches_run_again_and_give_the_same_bytes() {
    let folder = Folder::new("replay");
    let file = capture(&folder);
    let output = trace(&folder, &["replay", file, "--check"]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && stderr.is_empty(), "{stdout}{stderr}");
    let expected = "3 equal bit for bit, 0 differ by the order of threads, 0 differ, 0 failed\n";
    assert!(stdout.starts_with("3 launches ran in ") && stdout.ends_with(expected), "{stdout}");

    let output = trace(&folder, &["replay", file, "--check", "--time", "--repeat", "3", "--kernel", "add", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["failures"], report["launches"].as_array().map(Vec::len)), (&0.into(), Some(1)));
    assert_eq!(report["launches"][0]["verdict"], "equal");
    let row = &report["statistics"]["kernels"][0];
    assert_eq!((&row["kernel"], &row["runs"]), (&"add".into(), &3.into()));
    assert!(row["flops_per_second"].as_f64().is_some_and(|flops| flops > 0.0), "{row}");

    let output = trace(&folder, &["replay", file, "--from", "1", "--to", "1", "--time", "--repeat", "1"]);
    let stdout = text(&output.stdout);
    assert!(stdout.contains("\nkernel ") && stdout.contains("\nscale ") && !stdout.contains("\nadd "), "{stdout}");
}

#[test]
fn work_is_counted_by_line() {
    let folder = Folder::new("count");
    let file = capture(&folder);
    let output = trace(&folder, &["replay", file, "--count", "--kernel", "add", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let work = &report["work"][0];
    assert_eq!((&work["kernel"], &work["launches"]), (&"add".into(), &1.into()));
    let threads = work["total"]["stores"].as_u64().expect("a number");
    assert!(threads == 256 && work["total"]["float_operations"] == threads, "{work}");
    assert_eq!(work["total"]["loads"].as_u64(), Some(2 * threads), "{work}");
    let lines = work["lines"].as_array().expect("a list");
    assert!(lines.iter().all(|line| line["line"].as_u64() > Some(0)), "{work}");

    let output = trace(&folder, &["replay", file, "--count"]);
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with("add: 1 launches\n") && stdout.contains("\nscale: 1 launches\n"), "{stdout}");
}

#[test]
fn kernels_are_compiled_from_their_source_again() {
    let folder = Folder::new("source");
    let file = capture(&folder);
    let output = trace(&folder, &["replay", file, "--check", "--from-source"]);
    let stdout = text(&output.stdout);
    assert!(stdout.contains("3 equal bit for bit"), "{stdout}{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_selected_is_said() {
    let folder = Folder::new("select");
    let file = capture(&folder);
    let error = |arguments: &[&str]| {
        let output = trace(&folder, &[&["replay", file], arguments].concat());
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    let names = "no launch of kernel 'sub' there, the capture's kernels are: add, scale, shrink";
    assert_eq!(error(&["--kernel", "sub"]), format!("openmps: error: {names}\n"));
    assert_eq!(error(&["--from", "3"]), "openmps: error: there is no launch 3: the capture has 3, counted from 0\n");
    assert_eq!(error(&["--from", "2", "--to", "1"]), "openmps: error: --from 2 is behind --to 1\n");
    let output = trace(&folder, &["extract", file, "3", "-o", "case"]);
    assert_eq!(text(&output.stderr), "openmps: error: there is no launch 3: the capture has 3, counted from 0\n");
    let output = trace(&folder, &["replay", "."]);
    assert_eq!(
        text(&output.stderr),
        "openmps: error: cannot read ./index.log: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_launch_becomes_a_case_that_runs() {
    let folder = Folder::new("extract");
    let file = capture(&folder);
    for (number, kernel, written) in [("0", "add", 0), ("1", "scale", 0), ("2", "shrink", 1)] {
        let output = trace(&folder, &["extract", file, number, "-o", kernel, "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["kernel"], kernel);
        let files: Vec<&str> = report["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for name in ["case.txt", "kernel.metal", "kernel.metallib", "region0.before", "run.py", "run.rs"] {
            assert!(files.contains(&name), "{files:?}");
        }
        let run = || program(&example("case"), &folder).arg(kernel).output().expect("it starts");
        let output = run();
        assert_eq!(text(&output.stdout), format!("{kernel}: equal bit for bit\n"), "{}", text(&output.stderr));

        let region = if kernel == "shrink" { written_region(&folder, kernel) } else { written };
        let path = folder.0.join(kernel).join(format!("region{region}.after"));
        let mut expected = fs::read(&path).expect("it is there");
        expected[0] ^= 0x40;
        fs::write(&path, expected).expect("it can be written");
        let output = run();
        assert_eq!(output.status.code(), Some(1));
        let stdout = text(&output.stdout);
        assert!(stdout.starts_with(&format!("region {region}: 1 of ")) && stdout.contains("first byte 0"), "{stdout}");
    }
    let output = trace(&folder, &["extract", file, "0", "-o", "add"]);
    assert_eq!(text(&output.stderr), "openmps: error: add: File exists (os error 17)\n");
}

/// The number of the region that the case's kernel writes.
fn written_region(folder: &Folder, kernel: &str) -> u32 {
    let case = fs::read_to_string(folder.0.join(kernel).join("case.txt")).expect("it is there");
    let line = case.lines().find(|line| line.starts_with("region ") && line.ends_with(" written"));
    line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a kernel writes")
}

/// Writes the first launch of a capture to another one, in which every written region has other bytes after the launch.
fn write_other_bytes(from: &Path, to: &Path) {
    let capture = Capture::open(from).expect("a whole capture");
    let mut writer = Writer::create(to, capture.header().clone(), u64::MAX).expect("the folder is writable");
    let put = |writer: &mut Writer, content, change: u8| {
        let mut bytes = capture.read(content, u64::MAX).expect("not damaged");
        bytes[5] ^= change;
        writer.put(&bytes).expect("it can be written")
    };
    let mut launch = capture.launches().next().expect("three launches").clone();
    let mut pipeline = capture.pipeline(launch.pipeline).clone();
    pipeline.air = put(&mut writer, pipeline.air, 0);
    if let Origin::Source { text, .. } = &mut pipeline.origin {
        *text = put(&mut writer, *text, 0);
    }
    launch.pipeline = writer.pipeline(pipeline).expect("it can be written");
    for region in &mut launch.regions {
        region.before = put(&mut writer, region.before, 0);
        if let Written::After(after) = &mut region.written {
            *after = put(&mut writer, *after, 1);
        }
    }
    writer.append(&Record::Launch(launch)).expect("it can be written");
}

#[test]
fn other_bytes_are_found_and_named() {
    let folder = Folder::new("different");
    let file = capture(&folder);
    write_other_bytes(&folder.0.join(file), &folder.0.join("changed.gputrace"));
    let output = trace(&folder, &["replay", "changed.gputrace", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        stdout.contains("launch 0 of add differs\n  buffer 0: 1 of 4096 bytes differ, first byte 5: expected "),
        "{stdout}"
    );
    assert!(
        stdout.ends_with("0 equal bit for bit, 0 differ by the order of threads, 1 differ, 0 failed\n"),
        "{stdout}"
    );
    assert_eq!(stderr, "changed.gputrace: warning: the capture was not ended, its last part is missing\n");
}
