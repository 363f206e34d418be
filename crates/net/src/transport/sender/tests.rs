//! Dialogues with a sender: its packets, the replies, and its reactions.
//!
//! Numbers are Linux's with MSS 1000, so a packet's number is its sequence number over a thousand. The controller is a
//! plain Reno: the window halves on loss and grows by the acknowledged packets.

mod dialogue;
mod hooks;
mod loss_recovery;
mod network;
mod pace;
mod pieces;
pub(crate) mod receiver;
mod reno;
mod times;

pub(super) use dialogue::settings;
