//! The receiving half of an endpoint: reassembly, acknowledgements, and the receive window.
//!
//! ```text
//!   segment --> accepts? --> in order --> reader's queue --> read --> (possibly an ACK)
//!                  |    \--> behind a hole --> holes
//!                  v                |
//!            duplicate ACK          v
//!                     ACK now | delayed | compressed        fill(segment): ack, window, SACK, ECE, echo
//! ```
//!
//! Modules: `arrival` processes a segment, `space` is the buffer and the window, `tuning` its autotuning, `delay`
//! decides when to acknowledge, `holes` has data out of order, `reader` is the application, `reading` what its reads
//! cause, `feedback` is ECN feedback beyond RFC 3168. The order of steps is Linux 6.12's (`tcp_rcv_established`): the segment is queued, then the sender
//! may send data that carry the ACK, then [`Receiver::take_ack`] decides whether an ACK is sent alone. The application
//! reads ([`Receiver::read`]) only when its host has processed all packets of the instant.

mod arrival;
mod delay;
mod feedback;
mod holes;
mod reader;
mod reading;
mod space;
#[cfg(test)]
mod tests;
mod tuning;

use crate::packet::{Sack, Segment};
use crate::time::{Span, Time};
use crate::transport::Settings;
use alloc::boxed::Box;
use delay::{Delay, MAX_QUICK_ACKS};
use feedback::Feedback;
use holes::Holes;
pub(super) use holes::{MAX_PAGES, pieces};
use reader::Reader;
pub(super) use space::OVERHEAD;
use space::Space;
use tuning::{Tuning, millis};

/// The receiving half of an endpoint.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Next sequence number expected.
    rcv_nxt: u64,
    /// TSval to echo (RFC 7323 section 4.3).
    ts_recent: Time,
    delay: Delay,
    space: Space,
    reader: Reader,
    tuning: Tuning,
    /// Created with the first segment out of order.
    holes: Option<Box<Holes>>,
    /// Sequence number of the peer's FIN, once known.
    fin: u64,
    /// Jiffy of the last ACK to a segment outside the window: Linux sends two per second.
    refused_at: u64,
    mss: u32,
    ecn: Echo,
    feedback: Feedback,
    ack: Ack,
    /// Is anything held in `holes`, or to be reported from there?
    disordered: bool,
    /// The window of the last ACK, while nothing has arrived or been read since: the next one would offer the same.
    repeated_window: Option<u32>,
}

/// Pending acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ack {
    /// None, or a timer is running.
    None,
    /// Decide after the sender could send data (`tcp_ack_snd_check`).
    Check,
    /// Send.
    Now,
}

/// The receiver's ECN state (RFC 3168 section 6.1.3).
///
/// ```text
///   Off        On --- ECT --> Seen --- CE ---> Echoing
///                              ^                  |
///                              +------ CWR -------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Echo {
    /// Not negotiated.
    Off,
    /// Negotiated.
    On,
    /// An ECN-capable packet arrived: one that is not must be a retransmission.
    Seen,
    /// Each ACK has ECE until the sender answers with CWR.
    Echoing,
    /// ACKs report whether the last packet was marked, and it was not; `feedback` handles changes.
    Mirroring,
    /// The last packet was marked.
    MirroringCe,
    /// ACKs count marks.
    Counting,
}

/// The window scale that a host offers, one that listens if `passive` (`tcp_select_initial_window`).
#[must_use]
pub fn window_scale(settings: &Settings, passive: bool) -> u8 {
    Space::new(settings, passive).scale()
}

impl Receiver {
    /// A receiver before the handshake. A `passive` one listens; a `prompt` application reads each segment.
    pub fn new(settings: &Settings, passive: bool, prompt: bool) -> Self {
        Self {
            rcv_nxt: 1,
            ts_recent: Time::ZERO,
            delay: Delay::new(settings.quickack),
            space: Space::new(settings, passive),
            reader: Reader::new(prompt),
            tuning: Tuning::new(),
            holes: None,
            fin: u64::MAX,
            refused_at: u64::MAX,
            mss: settings.mss,
            ecn: Echo::Off,
            feedback: Feedback::default(),
            ack: Ack::None,
            disordered: false,
            repeated_window: None,
        }
    }

    /// The handshake is complete; `peer_tsval` is the TSval of its segment.
    pub fn establish(&mut self, now: Time, peer_tsval: Time, ecn: bool) {
        self.ts_recent = peer_tsval;
        self.ecn = if ecn { Echo::On } else { Echo::Off };
        self.delay.start(now, self.mss, self.space.offered);
        self.repeated_window = None;
        self.space.establish(self.rcv_nxt);
        self.tuning.start(now, &self.space, self.mss, self.rcv_nxt);
        self.reader.reconsider(&self.space, self.tuning.space, 0);
    }

    /// Takes the sender's round-trip time and timeout.
    pub fn set_rtt(&mut self, srtt: Span, rto: Span) {
        self.delay.set_rtt(srtt, rto);
    }

    /// The application will read `bytes` in total: it does not wait for more.
    pub fn expect(&mut self, bytes: u64) {
        self.reader.expected = bytes;
    }

    /// The window of a SYN or SYN-ACK.
    pub fn first_window(&self) -> u32 {
        self.space.unscaled()
    }

    /// Is this segment acceptable (`tcp_validate_incoming`)? If not, it is answered with an ACK. `snd_una` is what the
    /// peer has acknowledged.
    #[inline]
    pub fn accepts(&mut self, now: Time, segment: &Segment, snd_una: u64) -> bool {
        // Header prediction: a segment that starts where the last one ended, and is no older, passes every check below.
        let predicted = segment.seq == self.rcv_nxt && segment.sent_at >= self.ts_recent && !segment.flags.syn;
        predicted || self.examine(now, segment, snd_una)
    }

    /// Must an ACK be sent at once, before any data?
    #[inline]
    pub fn must_ack_now(&self) -> bool {
        self.ack == Ack::Now
    }

    /// Decides about the ACK. True: send one now.
    #[inline]
    pub fn take_ack(&mut self, now: Time) -> bool {
        self.ack != Ack::None && self.settle_ack(now)
    }

    /// Fills in the acknowledgement of a segment that is sent now, alone or with data.
    #[inline]
    pub fn fill(&mut self, now: Time, segment: &mut Segment) {
        segment.flags.ack = true;
        segment.ack = self.rcv_nxt;
        segment.sent_at = self.delay.stamp(now);
        segment.echo = self.ts_recent;
        if self.ecn >= Echo::Echoing && self.fill_feedback(segment) {
            return; // it reports an earlier state
        }
        let is_late = self.disordered && self.holes_mut().has_late_block();
        if self.disordered {
            segment.sack = self.report_holes();
        }
        segment.window = self.repeated_window.unwrap_or_else(|| self.offer());
        if is_late {
            self.repeated_window = None; // A packet arrived after that window was chosen.
        }
        self.delay.on_ack_sent();
        if self.ack == Ack::Now {
            self.ack = Ack::None;
        }
    }

    /// Data were sent.
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        self.delay.on_data_sent(now);
    }

    /// Requests an ACK as soon as possible.
    pub fn request_ack_now(&mut self) {
        self.ack = Ack::Now;
    }

    /// Handles an expired timer.
    pub fn on_timer(&mut self, now: Time) {
        if self.delay.on_timer(now) {
            self.ack = Ack::Now;
        }
    }

    /// When to call [`Receiver::on_timer`].
    pub fn next_timer(&self) -> Time {
        self.delay.next_timer()
    }

    /// Payload bytes received in order.
    pub fn bytes(&self) -> u64 {
        self.rcv_nxt - 1 - u64::from(self.is_closed())
    }

    /// Payload bytes that the application has read.
    pub fn bytes_read(&self) -> u64 {
        self.reader.copied - 1 - u64::from(self.reader.copied > self.fin)
    }

    /// Has the peer's FIN arrived, and everything before it?
    pub fn is_closed(&self) -> bool {
        self.rcv_nxt > self.fin
    }

    /// Has all of that been read?
    pub fn is_finished(&self) -> bool {
        self.reader.copied > self.fin
    }

    /// Autotuned space (`tcpi_rcv_space`).
    pub fn rcv_space(&self) -> u32 {
        u32::try_from(self.tuning.space).unwrap_or(0)
    }

    /// [`Receiver::take_ack`], if there is something to decide.
    fn settle_ack(&mut self, now: Time) -> bool {
        if self.ack == Ack::Check {
            self.ack = Ack::None;
            if self.delay.is_scheduled() && self.decide(now) {
                self.ack = Ack::Now;
            }
        }
        self.ack == Ack::Now
    }

    /// Checks a segment that was not predicted.
    fn examine(&mut self, now: Time, segment: &Segment, snd_una: u64) -> bool {
        let carries = segment.len > 0 || segment.flags.fin;
        if segment.flags.syn {
            self.refuse(now, false);
            return false;
        }
        // PAWS (RFC 7323 section 5); a pure duplicate ACK may be late (`tcp_disordered_ack`).
        let stale = segment.sent_at < self.ts_recent
            && millis(segment.sent_at) + PAWS_WINDOW_MS < millis(self.ts_recent)
            && (carries || segment.seq != self.rcv_nxt || segment.ack != snd_una);
        let outside =
            segment.end() < self.space.acked || segment.seq > self.rcv_nxt + u64::from(self.space.open(self.rcv_nxt));
        if !stale && !outside {
            return true;
        }
        if carries && segment.seq < self.rcv_nxt {
            self.delay.enter_quickack_mode(MAX_QUICK_ACKS, self.space.offered);
            self.report_duplicate(segment.seq, segment.end().min(self.rcv_nxt));
        }
        self.refuse(now, carries);
        false
    }

    /// Sends an ACK for an unacceptable segment; without data, at most twice a second (`tcp_oow_rate_limited`).
    fn refuse(&mut self, now: Time, carries: bool) {
        let jiffy = now.jiffies();
        if !carries {
            if self.refused_at != u64::MAX && jiffy - self.refused_at < REFUSAL_PAUSE {
                return;
            }
            self.refused_at = jiffy;
        }
        self.ack = Ack::Now;
    }

    /// An ACK now, or later (`__tcp_ack_snd_check`)?
    fn decide(&mut self, now: Time) -> bool {
        if self.is_second_segment() || self.delay.in_quickack_mode() || self.delay.is_ack_requested_now() {
            return true;
        }
        if self.disordered && self.holes.as_ref().is_some_and(|holes| !holes.is_empty()) {
            return self.delay.compress(now, self.rcv_nxt, self.tuning.rtt_us8);
        }
        self.delay.wait(now)
    }

    /// Is more than a full segment unacknowledged? If the window cannot be kept up, the ACK is left to the read.
    fn is_second_segment(&mut self) -> bool {
        self.unacknowledged() > u64::from(self.delay.rcv_mss)
            && (self.reader.sleeps(self.rcv_nxt) || self.choose() >= self.space.offered)
    }

    fn unacknowledged(&self) -> u64 {
        self.rcv_nxt - self.space.acked
    }

    /// The window that could be offered; a nearly full buffer ends quick ACKs.
    fn choose(&mut self) -> u32 {
        let choice = self.space.choose(self.delay.rcv_mss);
        if choice.half_used {
            self.delay.quick_acks = 0;
        }
        choice.window
    }

    fn report_holes(&mut self) -> Sack {
        let sack = self.holes_mut().take();
        self.disordered = self.holes.as_ref().is_some_and(|holes| !holes.is_idle());
        sack
    }

    #[inline(never)]
    fn offer(&mut self) -> u32 {
        if self.delay.is_out_of_memory() {
            self.space.offer_nothing(self.rcv_nxt);
            return 0;
        }
        let choice = self.space.offer(self.rcv_nxt, self.delay.rcv_mss);
        if choice.half_used {
            self.delay.quick_acks = 0;
        } else if self.space.is_scaled() {
            self.repeated_window = Some(choice.window);
        }
        choice.window
    }

    fn count_memory(&mut self) {
        self.space.held = self.reader.held;
        if self.disordered {
            self.space.held += self.holes_mut().memory();
        }
    }

    #[cold]
    fn report_duplicate(&mut self, start: u64, end: u64) {
        self.disordered = true;
        self.holes_mut().report_duplicate(start, end);
    }

    #[inline(never)]
    fn holes_mut(&mut self) -> &mut Holes {
        self.holes.get_or_insert_default()
    }
}

/// `tcp_invalid_ratelimit`: half a second, in jiffies.
const REFUSAL_PAUSE: u64 = 125;
/// `TCP_PAWS_WINDOW`: tolerance for an older TSval.
const PAWS_WINDOW_MS: u64 = 1;
