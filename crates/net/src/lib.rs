//! Queues, congestion controllers and TCP endpoints that behave as Linux 6.12's.
//!
//! Every type here is a plain value that takes the time as an argument: no clock, no I/O, no floating point,
//! and no randomness but the [`rng`] that the caller passes in. The owner
//! calls it with `now`, then requests the time of the next call.
//!
//! | module | decides |
//! | --- | --- |
//! | [`time`], [`rate`], [`packet`], [`telemetry`], [`rng`], [`seen`] | nothing: the types that all other modules use |
//! | [`queue`] | which packet leaves a device next, when, and which packet is dropped |
//! | [`cc`] | how large the window is, and how fast to send |
//! | [`netem_seed`] | with which seed netem hits one packet |
//! | [`datagrams`] | when a UDP flow sends |
//! | [`transport`] | what to send, what to acknowledge, what was lost |
//!
//! `dumbbell-sim` schedules events and connects endpoints.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

extern crate alloc;

pub mod cc;
pub mod datagrams;
pub mod netem_seed;
mod number;
pub mod packet;
pub mod probability;
pub mod queue;
pub mod rate;
pub mod rng;
pub mod seen;
#[cfg(test)]
mod table_checksum;
pub mod telemetry;
pub mod time;
pub mod transport;
pub(crate) mod wheel;
