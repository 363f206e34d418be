//! TCP-LP: yield to everybody else (Linux's `tcp_lp.c`).
//!
//! - **What it does**: Reno; but when the smoothed one-way delay exceeds its smallest by 15 % of the range seen, the
//!   window is halved, and set to one packet when that happens again within three round trips.
//! - **Signal it listens to**: one-way delay, reckoned from timestamps; loss as Reno.
//! - **When it does well**: bulk transfers that nobody waits for, where the delay can be measured.
//! - **When it does badly**: on Linux, mostly: see below.
//! - **Reference**: A. Kuzmanovic, E. Knightly, "TCP-LP: Low-Priority Service via End-Point Congestion Control", 2006.
//!
//! Where Linux departs from the paper: the receiver's timestamps begin at a random number of 32 bits. Its arithmetic
//! keeps the upper three of them in one place and loses them in another: most flows never find the delay too long, and
//! are Reno ([`one_way`]).

mod one_way;

use super::{AckSample, Control, Insight, Stamps, Vitals, growth, reno};
use crate::dice::Dice;
use one_way::OneWay;

/// A flow's TCP-LP. Times are milliseconds, as its timestamps.
#[derive(Clone, Debug)]
pub struct Lp {
    delay: OneWay,
    /// Where the receiver's timestamps begin.
    receivers_start: u32,
    /// The last ACK's.
    stamps: Stamps,
    /// When the window was cut last.
    cut_at_ms: Option<u32>,
    /// How long after a cut growth waits: three round trips.
    wait_ms: u32,
    waits: bool,
}

impl Lp {
    pub(super) fn new(mut dice: Dice) -> Self {
        Self {
            delay: OneWay::new(),
            receivers_start: dice.word(),
            stamps: Stamps::default(),
            cut_at_ms: None,
            wait_ms: 0,
            waits: false,
        }
    }
}

impl Control for Lp {
    fn name(&self) -> &'static str {
        "lp"
    }

    fn start(&mut self, _vitals: &mut Vitals) {}

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        reno::ssthresh(vitals)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_stamps(&mut self, stamps: Stamps) {
        self.stamps = stamps;
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        let now_ms = one_way::low(vitals.now.as_micros() / 1_000);
        let echo_ms = one_way::low(self.stamps.echo_ms);
        if sample.rtt.is_some_and(|rtt| rtt.as_micros() > 0) {
            self.delay.measure(one_way::low(self.stamps.sent_ms).wrapping_add(self.receivers_start), echo_ms);
        }
        let round_ms = now_ms.wrapping_sub(echo_ms);
        if (1..1 << 31).contains(&round_ms) {
            self.wait_ms = round_ms.wrapping_mul(3);
        }
        self.waits = self.cut_at_ms.is_some_and(|at_ms| now_ms.wrapping_sub(at_ms) < self.wait_ms);
        if self.delay.is_short() {
            return;
        }
        self.delay.begin_anew();
        vitals.cwnd = if self.waits { 1 } else { (vitals.cwnd / 2).max(1) };
        self.cut_at_ms = Some(now_ms);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !self.waits {
            reno::avoid(vitals, acked);
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = if self.waits { "yielding" } else { growth::phase(vitals) };
        Insight { phase, ..Insight::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ms, vitals};
    use crate::time::Span;

    /// A flow whose receiver's clock starts here; ACKs come 40 ms after they were sent, and longer where there is a queue.
    struct Flow {
        lp: Lp,
        vitals: Vitals,
    }

    impl Flow {
        fn new(receivers_start: u32) -> Self {
            let lp = Lp { receivers_start, ..Lp::new(Dice::named(1, "lp")) };
            Self { lp, vitals: Vitals { cwnd: 64, ssthresh: 64, now: ms(1_000), ..vitals() } }
        }

        /// So many ACKs, one each 10 ms, each delayed by so much on the way there.
        fn hear(&mut self, acks: u32, delay_ms: u64) {
            for _ in 0..acks {
                self.vitals.now += Span::from_millis(10);
                let now_ms = self.vitals.now.as_micros() / 1_000;
                let stamps = Stamps { sent_ms: now_ms - 20, echo_ms: now_ms - 20 - delay_ms };
                self.lp.on_stamps(stamps);
                let rtt = Some(Span::from_millis(20 + delay_ms));
                self.lp.on_acked(&mut self.vitals, &AckSample { acked: 1, rtt, in_flight: 64 });
                self.lp.avoid(&mut self.vitals, 1);
            }
        }
    }

    /// 20 ms at first, 40 ms the longest; when the smoothed delay passes 23 ms the window is halved, and growth waits three round trips.
    #[test]
    fn a_longer_delay_halves_the_window_and_stops_growth() {
        let mut flow = Flow::new(0);
        flow.hear(50, 20);
        let before = flow.vitals.cwnd;
        flow.hear(1, 60);
        flow.hear(1, 40);
        let mut acks = 0;
        while flow.vitals.cwnd >= before {
            flow.hear(1, 40);
            acks += 1;
            assert!(acks < 20, "it never yields");
        }
        assert!((before / 2..=before / 2 + 1).contains(&flow.vitals.cwnd), "{} of {before}", flow.vitals.cwnd);
        let after = flow.vitals.cwnd;
        flow.hear(10, 40);
        assert!(flow.vitals.cwnd <= after && flow.lp.insight(&flow.vitals).phase == "yielding");
    }

    /// The same delays on a clock that begins in the upper half.
    #[test]
    fn a_clock_that_starts_late_makes_it_a_reno() {
        let mut flow = Flow::new(0x9000_0000);
        flow.hear(50, 20);
        let before = flow.vitals.cwnd;
        flow.hear(100, 60);
        assert!(flow.vitals.cwnd > before);
        assert_eq!(flow.lp.insight(&flow.vitals).phase, "avoidance");
    }
}
