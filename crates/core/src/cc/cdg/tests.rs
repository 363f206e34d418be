//! CDG's rounds.

use super::*;
use crate::cc::testing::vitals;
use crate::time::Span;

struct Flow {
    cdg: Cdg,
    vitals: Vitals,
}

impl Flow {
    fn new(parameters: &[(&str, u64)]) -> Self {
        let set = parameters.iter().map(|(name, number)| ((*name).into(), crate::cc::Setting::Number(*number)));
        let mut cdg = Cdg::new(&mut Parameters::of(set), Dice::named(1, "cdg"));
        let mut vitals = Vitals { cwnd: 100, ssthresh: 50, ..vitals() };
        cdg.start(&mut vitals);
        Self { cdg, vitals }
    }

    /// A round with one delay; does it retreat?
    fn round(&mut self, rtt_us: u64) -> bool {
        let sample = AckSample { acked: 2, rtt: Some(Span::from_micros(rtt_us)), in_flight: 100 };
        self.cdg.on_acked(&mut self.vitals, &sample);
        (self.vitals.snd_una, self.vitals.snd_nxt) = (self.vitals.snd_nxt + 1, self.vitals.snd_nxt + 100_000);
        self.cdg.avoid(&mut self.vitals, 2);
        self.cdg.takes_reduction()
    }
}

/// exp(−42 · 0.8 s) is nothing: 100 ms more a round are a retreat for certain, five times; the sixth changes nothing more.
#[test]
fn a_rising_delay_makes_it_retreat_until_that_is_of_no_use() {
    let mut flow = Flow::new(&[]);
    flow.round(100_000);
    let retreats: [bool; 7] = core::array::from_fn(|round| flow.round(200_000 + 100_000 * round as u64));
    assert_eq!(retreats, [true, true, true, true, true, false, false]);
    assert_eq!(flow.cdg.insight(&flow.vitals).phase, "retreat");
    assert_eq!(flow.cdg.ssthresh(&mut flow.vitals), 70, "724/1024");
    (0..9).for_each(|_| assert!(!flow.round(50_000)));
    assert_eq!(flow.cdg.retreats, 0, "a falling delay proves the effect");
}

#[test]
fn a_steady_delay_never_does() {
    let mut flow = Flow::new(&[]);
    assert!((0..50).all(|_| !flow.round(100_000)));
    assert!(flow.vitals.cwnd > 100 || flow.vitals.cwnd_count > 0);
}

/// 0.8 ms over eight rounds: 1 − exp(−42 · 0.0008) = 3.3 % of the rounds.
#[test]
fn a_slow_rise_makes_it_retreat_now_and_then() {
    let mut flow = Flow::new(&[("use_ineff", 0)]);
    let retreats = (0..6_000).filter(|round| flow.round(100_000 + 100 * round)).count();
    assert!((150..250).contains(&retreats), "{retreats}");
}

/// A retreat from 100 packets leaves the shadow there: a loss at 70 falls to 50, not to 35.
#[test]
fn the_shadow_softens_a_loss_after_a_retreat() {
    for (shadow, threshold) in [(1, 50), (0, 35)] {
        let mut flow = Flow::new(&[("use_shadow", shadow)]);
        flow.round(100_000);
        assert!(flow.round(500_000));
        flow.vitals.cwnd = 70;
        flow.cdg.on_event(&mut flow.vitals, Event::CompleteCwr);
        assert_eq!(flow.cdg.ssthresh(&mut flow.vitals), threshold);
    }
}

/// With tolerance a loss while the largest delay still rises is not congestion.
#[test]
fn a_tolerant_flow_keeps_its_window_while_the_queue_fills() {
    let mut flow = Flow::new(&[("use_tolerance", 1), ("backoff_factor", 0)]);
    flow.round(100_000);
    flow.round(110_000);
    assert_eq!(flow.cdg.ssthresh(&mut flow.vitals), 100);
}

#[test]
fn an_expected_delayed_ack_does_not_raise_the_largest_delay() {
    let mut flow = Flow::new(&[]);
    let hear = |flow: &mut Flow, acked, rtt_ms| {
        let sample = AckSample { acked, rtt: Some(Span::from_millis(rtt_ms)), in_flight: 10 };
        flow.cdg.on_acked(&mut flow.vitals, &sample);
        flow.cdg.round.delays
    };
    hear(&mut flow, 2, 40);
    assert_eq!(hear(&mut flow, 1, 80), Range { least_us: 40_000, most_us: 40_000 });
    assert_eq!(hear(&mut flow, 1, 80), Range { least_us: 40_000, most_us: 80_000 });
}
