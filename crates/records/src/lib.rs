//! What an agent writes. Records: layouts (little-endian, fixed size, no uninitialised padding), and the tables that they become.
//!
//! | module | contents |
//! | --- | --- |
//! | [`linux`] | `struct tcp_info` and the controllers' structures in a record |
//! | [`tables`] | flows, queues and probes as tables of a result |
//! | [`counters`] | the kernel's counters as a table |
//! | [`end`] | the report at the end of an experiment |

pub mod counters;
pub mod end;
mod layout;
pub mod linux;
pub mod tables;

use layout::record;
pub use layout::{Field, Kept};

/// Bytes kept of `struct tcp_info`: Linux 6.12 fills 248, older ones fewer.
pub const TCP_INFO_BYTES: usize = 256;
/// Bytes kept of congestion control info: `union tcp_cc_info` has 20.
pub const CC_INFO_BYTES: usize = 32;
/// [`FlowRecord::cc_kind`] of a UDP flow: its `info` is that of [`Datagrams`].
pub const UDP: u16 = 0xFFFF;
/// The time of what did not happen, the count of what is not counted.
pub const NEVER: u64 = u64::MAX;

record! {
    /// One flow at one instant.
    FlowRecord<'a> {
        /// Since the experiment's start.
        time_ns: u64,
        /// Index in the plan.
        flow: u32,
        /// Bytes of `info` that are known.
        info_bytes: u16,
        /// Type of congestion control info: the netlink attribute's number, 0, or [`UDP`].
        cc_kind: u16,
        /// Bytes received in order.
        bytes_received: u64,
        /// The receiver's `rcv_space`.
        rcv_space: u32,
        /// Zero.
        pad: u32,
        /// The congestion control info.
        cc: Kept<'a, CC_INFO_BYTES>,
        /// The sender's `struct tcp_info`, or its counters for UDP.
        info: Kept<'a, TCP_INFO_BYTES>,
    }
}

impl<'a> FlowRecord<'a> {
    /// What the sender's socket says.
    #[must_use]
    pub fn sent(time_ns: u64, flow: u32, cc_kind: u16, cc: &'a [u8], info: &'a [u8]) -> Self {
        let info_bytes = u16::try_from(info.len().min(TCP_INFO_BYTES)).unwrap_or(u16::MAX);
        let (cc, info) = (Kept(cc), Kept(info));
        Self { time_ns, flow, info_bytes, cc_kind, bytes_received: 0, rcv_space: 0, pad: 0, cc, info }
    }
}

/// What is known of a UDP flow: None where the receiver is on another host or has no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Payload bytes sent.
    pub sent_bytes: u64,
    /// Datagrams lost.
    pub lost: Option<u64>,
    /// Interarrival jitter.
    pub jitter_ns: Option<u64>,
    /// One-way delay of the last datagram that arrived.
    pub delay_ns: Option<u64>,
}

impl Datagrams {
    /// As bytes of [`FlowRecord::info`], in the order of the fields; [`NEVER`] for what is not known.
    #[must_use]
    pub fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let known = [Some(self.sent_bytes), self.lost, self.jitter_ns, self.delay_ns];
        for (at, value) in bytes.chunks_exact_mut(8).zip(known) {
            at.copy_from_slice(&value.unwrap_or(NEVER).to_le_bytes());
        }
        bytes
    }
}

record! {
    /// One queue at one instant.
    QueueRecord {
        /// Since the experiment's start.
        time_ns: u64,
        /// Index in the list of queues found.
        queue: u32,
        /// Packets in it.
        qlen: u32,
        /// Bytes in it.
        backlog: u32,
        /// Packets dropped.
        drops: u32,
        /// Packets that the device returned.
        requeues: u32,
        /// Times that its rate was reached.
        overlimits: u32,
        /// Bytes sent.
        sent_bytes: u64,
        /// Packets sent.
        sent_packets: u64,
        /// Packets marked; [`NEVER`] if this kind marks nothing.
        marks: u64,
    }
}

record! {
    /// The times of one probe; [`NEVER`] if it did not arrive.
    ProbeRecord {
        /// Index in the plan.
        probe: u32,
        /// Sequence number.
        sequence: u32,
        /// When it was sent, since the experiment's start.
        sent_ns: u64,
        /// When it arrived at the receiver.
        arrived_ns: u64,
        /// When its answer arrived.
        answered_ns: u64,
    }
}

/// Every record by the name of its file, without suffix, and the structures of Linux in them by their name.
#[must_use]
pub fn layouts() -> [(&'static str, Vec<Field>); 7] {
    [
        ("flows", FlowRecord::fields()),
        ("queues", QueueRecord::fields()),
        ("probes", ProbeRecord::fields()),
        ("tcp_info", linux::TcpInfo::fields()),
        ("tcp_bbr_info", linux::BbrInfo::fields()),
        ("tcp_dctcp_info", linux::DctcpInfo::fields()),
        ("tcpvegas_info", linux::VegasInfo::fields()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_cut_or_filled_to_their_size() {
        let (mut out, long) = (Vec::new(), [7; TCP_INFO_BYTES + 1]);
        FlowRecord::sent(1, 2, 3, &[1], &long).put(&mut out);
        let filled = [&[1][..], &[0; CC_INFO_BYTES - 1]].concat();
        assert!(out.ends_with(&[filled, vec![7; TCP_INFO_BYTES]].concat()));
        assert_eq!(out.len(), 8 + 4 + 2 * 2 + 8 + 2 * 4 + CC_INFO_BYTES + TCP_INFO_BYTES);
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let written =
            FlowRecord { bytes_received: 9, ..FlowRecord::sent(1, 2, 3, &[1; CC_INFO_BYTES], &[7; TCP_INFO_BYTES]) };
        let mut out = Vec::new();
        written.put(&mut out);
        assert_eq!(out.len(), FlowRecord::SIZE);
        assert_eq!(FlowRecord::get(&out), written);
        let queue = QueueRecord {
            time_ns: 1,
            queue: 2,
            qlen: 3,
            backlog: 4,
            drops: 5,
            requeues: 6,
            overlimits: 7,
            sent_bytes: 8,
            sent_packets: 9,
            marks: NEVER,
        };
        out.clear();
        queue.put(&mut out);
        assert_eq!(QueueRecord::get(&out), queue);
    }

    #[test]
    fn a_field_has_the_type_of_numpy() {
        let fields = FlowRecord::fields();
        assert_eq!(fields[0], ("time_ns", "<u8".into()));
        assert_eq!(fields[8], ("info", "V256".into()));
    }
}
