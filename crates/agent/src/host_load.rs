//! Load of the host while an experiment runs in real time: lateness of the agent's timers, CPU use of the agent and
//! of every core.
//!
//! Not used in a guest, where virtual time does not advance while the agent works. Writes one line per sample to
//! `machine.jsonl`; `dumbbell.engines.host_load` sets the limits.

use crate::error::{Attempt, Result};
use crate::sys::process;
use dumbbell_records::end::TimerLateness;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Longest time between two timers whose lateness is measured. A missed timer runs late instead of being left out, so
/// the share of late timers is the share of the time in which the agent was late.
pub const HEARTBEAT_NS: u64 = 10_000_000;

/// Columns of a core's line in /proc/stat (`proc_stat(5)`).
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const SOFTIRQ: usize = 6;
const STEAL: usize = 7;
/// Later columns are included in `user` and `nice`.
const KINDS: usize = 8;

/// Samples the host's load.
pub struct HostLoad {
    every_ns: u64,
    next_ns: u64,
    sampled_ns: Option<u64>,
    lateness: Lateness,
    latest_ns: u64,
    records: BufWriter<File>,
}

/// One line of `machine.jsonl`; in ticks of /proc/stat since boot.
#[derive(Serialize)]
struct LoadSample {
    time_ns: u64,
    /// Maximum timer lateness since the previous sample.
    late_ns: u64,
    /// CPU time used by the agent.
    agent_ns: u64,
    /// For every core: busy, soft interrupts (part of busy), stolen by the hypervisor, total.
    cores: Vec<[u64; 4]>,
}

impl HostLoad {
    /// Starts sampling at this interval; the first sample is at time zero.
    pub fn open(every_ns: u64, folder: &Path) -> Result<Self> {
        let file = File::create(folder.join("machine.jsonl")).attempt(|| "creating machine.jsonl".into())?;
        Ok(Self {
            every_ns,
            next_ns: 0,
            sampled_ns: None,
            lateness: Lateness::default(),
            latest_ns: 0,
            records: BufWriter::new(file),
        })
    }

    /// Records the lateness of a timer.
    pub fn late(&mut self, by_ns: u64) {
        self.lateness.add(by_ns);
        self.latest_ns = self.latest_ns.max(by_ns);
    }

    /// Takes a sample if one is due, or at the end.
    pub fn sample(&mut self, now_ns: u64, last: bool) -> Result<()> {
        if (now_ns < self.next_ns && !last) || self.sampled_ns == Some(now_ns) {
            return Ok(());
        }
        (self.next_ns, self.sampled_ns) = (now_ns + self.every_ns, Some(now_ns));
        let text = fs::read_to_string("/proc/stat").attempt(|| "reading /proc/stat".into())?;
        let late_ns = std::mem::take(&mut self.latest_ns);
        let sample = LoadSample { time_ns: now_ns, late_ns, agent_ns: process::used_ns(), cores: cores(&text) };
        serde_json::to_writer(&mut self.records, &sample)?;
        self.records.write_all(b"\n").attempt(|| "writing machine.jsonl".into())
    }

    /// Closes the file.
    pub fn finish(mut self) -> Result<TimerLateness> {
        self.records.flush().attempt(|| "writing machine.jsonl".into())?;
        Ok(self.lateness.summary())
    }
}

/// The cores' lines, in order.
fn cores(text: &str) -> Vec<[u64; 4]> {
    let lines = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    lines
        .map(|line| {
            let mut ticks = [0; KINDS];
            for (bin, word) in ticks.iter_mut().zip(line.split_whitespace().skip(1)) {
                *bin = word.parse().unwrap_or(0);
            }
            let all: u64 = ticks.iter().sum();
            [all - ticks[IDLE] - ticks[IOWAIT] - ticks[STEAL], ticks[SOFTIRQ], ticks[STEAL], all]
        })
        .collect()
}

/// A histogram with eight bins per octave, so memory does not grow with the experiment.
#[derive(Default)]
struct Lateness {
    counts: Vec<u64>,
    all: u64,
    max_ns: u64,
}

impl Lateness {
    fn add(&mut self, ns: u64) {
        let bin = bin_of(ns);
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.all += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    fn summary(&self) -> TimerLateness {
        TimerLateness { timers: self.all, p50_ns: self.at(50), p99_ns: self.at(99), max_ns: self.max_ns }
    }

    /// The percentile; at most an eighth too large.
    fn at(&self, percent: u64) -> u64 {
        let rank = (self.all * percent).div_ceil(100);
        let mut below = 0;
        for (bin, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return largest_in(bin).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

/// Values below eight have a bin each; larger ones have eight bins per octave.
fn bin_of(ns: u64) -> usize {
    let octave = (ns | 1).ilog2();
    if octave < 3 {
        return usize::try_from(ns).expect("below eight");
    }
    let step = (ns >> (octave - 3)) & 7;
    usize::try_from(u64::from(octave - 2) * 8 + step).expect("fewer than 500 bins")
}

fn largest_in(bin: usize) -> u64 {
    if bin < 8 {
        return bin as u64;
    }
    let (octave, step) = (bin / 8 + 2, (bin % 8) as u64);
    ((8 + step) << (octave - 3)) + ((1 << (octave - 3)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_never_too_small_and_at_most_an_eighth_too_large() {
        let mut lateness = Lateness::default();
        let mut values: Vec<u64> = (0..1_000_u64).map(|n| n.wrapping_mul(2_654_435_761) % 50_000_000).collect();
        for &value in &values {
            lateness.add(value);
        }
        values.sort_unstable();
        let summary = lateness.summary();
        assert_eq!((summary.timers, summary.max_ns), (1_000, values[999]));
        for (reported, exact) in [(summary.p50_ns, values[499]), (summary.p99_ns, values[989])] {
            assert!(exact <= reported && reported <= exact + exact / 8, "{exact} reported as {reported}");
        }
    }

    #[test]
    fn bins_are_ordered_and_contain_their_values() {
        let mut last = 0;
        for ns in (0..5_000).chain([1 << 40, u64::MAX]) {
            let bin = bin_of(ns);
            assert!(bin >= last && largest_in(bin) >= ns, "{ns} is in bin {bin}");
            last = bin;
        }
    }

    #[test]
    fn without_timers_the_lateness_is_zero() {
        assert_eq!(Lateness::default().summary(), TimerLateness::default());
    }

    #[test]
    fn core_ticks_are_separated_by_kind() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 5 6 7 8 1 2\ncpu1 0 0 0 50 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(cores(text), [[19, 7, 8, 132], [0, 0, 0, 50]]);
    }
}
