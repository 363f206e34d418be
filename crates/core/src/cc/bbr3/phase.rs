//! Where BBR stands, by the draft's names.

/// A state of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl Phase {
    /// As results name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeBwDown => "probe_bw_down",
            Self::ProbeBwCruise => "probe_bw_cruise",
            Self::ProbeBwRefill => "probe_bw_refill",
            Self::ProbeBwUp => "probe_bw_up",
            Self::ProbeRtt => "probe_rtt",
        }
    }

    /// One of the four of the steady cycle?
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// Is bandwidth being probed (`IsProbingBW`)? Then short-term bounds do not apply.
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

/// What ACKs tell of the last probe (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    Refilling,
    /// In flight rises.
    ProbeStarting,
    /// ACKs of the probe.
    ProbeFeedback,
    /// The probe is over, its ACKs still come.
    ProbeStopping,
}
