//! What a queue, a controller and an endpoint do with a packet, as Linux 6.12 does it.
//!
//! Everything here is a value that is told the time and answers: no clock, no I/O, no randomness but [`dice`]
//! that were handed in, no floating point outside [`dice`]. Whoever owns a machine calls it with `now` and asks it when it wants to be
//! called next.
//!
//! | room | decides |
//! | --- | --- |
//! | [`time`], [`rate`], [`packet`], [`telemetry`], [`dice`] | the words that all other rooms speak |
//! | [`queue`] | which packet leaves a device next, and when; which one dies |
//! | [`cc`] | how large the window is, and how fast to send |
//! | [`transport`] | what to send, what to acknowledge, what was lost |
//!
//! When things happen and who is connected to whom is `dumbbell-sim`'s affair.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod cc;
pub mod dice;
pub mod packet;
pub mod queue;
pub mod rate;
pub mod telemetry;
pub mod time;
pub mod transport;
