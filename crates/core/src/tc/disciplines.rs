//! Every kind of qdisc: its grammar, the attributes that tc sends, and the settings that Linux makes of them.

use crate::queue::Config;
use crate::queue::attributes::Attributes;
use crate::queue::{
    cake, choke, codel, drr, dualpi2, ets, fifo, fq, fq_codel, fq_pie, gred, hhf, htb, netem, pie, prio, red, sfb, sfq,
    tbf,
};
use crate::tc_syntax::attributes::{AttributeBytes, OPTIONS};
use crate::tc_syntax::grammar::{Argument, Grammar, Keyword, Options, flag, option};
use crate::tc_syntax::{Device, Wrong};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

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
    "bfifo" => Bfifo(fifo::tc::Bytes),
    "cake" => Cake(cake::tc::Cake),
    "choke" => Choke(choke::tc::Choke),
    "codel" => Codel(codel::tc::Codel),
    "drr" => Drr(drr::tc::Drr),
    "dualpi2" => DualPi2(dualpi2::tc::DualPi2),
    "ets" => Ets(ets::tc::Ets),
    "fq" => Fq(fq::tc::Fq),
    "fq_codel" => FqCodel(fq_codel::tc::FqCodel),
    "fq_pie" => FqPie(fq_pie::tc::FqPie),
    "gred" => Gred(gred::tc::Gred),
    "hhf" => Hhf(hhf::tc::Hhf),
    "htb" => Htb(htb::tc::Htb),
    "netem" => Netem(netem::tc::Netem),
    "pfifo" => Pfifo(fifo::tc::Packets),
    "pfifo_fast" => PfifoFast(fifo::tc::Fast),
    "pfifo_head_drop" => PfifoHeadDrop(fifo::tc::HeadDrop),
    "pie" => Pie(pie::tc::Pie),
    "prio" => Prio(prio::tc::Prio),
    "red" => Red(red::tc::Red),
    "sfb" => Sfb(sfb::tc::Sfb),
    "sfq" => Sfq(sfq::tc::Sfq),
    "tbf" => Tbf(tbf::tc::Tbf),
}

fn names() -> alloc::string::String {
    SIMULATED.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ")
}

/// Kinds that only a kernel has.
pub const KERNEL_ONLY: &[(&str, Grammar)] = &[("skbprio", &[SKBPRIO])];

const SKBPRIO: &[Keyword] = &[option("limit", &[Argument::Packets])];
/// Sends skbprio's options (iproute2 `tc/q_skbprio.c`).
pub(crate) fn skbprio(words: &[&str], to: &mut AttributeBytes) -> Result<(), Wrong> {
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
