//! Every kind of qdisc: its grammar, the attributes that tc sends, and the settings that Linux makes of them.

use crate::attributes::Attributes;
use crate::syntax::attributes::{AttributeBytes, OPTIONS};
use crate::syntax::grammar::{Argument, Grammar, Keyword, Options, flag, option};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;

pub(crate) mod cake;
pub(crate) mod choke;
pub(crate) mod codel;
pub(crate) mod drr;
pub(crate) mod dualpi2;
pub(crate) mod ets;
pub(crate) mod fifo;
pub(crate) mod fq;
pub(crate) mod fq_codel;
pub(crate) mod fq_pie;
pub(crate) mod gred;
pub(crate) mod hfsc;
pub(crate) mod hhf;
pub(crate) mod htb;
pub(crate) mod netem;
pub(crate) mod pie;
pub(crate) mod prio;
pub(crate) mod red;
pub(crate) mod sfb;
pub(crate) mod sfq;
pub(crate) mod tbf;

macro_rules! disciplines {
    ($($kind:literal => $variant:ident($attributes:ty)),+ $(,)?) => {
        /// The attributes of a qdisc of any kind.
        #[derive(Clone, Debug)]
        pub enum AnyAttributes {
            $(#[doc = concat!("`", $kind, "`")] $variant(Box<$attributes>),)+
        }

        /// Every kind that the simulator has, with its grammar.
        pub const SIMULATED: &[(&str, Grammar)] = &[$(($kind, <$attributes as Attributes>::GRAMMAR)),+];

        impl AnyAttributes {
            /// Reads a kind and its options.
            ///
            /// # Errors
            ///
            /// tc refuses them, or the simulator does not have the kind.
            pub fn parse(kind: &str, words: &[&str]) -> Result<Self, Wrong> {
                match kind {
                    $($kind => {
                        let options = Options::read(kind, words, <$attributes as Attributes>::GRAMMAR)?;
                        Ok(Self::$variant(Box::new(<$attributes as Attributes>::parse(&options)?)))
                    })+
                    _ => Err(Wrong::lacking(format!("the simulator has no '{kind}'"), format!("it has {}", names()))),
                }
            }

            /// The kind as tc writes it.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind,)+ }
            }

            /// As [`Attributes::change`].
            ///
            /// # Errors
            ///
            /// As there; another kind.
            pub fn change(&mut self, new: Self) -> Result<(), Wrong> {
                match (self, new) {
                    $((Self::$variant(old), Self::$variant(new)) => old.change(*new),)+
                    (old, new) => {
                        Err(Wrong::new(format!("a {} can't become a {}", old.kind(), new.kind()), "tc qdisc replace"))
                    }
                }
            }

            /// As [`Attributes::config`].
            ///
            /// # Errors
            ///
            /// As there.
            pub fn config(&self, device: &Device) -> Result<Config, Wrong> {
                match self { $(Self::$variant(attributes) => attributes.config(device),)+ }
            }

            /// As [`Attributes::send`].
            ///
            /// # Errors
            ///
            /// As there.
            pub fn send(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
                match self { $(Self::$variant(attributes) => attributes.send(to),)+ }
            }

            /// As [`Attributes::send_change`].
            ///
            /// # Errors
            ///
            /// As there.
            pub fn send_change(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
                match self { $(Self::$variant(attributes) => attributes.send_change(to),)+ }
            }
        }
    };
}

disciplines! {
    "bfifo" => Bfifo(fifo::Bytes),
    "cake" => Cake(cake::Cake),
    "choke" => Choke(choke::Choke),
    "codel" => Codel(codel::Codel),
    "drr" => Drr(drr::Drr),
    "dualpi2" => DualPi2(dualpi2::DualPi2),
    "ets" => Ets(ets::Ets),
    "fq" => Fq(fq::Fq),
    "fq_codel" => FqCodel(fq_codel::FqCodel),
    "fq_pie" => FqPie(fq_pie::FqPie),
    "gred" => Gred(gred::Gred),
    "hhf" => Hhf(hhf::Hhf),
    "htb" => Htb(htb::Htb),
    "netem" => Netem(netem::Netem),
    "pfifo" => Pfifo(fifo::Packets),
    "pfifo_fast" => PfifoFast(fifo::Fast),
    "pfifo_head_drop" => PfifoHeadDrop(fifo::HeadDrop),
    "pie" => Pie(pie::Pie),
    "prio" => Prio(prio::Prio),
    "red" => Red(red::Red),
    "sfb" => Sfb(sfb::Sfb),
    "sfq" => Sfq(sfq::Sfq),
    "tbf" => Tbf(tbf::Tbf),
}

fn names() -> String {
    SIMULATED.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ")
}

/// Kinds that only a kernel has.
pub const KERNEL_ONLY: &[(&str, Grammar)] = &[("skbprio", &[SKBPRIO])];

/// Kinds that only a kernel has and that are nothing alone: of scripts.
pub const SCRIPTED: &[(&str, Grammar)] = &[("hfsc", &[hfsc::QDISC]), ("ingress", &[]), ("clsact", &[])];

/// Sends the options of a kind that only a kernel has; None: it is another.
pub(crate) fn send_kernel_only(kind: &str, words: &[&str], to: &mut AttributeBytes) -> Option<Result<(), Wrong>> {
    Some(match kind {
        "skbprio" => skbprio(words, to),
        "hfsc" => hfsc::send(words, to),
        "ingress" | "clsact" => Options::read(kind, words, &[]).map(|_| ()),
        _ => return None,
    })
}

const SKBPRIO: &[Keyword] = &[option("limit", &[Argument::Packets])];
/// Sends skbprio's options (iproute2 `tc/q_skbprio.c`).
fn skbprio(words: &[&str], to: &mut AttributeBytes) -> Result<(), Wrong> {
    let options = Options::read("skbprio", words, &[SKBPRIO])?;
    to.some_u32(OPTIONS, options.count("limit")?);
    Ok(())
}

/// An experiment's policer: a prio whose only filter polices.
pub const POLICE: &[Keyword] = &[
    option("rate", &[Argument::Rate]),
    option("burst", &[Argument::Size]),
    option("mtu", &[Argument::Size]),
    option("peakrate", &[Argument::Rate]),
];

/// What `action police` of a filter adds to [`POLICE`].
pub const POLICE_ACTION: &[Keyword] =
    &[flag("drop"), option("conform-exceed", &[Argument::OneOf(&["drop", "drop/ok", "drop/pass"])])];
