//! States of each controller over time.
//!
//! The simulator reports them (`cc_phase`); for a kernel they are inferred, and marked as such:
//!
//! ```text
//! BBR            `tcp_bbr.c` sets its two gains from its mode (bbr_update_gains), so the gains reveal the mode:
//!                cwnd gain ≤ 1 → probe_rtt, else pacing gain ≥ 2 → startup (2.89), ≤ 0.5 → drain (0.35), else probe_bw;
//!                no gains yet (0, before the first ACK) → startup
//!                (only the simulator has versions 2 and 3, and reports probe_bw_down, _cruise, _refill and _up)
//! loss-based     cwnd < ssthresh → slow_start, else avoidance: `tcp_in_slow_start` of net/tcp.h
//! ```
//!
//! On a kernel, a missing ssthresh means infinite; in a log it may just be unrecorded, so nothing is inferred without
//! it.
//!
//! A state lasts from the first sample that shows it to the first that shows another, so its bounds are as precise as
//! the sampling interval; with `record = "events"` they are exact. States shorter than the sampling interval can be
//! missed.

use crate::run::Run;
use crate::spread::median;
use crate::table::{Names, Numbers};
use crate::{NS, nearest, signed_float};

/// BBR's `PROBE_RTT`.
const PROBE_RTT: &str = "probe_rtt";

/// Linux controllers that grow by `tcp_slow_start` while cwnd < ssthresh.
pub const SLOW_STARTERS: [&str; 17] = [
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// A flow's states in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases<'a> {
    /// Names.
    pub names: Vec<&'a str>,
    /// Starts.
    pub starts_ns: Vec<i64>,
    /// Stops; the last one lasts to the flow's end.
    pub stops_ns: Vec<i64>,
    /// Whether each is inferred.
    pub inferred: Vec<bool>,
}

/// What a phase is read or inferred from.
struct Columns<'a> {
    reported: Option<Names<'a>>,
    pacing_gain: Option<Numbers<'a>>,
    cwnd_gain: Option<Numbers<'a>>,
    cwnd: Option<Numbers<'a>>,
    ssthresh: Option<Numbers<'a>>,
}

impl<'a> Run<'a> {
    /// Every state of every flow, by flow; empty for UDP and for unknown controllers.
    #[must_use]
    pub fn phases(&self) -> Vec<Phases<'a>> {
        let columns = Columns {
            reported: self.flows.names("cc_phase"),
            pacing_gain: self.flows.numbers("bbr_pacing_gain"),
            cwnd_gain: self.flows.numbers("bbr_cwnd_gain"),
            cwnd: self.flows.numbers("cwnd_packets"),
            ssthresh: self.flows.numbers("ssthresh_packets"),
        };
        (0..self.facts.flows.len()).map(|flow| self.phases_of(flow, &columns)).collect()
    }

    /// The median time in seconds between `PROBE_RTT`s of each flow with at least two.
    #[must_use]
    pub fn probe_rtt_intervals_s(&self) -> Vec<Option<f64>> {
        let interval = |phases: &Phases<'_>| {
            let probes = phases.names.iter().zip(&phases.starts_ns).filter(|(name, _)| **name == PROBE_RTT);
            let starts: Vec<_> = probes.map(|(_, start)| *start).collect();
            median(starts.windows(2).map(|pair| signed_float(pair[1] - pair[0])).collect()).map(|ns| ns / NS)
        };
        self.phases().iter().map(interval).collect()
    }

    fn phases_of(&self, flow: usize, columns: &Columns<'a>) -> Phases<'a> {
        let (facts, is_log) = (&self.facts.flows[flow], self.facts.is_import);
        let mut found = Phases::default();
        let Some(times) = self.flows.numbers("time_ns").filter(|_| !facts.is_udp) else { return found };
        let grows = facts.cc.as_deref().is_some_and(|cc| SLOW_STARTERS.contains(&cc));
        let (mut last, mut end) = (None, self.life(facts).1);
        // States of no name separate others, and are dropped.
        let mut states: Vec<(Option<&'a str>, bool, i64)> = Vec::new();
        for row in self.rows_of(flow).iter().map(|row| *row as usize) {
            let reported = columns.reported.and_then(|names| names.get(row));
            let name = reported.or_else(|| columns.inferred(row, grows, !is_log));
            // In a log, a sample without a state does not end one.
            let Some(time) = times.get(row).filter(|_| name.is_some() || !is_log).map(nearest) else { continue };
            let state = Some((name, reported.is_none()));
            if state != last {
                states.push((name, reported.is_none(), time));
                last = state;
            }
            end = end.max(time);
        }
        for (index, (name, inferred, start)) in states.iter().enumerate() {
            if let Some(name) = name {
                found.names.push(name);
                found.starts_ns.push(*start);
                found.stops_ns.push(states.get(index + 1).map_or(end, |(.., next)| *next));
                found.inferred.push(*inferred);
            }
        }
        found
    }
}

impl Columns<'_> {
    /// See [`Signs::phase`].
    fn inferred(&self, row: usize, grows: bool, infinite: bool) -> Option<&'static str> {
        let get = |column: Option<Numbers<'_>>| column.and_then(|column| column.get(row));
        let (pacing_gain, cwnd_gain) = (get(self.pacing_gain), get(self.cwnd_gain));
        Signs { pacing_gain, cwnd_gain, cwnd: get(self.cwnd), ssthresh: get(self.ssthresh) }.phase(grows, infinite)
    }
}

/// What a socket shows of its controller's state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// BBR's pacing gain.
    pub pacing_gain: Option<f64>,
    /// BBR's cwnd gain.
    pub cwnd_gain: Option<f64>,
    /// Congestion window in packets.
    pub cwnd: Option<f64>,
    /// Slow start threshold in packets.
    pub ssthresh: Option<f64>,
}

impl Signs {
    /// The state by the table above; None if unknown. `grows`: the controller is one of [`SLOW_STARTERS`]; `infinite`: a
    /// missing ssthresh means infinite.
    #[must_use]
    pub fn phase(self, grows: bool, infinite: bool) -> Option<&'static str> {
        if let (Some(pacing), Some(window)) = (self.pacing_gain, self.cwnd_gain) {
            return Some(match (pacing, window) {
                (0.0, _) | (_, 0.0) => "startup",
                (_, window) if window <= 1.0 => PROBE_RTT,
                (pacing, _) if pacing >= 2.0 => "startup",
                (pacing, _) if pacing <= 0.5 => "drain",
                _ => "probe_bw",
            });
        }
        let cwnd = self.cwnd.filter(|_| grows)?;
        match self.ssthresh {
            Some(ssthresh) if cwnd < ssthresh => Some("slow_start"),
            Some(_) => Some("avoidance"),
            None => infinite.then_some("slow_start"),
        }
    }
}
