//! Dialogues with a sender: what is sent, what comes back, what it makes of it.
//!
//! Numbers are Linux's with MSS 1000, so that a packet's number is its sequence number over a thousand. The controller is
//! a plain Reno: the window halves on loss and grows by what is acknowledged.

mod dialogue;
mod hooks;
mod network;
mod pace;
mod pieces;
pub(crate) mod receiver;
mod reno;
mod story;
mod times;

pub(super) use dialogue::settings;
