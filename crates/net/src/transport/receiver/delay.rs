//! Delayed ACKs: at once, with the second segment, or by timer (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2), as in
//! Linux (`inet_connection_sock.icsk_ack`).
//!
//! ```text
//!                      quick ACKs used up
//!   Quick (each segment) ---------------> Delayed (second segment, or timer)
//!     ^  ^                                  |    ^
//!     |  +--- idle, CE, duplicate data -----+    | timer fired
//!     |                                     |    |
//!     +------- the same events ------- Pingpong (timer only: the reply will carry it)
//! ```
//!
//! Duplicate ACKs for data out of order are sent at once three times, then compressed. The receiver decides the
//! contents of an ACK.

use crate::time::{Span, Time};
use crate::wheel::at_jiffy;

/// State of delayed and compressed ACKs.
#[derive(Debug)]
pub(super) struct Delay {
    /// Estimate of the peer's segment size (`rcv_mss`).
    pub rcv_mss: u32,
    /// Size of the last small segment; two of the same size lower `rcv_mss`.
    last_size: u32,
    /// Pending reasons for an ACK (`icsk_ack.pending`), a set of the constants below.
    pending: u8,
    /// ACKs still to send at once.
    pub quick_acks: u8,
    /// Expected time between segments, in jiffies; 0 before the first.
    ato: u8,
    /// The connection is interactive: replies carry ACKs (`pingpong`).
    pingpong: bool,
    /// The route's `quickack`: each segment is acknowledged at once.
    route_quickack: bool,
    /// Compressed duplicate ACKs.
    compressed: u8,
    /// Duplicate ACKs sent at once since `rcv_nxt` was `dups_at`.
    dups: u8,
    dups_at: u64,
    /// When the compressed ones are sent.
    flush_at: Time,
    /// The pending ACK was compressed: it is sent with the time of the last arrival.
    kicked: bool,
    /// Time of the last arrival or read.
    pub last_event_at: Time,
    /// Jiffy of the delayed ACK timer's last setting; 0 for never. [`TIMER`] shows whether an ACK waits for it.
    deadline: u64,
    /// Jiffy of the last data (`lrcvtime`).
    last_data: u64,
    /// The sender's smoothed round-trip time, in eighths of a microsecond; 0 when unknown.
    srtt_us8: u32,
    /// The sender's retransmission timeout in jiffies.
    rto: u32,
}

impl Delay {
    pub const fn new(route_quickack: bool) -> Self {
        Self {
            rcv_mss: MSS_GUESS,
            last_size: 0,
            pending: 0,
            quick_acks: 0,
            ato: 0,
            pingpong: false,
            route_quickack,
            compressed: 0,
            dups: 0,
            dups_at: 0,
            flush_at: Time::NEVER,
            kicked: false,
            last_event_at: Time::ZERO,
            deadline: 0,
            last_data: 0,
            srtt_us8: 0,
            rto: INITIAL_RTO,
        }
    }

    /// The connection is established; `window` is the offered window (`tcp_initialize_rcv_mss`).
    pub fn start(&mut self, now: Time, mss: u32, window: u32) {
        self.rcv_mss = mss.min(window / 2).clamp(MIN_MSS, MSS_GUESS);
        self.last_data = now.jiffies();
    }

    /// Takes the sender's measurements.
    pub fn set_rtt(&mut self, srtt: Span, rto: Span) {
        self.srtt_us8 = u32::try_from(srtt.as_nanos() / 125).unwrap_or(u32::MAX);
        self.rto = u32::try_from(rto.as_nanos() / Span::from_jiffies(1).as_nanos()).unwrap_or(u32::MAX);
    }

    /// Something has to be acknowledged, at once or later.
    pub fn schedule(&mut self) {
        self.pending |= SCHEDULED;
    }

    /// It has to be acknowledged at once.
    pub fn request_ack_now(&mut self) {
        self.pending |= NOW;
    }

    /// A segment found no memory: the ACK offers no window.
    pub fn out_of_memory(&mut self) {
        self.pending |= NOW | NO_MEMORY | SCHEDULED;
    }

    /// Is an ACK pending?
    pub fn is_scheduled(&self) -> bool {
        self.pending & SCHEDULED != 0
    }

    /// Is an ACK waiting for the timer (`ICSK_ACK_TIMER`)?
    pub fn is_delaying(&self) -> bool {
        self.pending & TIMER != 0
    }

    /// An ACK was sent that does not cover the newest data: it only ends compression (`tcp_event_ack_sent`).
    pub fn on_past_ack_sent(&mut self) {
        self.compressed = 0;
        self.flush_at = Time::NEVER;
    }

    /// Must the next ACK offer no window?
    pub fn is_out_of_memory(&self) -> bool {
        self.pending & NO_MEMORY != 0
    }

    /// Was small or pushed data read for whose ACK an idle peer may be waiting (`tcp_cleanup_rbuf`)?
    pub fn is_ack_due_when_drained(&self) -> bool {
        self.pending & PUSHED_TWICE != 0 || (self.pending & PUSHED != 0 && !self.pingpong)
    }

    /// Sends the next ACKs at once; `window` limits their number (`tcp_enter_quickack_mode`).
    pub fn enter_quickack_mode(&mut self, maximum: u8, window: u32) {
        self.extend_quickack_mode(maximum, window);
        self.pingpong = false;
        self.ato = ATO_MIN;
    }

    fn extend_quickack_mode(&mut self, maximum: u8, window: u32) {
        let fits = window / (2 * self.rcv_mss);
        let quick_acks = if fits == 0 { 2 } else { u8::try_from(fits).unwrap_or(u8::MAX) }.min(maximum);
        self.quick_acks = self.quick_acks.max(quick_acks);
    }

    /// Is each segment acknowledged at once (`tcp_in_quickack_mode`)?
    pub fn in_quickack_mode(&self) -> bool {
        self.route_quickack || (self.quick_acks > 0 && !self.pingpong)
    }

    /// Must an ACK be sent now in any case?
    pub fn is_ack_requested_now(&self) -> bool {
        self.pending & NOW != 0
    }

    /// The connection waits for replies (a FIN arrived).
    pub fn enter_pingpong(&mut self) {
        self.pingpong = true;
    }

    /// Measures a segment's size (`tcp_measure_rcv_mss`); returns whether it is a new one, so that memory is measured
    /// too. `size` is one segment's payload, `options` the size of SACK in its header.
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
        // Without SACK's variation the size is constant if the peer sends full segments.
        let with_header = size + options + TCP_HEADER;
        if with_header >= MSS_GUESS + 20 || (with_header >= MIN_MSS + 20 && !pushed && !closes) {
            self.last_size = size + options;
            if self.last_size == last {
                self.rcv_mss = self.last_size;
                return false;
            }
        }
        if self.pending & PUSHED != 0 {
            self.pending |= PUSHED_TWICE;
        }
        self.pending |= PUSHED;
        false
    }

    /// Data arrived in order: updates the estimate of the time between segments (`tcp_event_data_recv`).
    #[inline]
    pub fn on_data(&mut self, now: Time, window: u32) {
        let jiffy = now.jiffies();
        let gap = jiffy - self.last_data;
        if self.ato == 0 {
            self.extend_quickack_mode(MAX_QUICK_ACKS, window);
            self.ato = ATO_MIN;
        } else if gap <= u64::from(ATO_MIN / 2) {
            self.ato = (self.ato >> 1) + ATO_MIN / 2;
        } else if gap < u64::from(self.ato) {
            let longer = u64::from(self.ato >> 1) + gap;
            self.ato = bounded(longer.min(u64::from(self.rto)));
        } else if gap > u64::from(self.rto) {
            // The sender has been idle and restarts with a small window.
            self.extend_quickack_mode(MAX_QUICK_ACKS, window);
        }
        self.last_data = jiffy;
    }

    /// Data were sent: a reply to data just received makes the connection interactive (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Time) {
        // Before the first data `ato` is 0: nothing was received that this could answer.
        if self.ato > 0 && !self.pingpong {
            self.pingpong = now.jiffies() - self.last_data < u64::from(self.ato);
        }
    }

    /// Sets the delayed ACK timer, unless it is about to fire (`tcp_send_delayed_ack`). Returns whether to send the ACK
    /// now.
    pub fn wait(&mut self, now: Time) -> bool {
        let jiffy = now.jiffies();
        let ato = self.max_delay();
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

    /// Maximum delay of an ACK in jiffies.
    fn max_delay(&self) -> u8 {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let mut maximum = if self.pingpong || self.pending & PUSHED != 0 { DELAY_MAX } else { HALF_SECOND };
            if self.srtt_us8 > 0 {
                let rtt = (self.srtt_us8 >> 3).div_ceil(JIFFY_US).max(u32::from(ATO_MIN));
                maximum = maximum.min(u8::try_from(rtt).unwrap_or(u8::MAX));
            }
            ato = ato.min(maximum);
        }
        // RTO's minimum less one jiffy (`tcp_delack_max`).
        ato.min(DELAY_MAX - 1)
    }

    /// Data are out of order, and no ACK has to leave at once. Returns whether to send it now or to compress it.
    /// `rtt_us8` is autotuning's round-trip time.
    pub fn compress(&mut self, now: Time, rcv_nxt: u64, rtt_us8: u32) -> bool {
        if self.compressed >= MAX_COMPRESSED {
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
            self.flush_at = self.leftover_timer(now).map_or(flush_at, |at| flush_at.min(at));
        }
        false
    }

    /// When the delayed ACK timer fires although its ACK was sent: Linux does not stop it, and when it fires,
    /// compressed ACKs are sent first (`inet_csk_clear_xmit_timer`, `tcp_delack_timer_handler`).
    fn leftover_timer(&self, now: Time) -> Option<Time> {
        let fires = at_jiffy(self.deadline + 1);
        (self.deadline > 0 && fires > now).then_some(fires)
    }

    /// A twentieth of the round-trip time, at most 1 ms.
    fn compression(&self, rtt_us8: u32) -> Span {
        let rtt = if self.srtt_us8 > 0 { rtt_us8.min(self.srtt_us8) } else { rtt_us8 };
        Span::from_nanos(u64::from(rtt) * 125 / 20).min(COMPRESSION_MAX)
    }

    /// Are duplicate ACKs being compressed?
    pub fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    /// An ACK was sent, alone or with data (`tcp_event_ack_sent`).
    #[inline]
    pub fn on_ack_sent(&mut self) {
        // With no ACK pending, none is used up.
        if self.pending != 0 || self.compressed != 0 {
            self.use_up();
        }
    }

    fn use_up(&mut self) {
        self.compressed = 0;
        self.flush_at = Time::NEVER;
        let used = u8::from(self.is_scheduled());
        if self.quick_acks > 0 {
            if used >= self.quick_acks {
                self.quick_acks = 0;
                self.ato = ATO_MIN;
            } else {
                self.quick_acks -= used;
            }
        }
        self.pending = 0;
    }

    /// TSval of the ACK that is sent now.
    #[inline]
    pub fn stamp(&mut self, now: Time) -> Time {
        if core::mem::take(&mut self.kicked) { self.last_event_at } else { now }
    }

    /// Time of the next timer.
    pub fn next_timer(&self) -> Time {
        if self.pending & TIMER == 0 { self.flush_at } else { at_jiffy(self.deadline + 1).min(self.flush_at) }
    }

    /// Handles an expired timer, if any. Returns whether to send an ACK now.
    pub fn on_timer(&mut self, now: Time) -> bool {
        if now >= self.flush_at {
            // The delayed ACK timer updates the clock; the compression timer does not (`tcp_compressed_ack_kick`).
            self.kicked = self.flush_at != at_jiffy(self.deadline + 1);
            self.flush_at = Time::NEVER;
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
            // The reply did not come.
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

/// An ACK is scheduled.
const SCHEDULED: u8 = 1;
/// The timer is set.
const TIMER: u8 = 2;
/// A small or pushed segment arrived.
const PUSHED: u8 = 4;
/// A second one arrived.
const PUSHED_TWICE: u8 = 8;
/// The protocol requires it at once.
const NOW: u8 = 16;
/// A segment was dropped for lack of memory.
const NO_MEMORY: u8 = 32;

/// `TCP_MAX_QUICKACKS`.
pub(super) const MAX_QUICK_ACKS: u8 = 16;
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
const MIN_MSS: u32 = 88;
/// TCP header with timestamps.
const TCP_HEADER: u32 = 32;
/// `TCP_FASTRETRANS_THRESH`: duplicate ACKs that a sender may need soon.
const DUPLICATES_AT_ONCE: u8 = 3;
/// `tcp_comp_sack_nr`.
const MAX_COMPRESSED: u8 = 44;
/// `tcp_comp_sack_delay_ns`.
const COMPRESSION_MAX: Span = Span::from_millis(1);
/// `tcp_comp_sack_slack_ns`: the timer may fire later by this, and does unless another timer fires earlier.
const COMPRESSION_SLACK: Span = Span::from_micros(100);
