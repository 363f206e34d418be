//! Packets as other tools read them.

mod frame;
pub mod pcap;

pub(crate) use frame::Talkers;
