//! The path model shared by all versions of BBR: units, rounds, maximum filter, ACK aggregation, constants.
//!
//! [`super::bbr`] (version 1) and [`super::bbr3`] (versions 2 and 3) use it.

pub(super) mod aggregation;
pub(super) mod bandwidth;
pub(super) mod max_filter;
pub(super) mod pacing;
pub(super) mod probe_rtt;
pub(super) mod rounds;

/// Multipliers of the bandwidth and of the bandwidth-delay product, in 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gains {
    pub(super) pacing: u32,
    pub(super) window: u32,
}
