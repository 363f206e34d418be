//! Layouts of the agent's records: little-endian, fixed size, no uninitialised padding.

/// Bytes kept of `struct tcp_info`: Linux 6.12 fills 248, older ones fewer.
pub const TCP_INFO_BYTES: usize = 256;
/// Bytes kept of congestion control info: `union tcp_cc_info` has 20.
pub const CC_INFO_BYTES: usize = 32;
/// [`FlowRecord::cc_kind`] of a UDP flow: its `info` starts with the bytes sent.
pub const UDP: u16 = 0xFFFF;
/// The time of what did not happen, the count of what is not counted.
pub const NEVER: u64 = u64::MAX;

/// A field of a record: its name, and its type as numpy writes it.
pub type Field = (&'static str, String);

/// A type of a field.
trait Encode {
    fn numpy() -> String;
    fn put(&self, out: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Encode for $kind {
            fn numpy() -> String {
                format!("<u{}", size_of::<Self>())
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

numbers!(u16, u32, u64);

/// Bytes that the kernel wrote, cut or filled with zeros to a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'a, const N: usize>(pub &'a [u8]);

impl<const N: usize> Encode for Kept<'_, N> {
    fn numpy() -> String {
        format!("V{N}")
    }

    fn put(&self, out: &mut Vec<u8>) {
        let kept = &self.0[..self.0.len().min(N)];
        out.extend_from_slice(kept);
        out.resize(out.len() + N - kept.len(), 0);
    }
}

/// Declares a record: a struct, its encoding and its fields.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident$(<$life:lifetime>)? { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $name$(<$life>)? {
            $($(#[$field_meta])* pub $field: $kind,)*
        }

        impl$(<$life>)? $name$(<$life>)? {
            /// Appends the record's bytes.
            pub fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            /// Its fields in order.
            #[must_use]
            pub fn fields() -> Vec<Field> {
                vec![$((stringify!($field), <$kind as Encode>::numpy())),*]
            }
        }
    };
}

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

/// Every record by the name of its file, without suffix.
#[must_use]
pub fn layouts() -> [(&'static str, Vec<Field>); 3] {
    [("flows", FlowRecord::fields()), ("queues", QueueRecord::fields()), ("probes", ProbeRecord::fields())]
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
    fn a_field_has_the_type_of_numpy() {
        let fields = FlowRecord::fields();
        assert_eq!(fields[0], ("time_ns", "<u8".into()));
        assert_eq!(fields[8], ("info", "V256".into()));
    }
}
