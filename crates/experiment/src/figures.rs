//! The units in which a source may state a metric, by the key that the metric's name ends in.

use crate::expectation;

/// Units, each with its size in the first, which is the metric's own.
pub type Units = &'static [(&'static str, f64)];

const TIME_MS: Units = &[("ms", 1.0), ("us", 1e-3), ("s", 1e3)];
const TIME_S: Units = &[("s", 1.0), ("ms", 1e-3)];
const PACKETS: Units = &[("packets", 1.0)];
const SHARE: Units = &[("", 1.0), ("%", 0.01)];

const RATE: Units = &[("Mbit/s", 1.0), ("kbit/s", 1e-3), ("Gbit/s", 1e3), ("MB/s", 8.0)];

const UNITS: &[(&str, Units)] = &[
    ("throughput_mbps", RATE),
    ("goodput_mbps", RATE),
    ("fct_goodput_mbps", RATE),
    ("rtt_ms", TIME_MS),
    ("delay_ms", TIME_MS),
    ("ping_ms", TIME_MS),
    ("one_way_delay_ms", TIME_MS),
    ("fct_s", TIME_S),
    ("response_s", TIME_S),
    ("jitter_ms", TIME_MS),
    ("handshake_ms", TIME_MS),
    ("lost_datagrams", PACKETS),
    ("probe_rtt_s", TIME_S),
    ("period_s", TIME_S),
    ("half_period_s", TIME_S),
    ("duration_s", TIME_S),
    ("bytes", &[("bytes", 1.0), ("kB", 1e3), ("MB", 1e6)]),
    ("cwnd_packets", PACKETS),
    ("packets", PACKETS),
    ("retransmits", PACKETS),
    ("drops", PACKETS),
    ("marks", PACKETS),
    ("share", SHARE),
    ("retransmit_rate", SHARE),
    ("no_data_share", SHARE),
    ("loss_rate", SHARE),
    ("utilization", SHARE),
];

/// The units of a metric, its own first; None: no metric.
#[must_use]
pub fn units_of(metric: &str) -> Option<Units> {
    let name = expectation::metric(metric).ok()?.name;
    let units = |key: &str| UNITS.iter().find(|(name, _)| *name == key).map(|(_, units)| *units);
    Some(name.rsplit('.').find_map(units).unwrap_or(&[("", 1.0)]))
}
