//! Capture files.

mod frame;
pub mod pcap;

pub(crate) use frame::Senders;
