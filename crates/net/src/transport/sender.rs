//! The sending half of a TCP connection, as in Linux 6.12 with default sysctls.
//!
//! ```text
//!   write, close          on_ack                 on_timer, on_departed
//!       |                   |                            |
//!       v                   v                            v
//!   [app_source] sack -> ack -> recovery -> [controller]      measurements and decisions
//!       |                          |                     |
//!       +------> tasks: transmit, retransmit, probes <---+    poll: one packet at a time
//!                  pacing, window, tso, host                  limits
//! ```
//!
//! These say in which order things happen; each is a part of `impl Sender`:
//!
//! | module | contents |
//! | --- | --- |
//! | [`ack`], [`sack`] | an ACK, in the order of `tcp_ack` |
//! | [`recovery`] | congestion states: every transition, reduction and undo |
//! | [`timer`] | when each timer is set, and what happens when it fires |
//! | [`transmit`], [`retransmit`] | what is sent next: new data, lost records, probes |
//! | [`writing`], [`window`], [`info`] | the application's writes, the use of the windows, `tcp_info` |
//!
//! They ask machines that own their state and know nothing of the sender:
//!
//! | module | decides |
//! | --- | --- |
//! | [`scoreboard`], [`record`], [`pending_set`] | the state of each outstanding segment, and the counts of them |
//! | [`rtt`], [`rate`] | round-trip time and timeout, delivery rate |
//! | [`rack`], [`reordering`] | which segments are lost by time |
//! | [`prr`], [`undo`], [`timeouts`], [`probe`] | the window during a reduction; was a loss spurious, or repaired by a probe? |
//! | [`pacing`], [`tso`], [`host`], [`tasks`] | when a packet leaves, its size, room in the host's queue, what is still to do |
//! | [`peer`], [`usage`], [`ecn`] | the peer's window, the use of the congestion window, ECN |
//! | [`app_source`], [`fragments`], [`mod@initial_state`] | the data to send, the start |
//! | [`counters`], [`chrono`] | totals, and times of being busy or limited |
//!
//! The endpoint handles the handshake and headers, the controller ([`crate::cc`]) the size of the window. TCP builds
//! super-packets even without offloads; the device segments them.

mod ack;
mod app_source;
mod chrono;
mod counters;
mod ecn;
mod fragments;
mod host;
mod info;
mod initial_state;
mod number;
mod pacing;
mod peer;
mod pending_set;
mod probe;
mod prr;
mod rack;
mod rate;
mod record;
mod recovery;
mod reordering;
mod retransmit;
mod rtt;
mod sack;
mod scoreboard;
mod tasks;
#[cfg(test)]
mod test_access;
#[cfg(test)]
pub(super) mod tests;
mod timeouts;
mod timer;
mod transmit;
mod tso;
mod undo;
mod usage;
mod window;
mod writing;

use super::Settings;
use crate::cc::{AckSample, CcState, CongestionControl, Controller, EcnUse, INITIAL_WINDOW, SenderState};
use crate::packet::Layout;
use crate::telemetry::Stack;
use crate::time::{Span, Time};
use app_source::AppSource;
use chrono::Chrono;
use counters::Counters;
use ecn::Ecn;
use host::HostQueue;
use initial_state::{FIRST_BYTE, initial_cc, initial_state};
use pacing::Pacing;
use peer::Peer;
use rack::Rack;
use rate::RateTracker;
use recovery::Recovery;
use reordering::Reordering;
use retransmit::RetransmitCursor;
use rtt::Rtt;
use sack::Sacked;
use scoreboard::Scoreboard;
use tasks::{Task, TaskSet};
use timer::Timer;
use transmit::Burst;
use tso::Tso;
use usage::Usage;

/// A data packet to send now. Sequence numbers are those of [`crate::packet::Segment`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "bits of two headers")]
pub(crate) struct Transmission {
    /// First byte.
    pub seq: u64,
    /// Payload bytes; 0 for a FIN alone, and for the probe of a zero window, whose `seq` is an old one.
    pub len: u32,
    /// TCP segments inside.
    pub segments: u16,
    /// Carries FIN.
    pub fin: bool,
    /// Carries PSH.
    pub psh: bool,
    /// Carries CWR.
    pub cwr: bool,
    /// Is ECN-capable.
    pub ect: bool,
    /// Is it a retransmission?
    pub retransmission: bool,
    /// Departure time: now, or later if the host's queue paces.
    pub departs_at: Time,
}

/// The sending half of a connection. Usage as for the endpoint: pass in each event, poll until there is nothing more,
/// then request the next timer.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct Sender<C = Controller> {
    tp: SenderState,
    cc: CcState,
    controller: C,
    /// [`CongestionControl::has_cong_control`], read before and when the connection is established.
    has_cong_control: bool,
    board: Scoreboard,
    app_source: AppSource,
    peer: Peer,
    rtt: Rtt,
    rate: RateTracker,
    rack: Rack,
    reordering: Reordering,
    recovery: Recovery,
    sacked: Sacked,
    usage: Usage,
    timer: Timer,
    pacing: Pacing,
    host: HostQueue,
    tso: Tso,
    burst: Burst,
    retransmit_cursor: RetransmitCursor,
    /// The last polled packet, in case the host's queue refuses it.
    polled: Transmission,
    tasks: TaskSet,
    ecn: Ecn,
    counters: Counters,
    chrono: Chrono,
    is_established: bool,
    /// Is the application's program running, not the network's softirq? A program's packets are delivered one by one; a
    /// softirq's wait for its end.
    in_process: bool,
    /// Were SYNs (or SYN-ACKs) lost, so that the window starts at 1?
    has_lost_syns: bool,
    /// Microseconds since the start, plus one: 0 means never.
    now_us: u64,
    /// Jiffies since the start.
    jiffy: u64,
}

impl<C: CongestionControl> Sender<C> {
    /// A sender of a connection that is not established yet.
    pub(crate) fn new(settings: &Settings, controller: C) -> Self {
        let tso = Tso::new(settings, controller.max_segments());
        Self {
            tp: initial_state(settings, &tso),
            cc: initial_cc(settings),
            has_cong_control: controller.has_cong_control(),
            controller,
            board: Scoreboard::new(settings.mss),
            app_source: AppSource::new(settings),
            peer: Peer::default(),
            rtt: Rtt::new(),
            rate: RateTracker::new(),
            rack: Rack::new(),
            reordering: Reordering::new(),
            recovery: Recovery::new(),
            sacked: Sacked::new(),
            usage: Usage::new(settings),
            timer: Timer::new(),
            pacing: Pacing::new(settings.queue_paces),
            host: HostQueue::new(settings.mss),
            tso,
            burst: Burst::default(),
            retransmit_cursor: RetransmitCursor::default(),
            polled: Transmission::default(),
            tasks: TaskSet::default(),
            ecn: Ecn::default(),
            counters: Counters::default(),
            chrono: Chrono::default(),
            is_established: false,
            in_process: false,
            has_lost_syns: false,
            now_us: 1,
            jiffy: 0,
        }
    }

    /// The number of retransmissions of the SYN (or SYN-ACK), and whether the first one was lost; call it before
    /// [`Sender::established`].
    pub(crate) const fn after_handshake(&mut self, retransmissions: u32, is_lossy: bool) {
        self.counters.after_handshake(retransmissions);
        // One retransmission may be the network's first-packet delay, two are congestion (`tcp_init_transfer`).
        self.has_lost_syns = is_lossy && retransmissions > 1;
    }

    /// Sets whether ECN was negotiated, and how it is used.
    pub(crate) fn set_ecn(&mut self, negotiated: bool, ecn_use: EcnUse) {
        self.ecn.negotiate(negotiated, ecn_use);
        self.tp.ecn = negotiated;
    }

    /// The handshake is complete; `handshake_rtt` is its round-trip time, if measured. `connects`: this end sent the SYN.
    pub(crate) fn established(&mut self, now: Time, handshake_rtt: Option<Span>, peer_window: u32, connects: bool) {
        self.enter(now);
        self.board.begin(FIRST_BYTE);
        self.peer = Peer::new(peer_window);
        self.fit_mss();
        if let Some(rtt) = handshake_rtt {
            self.rtt.sample_min(rtt.as_micros(), self.jiffy);
            self.rtt.sample(rtt.as_micros(), FIRST_BYTE, FIRST_BYTE);
            self.show_rtt();
        }
        if connects {
            let sample = AckSample { acked: 1, rtt: handshake_rtt, in_flight: 1 };
            self.controller.syn_acked(&self.tp, &mut self.cc, &sample);
        }
        // The SYN-ACK sets the pacing rate (tcp_ack) before the route sets the window (tcp_init_transfer).
        self.cc.cwnd = INITIAL_WINDOW;
        if !self.has_cong_control {
            pacing::update_rate(&self.tp, &mut self.cc);
        }
        self.cc.cwnd = if self.has_lost_syns { 1 } else { self.usage.initial_window() };
        self.tp.last_sent_at = now;
        self.usage.touch(self.jiffy);
        self.controller.init(&self.tp, &mut self.cc);
        self.has_cong_control = self.controller.has_cong_control();
        self.grow_sndbuf();
        self.is_established = true;
        self.begin_writing();
        self.app_source.end_call(); // What was written before waits for no program.
    }

    /// The application writes `bytes` more; `u64::MAX` means unlimited data, and 0 ends unlimited data.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) {
        self.enter(now);
        self.app_source.write(bytes);
        if self.is_established {
            self.begin_writing();
        }
    }

    /// The application has written everything: FIN follows the last byte.
    pub(crate) fn close(&mut self, now: Time) {
        self.enter(now);
        self.app_source.close();
        // It closes after writing everything (the agent's `shutdown`), and until then writes as before.
        if self.is_established && !self.app_source.has_more() {
            self.begin_writing();
        }
    }

    /// Is everything acknowledged, FIN included?
    pub(crate) const fn is_done(&self) -> bool {
        self.app_source.has_fin() && self.tp.snd_una == self.app_source.end()
    }

    /// The telemetry that the next ACK carries.
    pub(crate) fn on_telemetry(&mut self, stack: &Stack) {
        self.controller.on_telemetry(stack);
    }

    /// A data packet of this size (as a queue counts it) left the host, or was dropped there silently; it was the last
    /// of `pieces`. Returns whether the sender was waiting for that: then [`Sender::on_resumed`] follows.
    #[inline]
    pub(crate) fn on_departed(&mut self, packet_bytes: u32, pieces: u16) -> bool {
        self.host.depart(packet_bytes, pieces)
    }

    /// The device segments the packet that was just polled into `segments` pieces.
    pub(crate) const fn on_cut(&mut self, segments: u16) {
        self.host.cut(segments);
    }

    /// This host's queue split the packet that was just polled into `pieces`.
    pub(crate) const fn on_split(&mut self, pieces: u16) {
        self.host.split(pieces);
    }

    /// Continues after a departure.
    pub(crate) fn on_resumed(&mut self, now: Time) {
        self.enter(now);
        self.resume();
    }

    /// The host's queue accepted the packet that was just polled, but dropped another for it (`NET_XMIT_CN`).
    pub(crate) fn on_congested(&mut self, now: Time) {
        self.enter(now);
        // Linux counts the packet as outstanding afterwards.
        let is_new = self.polled.len > 0 && !self.polled.retransmission;
        self.enter_cwr(if is_new { self.polled.seq } else { self.tp.snd_nxt });
    }

    /// The host's queue refused the packet that was just polled (`NET_XMIT_DROP`): it counts as never sent, and the
    /// window is reduced. Returns whether the sender was waiting for a departure: then [`Sender::on_resumed`] follows,
    /// since Linux frees a refused packet as one that departs (`tcp_wfree`).
    pub(crate) fn on_refused(&mut self, now: Time) -> bool {
        self.enter(now);
        self.take_back();
        self.enter_cwr(self.tp.snd_nxt);
        self.host.take_throttled()
    }

    /// The next data packet to send now, if any. Call until it returns None.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Transmission> {
        if self.tasks.is_empty() { None } else { self.work(now) }
    }

    /// The controller's name as the socket reports it.
    pub(crate) fn controller(&self) -> &'static str {
        self.controller.name()
    }

    /// Layout of these bytes on the application's pages.
    #[inline]
    pub(crate) fn layout(&self, seq: u64, len: u32) -> Layout {
        self.app_source.layout(seq, len)
    }

    /// Timeouts so far; each draws another hash for the socket's packets.
    pub(crate) const fn rehashes(&self) -> u16 {
        self.recovery.timeouts()
    }

    /// No packet departs before this time.
    #[inline]
    pub(crate) const fn next_send_at(&self) -> Time {
        self.pacing.next()
    }

    /// The next sequence number to send: that of an ACK without data.
    pub(crate) const fn next_seq(&self) -> u64 {
        self.tp.snd_nxt
    }

    /// Runs one task after another until one yields a packet.
    fn work(&mut self, now: Time) -> Option<Transmission> {
        self.enter(now);
        while let Some(task) = self.tasks.next() {
            let transmission = match task {
                Task::Head => self.retransmit_head(),
                Task::LossProbe => self.send_loss_probe(),
                Task::WindowProbe => self.send_window_probe(),
                Task::Retransmit => self.retransmit_next(),
                Task::NewData | Task::Push => self.push_next(task),
            };
            if let Some(transmission) = transmission {
                self.polled = transmission;
                return Some(transmission);
            }
        }
        None
    }

    /// Most calls come at the same instant as the previous one: the clock is already set.
    #[inline]
    fn enter(&mut self, now: Time) {
        if self.tp.now == now {
            return;
        }
        self.tp.now = now;
        self.now_us = now.as_micros() + 1;
        self.jiffy = now.jiffies();
    }

    fn show_rtt(&mut self) {
        self.tp.srtt_us8 = self.rtt.srtt_us8();
        self.tp.min_rtt_us = self.rtt.min_us();
    }
}
