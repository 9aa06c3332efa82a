//! Times of kernels, for people and for programs.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::bandwidth;

/// Measurements of one kernel.
pub(super) struct KernelTimes {
    pub(super) kernel: String,
    pub(super) launches: u64,
    /// Of every run of every launch.
    pub(super) runs: Vec<Duration>,
    /// The medians of all launches together: launches of one kernel may have many sizes.
    pub(super) medians: Duration,
    /// That all launches read and write, each once.
    pub(super) bytes: u64,
    /// Floating-point operations of all launches, if they can be counted.
    pub(super) operations: Option<u64>,
}

/// The median of a launch's runs.
pub(super) fn median(runs: &[Duration]) -> Duration {
    let mut runs = runs.to_vec();
    runs.sort_unstable();
    runs.get(runs.len() / 2).copied().unwrap_or_default()
}

impl KernelTimes {
    /// Adds `more` to the same kernel's times in `all`.
    pub(super) fn add(all: &mut Vec<Self>, more: Self) {
        match all.iter_mut().find(|times| times.kernel == more.kernel) {
            Some(times) => {
                times.launches += more.launches;
                times.runs.extend(more.runs);
                times.medians += more.medians;
                times.bytes = times.bytes.saturating_add(more.bytes);
                let both = times.operations.zip(more.operations);
                times.operations = both.map(|(known, more)| known.saturating_add(more));
            }
            None => all.push(more),
        }
    }
}

/// What is printed; fields are only added, never renamed.
#[derive(Serialize)]
pub(super) struct Table {
    /// Bytes a second of a copy by all cores, read and written.
    memory_bandwidth: f64,
    kernels: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    kernel: String,
    launches: u64,
    runs: usize,
    minimum_ns: u64,
    median_ns: u64,
    /// Of one launch, on average.
    bytes: u64,
    /// Of all launches at their medians.
    bytes_per_second: f64,
    /// Of the memory bandwidth.
    bandwidth_share: f64,
    /// Of all launches at their medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    flops_per_second: Option<f64>,
}

impl Table {
    /// The table of `times`, the kernel that takes longest first. Measures the memory bandwidth.
    pub(super) fn new(times: Vec<KernelTimes>) -> Self {
        let memory_bandwidth = bandwidth::measure();
        let mut kernels: Vec<Row> = times.into_iter().map(|times| Row::new(times, memory_bandwidth)).collect();
        kernels.sort_by_key(|row| std::cmp::Reverse(row.launches.saturating_mul(row.median_ns)));
        Self { memory_bandwidth, kernels }
    }
}

impl Row {
    fn new(mut times: KernelTimes, memory_bandwidth: f64) -> Self {
        times.runs.sort_unstable();
        let nanoseconds =
            |time: Option<&Duration>| time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let seconds = times.medians.max(Duration::from_nanos(1)).as_secs_f64();
        let bytes_per_second = times.bytes as f64 / seconds;
        Self {
            kernel: times.kernel,
            launches: times.launches,
            runs: times.runs.len(),
            minimum_ns: nanoseconds(times.runs.first()),
            median_ns: nanoseconds(times.runs.get(times.runs.len() / 2)),
            bytes: times.bytes / times.launches.max(1),
            bytes_per_second,
            bandwidth_share: bytes_per_second / memory_bandwidth,
            flops_per_second: times.operations.map(|operations| operations as f64 / seconds),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "memory bandwidth by copying on all cores: {:.1} GB/s", self.memory_bandwidth / 1e9)?;
        let width = self.kernels.iter().map(|row| row.kernel.len()).max().unwrap_or(0).max("kernel".len());
        writeln!(
            f,
            "{:width$} {:>8} {:>6} {:>12} {:>12} {:>12} {:>8} {:>7} {:>9}",
            "kernel", "launches", "runs", "minimum µs", "median µs", "bytes", "GB/s", "share", "GFLOP/s"
        )?;
        for row in &self.kernels {
            let microseconds = |nanoseconds: u64| Duration::from_nanos(nanoseconds).as_secs_f64() * 1e6;
            let flops = row.flops_per_second.map_or_else(|| "-".into(), |flops| format!("{:.2}", flops / 1e9));
            writeln!(
                f,
                "{:width$} {:>8} {:>6} {:>12.1} {:>12.1} {:>12} {:>8.2} {:>6.1}% {:>9}",
                row.kernel,
                row.launches,
                row.runs,
                microseconds(row.minimum_ns),
                microseconds(row.median_ns),
                row.bytes,
                row.bytes_per_second / 1e9,
                row.bandwidth_share * 100.0,
                flops
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_kernel_are_put_together() {
        let times = |kernel: &str, microseconds: &[u64], operations| KernelTimes {
            kernel: kernel.into(),
            launches: 1,
            runs: microseconds.iter().copied().map(Duration::from_micros).collect(),
            medians: Duration::from_micros(2),
            bytes: 1000,
            operations,
        };
        let mut all = Vec::new();
        KernelTimes::add(&mut all, times("a", &[3, 1], Some(500)));
        KernelTimes::add(&mut all, times("b", &[9], None));
        KernelTimes::add(&mut all, times("a", &[2], Some(1500)));
        assert_eq!(all.len(), 2);
        let row = Row::new(all.remove(0), 1e9);
        assert_eq!((row.launches, row.runs, row.minimum_ns, row.median_ns, row.bytes), (2, 3, 1000, 2000, 1000));
        assert_eq!((row.bytes_per_second, row.bandwidth_share, row.flops_per_second), (5e8, 0.5, Some(5e8)));
        KernelTimes::add(&mut all, times("b", &[9], Some(1)));
        assert_eq!(Row::new(all.remove(0), 1e9).flops_per_second, None);
    }
}
