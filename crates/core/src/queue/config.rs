//! Disciplines as an experiment asks for them, in numbers.
//!
//! `dumbbell.spec.qdisc` knows what the words of tc mean and turns them into these; each discipline's own file says
//! what it does with them.

mod aqm;
mod bands;

pub use aqm::{ChokeConfig, FqPieConfig, PieConfig, SfqConfig};
pub use bands::{DrrClass, DrrConfig, Filter, PoliceConfig, PrioConfig, Rule};
mod dualpi2;

pub use dualpi2::{DualPi2Config, StepThreshold};

pub use super::cake::config::{AckFilter, CakeConfig, Framing, Isolation, Link};
pub use super::fq::config::FqConfig;
use crate::rate::Rate;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// A discipline as the experiment asks for it, in numbers. Sizes are bytes unless a name says packets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Config {
    /// First in, first out, so many packets.
    Pfifo {
        /// Most packets.
        limit: u32,
    },
    /// First in, first out, so many bytes.
    Bfifo {
        /// Most bytes.
        limit: u64,
    },
    /// Token bucket filter.
    Tbf(Box<TbfConfig>),
    /// Hierarchical token bucket.
    Htb(Box<HtbConfig>),
    /// Delay, loss and the rest.
    Netem(Box<NetemConfig>),
    /// Random early detection.
    Red(Box<RedConfig>),
    /// Controlled delay.
    Codel(CodelConfig),
    /// Fair queueing with controlled delay.
    FqCodel(FqCodelConfig),
    /// red that also drops two packets of one flow.
    Choke(Box<ChokeConfig>),
    /// Deficit round robin.
    Drr(Box<DrrConfig>),
    /// Fair queueing with pie.
    FqPie(FqPieConfig),
    /// First in, first out, three bands.
    PfifoFast {
        /// Most packets in a band.
        limit: u32,
    },
    /// First in, first out, so many packets; the oldest dies for the newest.
    PfifoHeadDrop {
        /// Most packets.
        limit: u32,
    },
    /// Proportional integral controller, enhanced.
    Pie(PieConfig),
    /// Strict priorities.
    Prio(Box<PrioConfig>),
    /// Stochastic fairness queueing.
    Sfq(Box<SfqConfig>),
    /// Two coupled queues.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// Fair queueing with pacing.
    Fq(Box<FqConfig>),
    /// Shaper, fair queueing among hosts and flows, and controlled delay in one.
    Cake(Box<CakeConfig>),
}

/// One discipline somewhere in a device's tree.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its handle as tc writes it, such as `10:`; by it the sampler and later changes find it.
    pub handle: String,
    /// What it is.
    pub config: Config,
}

/// tbf: a bucket of `burst` bytes filled at `rate`, before it a queue of `limit` bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TbfConfig {
    /// Bytes a second.
    pub rate: Rate,
    /// Bucket.
    pub burst: u64,
    /// Limit of the built-in bfifo.
    pub limit: u64,
    /// A second bucket that limits bursts, with its size (`mtu`).
    #[serde(default)]
    pub peak: Option<(Rate, u64)>,
    /// A discipline in the place of the built-in bfifo.
    #[serde(default)]
    pub inner: Option<Node>,
}

/// htb: classes with guaranteed rates that may borrow up to their ceilings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbConfig {
    /// Minor number of the class for what no filter catches; 0 sends it unshaped.
    pub default: u32,
    /// Classes in the order in which they were made; a parent stands before its children.
    pub classes: Vec<HtbClass>,
    /// Filters in the order in which they are asked.
    pub filters: Vec<Filter>,
    /// Most packets in the unshaped direct queue.
    pub direct_limit: u32,
}

/// One htb class.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbClass {
    /// Its minor number (`1:20` is 0x20).
    pub minor: u32,
    /// Its parent's minor number; 0 is the root.
    pub parent: u32,
    /// Guaranteed rate.
    pub rate: Rate,
    /// Most that it may have by borrowing.
    pub ceil: Rate,
    /// Bucket at `rate`, in bytes as tc takes them; the kernel gets it rounded to tc's clock (`htb::class`).
    pub burst: u64,
    /// Bucket at `ceil`, in bytes.
    pub cburst: u64,
    /// Deficit round robin's share, in bytes; 0 is a tenth of a second's bytes at `rate` (tc's `r2q 10`).
    pub quantum: u32,
    /// Priority; 0 is served first.
    pub prio: u8,
    /// What stands in a leaf; a pfifo of the device's queue length when not said.
    #[serde(default)]
    pub leaf: Option<Node>,
}

/// A probability in units of 2⁻³², as netem keeps it: `u32::MAX` is always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct Chance(pub u32);

/// A probability with its correlation to the one before (netem's `crndstate`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correlated {
    /// How often.
    pub chance: Chance,
    /// How much the last draw weighs in the next.
    #[serde(default)]
    pub correlation: Chance,
}

/// netem: what a wide-area path does to packets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetemConfig {
    /// Most packets on the emulated wire.
    pub limit: u32,
    /// Delay.
    #[serde(default)]
    pub delay: Span,
    /// Jitter around it.
    #[serde(default)]
    pub jitter: Span,
    /// Correlation of the jitter.
    #[serde(default)]
    pub delay_correlation: Chance,
    /// Shape of the jitter.
    #[serde(default)]
    pub distribution: Distribution,
    /// Loss.
    #[serde(default)]
    pub loss: Loss,
    /// Share of packets that skip the delay.
    #[serde(default)]
    pub reorder: Correlated,
    /// Every `gap`th packet may skip it; 0 is off.
    #[serde(default)]
    pub gap: u32,
    /// Share of packets that pass twice.
    #[serde(default)]
    pub duplicate: Correlated,
    /// Share of packets that are spoilt: their checksum fails, so the receiver's host drops them.
    #[serde(default)]
    pub corrupt: Correlated,
    /// The wire's own rate with its per-packet overhead, cell size and cell overhead, in bytes.
    #[serde(default)]
    pub rate: Option<NetemRate>,
    /// Packets leave in slots.
    #[serde(default)]
    pub slot: Option<SlotConfig>,
    /// Where its random numbers begin (`TCA_NETEM_PRNG_SEED`); none: drawn from the run's dice.
    #[serde(default)]
    pub seed: Option<u64>,
    /// A discipline below.
    #[serde(default)]
    pub inner: Option<Box<Node>>,
}

/// netem's slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    /// The least time from one slot to the next.
    pub least: Span,
    /// The most; between the two it is drawn.
    pub most: Span,
    /// Most packets in a slot.
    pub packets: u32,
    /// Most bytes, but for the packet that exceeds them.
    pub bytes: u32,
}

/// netem's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetemRate {
    /// Bytes a second.
    pub rate: Rate,
    /// Added to each packet's length.
    #[serde(default)]
    pub packet_overhead: i32,
    /// Cells are sent whole; 0 is none.
    #[serde(default)]
    pub cell_size: u32,
    /// Added to each cell.
    #[serde(default)]
    pub cell_overhead: i32,
}

/// Shape of netem's jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Even between minus and plus the jitter (netem without a table).
    #[default]
    Uniform,
    /// The normal distribution.
    Normal,
    /// Pareto's.
    Pareto,
    /// A quarter normal, three quarters Pareto, as iproute2 makes it.
    Paretonormal,
}

/// netem's loss models (tc-netem(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each packet by itself, or correlated with the last.
    Random(Correlated),
    /// The four-state Markov model: p13, p31, p32, p23, p14.
    State {
        /// Good to lost in a burst.
        p13: Chance,
        /// Burst loss back to good.
        p31: Chance,
        /// Burst loss to burst reception.
        p32: Chance,
        /// Burst reception to burst loss.
        p23: Chance,
        /// Good to a single loss.
        p14: Chance,
    },
    /// Gilbert-Elliott, as the kernel gets it: tc's `gemodel p r 1-h 1-k` with its third number turned round.
    Gemodel {
        /// Good to bad.
        p: Chance,
        /// Bad to good.
        r: Chance,
        /// A packet passes though the state is bad: 2³²−1 less what tc calls `1-h`; 0 loses all of them.
        h: Chance,
        /// A packet is lost though the state is good (tc's `1-k`).
        k1: Chance,
    },
    /// Exactly one packet in `every`: for comparison with theory, which assumes it; tc has no word for it.
    Every {
        /// How many packets between two losses, the lost one included.
        every: u64,
    },
}

/// red, as the kernel gets it from tc: `struct tc_red_qopt`, the table and `max_P` (iproute2 `tc/q_red.c`, `tc_red.c`).
///
/// An average is in bytes. tc never asks for `adaptive` so that Linux hears it: since iproute2 5.7 the flag goes
/// into another attribute than the one that arms the timer (`__red_change`). To do what Linux does, leave it off.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that tc has")]
pub struct RedConfig {
    /// Most bytes in the built-in bfifo.
    pub limit: u64,
    /// `qth_min`: below this average nothing happens.
    pub min: u32,
    /// `qth_max`: from this average on every packet is hit.
    pub max: u32,
    /// `Wlog`: the average's weight is 2⁻ʷˡᵒᵍ (`tc_red_eval_ewma`).
    pub wlog: u8,
    /// `Plog`: slope of the probability (`tc_red_eval_P`); used only when `max_p` is 0.
    pub plog: u8,
    /// `Scell_log`: an entry of `idle_damping` stands for 2^`scell_log` µs of idleness (`tc_red_eval_idle_damping`).
    pub scell_log: u8,
    /// `Stab`: 256 numbers below 32, the bits that an average is shifted by after so many cells of idleness.
    pub idle_damping: Vec<u8>,
    /// `max_P`: probability at `max`, in units of 2⁻³².
    pub max_p: Chance,
    /// Mark instead of dropping where the packet allows it.
    #[serde(default)]
    pub ecn: bool,
    /// Drop rather than mark above `max`.
    #[serde(default)]
    pub harddrop: bool,
    /// Never drop what can't be marked.
    #[serde(default)]
    pub nodrop: bool,
    /// Adapt `max_p` every 500 ms.
    #[serde(default)]
    pub adaptive: bool,
    /// A discipline in the place of the built-in bfifo.
    #[serde(default)]
    pub inner: Option<Node>,
}

/// codel (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    /// Most packets.
    pub limit: u32,
    /// Sojourn time that may stand.
    pub target: Span,
    /// How long it may be exceeded.
    pub interval: Span,
    /// Mark instead of dropping.
    pub ecn: bool,
    /// Mark above this sojourn time, always.
    #[serde(default)]
    pub ce_threshold: Option<Span>,
    /// And only packets whose ECN bits, under the second number as mask, are the first (`ce_threshold_selector`).
    #[serde(default)]
    pub ce_selector: Option<(u8, u8)>,
    /// The device's MTU with its header: less than this much backlog is never dropped from.
    pub mtu: u32,
}

/// `fq_codel` (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Most packets in all queues.
    pub limit: u32,
    /// Queues.
    pub flows: u32,
    /// Deficit round robin's share.
    pub quantum: u32,
    /// Most memory.
    pub memory_limit: u64,
    /// Most packets dropped from the fattest flow at once.
    pub drop_batch: u32,
    /// What each flow's codel does; its `limit` is not used.
    pub codel: CodelConfig,
}
