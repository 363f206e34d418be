//! A segment on the scoreboard: when it was sent, what was delivered by then, and its state.
//!
//! A record is one cache line. Its first sequence number is the end of the previous record.

/// No record.
pub(super) const NONE: u32 = u32::MAX;

/// A segment's state (Linux's `TCPCB_*`).
///
/// ```text
///   marks       in flight   meaning
///   none            1       in flight
///   SACKED          0       arrived
///   LOST            0       lost
///   LOST|RETRANS    1       lost, its retransmission is in flight
///   SACKED|RETRANS  1       arrived, its retransmission is in flight too
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u16);

impl Marks {
    /// No mark.
    pub const EMPTY: Self = Self(0);
    /// The receiver has it (`TCPCB_SACKED_ACKED`).
    pub const SACKED: Self = Self(1);
    /// Its retransmission is in flight (`TCPCB_SACKED_RETRANS`).
    pub const RETRANS: Self = Self(1 << 1);
    /// It was retransmitted at least once (`TCPCB_EVER_RETRANS`).
    pub const EVER: Self = Self(1 << 2);
    /// It is marked lost (`TCPCB_LOST`).
    pub const LOST: Self = Self(1 << 3);
    /// RACK marked it lost, which removed it from the order of transmission.
    pub const OVERDUE: Self = Self(1 << 4);
    /// The application was the limit when it was sent.
    pub const APP_LIMITED: Self = Self(1 << 5);
    /// It carries FIN.
    pub const FIN: Self = Self(1 << 6);
    /// It carries PSH.
    pub const PSH: Self = Self(1 << 7);
    /// A packet starts with it.
    pub const FIRST: Self = Self(1 << 8);
    /// It is in the list by order of transmission.
    pub const LISTED: Self = Self(1 << 9);
    /// Either mark of a retransmission (`TCPCB_RETRANS`).
    pub const RETRANSMITTED: Self = Self(Self::RETRANS.0 | Self::EVER.0);
    /// All marks that loss recovery reads.
    pub const TAGS: Self = Self(Self::SACKED.0 | Self::RETRANSMITTED.0 | Self::LOST.0);

    /// Is any of these set?
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Has it arrived, with no retransmission in flight?
    pub const fn is_arrived(self) -> bool {
        self.only(Self(Self::SACKED.0 | Self::RETRANS.0 | Self::LOST.0)).0 == Self::SACKED.0
    }

    /// The marks that are in both.
    pub const fn only(self, these: Self) -> Self {
        Self(self.0 & these.0)
    }

    /// Sets these marks.
    pub const fn set(&mut self, marks: Self) {
        self.0 |= marks.0;
    }

    /// Clears these marks.
    pub const fn clear(&mut self, marks: Self) {
        self.0 &= !marks.0;
    }

    /// The marks that are in either.
    pub const fn with(self, marks: Self) -> Self {
        Self(self.0 | marks.0)
    }

    /// These marks if the condition holds, else none.
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::EMPTY }
    }
}

/// An outstanding segment. Times are in microseconds, as in Linux.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Record {
    /// The sequence number after it, FIN included.
    pub end: u64,
    /// Time of its last transmission.
    pub sent_us: u64,
    /// Delivery rate: time of the last delivery when it was sent; 0 when its sample was used.
    pub delivered_us: u64,
    /// Delivery rate: packets delivered when it was sent.
    pub delivered: u64,
    /// Of those, packets with CE, modulo 2^32.
    pub delivered_ce: u32,
    /// Delivery rate: length of the send phase (32 bits, as in `tcp_stamp_us_delta`).
    pub send_phase_us: u32,
    /// Packets in flight when it was sent, including it.
    pub in_flight: u32,
    /// Packets lost when it was sent, modulo 2^32.
    pub lost: u32,
    /// Serial number of its last transmission; shows whether it is still in the host's queue.
    pub serial: u32,
    pub(super) older: u32,
    pub(super) newer: u32,
    /// Nanoseconds of `sent_us` beyond its microsecond.
    pub sent_rest_ns: u16,
    /// Its state.
    pub marks: Marks,
}

impl Record {
    /// Does it end by `una`, and was it sent once and neither SACKed nor lost?
    pub fn is_plain_by(&self, una: u64) -> bool {
        self.end <= una && self.marks.only(Marks::TAGS.with(Marks::LISTED)) == Marks::LISTED
    }

    /// Key of the order of transmission: time, then sequence (`tcp_skb_sent_after`).
    pub const fn order(&self) -> (u64, u64) {
        (self.sent_us, self.end)
    }
}
