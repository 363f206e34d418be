//! The sending half of a TCP connection, as Linux 6.12 runs it with default sysctls.
//!
//! ```text
//!   write, close          on_ack                 on_timer, on_departed
//!       |                   |                            |
//!       v                   v                            v
//!   [supply]  sack -> ack -> rack -> recovery -> [controller]     what is known, what is wanted
//!       |                                            |
//!       +------> todo: transmit, retransmit, probes <+            poll: one packet at a time
//!                  pacing, window, tso, host                      what holds it back
//! ```
//!
//! | room | decides |
//! | --- | --- |
//! | [`scoreboard`], [`record`], [`due`] | what is outstanding, and what became of it |
//! | [`ack`], [`sack`] | what an acknowledgement says |
//! | [`rack`], [`probe`], [`rto`] | what is lost: by time, by a probe, by timeout |
//! | [`recovery`], [`undo`] | states, window reduction (PRR), and taking it back (DSACK, Eifel, F-RTO) |
//! | [`rtt`], [`rate`], [`timer`] | what is measured and when to act |
//! | [`transmit`], [`retransmit`], [`tso`], [`window`], [`pacing`], [`host`] | what leaves, in which packets, and when |
//! | [`birth`], [`supply`], [`pages`], [`writing`], [`info`] | how it begins, the application's side, what a socket shows |
//!
//! The handshake and the packets' headers are the endpoint's affair, the window's size the controller's
//! ([`crate::cc`]). A super-packet is built as TCP builds it even without offloads; cutting it is the device's affair.

mod ack;
mod birth;
mod due;
mod host;
mod info;
mod number;
mod pacing;
mod pages;
mod probe;
mod rack;
mod rate;
mod record;
mod recovery;
mod retransmit;
mod rto;
mod rtt;
mod sack;
mod scoreboard;
#[cfg(test)]
mod seen;
mod supply;
#[cfg(test)]
pub(super) mod tests;
mod timer;
mod todo;
mod transmit;
mod tso;
mod undo;
mod window;
mod writing;

use super::Settings;
use crate::cc::{CaState, Control, Controller, EcnUse, Vitals};
use crate::packet::Layout;
use crate::telemetry::Stack;
use crate::time::{Span, Time};
use birth::{FIRST_BYTE, unmeasured};
use host::HostQueue;
use info::{Chrono, Counters};
use rack::Rack;
use rate::RateTracker;
use recovery::Recovery;
use retransmit::Mending;
use rtt::Rtt;
use scoreboard::Scoreboard;
use supply::Supply;
use timer::{Pending, Timer};
use todo::{Task, Todo};
use transmit::Burst;
use tso::Tso;
use window::{Peer, Usage};

/// A data packet to send now. Sequence numbers are those of [`crate::packet::Segment`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "these are bits of two headers")]
pub(crate) struct Transmission {
    /// First byte.
    pub seq: u64,
    /// Payload bytes; 0 for a FIN alone, and for the probe of a closed window, whose `seq` is an old one.
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
    /// Was sent before.
    pub retransmission: bool,
    /// When it departs: now, or later where the host's queue paces.
    pub departs_at: Time,
}

/// The sending half of a connection. The rule of use is the endpoint's: hand in what happened, poll until nothing
/// comes, ask for the next timer.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(crate) struct Sender<C = Controller> {
    vitals: Vitals,
    controller: C,
    /// [`Control::controls`], asked before and when the connection is established.
    controls: bool,
    board: Scoreboard,
    supply: Supply,
    peer: Peer,
    rtt: Rtt,
    rate: RateTracker,
    rack: Rack,
    recovery: Recovery,
    usage: Usage,
    timer: Timer,
    /// When the pacing timer rings.
    paced_until: Time,
    host: HostQueue,
    tso: Tso,
    burst: Burst,
    mending: Mending,
    /// What was polled last, should the host's queue refuse it.
    polled: Transmission,
    todo: Todo,
    ecn: Ecn,
    counters: Counters,
    chrono: Chrono,
    is_established: bool,
    /// Is the application's program at work, rather than the network's softirq? What a program sends is delivered packet
    /// by packet; what a softirq sends waits for its end.
    in_process: bool,
    slow_start_after_idle: bool,
    initial_window: u32,
    syn_retransmissions: u32,
    /// Microseconds since the start, plus one: 0 means never.
    now_us: u64,
    /// Jiffies since the start.
    jiffy: u64,
}

/// ECN as a sender keeps it (RFC 3168 section 6.1).
#[derive(Clone, Copy, Debug, Default)]
struct Ecn {
    negotiated: bool,
    /// A reduction is answered with CWR; counts need none.
    answers: bool,
    /// Marks that were counted (RFC 9768's `s.cep`, less where it begins).
    marks: u32,
    /// CWR goes out with the next new data.
    cwr_queued: bool,
}

impl<C: Control> Sender<C> {
    /// A sender of a connection that is not established yet.
    pub(crate) fn new(settings: &Settings, controller: C) -> Self {
        let tso = Tso::new(settings, controller.most_segments());
        Self {
            vitals: unmeasured(settings, &tso),
            controls: controller.controls(),
            controller,
            board: Scoreboard::new(settings.mss),
            supply: Supply::new(settings),
            peer: Peer::default(),
            rtt: Rtt::new(),
            rate: RateTracker::new(),
            rack: Rack::new(),
            recovery: Recovery::new(),
            usage: Usage::default(),
            timer: Timer::new(),
            paced_until: Time::NEVER,
            host: HostQueue::new(settings.mss, settings.queue_paces),
            tso,
            burst: Burst::default(),
            mending: Mending::default(),
            polled: Transmission::default(),
            todo: Todo::default(),
            ecn: Ecn::default(),
            counters: Counters::default(),
            chrono: Chrono::default(),
            is_established: false,
            in_process: false,
            slow_start_after_idle: settings.slow_start_after_idle,
            initial_window: settings.initial_window,
            syn_retransmissions: 0,
            now_us: 1,
            jiffy: 0,
        }
    }

    /// The SYN (or SYN-ACK) was retransmitted so many times; call it before [`Sender::established`].
    pub(crate) const fn handshake_retransmissions(&mut self, times: u32) {
        self.syn_retransmissions = times;
    }

    /// Was ECN negotiated, and how is it used?
    pub(crate) fn set_ecn(&mut self, negotiated: bool, ecn_use: EcnUse) {
        self.ecn.negotiated = negotiated;
        self.ecn.answers = negotiated && ecn_use != EcnUse::Counted;
        self.vitals.ecn = negotiated;
    }

    /// The handshake is done; it took `handshake_rtt` when that could be measured.
    pub(crate) fn established(&mut self, now: Time, handshake_rtt: Option<Span>, peer_window: u32) {
        self.enter(now);
        self.board.begin(FIRST_BYTE);
        self.peer = Peer::new(peer_window);
        self.tso.fit_window(self.peer.largest);
        if let Some(rtt) = handshake_rtt {
            self.rtt.sample_min(rtt.as_micros(), self.jiffy);
            self.rtt.sample(rtt.as_micros(), FIRST_BYTE, FIRST_BYTE);
            self.show_rtt();
        }
        // tcp_init_transfer: one retransmission may be the network's first-packet delay, two are congestion.
        self.vitals.cwnd = if self.syn_retransmissions > 1 { 1 } else { self.initial_window };
        if !self.controls {
            pacing::update_rate(&mut self.vitals);
        }
        self.vitals.last_sent_at = now;
        self.usage.stamp = self.jiffy;
        self.controller.start(&mut self.vitals);
        self.controls = self.controller.controls();
        self.grow_sndbuf();
        self.is_established = true;
        self.begin_writing();
    }

    /// The application writes more; `u64::MAX` is an endless supply, and 0 ends one.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) {
        self.enter(now);
        self.supply.write(bytes);
        if self.is_established {
            self.begin_writing();
        }
    }

    /// The application has written everything: FIN follows the last byte.
    pub(crate) fn close(&mut self, now: Time) {
        self.enter(now);
        self.supply.close();
        // It closes when it has written everything (the agent's `shutdown`), and goes on writing as it did.
        if self.is_established && !self.supply.has_more() {
            self.begin_writing();
        }
    }

    /// Is everything acknowledged, FIN included?
    pub(crate) const fn is_done(&self) -> bool {
        self.supply.has_fin() && self.vitals.snd_una == self.supply.end()
    }

    /// The ACK that comes next brings these stamps.
    pub(crate) fn on_telemetry(&mut self, stack: &Stack) {
        self.controller.on_telemetry(stack);
    }

    /// A data packet of this size (as a queue counts it) left the host, or died there without a word, the last of so many
    /// pieces. Says whether the sender goes on for that.
    #[inline]
    pub(crate) fn on_departed(&mut self, now: Time, packet_bytes: u32, pieces: u16) -> bool {
        let goes_on = self.host.depart(packet_bytes, pieces);
        if goes_on {
            self.enter(now);
            self.resume();
        }
        goes_on
    }

    /// The packet that was just polled leaves the host in so many pieces.
    pub(crate) const fn on_cut(&mut self, segments: u16) {
        self.host.cut(segments);
    }

    /// The host's queue took the packet that was just polled, but another one died for it (`NET_XMIT_CN`).
    pub(crate) fn on_congested(&mut self, now: Time) {
        self.enter(now);
        self.enter_cwr();
    }

    /// The host's queue refused the packet that was just polled (`NET_XMIT_DROP`): it counts as never sent, and the
    /// window is reduced.
    pub(crate) fn on_refused(&mut self, now: Time, _packet_bytes: u32) {
        self.enter(now);
        self.enter_cwr();
        self.take_back();
    }

    /// The time of [`Sender::next_timer`] has come. Calling it early does nothing.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.enter(now);
        self.in_process = false;
        if self.paced_until <= now {
            self.paced_until = Time::NEVER;
            self.resume();
        }
        if self.timer.at > now {
            return;
        }
        match self.timer.ring() {
            Pending::Nothing => {}
            Pending::Retransmit => self.on_retransmission_timeout(),
            Pending::LossProbe => self.todo.want(Task::LossProbe),
            Pending::Reordering => self.on_reordering_timeout(),
            Pending::WindowProbe => self.on_window_probe_timeout(),
        }
    }

    /// Has the application been woken, to write on? Then it wants [`Sender::take_turn`] when the softirqs of this instant
    /// are done.
    pub(crate) const fn wants_turn(&self) -> bool {
        self.supply.woken
    }

    /// The application's turn has come.
    pub(crate) fn take_turn(&mut self, now: Time) {
        self.enter(now);
        self.in_process = true;
        if self.go_on_writing() {
            self.todo.want(Task::Push);
        }
    }

    /// Is what was just polled delivered before anything else is polled?
    pub(crate) const fn departs_at_once(&self) -> bool {
        self.in_process
    }

    /// When [`Sender::on_timer`] wants to be called.
    pub(crate) fn next_timer(&self) -> Time {
        self.timer.at.min(self.paced_until)
    }

    /// The next data packet to send now, if any. Call again until there is none.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Option<Transmission> {
        if self.todo.is_empty() { None } else { self.work(now) }
    }

    /// What its socket calls its controller.
    pub(crate) fn controller(&self) -> &'static str {
        self.controller.name()
    }

    /// How these bytes lie on the application's pages.
    #[inline]
    pub(crate) fn layout(&self, seq: u64, len: u32) -> Layout {
        self.supply.layout(seq, len)
    }

    /// The next sequence number that it will use: what an ACK without data carries.
    pub(crate) const fn next_seq(&self) -> u64 {
        self.vitals.snd_nxt
    }

    /// Takes on one task after the other until a packet comes of it.
    fn work(&mut self, now: Time) -> Option<Transmission> {
        self.enter(now);
        while let Some(task) = self.todo.next() {
            let transmission = match task {
                Task::Head => self.resend_head(),
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

    /// Most calls come at the same instant as the one before: then the clock stands already.
    #[inline]
    fn enter(&mut self, now: Time) {
        if self.vitals.now == now {
            return;
        }
        self.vitals.now = now;
        self.now_us = now.as_micros() + 1;
        self.jiffy = now.jiffies();
    }

    fn show_rtt(&mut self) {
        self.vitals.srtt_us8 = self.rtt.srtt_us8;
        self.vitals.min_rtt_us = self.rtt.min_us();
    }

    fn set_state(&mut self, state: CaState) {
        self.controller.on_state(&mut self.vitals, state);
        self.vitals.state = state;
    }
}
