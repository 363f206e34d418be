//! Two probes: of the tail, when no ACKs arrive for two round trips (TLP, RFC 8985 section 7), and of a zero window
//! (RFC 9293 section 3.8.6.1).

use super::ack::Ack;
use super::number::{JIFFY_US, jiffies_from_us, unsigned};
use super::rtt::{RTO_INIT_JIFFIES, RTO_MAX_JIFFIES, RTO_MIN_US};
use super::tasks::Task;
use super::timer::Pending;
use super::timer::TIMEOUT_MIN_US;
use super::{Sender, Transmission};
use crate::cc::{CaState, CongestionControl, Event};
use crate::time::HZ;

/// A loss probe that is not answered yet.
#[derive(Clone, Debug, Default)]
pub(super) struct LossProbe {
    /// `snd_nxt` when it was sent, until it is answered.
    end: Option<u64>,
    /// Is it a retransmission?
    is_retransmission: bool,
}

impl LossProbe {
    /// The probe is answered, or no longer matters.
    pub const fn end(&mut self) {
        self.end = None;
    }

    /// Is a probe out?
    pub const fn is_out(&self) -> bool {
        self.end.is_some()
    }

    /// Is a probe out that is a retransmission?
    pub const fn is_retransmission_out(&self) -> bool {
        self.is_out() && self.is_retransmission
    }

    /// Does this sequence number end the probe?
    pub fn ends_at(&self, seq: u64) -> bool {
        self.end == Some(seq)
    }
}

impl<C: CongestionControl> Sender<C> {
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

    /// Sends new data if there is any, else retransmits the last segment; one probe per episode (`tcp_send_loss_probe`).
    pub(super) fn send_loss_probe(&mut self) -> Option<Transmission> {
        self.tasks.done(Task::LossProbe);
        if self.board.is_empty() {
            self.timer.stop();
            return None;
        }
        let transmission = if self.loss_probe.is_out() { None } else { self.try_loss_probe() };
        if transmission.is_some() {
            self.loss_probe.end = Some(self.tp.snd_nxt);
            self.timer.stop(); // The timeout starts now.
        }
        self.rearm_timeout();
        transmission
    }

    /// An ACK arrived while a probe is unanswered (`tcp_process_tlp_ack`).
    #[cold]
    pub(super) fn on_probe_acked(&mut self, acked: u64, ack: &mut Ack) {
        let Some(end) = self.loss_probe.end.filter(|end| acked >= *end) else { return };
        let is_pure_duplicate = !ack.advances && ack.is_duplicate() && !ack.sacks_data;
        if !self.loss_probe.is_retransmission || ack.dsacks_probe {
            self.loss_probe.end();
        } else if acked > end {
            // The probe repaired a loss: reduce the window as for a detected loss.
            self.begin_reduction(self.tp.snd_nxt);
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.keep_open();
            self.controller.cwnd_event(&self.tp, &mut self.cc, Event::LossProbeRecovery);
        } else if is_pure_duplicate {
            self.loss_probe.end();
        } else {
            ack.answers_probe = true;
        }
    }

    /// Data is waiting, nothing is outstanding and no timer is set: probes the window later (`tcp_check_probe_timer`).
    pub(super) fn schedule_window_probe(&mut self) {
        let waits = self.tp.packets_out == 0 && self.app_source.end() > self.tp.snd_nxt;
        if waits && self.timer.pending == Pending::Nothing {
            let jiffies = self.probe_base() + self.pacing_delay();
            self.timer.set(Pending::WindowProbe, self.jiffy, jiffies);
        }
    }

    /// The window probe's timer fired.
    pub(super) fn on_window_probe_timeout(&mut self) {
        self.timer.stop();
        if self.tp.packets_out == 0 && self.app_source.end() > self.tp.snd_nxt {
            self.tasks.schedule(Task::WindowProbe);
        }
    }

    /// Sends what the window allows; if nothing, an old byte's number, so that the peer answers (`tcp_write_wakeup`).
    pub(super) fn send_window_probe(&mut self) -> Option<Transmission> {
        self.tasks.done(Task::WindowProbe);
        if self.tp.packets_out > 0 || self.app_source.end() == self.tp.snd_nxt {
            self.rtt.end_backoff();
            return None;
        }
        if self.window_end() > self.tp.snd_nxt {
            let transmission = self.push_into_window();
            self.rtt.end_backoff();
            return Some(transmission);
        }
        self.rtt.back_off_probe(MAX_WINDOW_BACKOFF);
        self.set_window_probe();
        self.counters.segs_out = self.counters.segs_out.wrapping_add(1);
        Some(Transmission { seq: self.tp.snd_una - 1, segments: 1, ..Transmission::default() })
    }

    /// An ACK arrived while nothing was outstanding (`tcp_ack_probe`).
    pub(super) fn on_window_update(&mut self) {
        if self.app_source.end() == self.tp.snd_nxt {
            return;
        }
        let head = self.app_source.head(self.tp.snd_nxt);
        let fin = u64::from(self.app_source.is_tail() && self.app_source.has_fin());
        if self.tp.snd_nxt + head + fin <= self.window_end() {
            self.rtt.end_backoff();
            self.timer.stop();
        } else {
            self.set_window_probe();
        }
    }

    /// This host's own queue dropped the probe: schedules another in half a second (`tcp_send_probe0`).
    pub(super) fn probe_window_later(&mut self) {
        self.timer.set(Pending::WindowProbe, self.jiffy, RESOURCE_PROBE_JIFFIES + self.pacing_delay());
    }

    fn set_window_probe(&mut self) {
        let doublings = u32::from(self.rtt.backoff().min(MAX_DOUBLINGS));
        let jiffies = (self.probe_base() << doublings).min(RTO_MAX_JIFFIES);
        self.timer.set(Pending::WindowProbe, self.jiffy, jiffies + self.pacing_delay());
    }

    fn probe_base(&self) -> u64 {
        self.rtt.rto().max(RTO_MIN_US / JIFFY_US)
    }

    fn try_loss_probe(&mut self) -> Option<Transmission> {
        self.loss_probe.is_retransmission = false;
        let next = self.tp.snd_nxt;
        let unsent = self.app_source.unsent(next);
        let first = unsent.min(u64::from(self.tp.mss));
        let fin = u64::from(unsent == first && self.app_source.has_fin());
        if self.app_source.end() > next && next + first + fin <= self.window_end() {
            return self.force_push();
        }
        let transmission = self.retransmit_last();
        self.loss_probe.is_retransmission = transmission.is_some();
        transmission
    }
}

/// `TCP_RESOURCE_PROBE_INTERVAL`.
const RESOURCE_PROBE_JIFFIES: u64 = HZ / 2;
/// `tcp_retries2`.
const MAX_WINDOW_BACKOFF: u8 = 15;
/// `ilog2(TCP_RTO_MAX / TCP_RTO_MIN) + 1`.
const MAX_DOUBLINGS: u8 = 10;
