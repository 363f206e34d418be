//! H-TCP's numbers, computed by hand.

use super::*;
use crate::cc::testing::{cc, ms, tp};
use crate::time::Span;

fn htcp() -> Htcp {
    Htcp::new(&mut Parameters::default())
}

fn sample(acked: u32, rtt_ms: u64) -> AckSample {
    AckSample { acked, rtt: Some(Span::from_millis(rtt_ms)), in_flight: 10 }
}

/// At 100 ms (25 jiffies; scale 8/8): 1 packet per round trip in the first second, then 1 + 10 + 1/4 → 11 and 1 + 20 +
/// 1 = 22.
#[test]
fn growth_rises_with_the_square_of_time() {
    let mut htcp = htcp();
    htcp.rtt = Rtts { minimum: 25, maximum: 25 };
    let alphas = [100, 250, 500, 750].map(|jiffy| {
        htcp.update_alpha(jiffy);
        htcp.alpha / ONE
    });
    assert_eq!(alphas, [1, 1, 11, 22]);
}

/// 40 ms are 10 jiffies: 2000/100 = 20/8, so that 11 becomes 88/20 = 4; unscaled it stays 11.
#[test]
fn growth_is_proportional_to_the_round_trip_time() {
    let mut htcp = htcp();
    htcp.rtt.minimum = 10;
    htcp.update_alpha(500);
    assert_eq!(htcp.alpha, 4 * ONE);
    htcp.scales_by_rtt = false;
    htcp.update_alpha(500);
    assert_eq!(htcp.alpha, 11 * ONE);
}

/// The first loss halves. At the second with equal throughput the queue decides: 20 of 30 jiffies are 85/128.
#[test]
fn the_second_loss_empties_the_queue() {
    let mut htcp = htcp();
    htcp.rtt = Rtts { minimum: 20, maximum: 30 };
    let (tp, mut cc) = (tp(), CcState { cwnd: 128, ..cc() });
    let thresholds: [u32; 3] = core::array::from_fn(|_| {
        htcp.rtt.maximum = 30;
        htcp.ssthresh(&tp, &mut cc)
    });
    assert_eq!(thresholds, [64, 85, 85]);
}

#[test]
fn a_loss_at_different_throughput_halves() {
    let mut htcp = htcp();
    htcp.rtt = Rtts { minimum: 20, maximum: 22 };
    let (tp, mut cc) = (tp(), CcState { cwnd: 128, ..cc() });
    htcp.ssthresh(&tp, &mut cc);
    assert_eq!(htcp.ssthresh(&tp, &mut cc), 102, "at most 0.8");
    htcp.throughput.old_max = 1_000;
    assert_eq!((htcp.ssthresh(&tp, &mut cc), htcp.by_delay), (64, false));
}

/// 80 ms, then 90 ms (23 jiffies): within 5 of 20. 200 ms is too large a step.
#[test]
fn the_maximum_round_trip_time_rises_by_small_steps_and_decays() {
    let (mut htcp, tp, mut cc) = (htcp(), tp(), cc());
    for rtt_ms in [80, 90, 200] {
        htcp.pkts_acked(&tp, &mut cc, &sample(1, rtt_ms));
    }
    assert_eq!(htcp.rtt, Rtts { minimum: 20, maximum: 23 });
    htcp.ssthresh(&tp, &mut cc);
    assert_eq!(htcp.rtt.maximum, 22);
}

#[test]
fn an_undo_restores_the_time() {
    let (mut htcp, mut tp, mut cc) = (htcp(), tp(), cc());
    htcp.init(&tp, &mut cc);
    tp.now = ms(3_000);
    assert_eq!(htcp.cc_info(&tp.clone(), &CcState { ssthresh: 5, ..cc.clone() }).phase, "fast");
    htcp.set_state(&tp, &mut cc, CaState::Recovery);
    assert_eq!(htcp.since, 750);
    htcp.undo_cwnd(&tp, &mut cc);
    htcp.set_state(&tp, &mut cc, CaState::Open);
    assert_eq!(htcp.since, 250);
    htcp.set_state(&tp, &mut cc, CaState::Recovery);
    tp.now = ms(3_100);
    htcp.set_state(&tp, &mut cc, CaState::Open);
    assert_eq!(htcp.since, 775, "the second begins when recovery ends");
}
