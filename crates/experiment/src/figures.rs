//! The units in which a source may state a metric, by the key that the metric's name ends in.

use crate::expectation;

const TIME_MS: &[&str] = &["ms", "us", "s"];
const TIME_S: &[&str] = &["s", "ms"];
const PACKETS: &[&str] = &["packets"];
const SHARE: &[&str] = &["", "%"];

/// A metric's own unit first.
const UNITS: &[(&str, &[&str])] = &[
    ("throughput_mbps", &["Mbit/s", "kbit/s", "Gbit/s", "MB/s"]),
    ("rtt_ms", TIME_MS),
    ("delay_ms", TIME_MS),
    ("ping_ms", TIME_MS),
    ("fct_s", TIME_S),
    ("period_s", TIME_S),
    ("half_period_s", TIME_S),
    ("duration_s", TIME_S),
    ("bytes", &["bytes", "kB", "MB"]),
    ("cwnd_packets", PACKETS),
    ("packets", PACKETS),
    ("retransmits", PACKETS),
    ("drops", PACKETS),
    ("marks", PACKETS),
    ("share", SHARE),
    ("retransmit_rate", SHARE),
    ("utilization", SHARE),
];

/// The units of a metric, its own first; None: no metric.
#[must_use]
pub fn units_of(metric: &str) -> Option<&'static [&'static str]> {
    let name = expectation::metric(metric).ok()?.name;
    let units = |key: &str| UNITS.iter().find(|(name, _)| *name == key).map(|(_, units)| *units);
    Some(name.rsplit('.').find_map(units).unwrap_or(&[""]))
}
