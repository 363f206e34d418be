//! Timers: when each is set, and what happens when it fires.
//!
//! Linux has one timer for RTO, loss probe, reordering and window probe (`icsk_pending`): setting one replaces another.
//! It counts in jiffies on the timer wheel ([`wheel`]). [`super::recovery`] also sets it; pacing has its own timer
//! ([`super::pacing`]).

use super::Sender;
use super::number::{JIFFY_US, jiffies_from_us, unsigned};
use super::rtt::{RTO_INIT_JIFFIES, RTO_MAX_JIFFIES, RTO_MIN_US};
use super::tasks::Task;
use crate::cc::{CaState, CongestionControl};
use crate::time::{HZ, Time};
use crate::wheel;

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Nothing.
    Nothing,
    /// Retransmission timeout.
    Retransmit,
    /// Tail loss probe.
    LossProbe,
    /// End of RACK's reordering window.
    Reordering,
    /// Zero window probe.
    WindowProbe,
}

/// The timer.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// Its purpose.
    pending: Pending,
    /// When it fires.
    at: Time,
}

impl Timer {
    /// Not set.
    pub const fn new() -> Self {
        Self { pending: Pending::Nothing, at: Time::NEVER }
    }

    /// Its purpose; one that has fired keeps it until it is set again.
    pub const fn pending(&self) -> Pending {
        self.pending
    }

    /// Sets it to fire `jiffies` after `jiffy`, replacing its previous purpose.
    pub fn set(&mut self, pending: Pending, jiffy: u64, jiffies: u64) {
        self.pending = pending;
        self.at = wheel::fires_from(jiffy, jiffies.min(RTO_MAX_JIFFIES));
    }

    /// Stops it.
    pub fn stop(&mut self) {
        *self = Self::new();
    }

    /// Did it fire, without being set again?
    pub fn has_fired(&self) -> bool {
        self.pending != Pending::Nothing && !self.at.is_set()
    }

    /// Fires if it is due, and returns its purpose then.
    pub fn fire(&mut self, now: Time) -> Pending {
        if self.at > now {
            return Pending::Nothing;
        }
        self.at = Time::NEVER;
        self.pending
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Handles the timer of [`Sender::next_timer`]. Does nothing if called early.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.enter(now);
        self.in_process = false;
        if self.pacing.fire(now) {
            self.resume();
        }
        match self.timer.fire(now) {
            Pending::Nothing => {}
            Pending::Retransmit => self.on_retransmission_timeout(),
            Pending::LossProbe => self.tasks.schedule(Task::LossProbe),
            Pending::Reordering => self.on_reordering_timeout(),
            Pending::WindowProbe => self.on_window_probe_timeout(),
        }
    }

    /// When to call [`Sender::on_timer`].
    pub(crate) fn next_timer(&self) -> Time {
        self.timer.at.min(self.pacing.timer())
    }

    /// Sets the loss probe's timer if applicable, else the timeout (`tcp_set_xmit_timer`).
    pub(super) fn set_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_timeout();
        }
    }

    /// RFC 6298 section 5.3: the timeout starts now, or at the first segment's transmission if another timer was set in
    /// between (`tcp_rearm_rto`).
    pub(super) fn rearm_timeout(&mut self) {
        if self.tp.packets_out == 0 {
            self.timer.stop();
            return;
        }
        let mut jiffies = self.rtt.rto();
        if matches!(self.timer.pending, Pending::Reordering | Pending::LossProbe) {
            jiffies = jiffies_from_us(unsigned(self.timeout_in_us().max(1)));
        }
        self.timer.set(Pending::Retransmit, self.jiffy, jiffies + self.pacing_delay());
    }

    /// The first record was retransmitted: the timeout starts now.
    pub(super) fn restart_timeout(&mut self) {
        let jiffies = self.rtt.rto() + self.pacing_delay();
        self.timer.set(Pending::Retransmit, self.jiffy, jiffies);
    }

    /// Sets the loss probe's timer if the state allows one (`tcp_schedule_loss_probe`).
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        if self.tp.packets_out == 0 || !matches!(self.tp.state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let mut jiffies = RTO_INIT_JIFFIES;
        if self.tp.srtt_us8 > 0 {
            // A single segment's ACK may be delayed.
            let delay_us = if self.tp.packets_out == 1 { RTO_MIN_US } else { TIMEOUT_MIN_US };
            jiffies = jiffies_from_us(u64::from(self.tp.srtt_us8 >> 2) + delay_us);
        }
        if advancing {
            jiffies = jiffies.min(self.rtt.rto());
        } else if self.timeout_in_us() > 0 {
            jiffies = jiffies.min(jiffies_from_us(unsigned(self.timeout_in_us())));
        }
        self.timer.set(Pending::LossProbe, self.jiffy, jiffies + self.pacing_delay());
        true
    }

    /// Data is waiting, nothing is outstanding and no timer is set: probes the window later (`tcp_check_probe_timer`).
    pub(super) fn schedule_window_probe(&mut self) {
        if self.waits_for_window() && self.timer.pending == Pending::Nothing {
            let jiffies = self.probe_base() + self.pacing_delay();
            self.timer.set(Pending::WindowProbe, self.jiffy, jiffies);
        }
    }

    /// The peer's window is still closed: probes it again after twice the time, up to two minutes (RFC 9293 section
    /// 3.8.6.1).
    pub(super) fn set_window_probe(&mut self) {
        let doublings = u32::from(self.rtt.backoff().min(MAX_DOUBLINGS));
        let jiffies = (self.probe_base() << doublings).min(RTO_MAX_JIFFIES);
        self.timer.set(Pending::WindowProbe, self.jiffy, jiffies + self.pacing_delay());
    }

    /// This host's own queue dropped the probe: schedules another in half a second (`tcp_send_probe0`).
    pub(super) fn probe_window_later(&mut self) {
        self.timer.set(Pending::WindowProbe, self.jiffy, RESOURCE_PROBE_JIFFIES + self.pacing_delay());
    }

    /// The window probe's timer fired.
    fn on_window_probe_timeout(&mut self) {
        self.timer.stop();
        if self.waits_for_window() {
            self.tasks.schedule(Task::WindowProbe);
        }
    }

    /// Is data waiting and nothing outstanding?
    fn waits_for_window(&self) -> bool {
        self.tp.packets_out == 0 && self.app_source.end() > self.tp.snd_nxt
    }

    /// Time until the first segment's timeout (`tcp_rto_delta_us`).
    fn timeout_in_us(&self) -> i64 {
        let rto_us = self.rtt.rto() * JIFFY_US;
        self.board
            .front()
            .map_or(rto_us.cast_signed(), |front| (front.sent_us + rto_us).cast_signed() - self.now_us.cast_signed())
    }

    fn probe_base(&self) -> u64 {
        self.rtt.rto().max(RTO_MIN_US / JIFFY_US)
    }

    /// Delay by pacing of an event set for now, in jiffies.
    fn pacing_delay(&self) -> u64 {
        self.pacing.delay_jiffies(self.tp.now)
    }
}

/// The minimum of the probe's and the reordering timer (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;
/// `TCP_RESOURCE_PROBE_INTERVAL`.
const RESOURCE_PROBE_JIFFIES: u64 = HZ / 2;
/// `ilog2(TCP_RTO_MAX / TCP_RTO_MIN) + 1`.
const MAX_DOUBLINGS: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// Below 63 jiffies a timer is at most a tick late, below 504 jiffies eight, below 4032 sixty-four.
    #[test]
    fn the_wheel_gets_coarser_with_distance() {
        let table = [
            (0, 50, 51),
            (7, 50, 58),
            (0, 62, 63),
            (0, 63, 70),
            (6, 63, 70),
            (7, 63, 78),
            (1, 500, 502),
            (1, 504, 542),
        ];
        for (now, delta, fire_timer) in table {
            assert_eq!(wheel::fires_from(now, delta), Time::ZERO + Span::from_jiffies(fire_timer), "{now} + {delta}");
        }
    }
}
