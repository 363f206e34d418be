//! One segment on the scoreboard: when it was sent, what was delivered by then, and what became of it.
//!
//! A record is a cache line. Its first sequence number is where the record before it ends.

/// "No record" in a link.
pub(super) const NONE: u32 = u32::MAX;

/// What is known of a segment (Linux's `TCPCB_*`).
///
/// ```text
///   marks       in flight   meaning
///   none            1       on its way
///   SACKED          0       arrived
///   LOST            0       died
///   LOST|RETRANS    1       died, its retransmission is on its way
///   SACKED|RETRANS  1       arrived, its retransmission is on its way too
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u16);

impl Marks {
    /// No mark at all.
    pub const EMPTY: Self = Self(0);
    /// The receiver has it (`TCPCB_SACKED_ACKED`).
    pub const SACKED: Self = Self(1);
    /// Its retransmission is in flight (`TCPCB_SACKED_RETRANS`).
    pub const RETRANS: Self = Self(1 << 1);
    /// It was retransmitted at least once (`TCPCB_EVER_RETRANS`).
    pub const EVER: Self = Self(1 << 2);
    /// It is thought lost (`TCPCB_LOST`).
    pub const LOST: Self = Self(1 << 3);
    /// It was lost by RACK's verdict, and left the order of transmission by that.
    pub const OVERDUE: Self = Self(1 << 4);
    /// The application was the limit when it was sent.
    pub const APP_LIMITED: Self = Self(1 << 5);
    /// It carries FIN.
    pub const FIN: Self = Self(1 << 6);
    /// It carries PSH.
    pub const PSH: Self = Self(1 << 7);
    /// A packet began with it.
    pub const FIRST: Self = Self(1 << 8);
    /// It stands in the order of transmission.
    pub const LISTED: Self = Self(1 << 9);
    /// Either mark of a retransmission (`TCPCB_RETRANS`).
    pub const RESENT: Self = Self(Self::RETRANS.0 | Self::EVER.0);
    /// All marks that loss recovery reads.
    pub const TAGS: Self = Self(Self::SACKED.0 | Self::RESENT.0 | Self::LOST.0);

    /// Is any of these set?
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Has it arrived, and is no retransmission of it on its way?
    pub const fn is_arrived(self) -> bool {
        self.only(Self(Self::SACKED.0 | Self::RETRANS.0 | Self::LOST.0)).0 == Self::SACKED.0
    }

    /// Those of these that are set.
    pub const fn only(self, these: Self) -> Self {
        Self(self.0 & these.0)
    }

    /// Sets these.
    pub const fn set(&mut self, marks: Self) {
        self.0 |= marks.0;
    }

    /// Clears these.
    pub const fn clear(&mut self, marks: Self) {
        self.0 &= !marks.0;
    }

    /// Both together.
    pub const fn with(self, marks: Self) -> Self {
        Self(self.0 | marks.0)
    }

    /// These if the condition holds, none otherwise.
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::EMPTY }
    }
}

/// A segment that is outstanding. Times are microseconds, as Linux's.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Record {
    /// First sequence number after it, FIN included.
    pub end: u64,
    /// When it was last transmitted.
    pub sent_us: u64,
    /// Delivery rate: time of the last delivery then; 0 when its sample was used.
    pub delivered_us: u64,
    /// Delivery rate: packets delivered by then.
    pub delivered: u64,
    /// Of those with CE, modulo 2^32.
    pub delivered_ce: u32,
    /// Delivery rate: length of the send phase (`tcp_stamp_us_delta` has 32 bits, too).
    pub send_phase_us: u32,
    /// Packets in flight with it.
    pub in_flight: u32,
    /// Packets lost by then, modulo 2^32.
    pub lost: u32,
    /// Number of its last transmission; tells whether it still stands in the host's queue.
    pub serial: u32,
    pub(super) older: u32,
    pub(super) newer: u32,
    /// What is known of it.
    pub marks: Marks,
}

impl Record {
    /// Does it end by `una`, and was it sent once, without anything befalling it?
    pub fn is_plain_by(&self, una: u64) -> bool {
        self.end <= una && self.marks.only(Marks::TAGS.with(Marks::LISTED)) == Marks::LISTED
    }

    /// Place in the order of transmission: time, then sequence (`tcp_skb_sent_after`).
    pub const fn order(&self) -> (u64, u64) {
        (self.sent_us, self.end)
    }
}
