//! Qdiscs that a run samples.

/// Rates over time: (nanoseconds, bits per second), the first at time 0.
pub type Rates = Vec<(u64, u64)>;

/// A qdisc by its location in the kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    /// Name in the result.
    pub name: String,
    /// Host.
    pub host: String,
    /// Device.
    pub device: String,
    /// Handle as tc writes it.
    pub handle: String,
    /// Kind and options for tc.
    pub text: String,
    /// Whether the experiment tests it.
    pub under_test: bool,
    /// The key that requests it.
    pub key: String,
    /// Under test, or a netem with loss.
    pub may_drop: bool,
    /// Rates over time; empty without a limit.
    pub rates: Rates,
    /// What a tc script's qdiscs and classes let through here; `rates` are those that the experiment states.
    pub capped_bps: Option<u64>,
    /// Whether it is or contains a script's netem: its backlog then is mostly packets that wait for no rate.
    pub holds_netem: bool,
}

impl Queue {
    /// Its rates, or what a script lets through; empty without a limit.
    #[must_use]
    pub fn limits(&self) -> Rates {
        match self.capped_bps {
            Some(rate) if self.rates.is_empty() && rate > 0 => vec![(0, rate)],
            _ => self.rates.clone(),
        }
    }

    /// Whether it changes bits of packets.
    #[must_use]
    pub fn corrupts(&self) -> bool {
        self.text.split(' ').any(|word| word == "corrupt")
    }
}
