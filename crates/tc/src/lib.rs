//! tc's language: commands as iproute2's `tc` reads them, and the tree of qdiscs, classes and filters that they build.
//!
//! | module | holds |
//! | --- | --- |
//! | [`Command`] | a command, split once into its parts |
//! | [`disciplines`] | every kind of qdisc, and the attributes that tc sends for it |
//! | [`classes`], [`filters`] | classes of htb and drr; filters with their policer |
//! | [`SizeTable`] | sizes of a link layer (`stab`) |
//! | [`tree`] | the qdiscs of a device after each command |
//! | [`message`] | a command as the netlink message that tc sends |
//!
//! The algorithm behind each kind is in `dumbbell-net`'s module of the same name. Attributes have the units of the kernel's
//! netlink attributes; an attribute that tc does not send is None, and the kernel keeps its value or takes its default.
//! Defaults and rounding are those of iproute2 6.1 and Linux 6.12. What they refuse is refused here. So are numbers of
//! which tc would keep the low 32 or 16 bits without a word (`does not fit`), and a queue of no packets.
//!
//! [`syntax`] has the words of the language.

#![forbid(unsafe_code)]

mod attributes;
pub mod classes;
mod command;
pub mod disciplines;
pub mod filters;
pub mod message;
mod options;
mod stab;
pub mod syntax;
pub mod tree;

pub use command::{ARRIVALS, Command, Object, Target, Verb, is_of_arrivals};
pub use stab::SizeTable;
pub use syntax::{Device, Wrong, grammar, quantity, ticks};

#[cfg(test)]
mod tests;
