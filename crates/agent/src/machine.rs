//! What the machine did while an experiment ran in real time: how late the agent's timers were, how busy the agent and
//! every core.
//!
//! In a guest time stands still while the lab works, so nothing of it is asked for there. It leaves `machine.jsonl`, a
//! line a look; what is too late or too busy `dumbbell.engine.host_watch` decides.

use crate::error::{Attempt, Result};
use crate::sys::process;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Kinds of time of a core in /proc/stat, by their places (`proc_stat(5)`).
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const SOFTIRQ: usize = 6;
const STEAL: usize = 7;
/// What follows is part of `user` and `nice` already.
const KINDS: usize = 8;

/// The watch over a machine.
pub struct Machine {
    every_ns: u64,
    next_ns: u64,
    seen_ns: Option<u64>,
    lateness: Lateness,
    latest_ns: u64,
    records: BufWriter<File>,
}

/// One line of `machine.jsonl`; ticks are those of /proc/stat, since the machine's start.
#[derive(Serialize)]
struct Look {
    time_ns: u64,
    /// The latest timer since the look before.
    late_ns: u64,
    /// Processor time that the agent has used.
    agent_ns: u64,
    /// Of every core: busy, of that serving packets and other soft interrupts, stolen by the hypervisor, all.
    cores: Vec<[u64; 4]>,
}

/// How late timers were in the whole experiment.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq, Eq)]
pub struct Seen {
    timers: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

impl Machine {
    /// Watches from now on and looks at cores so often; the first look is at time zero.
    pub fn open(every_ns: u64, folder: &Path) -> Result<Self> {
        let file = File::create(folder.join("machine.jsonl")).attempt(|| "making machine.jsonl".into())?;
        Ok(Self {
            every_ns,
            next_ns: 0,
            seen_ns: None,
            lateness: Lateness::default(),
            latest_ns: 0,
            records: BufWriter::new(file),
        })
    }

    /// A timer went off so late.
    pub fn late(&mut self, by_ns: u64) {
        self.lateness.add(by_ns);
        self.latest_ns = self.latest_ns.max(by_ns);
    }

    /// Looks at the cores if it is time, and at the end in any case.
    pub fn look(&mut self, now_ns: u64, last: bool) -> Result<()> {
        if (now_ns < self.next_ns && !last) || self.seen_ns == Some(now_ns) {
            return Ok(());
        }
        (self.next_ns, self.seen_ns) = (now_ns + self.every_ns, Some(now_ns));
        let text = fs::read_to_string("/proc/stat").attempt(|| "reading /proc/stat".into())?;
        let late_ns = std::mem::take(&mut self.latest_ns);
        let look = Look { time_ns: now_ns, late_ns, agent_ns: process::used_ns(), cores: cores(&text) };
        serde_json::to_writer(&mut self.records, &look)?;
        self.records.write_all(b"\n").attempt(|| "writing machine.jsonl".into())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<Seen> {
        self.records.flush().attempt(|| "writing machine.jsonl".into())?;
        Ok(self.lateness.seen())
    }
}

/// Every core's line, in order.
fn cores(text: &str) -> Vec<[u64; 4]> {
    let lines = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    lines
        .map(|line| {
            let mut ticks = [0; KINDS];
            for (place, word) in ticks.iter_mut().zip(line.split_whitespace().skip(1)) {
                *place = word.parse().unwrap_or(0);
            }
            let all: u64 = ticks.iter().sum();
            [all - ticks[IDLE] - ticks[IOWAIT] - ticks[STEAL], ticks[SOFTIRQ], ticks[STEAL], all]
        })
        .collect()
}

/// A count by size, an eighth of an octave fine: memory does not grow with the experiment.
#[derive(Default)]
struct Lateness {
    counts: Vec<u64>,
    all: u64,
    max_ns: u64,
}

impl Lateness {
    fn add(&mut self, ns: u64) {
        let place = place_of(ns);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.all += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    fn seen(&self) -> Seen {
        Seen { timers: self.all, p50_ns: self.at(50), p99_ns: self.at(99), max_ns: self.max_ns }
    }

    /// The value below which so many percent lie; at most an eighth too large.
    fn at(&self, percent: u64) -> u64 {
        let wanted = (self.all * percent).div_ceil(100);
        let mut below = 0;
        for (place, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= wanted {
                return largest_in(place).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

/// Numbers below eight have a place each, then eight share every octave.
fn place_of(ns: u64) -> usize {
    let octave = (ns | 1).ilog2();
    if octave < 3 {
        return usize::try_from(ns).expect("below eight");
    }
    let step = (ns >> (octave - 3)) & 7;
    usize::try_from(u64::from(octave - 2) * 8 + step).expect("less than 500 places")
}

fn largest_in(place: usize) -> u64 {
    if place < 8 {
        return place as u64;
    }
    let (octave, step) = (place / 8 + 2, (place % 8) as u64);
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
        let seen = lateness.seen();
        assert_eq!((seen.timers, seen.max_ns), (1_000, values[999]));
        for (told, exact) in [(seen.p50_ns, values[499]), (seen.p99_ns, values[989])] {
            assert!(exact <= told && told <= exact + exact / 8, "{exact} told as {told}");
        }
    }

    #[test]
    fn places_are_in_order_and_hold_their_numbers() {
        let mut last = 0;
        for ns in (0..5_000).chain([1 << 40, u64::MAX]) {
            let place = place_of(ns);
            assert!(place >= last && largest_in(place) >= ns, "{ns} is at {place}");
            last = place;
        }
    }

    #[test]
    fn nothing_seen_is_nothing_late() {
        assert_eq!(Lateness::default().seen(), Seen::default());
    }

    #[test]
    fn a_core_s_ticks_are_told_apart() {
        let text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 5 6 7 8 1 2\ncpu1 0 0 0 50 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(cores(text), [[19, 7, 8, 132], [0, 0, 0, 50]]);
    }
}
