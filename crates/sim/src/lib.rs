//! A deterministic packet-level simulator: when things happen, and who is connected to whom.
//!
//! A [`plan::Plan`] goes in, tables come out; what a packet meets on its way is `dumbbell-core`'s affair.

#![forbid(unsafe_code)]

pub mod plan;
