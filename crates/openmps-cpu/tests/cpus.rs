//! Which CPUs the pool takes: each test starts its own program again under a limit that the system sets.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests: a failure shows the place")]

use std::process::{Command, Output};

/// Set for a process that shall say how many threads it would use, and nothing else.
const IS_CHILD: &str = "OPENMPS_TEST_COUNTS_THREADS";
const ANSWER: &str = "threads of a launch: ";

/// A shell script that lets the process have the control group of `cpu.max` files below, as a kernel with control groups of version
/// 2 shows them: of the group `/outer/inner` and of the one around it. Its file system is its own; others see nothing of it.
const CONTROL_GROUP: &str = r#"set -e
mount -t tmpfs none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/outer/inner
touch /sys/fs/cgroup/outer/inner/cgroup.controllers
echo "$1" > /sys/fs/cgroup/outer/cpu.max
echo "$2" > /sys/fs/cgroup/outer/inner/cpu.max
echo 0::/outer/inner > /sys/fs/cgroup/self
mount --bind /sys/fs/cgroup/self /proc/$$/cgroup
shift 2
exec "$@"
"#;

/// What `command` answers that runs test `name` of this program.
fn threads(mut command: Command, name: &str) -> Result<usize, Output> {
    let program = std::env::current_exe().unwrap();
    let output = command.arg(program).args(["--exact", name, "--nocapture"]).env(IS_CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = text.lines().find_map(|line| line.split(ANSWER).nth(1)?.parse().ok());
    answer.ok_or(output)
}

/// Whether this process is one that [`threads`] started; then it has answered.
fn has_answered() -> bool {
    let is_child = std::env::var_os(IS_CHILD).is_some();
    if is_child {
        println!("\n{ANSWER}{}", openmps_cpu::thread_count());
    }
    is_child
}

fn all() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

#[test]
fn a_process_bound_to_one_cpu_uses_one() {
    if has_answered() {
        return;
    }
    let mut bound = Command::new("taskset");
    bound.args(["--cpu-list", "0"]).env_remove("OMP_NUM_THREADS");
    assert_eq!(threads(bound, "a_process_bound_to_one_cpu_uses_one").unwrap(), 1);
}

#[test]
fn openmp_may_ask_for_more_or_fewer() {
    if has_answered() {
        return;
    }
    for count in [1, 3] {
        let mut asked = Command::new("env");
        asked.arg(format!("OMP_NUM_THREADS={count}"));
        assert_eq!(threads(asked, "openmp_may_ask_for_more_or_fewer").unwrap(), count);
    }
}

#[test]
fn a_control_group_s_share_counts() {
    if has_answered() {
        return;
    }
    let name = "a_control_group_s_share_counts";
    let under = |outer: &str, inner: &str| {
        let mut command = Command::new("unshare");
        // A user who is not root is root in a name space of its own.
        command.args(["--map-root-user", "--mount", "sh", "-c", CONTROL_GROUP, "sh", outer, inner]);
        command.env_remove("OMP_NUM_THREADS");
        threads(command, name)
    };
    let unlimited = match under("max 100000", "max 100000") {
        Ok(count) => count,
        Err(output) => {
            // Some containers permit no name spaces. CI's machine does.
            println!("not checked: {}", String::from_utf8_lossy(&output.stderr));
            assert!(std::env::var_os("CI").is_none(), "CI cannot lay a control group");
            return;
        }
    };
    assert_eq!(unlimited, all());
    assert_eq!(under("max 100000", "100000 100000").unwrap(), 1, "the share of the group itself");
    assert_eq!(under("100000 100000", "max 100000").unwrap(), 1, "the share of the group around it");
    assert_eq!(under("max 100000", "50000 100000").unwrap(), 1, "half a CPU is one thread");
    assert_eq!(under("max 100000", "200000 100000").unwrap(), all().min(2));
}
