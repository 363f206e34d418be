//! TCP-LP: a low-priority transfer that yields to other traffic (Linux's `tcp_lp.c`).
//!
//! - **What it does**: Reno; but when the smoothed one-way delay exceeds its minimum by 15 % of its range, halves the
//!   window, and sets it to one packet when that happens again within three round trips.
//! - **Signal**: one-way delay, computed from timestamps; loss as in Reno.
//! - **Works well**: background bulk transfers, where the delay can be measured.
//! - **Works badly**: mostly, on Linux; see below.
//! - **Reference**: A. Kuzmanovic, E. Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", 2006.
//!
//! Where Linux departs from the paper: the receiver's timestamps start at a random 32-bit number. Linux's arithmetic
//! keeps its upper three bits in one step and loses them in another: most flows never find the delay too long, and
//! behave as Reno ([`one_way`]).

mod one_way;

use super::{AckSample, CcInfo, CcState, CongestionControl, SenderState, Stamps, growth, reno};
use crate::number::low;
use crate::rng::Rng;
use one_way::OneWay;

/// TCP-LP's state for one flow. Times are in milliseconds, as the timestamps.
#[derive(Clone, Debug)]
pub struct Lp {
    delay: OneWay,
    /// Initial value of the receiver's timestamps.
    receivers_start: u32,
    /// The last ACK's timestamps.
    stamps: Stamps,
    /// Time of the last reduction.
    cut_at_ms: Option<u32>,
    /// Wait before growth after a reduction: three round trips.
    wait_ms: u32,
    waits: bool,
}

impl Lp {
    pub(super) fn new(mut rng: Rng) -> Self {
        Self {
            delay: OneWay::new(),
            receivers_start: rng.next_u32(),
            stamps: Stamps::default(),
            cut_at_ms: None,
            wait_ms: 0,
            waits: false,
        }
    }
}

impl CongestionControl for Lp {
    fn name(&self) -> &'static str {
        "lp"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {}

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::ssthresh(cc)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn on_timestamps(&mut self, stamps: Stamps) {
        self.stamps = stamps;
    }

    fn pkts_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        let now_ms = low(tp.now.as_micros() / 1_000);
        let echo_ms = low(self.stamps.echo_ms);
        if sample.rtt.is_some_and(|rtt| rtt.as_micros() > 0) {
            self.delay.measure(low(self.stamps.sent_ms).wrapping_add(self.receivers_start), echo_ms);
        }
        let round_ms = now_ms.wrapping_sub(echo_ms);
        if (1..1 << 31).contains(&round_ms) {
            self.wait_ms = round_ms.wrapping_mul(3);
        }
        self.waits = self.cut_at_ms.is_some_and(|at_ms| now_ms.wrapping_sub(at_ms) < self.wait_ms);
        if self.delay.is_short() {
            return;
        }
        self.delay.restart();
        cc.cwnd = if self.waits { 1 } else { (cc.cwnd / 2).max(1) };
        self.cut_at_ms = Some(now_ms);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !self.waits {
            reno::cong_avoid(tp, cc, acked);
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = if self.waits { "yielding" } else { growth::phase(cc) };
        CcInfo { phase, ..CcInfo::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, ms, tp};
    use crate::time::Span;

    /// A flow whose receiver's clock starts at this value; ACKs come 40 ms after their packet was sent, and later with
    /// a queue.
    struct Flow {
        lp: Lp,
        tp: SenderState,
        cc: CcState,
    }

    impl Flow {
        fn new(receivers_start: u32) -> Self {
            let lp = Lp { receivers_start, ..Lp::new(Rng::from_name(1, "lp")) };
            let cc = CcState { cwnd: 64, ssthresh: 64, ..cc() };
            Self { lp, tp: SenderState { now: ms(1_000), ..tp() }, cc }
        }

        /// `acks` ACKs, one each 10 ms, with this delay on the forward path.
        fn acks(&mut self, acks: u32, delay_ms: u64) {
            for _ in 0..acks {
                self.tp.now += Span::from_millis(10);
                let now_ms = self.tp.now.as_micros() / 1_000;
                let stamps = Stamps { sent_ms: now_ms - 20, echo_ms: now_ms - 20 - delay_ms };
                self.lp.on_timestamps(stamps);
                let rtt = Some(Span::from_millis(20 + delay_ms));
                self.lp.pkts_acked(&self.tp, &mut self.cc, &AckSample { acked: 1, rtt, in_flight: 64 });
                self.lp.cong_avoid(&self.tp, &mut self.cc, 1);
            }
        }
    }

    /// 20 ms at first, 40 ms the maximum; when the smoothed delay passes 23 ms the window is halved, and growth waits
    /// three round trips.
    #[test]
    fn a_longer_delay_halves_the_window_and_stops_growth() {
        let mut flow = Flow::new(0);
        flow.acks(50, 20);
        let before = flow.cc.cwnd;
        flow.acks(1, 60);
        flow.acks(1, 40);
        let mut acks = 0;
        while flow.cc.cwnd >= before {
            flow.acks(1, 40);
            acks += 1;
            assert!(acks < 20, "no reduction");
        }
        assert!((before / 2..=before / 2 + 1).contains(&flow.cc.cwnd), "{} of {before}", flow.cc.cwnd);
        let after = flow.cc.cwnd;
        flow.acks(10, 40);
        assert!(flow.cc.cwnd <= after && flow.lp.cc_info(&flow.tp, &flow.cc).phase == "yielding");
    }

    /// The same delays with a clock that starts in the upper half.
    #[test]
    fn a_clock_that_starts_high_makes_it_reno() {
        let mut flow = Flow::new(0x9000_0000);
        flow.acks(50, 20);
        let before = flow.cc.cwnd;
        flow.acks(100, 60);
        assert!(flow.cc.cwnd > before);
        assert_eq!(flow.lp.cc_info(&flow.tp, &flow.cc).phase, "avoidance");
    }
}
