//! When to acknowledge: at once, with the second segment, or when a timer fires (RFC 1122 section 4.2.3.2, RFC 5681
//! section 4.2), as Linux decides it (`inet_connection_sock.icsk_ack`).
//!
//! ```text
//!                      quick ACKs used up
//!   Quick (each segment) ---------------> Delayed (second segment, or timer)
//!     ^  ^                                  |    ^
//!     |  +--- idle, CE, duplicate data -----+    | timer fired
//!     |                                     |    |
//!     +------- the same events ------- Pingpong (timer only: the answer will carry it)
//! ```
//!
//! Duplicate ACKs for data out of order are sent at once three times, then compressed. What an ACK says is
//! the receiver's affair.

use crate::time::{Span, Time};
use crate::transport::wheel::at_jiffy;

/// The delayed-ACK engine.
#[derive(Debug)]
pub(super) struct Delay {
    /// Guess at the peer's segment size (`rcv_mss`).
    pub rcv_mss: u32,
    /// Size of the last small segment; two alike lower `rcv_mss`.
    last_size: u32,
    /// What waits (`icsk_ack.pending`), a set of the constants below.
    pending: u8,
    /// ACKs still to be sent at once.
    pub quick: u8,
    /// Expected time between segments, in jiffies; 0 before the first.
    ato: u8,
    /// The session answers what it hears (`pingpong`).
    pingpong: bool,
    /// The route says so: each segment is acknowledged at once.
    always_quick: bool,
    /// Compressed duplicate ACKs.
    compressed: u8,
    /// Duplicate ACKs sent at once since `rcv_nxt` stood at `dups_at`.
    dups: u8,
    dups_at: u64,
    /// When the compressed ones are sent.
    flush_at: Time,
    /// The ACK that is due was kept back: it leaves with the time of what was heard last.
    kicked: bool,
    /// When something came or was read last.
    pub heard_at: Time,
    /// Jiffy for which the delayed ACK's timer was set last; 0 for never. Whether an ACK waits for it, [`TIMER`] says.
    deadline: u64,
    /// Jiffy of the last data (`lrcvtime`).
    heard: u64,
    /// The sender half's smoothed round-trip time, in eighths of a microsecond; 0 when unknown.
    srtt_us8: u32,
    /// Its retransmission timeout in jiffies.
    rto: u32,
}

impl Delay {
    pub const fn new(always_quick: bool) -> Self {
        Self {
            rcv_mss: MSS_GUESS,
            last_size: 0,
            pending: 0,
            quick: 0,
            ato: 0,
            pingpong: false,
            always_quick,
            compressed: 0,
            dups: 0,
            dups_at: 0,
            flush_at: Time::NEVER,
            kicked: false,
            heard_at: Time::ZERO,
            deadline: 0,
            heard: 0,
            srtt_us8: 0,
            rto: INITIAL_RTO,
        }
    }

    /// The connection is established; `window` is what was offered (`tcp_initialize_rcv_mss`).
    pub fn start(&mut self, now: Time, mss: u32, window: u32) {
        self.rcv_mss = mss.min(window / 2).clamp(LEAST_MSS, MSS_GUESS);
        self.heard = now.jiffies();
    }

    /// What the sender half has measured.
    pub fn set_rtt(&mut self, srtt: Span, rto: Span) {
        self.srtt_us8 = u32::try_from(srtt.as_nanos() / 125).unwrap_or(u32::MAX);
        self.rto = u32::try_from(rto.as_nanos() / Span::from_jiffies(1).as_nanos()).unwrap_or(u32::MAX);
    }

    /// Something is to be acknowledged, sooner or later.
    pub fn schedule(&mut self) {
        self.pending |= SCHEDULED;
    }

    /// It is to be acknowledged at once.
    pub fn hurry(&mut self) {
        self.pending |= NOW;
    }

    /// A segment found no memory: the ACK offers no window.
    pub fn out_of_memory(&mut self) {
        self.pending |= NOW | NO_MEMORY | SCHEDULED;
    }

    /// Is an ACK waiting for something?
    pub fn is_scheduled(&self) -> bool {
        self.pending & SCHEDULED != 0
    }

    /// Does an ACK wait for the timer (`ICSK_ACK_TIMER`)?
    pub fn is_delaying(&self) -> bool {
        self.pending & TIMER != 0
    }

    /// An ACK left that says nothing of the newest data: it ends compression only (`tcp_event_ack_sent`).
    pub fn on_past_ack_sent(&mut self) {
        self.compressed = 0;
        self.flush_at = Time::NEVER;
    }

    /// Must the next ACK offer no window?
    pub fn is_out_of_memory(&self) -> bool {
        self.pending & NO_MEMORY != 0
    }

    /// Was something small or pushed read that an idle peer may wait for an ACK of (`tcp_cleanup_rbuf`)?
    pub fn wants_ack_when_drained(&self) -> bool {
        self.pending & PUSHED_AGAIN != 0 || (self.pending & PUSHED != 0 && !self.pingpong)
    }

    /// The next ACKs go out at once; `window` limits how many (`tcp_enter_quickack_mode`).
    pub fn be_quick(&mut self, most: u8, window: u32) {
        self.more_quick(most, window);
        self.pingpong = false;
        self.ato = ATO_MIN;
    }

    fn more_quick(&mut self, most: u8, window: u32) {
        let fits = window / (2 * self.rcv_mss);
        let quick = if fits == 0 { 2 } else { u8::try_from(fits).unwrap_or(u8::MAX) }.min(most);
        self.quick = self.quick.max(quick);
    }

    /// Is each segment acknowledged at once (`tcp_in_quickack_mode`)?
    pub fn is_quick(&self) -> bool {
        self.always_quick || (self.quick > 0 && !self.pingpong)
    }

    /// Must an ACK go out now, whatever else?
    pub fn is_hurried(&self) -> bool {
        self.pending & NOW != 0
    }

    /// The session waits for answers (a FIN came).
    pub fn enter_pingpong(&mut self) {
        self.pingpong = true;
    }

    /// Looks at a segment's size (`tcp_measure_rcv_mss`); says whether it is a new one, so that memory is measured too.
    /// `size` is one segment's payload, `options` what SACK takes in its header.
    pub fn measure_mss(&mut self, size: u32, options: u32, pushed: bool, closes: bool, mss: u32) -> bool {
        let last = core::mem::take(&mut self.last_size);
        if size >= self.rcv_mss {
            let new = size != self.rcv_mss;
            self.rcv_mss = size.min(mss);
            if pushed {
                self.pending |= PUSHED;
            }
            return new;
        }
        // Without SACK's jitter the size is constant if the peer sends full segments.
        let with_header = size + options + TCP_HEADER;
        if with_header >= MSS_GUESS + 20 || (with_header >= LEAST_MSS + 20 && !pushed && !closes) {
            self.last_size = size + options;
            if self.last_size == last {
                self.rcv_mss = self.last_size;
                return false;
            }
        }
        if self.pending & PUSHED != 0 {
            self.pending |= PUSHED_AGAIN;
        }
        self.pending |= PUSHED;
        false
    }

    /// Data came in order: how long do they take to follow each other (`tcp_event_data_recv`)?
    #[inline]
    pub fn on_data(&mut self, now: Time, window: u32) {
        let jiffy = now.jiffies();
        let gap = jiffy - self.heard;
        if self.ato == 0 {
            self.more_quick(MOST_QUICK, window);
            self.ato = ATO_MIN;
        } else if gap <= u64::from(ATO_MIN / 2) {
            self.ato = (self.ato >> 1) + ATO_MIN / 2;
        } else if gap < u64::from(self.ato) {
            let longer = u64::from(self.ato >> 1) + gap;
            self.ato = bounded(longer.min(u64::from(self.rto)));
        } else if gap > u64::from(self.rto) {
            // The sender has been idle and begins with a small window.
            self.more_quick(MOST_QUICK, window);
        }
        self.heard = jiffy;
    }

    /// Data were sent: an answer to what was just heard makes the session a dialogue (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Time) {
        // Before the first data `ato` is 0: nothing was heard that this could answer.
        if self.ato > 0 && !self.pingpong {
            self.pingpong = now.jiffies() - self.heard < u64::from(self.ato);
        }
    }

    /// Sets the timer for a delayed ACK, unless it is about to fire (`tcp_send_delayed_ack`). Says: send it now.
    pub fn wait(&mut self, now: Time) -> bool {
        let jiffy = now.jiffies();
        let ato = self.patience();
        let mut deadline = jiffy + u64::from(ato);
        if self.pending & TIMER != 0 {
            if self.deadline <= jiffy + u64::from(ato >> 2) {
                return true;
            }
            deadline = deadline.min(self.deadline);
        }
        self.pending |= SCHEDULED | TIMER;
        self.deadline = deadline;
        false
    }

    /// For how many jiffies an ACK may be delayed.
    fn patience(&self) -> u8 {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let mut most = if self.pingpong || self.pending & PUSHED != 0 { DELAY_MAX } else { HALF_SECOND };
            if self.srtt_us8 > 0 {
                let rtt = (self.srtt_us8 >> 3).div_ceil(JIFFY_US).max(u32::from(ATO_MIN));
                most = most.min(u8::try_from(rtt).unwrap_or(u8::MAX));
            }
            ato = ato.min(most);
        }
        // RTO's minimum less one jiffy (`tcp_delack_max`).
        ato.min(DELAY_MAX - 1)
    }

    /// Data are out of order, and nothing demands an ACK at once: send it, or keep it for a while?
    /// `rtt_us8` is autotuning's round trip. Says: send it now.
    pub fn compress(&mut self, now: Time, rcv_nxt: u64, rtt_us8: u32) -> bool {
        if self.compressed >= MOST_COMPRESSED {
            return true;
        }
        if self.dups_at != rcv_nxt {
            self.dups_at = rcv_nxt;
            self.dups = 0;
        }
        if self.dups < DUPLICATES_AT_ONCE {
            self.dups += 1;
            return true;
        }
        self.compressed += 1;
        if !self.flush_at.is_set() {
            let flush_at = now + self.compression(rtt_us8) + COMPRESSION_SLACK;
            self.flush_at = self.standing_timer(now).map_or(flush_at, |at| flush_at.min(at));
        }
        false
    }

    /// When the delayed ACK's timer rings although its ACK was sent: Linux lets it stand, and when it rings, what is
    /// kept back is sent, before anything else is asked (`inet_csk_clear_xmit_timer`, `tcp_delack_timer_handler`).
    fn standing_timer(&self, now: Time) -> Option<Time> {
        let rings = at_jiffy(self.deadline + 1);
        (self.deadline > 0 && rings > now).then_some(rings)
    }

    /// A twentieth of the round trip, 1 ms at most.
    fn compression(&self, rtt_us8: u32) -> Span {
        let rtt = if self.srtt_us8 > 0 { rtt_us8.min(self.srtt_us8) } else { rtt_us8 };
        Span::from_nanos(u64::from(rtt) * 125 / 20).min(COMPRESSION_MAX)
    }

    /// Are duplicate ACKs being kept back?
    pub fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    /// An ACK left, alone or with data (`tcp_event_ack_sent`).
    #[inline]
    pub fn on_ack_sent(&mut self) {
        // Nothing waited, so none is used up.
        if self.pending != 0 || self.compressed != 0 {
            self.use_up();
        }
    }

    fn use_up(&mut self) {
        self.compressed = 0;
        self.flush_at = Time::NEVER;
        let used = u8::from(self.is_scheduled());
        if self.quick > 0 {
            if used >= self.quick {
                self.quick = 0;
                self.ato = ATO_MIN;
            } else {
                self.quick -= used;
            }
        }
        self.pending = 0;
    }

    /// The time that the ACK which leaves now tells of itself (TSval).
    #[inline]
    pub fn stamp(&mut self, now: Time) -> Time {
        if core::mem::take(&mut self.kicked) { self.heard_at } else { now }
    }

    /// When a timer wants to be heard.
    pub fn next_timer(&self) -> Time {
        if self.pending & TIMER == 0 { self.flush_at } else { at_jiffy(self.deadline + 1).min(self.flush_at) }
    }

    /// A timer's time has come, perhaps. Says: send an ACK now.
    pub fn on_timer(&mut self, now: Time) -> bool {
        if now >= self.flush_at {
            self.flush_at = Time::NEVER;
            // The delayed ACK's timer looks at the clock; that of kept ACKs doesn't (`tcp_compressed_ack_kick`).
            self.kicked = self.deadline == 0 || now < at_jiffy(self.deadline + 1);
            return true;
        }
        if self.pending & TIMER == 0 || now < at_jiffy(self.deadline + 1) {
            return false;
        }
        if self.compressed > 0 {
            return true;
        }
        self.pending &= !TIMER;
        if !self.is_scheduled() {
            return false;
        }
        if self.pingpong {
            // The answer did not come.
            self.pingpong = false;
            self.ato = ATO_MIN;
        } else {
            self.ato = bounded((u64::from(self.ato) << 1).min(u64::from(self.rto)));
        }
        true
    }
}

fn bounded(jiffies: u64) -> u8 {
    u8::try_from(jiffies.min(u64::from(DELAY_MAX))).unwrap_or(DELAY_MAX)
}

/// An ACK is due some time.
const SCHEDULED: u8 = 1;
/// The timer is set.
const TIMER: u8 = 2;
/// A small or pushed segment came.
const PUSHED: u8 = 4;
/// And another.
const PUSHED_AGAIN: u8 = 8;
/// The protocol wants it at once.
const NOW: u8 = 16;
/// A segment was dropped for want of memory.
const NO_MEMORY: u8 = 32;

/// `TCP_MAX_QUICKACKS`.
pub(super) const MOST_QUICK: u8 = 16;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`: 40 ms.
const ATO_MIN: u8 = 10;
/// `TCP_DELACK_MAX`: 200 ms.
const DELAY_MAX: u8 = 50;
/// Half a second.
const HALF_SECOND: u8 = 125;
/// Microseconds of a jiffy.
const JIFFY_US: u32 = 4_000;
/// `TCP_TIMEOUT_INIT`, in jiffies.
const INITIAL_RTO: u32 = 250;
/// `TCP_MSS_DEFAULT`.
const MSS_GUESS: u32 = 536;
/// `TCP_MIN_MSS`.
const LEAST_MSS: u32 = 88;
/// TCP header with timestamps.
const TCP_HEADER: u32 = 32;
/// `TCP_FASTRETRANS_THRESH`: duplicate ACKs that a sender may need soon.
const DUPLICATES_AT_ONCE: u8 = 3;
/// `tcp_comp_sack_nr`.
const MOST_COMPRESSED: u8 = 44;
/// `tcp_comp_sack_delay_ns`.
const COMPRESSION_MAX: Span = Span::from_millis(1);
/// `tcp_comp_sack_slack_ns`: the timer may fire later by this, and does unless another one is due before.
const COMPRESSION_SLACK: Span = Span::from_micros(100);
