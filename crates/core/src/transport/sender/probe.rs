//! Two probes: of the tail, when ACKs stay away for two round trips (TLP, RFC 8985 section 7), and of a closed window
//! (RFC 9293 section 3.8.6.1).

use super::ack::Ack;
use super::number::{JIFFY_US, jiffies_from_us, unsigned};
use super::rack::TIMEOUT_MIN_US;
use super::rtt::{RTO_INIT_JIFFIES, RTO_MAX_JIFFIES, RTO_MIN_US};
use super::timer::Pending;
use super::todo::Task;
use super::{Sender, Transmission};
use crate::cc::{CaState, Control, Event};
use crate::time::HZ;

impl<C: Control> Sender<C> {
    /// Sets the loss probe's timer when the state allows one (`tcp_schedule_loss_probe`).
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        if self.vitals.packets_out == 0 || !matches!(self.vitals.state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let mut jiffies = RTO_INIT_JIFFIES;
        if self.vitals.srtt_us8 > 0 {
            // A lone segment's ACK may be a delayed one.
            let delay_us = if self.vitals.packets_out == 1 { RTO_MIN_US } else { TIMEOUT_MIN_US };
            jiffies = jiffies_from_us(u64::from(self.vitals.srtt_us8 >> 2) + delay_us);
        }
        if advancing {
            jiffies = jiffies.min(self.rtt.rto);
        } else if self.timeout_in_us() > 0 {
            jiffies = jiffies.min(jiffies_from_us(unsigned(self.timeout_in_us())));
        }
        self.timer.set(Pending::LossProbe, self.jiffy, jiffies + self.pacing_delay());
        true
    }

    /// Sends new data if there is any, else the last segment again; one probe an episode (`tcp_send_loss_probe`).
    pub(super) fn send_loss_probe(&mut self) -> Option<Transmission> {
        self.todo.done(Task::LossProbe);
        if self.board.is_empty() {
            self.timer.stop();
            return None;
        }
        let transmission = if self.recovery.probe_end.is_some() { None } else { self.try_loss_probe() };
        if transmission.is_some() {
            self.recovery.probe_end = Some(self.vitals.snd_nxt);
            self.timer.stop(); // The timeout runs from now.
        }
        self.rearm_timeout();
        transmission
    }

    /// An ACK while a probe is unanswered (`tcp_process_tlp_ack`).
    #[cold]
    pub(super) fn on_probe_acked(&mut self, acked: u64, ack: &mut Ack) {
        let Some(end) = self.recovery.probe_end.filter(|end| acked >= *end) else { return };
        let is_pure_duplicate = !ack.advances && ack.is_duplicate() && !ack.sacks_data;
        if !self.recovery.probe_resent || ack.dsacks_probe {
            self.recovery.probe_end = None;
        } else if acked > end {
            // The probe mended a loss: reduce the window as if it had been found.
            self.begin_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.keep_open();
            self.controller.on_event(&mut self.vitals, Event::LossProbeRecovery);
        } else if is_pure_duplicate {
            self.recovery.probe_end = None;
        } else {
            ack.answers_probe = true;
        }
    }

    /// Data waits, nothing is out and no timer runs: probe the window in a while (`tcp_check_probe_timer`).
    pub(super) fn schedule_window_probe(&mut self) {
        let waits = self.vitals.packets_out == 0 && self.supply.end() > self.vitals.snd_nxt;
        if waits && self.timer.pending == Pending::Nothing {
            let jiffies = self.probe_base() + self.pacing_delay();
            self.timer.set(Pending::WindowProbe, self.jiffy, jiffies);
        }
    }

    /// Time to probe the window.
    pub(super) fn on_window_probe_timeout(&mut self) {
        self.timer.stop();
        if self.vitals.packets_out == 0 && self.supply.end() > self.vitals.snd_nxt {
            self.todo.want(Task::WindowProbe);
        }
    }

    /// What the window allows, however little; nothing allowed: an old byte's number, so that the peer answers
    /// (`tcp_write_wakeup`).
    pub(super) fn send_window_probe(&mut self) -> Option<Transmission> {
        self.todo.done(Task::WindowProbe);
        if self.vitals.packets_out > 0 || self.supply.end() == self.vitals.snd_nxt {
            self.rtt.backoff = 0;
            return None;
        }
        if self.window_end() > self.vitals.snd_nxt {
            let transmission = self.push_into_window();
            self.rtt.backoff = 0;
            return Some(transmission);
        }
        self.rtt.backoff = self.rtt.backoff.saturating_add(1).min(MOST_WINDOW_BACKOFF);
        self.set_window_probe();
        self.counters.segs_out = self.counters.segs_out.wrapping_add(1);
        Some(Transmission { seq: self.vitals.snd_una - 1, segments: 1, ..Transmission::default() })
    }

    /// An ACK came while nothing was out (`tcp_ack_probe`).
    pub(super) fn on_window_told(&mut self) {
        if self.supply.end() == self.vitals.snd_nxt {
            return;
        }
        let head = self.supply.head(self.vitals.snd_nxt);
        let fin = u64::from(self.supply.is_tail() && self.supply.has_fin());
        if self.vitals.snd_nxt + head + fin <= self.window_end() {
            self.rtt.backoff = 0;
            self.timer.stop();
        } else {
            self.set_window_probe();
        }
    }

    /// The probe died in this host's own queue: another one in half a second (`tcp_send_probe0`).
    pub(super) fn probe_window_later(&mut self) {
        self.timer.set(Pending::WindowProbe, self.jiffy, RESOURCE_PROBE_JIFFIES + self.pacing_delay());
    }

    fn set_window_probe(&mut self) {
        let doublings = u32::from(self.rtt.backoff.min(MOST_DOUBLINGS));
        let jiffies = (self.probe_base() << doublings).min(RTO_MAX_JIFFIES);
        self.timer.set(Pending::WindowProbe, self.jiffy, jiffies + self.pacing_delay());
    }

    fn probe_base(&self) -> u64 {
        self.rtt.rto.max(RTO_MIN_US / JIFFY_US)
    }

    fn try_loss_probe(&mut self) -> Option<Transmission> {
        self.recovery.probe_resent = false;
        let next = self.vitals.snd_nxt;
        let unsent = self.supply.unsent(next);
        let first = unsent.min(u64::from(self.vitals.mss));
        let fin = u64::from(unsent == first && self.supply.has_fin());
        if self.supply.end() > next && next + first + fin <= self.window_end() {
            return self.force_push();
        }
        let transmission = self.resend_last();
        self.recovery.probe_resent = transmission.is_some();
        transmission
    }
}

/// `TCP_RESOURCE_PROBE_INTERVAL`.
const RESOURCE_PROBE_JIFFIES: u64 = HZ / 2;
/// `tcp_retries2`.
const MOST_WINDOW_BACKOFF: u8 = 15;
/// `ilog2(TCP_RTO_MAX / TCP_RTO_MIN) + 1`.
const MOST_DOUBLINGS: u8 = 10;
