//! Settings of qdiscs, as numbers. [`crate::tc`] makes them of tc's options; each qdisc's module describes their
//! effect.

mod aqm;
mod bands;
mod cake;
mod children;
mod dualpi2;
mod fq;

pub use aqm::{ChokeConfig, FqPieConfig, GredConfig, GredQueue, HhfConfig, PieConfig, SfbConfig, SfqConfig};
pub use bands::{DrrClass, DrrConfig, EtsConfig, Filter, PoliceConfig, PrioConfig, Rule};
pub use cake::{AckFilter, CakeConfig, Framing, Isolation, Link};
pub use dualpi2::{DualPi2Config, StepThreshold};
pub use fq::FqConfig;

pub use crate::probability::Probability;
use crate::rate::Rate;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
pub use children::Holds;
use serde::Serialize;

/// Settings of a qdisc. Sizes are bytes unless the name contains `packets`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Config {
    /// First in, first out, limited in packets.
    Pfifo {
        /// Maximum packets.
        limit: u32,
    },
    /// First in, first out, limited in bytes.
    Bfifo {
        /// Maximum bytes.
        limit: u64,
    },
    /// Token bucket filter.
    Tbf(Box<TbfConfig>),
    /// Hierarchical token bucket.
    Htb(Box<HtbConfig>),
    /// Network emulator.
    Netem(Box<NetemConfig>),
    /// Random early detection.
    Red(Box<RedConfig>),
    /// Controlled delay.
    Codel(CodelConfig),
    /// Fair queueing with controlled delay.
    FqCodel(FqCodelConfig),
    /// red that also drops pairs of packets of one flow.
    Choke(Box<ChokeConfig>),
    /// Deficit round robin.
    Drr(Box<DrrConfig>),
    /// Strict bands, then deficit round robin among the others.
    Ets(Box<EtsConfig>),
    /// Fair queueing with pie.
    FqPie(FqPieConfig),
    /// First in, first out, three bands.
    PfifoFast {
        /// Maximum packets per band.
        limit: u32,
    },
    /// First in, first out, limited in packets; a full queue drops its oldest packet.
    PfifoHeadDrop {
        /// Maximum packets.
        limit: u32,
    },
    /// Proportional integral controller, enhanced.
    Pie(PieConfig),
    /// Strict priorities.
    Prio(Box<PrioConfig>),
    /// Virtual queues with a red each.
    Gred(Box<GredConfig>),
    /// Heavy-hitter filter.
    Hhf(HhfConfig),
    /// Stochastic fair blue.
    Sfb(Box<SfbConfig>),
    /// Stochastic fairness queueing.
    Sfq(Box<SfqConfig>),
    /// Dual-queue coupled AQM.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// Fair queueing with pacing.
    Fq(Box<FqConfig>),
    /// cake.
    Cake(Box<CakeConfig>),
}

/// One qdisc in a device's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Handle as tc writes it, such as `10:`; the sampler and later changes find the qdisc by it.
    pub handle: String,
    /// Settings.
    pub config: Config,
}

/// tbf: a bucket of `burst` bytes filled at `rate`, behind a queue of `limit` bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TbfConfig {
    /// Bytes per second.
    pub rate: Rate,
    /// Bucket depth in bytes.
    pub burst: u64,
    /// Limit of the default bfifo.
    pub limit: u64,
    /// A second bucket that limits bursts: its rate and depth (`mtu`).
    pub peak: Option<(Rate, u64)>,
    /// A qdisc that replaces the default bfifo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<Node>,
}

/// htb: classes with guaranteed rates that may borrow up to their ceilings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HtbConfig {
    /// Minor number of the default class; 0 sends unmatched packets unshaped.
    pub default: u32,
    /// Classes in order of creation; parents before their children.
    pub classes: Vec<HtbClass>,
    /// Filters in order of precedence.
    pub filters: Vec<Filter>,
    /// Maximum packets in the unshaped direct queue.
    pub direct_limit: u32,
}

/// One htb class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HtbClass {
    /// Minor number (`1:20` is 0x20).
    pub minor: u32,
    /// Minor number of the parent; 0 is the root.
    pub parent: u32,
    /// Guaranteed rate.
    pub rate: Rate,
    /// Maximum rate when borrowing.
    pub ceil: Rate,
    /// Bucket at `rate` in bytes as given to tc; the kernel gets it rounded to tc's clock (`htb::class`).
    pub burst: u64,
    /// Bucket at `ceil` in bytes.
    pub cburst: u64,
    /// Quantum in bytes; 0 is a tenth of a second at `rate` (tc's `r2q 10`).
    pub quantum: u32,
    /// Priority; 0 is served first.
    pub prio: u8,
    /// Qdisc of a leaf; None: a pfifo of the device's queue length.
    pub leaf: Option<Node>,
}

/// A probability with its correlation to the previous draw (netem's `crndstate`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Correlated {
    /// Probability.
    pub chance: Probability,
    /// Weight of the previous draw in the next.
    pub correlation: Probability,
}

/// netem: emulates a wide-area path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetemConfig {
    /// Maximum packets on the emulated link.
    pub limit: u32,
    /// Delay.
    pub delay: Span,
    /// Jitter.
    pub jitter: Span,
    /// Correlation of the jitter.
    pub delay_correlation: Probability,
    /// Distribution of the jitter.
    pub distribution: Distribution,
    /// Loss model.
    pub loss: Loss,
    /// Share of packets that skip the delay.
    pub reorder: Correlated,
    /// Only every `gap`th packet may skip the delay; 0 is off.
    pub gap: u32,
    /// Share of packets that are duplicated.
    pub duplicate: Correlated,
    /// Share of packets that are corrupted: their checksum fails, so the receiving host drops them.
    pub corrupt: Correlated,
    /// Rate of the emulated link with packet overhead, cell size and cell overhead in bytes.
    pub rate: Option<NetemRate>,
    /// Slots: packets leave in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotConfig>,
    /// Seed of its random numbers (`TCA_NETEM_PRNG_SEED`); None: drawn from the run's random streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Child qdisc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<Node>>,
}

/// netem's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SlotConfig {
    /// Minimum time between slots.
    pub least: Span,
    /// Maximum time between slots; the time is drawn between the two.
    pub most: Span,
    /// Maximum packets per slot.
    pub packets: u32,
    /// Maximum bytes per slot; the packet that exceeds them still leaves.
    pub bytes: u32,
}

/// netem's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NetemRate {
    /// Bytes per second.
    pub rate: Rate,
    /// Bytes added to each packet.
    pub packet_overhead: i32,
    /// Cell size; whole cells are sent. 0 is off.
    pub cell_size: u32,
    /// Bytes added to each cell.
    pub cell_overhead: i32,
}

/// Distribution of netem's jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Uniform between minus and plus the jitter (netem without a table).
    #[default]
    Uniform,
    /// The normal distribution.
    Normal,
    /// The Pareto distribution.
    Pareto,
    /// A quarter normal, three quarters Pareto, as iproute2 makes it.
    Paretonormal,
}

/// netem's loss models (tc-netem(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// No loss.
    #[default]
    None,
    /// Independent losses, or each correlated with the previous draw.
    Random(Correlated),
    /// The four-state Markov model: p13, p31, p32, p23, p14.
    State {
        /// Good to lost in a burst.
        p13: Probability,
        /// Burst loss back to good.
        p31: Probability,
        /// Burst loss to burst reception.
        p32: Probability,
        /// Burst reception to burst loss.
        p23: Probability,
        /// Good to a single loss.
        p14: Probability,
    },
    /// Gilbert-Elliott as the kernel gets it: tc's `gemodel p r 1-h 1-k` with its third number inverted.
    Gemodel {
        /// Good to bad.
        p: Probability,
        /// Bad to good.
        r: Probability,
        /// A packet passes in the bad state: 2³²−1 minus tc's `1-h`; 0 loses all of them.
        h: Probability,
        /// A packet is lost in the good state (tc's `1-k`).
        k1: Probability,
    },
    /// Exactly one packet in `every`, as theory assumes; tc has no such model.
    Every {
        /// Packets from one loss to the next.
        every: u64,
    },
}

/// red as the kernel gets it from tc: `struct tc_red_qopt`, the table and `max_P` (iproute2 `tc/q_red.c`, `tc_red.c`).
///
/// Averages are in bytes. Leave `adaptive` off to match tc on Linux: since iproute2 5.7 tc puts the flag into another
/// attribute than the one that arms the timer (`__red_change`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that tc has")]
pub struct RedConfig {
    /// Limit of the default bfifo in bytes.
    pub limit: u64,
    /// `qth_min`: packets pass below this average.
    pub min: u32,
    /// `qth_max`: every packet is dropped or marked from this average on.
    pub max: u32,
    /// `Wlog`: the average's weight is 2⁻ʷˡᵒᵍ (`tc_red_eval_ewma`).
    pub wlog: u8,
    /// `Plog`: slope of the probability (`tc_red_eval_P`); used only if `max_p` is 0.
    pub plog: u8,
    /// `Scell_log`: an entry of `idle_damping` covers 2^`scell_log` µs of idle time (`tc_red_eval_idle_damping`).
    pub scell_log: u8,
    /// `Stab`: 256 shifts below 32, applied to the average after that many cells of idle time.
    pub idle_damping: Vec<u8>,
    /// `max_P`: probability at `max`, in units of 2⁻³².
    pub max_p: Probability,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Drop instead of marking above `max`.
    pub harddrop: bool,
    /// Never drop packets that cannot be marked.
    pub nodrop: bool,
    /// Adapt `max_p` every 500 ms.
    pub adaptive: bool,
    /// A qdisc that replaces the default bfifo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<Node>,
}

/// codel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CodelConfig {
    /// Maximum packets.
    pub limit: u32,
    /// Target sojourn time.
    pub target: Span,
    /// Interval.
    pub interval: Span,
    /// Mark instead of dropping.
    pub ecn: bool,
    /// Mark every capable packet above this sojourn time.
    pub ce_threshold: Option<Span>,
    /// Restrict `ce_threshold` to packets whose ECN bits, masked by the second number, equal the first
    /// (`ce_threshold_selector`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_selector: Option<(u8, u8)>,
    /// MTU of the device including the Ethernet header: no drops below this backlog.
    pub mtu: u32,
}

/// `fq_codel` (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FqCodelConfig {
    /// Maximum packets in all queues.
    pub limit: u32,
    /// Number of queues.
    pub flows: u32,
    /// Quantum in bytes.
    pub quantum: u32,
    /// Memory limit.
    pub memory_limit: u64,
    /// Maximum packets dropped from the largest flow at once.
    pub drop_batch: u32,
    /// `CoDel` settings of each flow; `limit` is unused.
    pub codel: CodelConfig,
}
