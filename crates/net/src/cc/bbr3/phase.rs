//! BBR's states, with the draft's names.

/// A state of the state machine.
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
    /// The name in results.
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

    /// One of the four states of the steady cycle?
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// Is bandwidth being probed (`IsProbingBW`)? Short-term bounds do not apply then.
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

/// What ACKs report about the last probe (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    Refilling,
    /// In-flight data is rising.
    ProbeStarting,
    /// ACKs of the probe.
    ProbeFeedback,
    /// The probe is over; its ACKs still arrive.
    ProbeStopping,
}
