//! H-TCP's numbers, worked out by hand.

use super::*;
use crate::cc::testing::{ms, vitals};
use crate::time::Span;

fn htcp() -> Htcp {
    Htcp::new(&mut Parameters::default())
}

fn sample(acked: u32, rtt_ms: u64) -> AckSample {
    AckSample { acked, rtt: Some(Span::from_millis(rtt_ms)), in_flight: 10 }
}

/// At 100 ms (25 jiffies; scale 8/8): 1 packet a round trip in the first second, then 1 + 10 + 1/4 → 11 and 1 + 20 + 1 = 22.
#[test]
fn growth_rises_with_the_square_of_time() {
    let mut htcp = htcp();
    htcp.rtt = Rtts { least: 25, most: 25 };
    let alphas = [100, 250, 500, 750].map(|jiffy| {
        htcp.update_alpha(jiffy);
        htcp.alpha / ONE
    });
    assert_eq!(alphas, [1, 1, 11, 22]);
}

/// 40 ms are 10 jiffies: 2000/100 = 20/8, so that 11 becomes 88/20 = 4; unscaled it stays 11.
#[test]
fn growth_is_in_proportion_to_the_round_trip() {
    let mut htcp = htcp();
    htcp.rtt.least = 10;
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
    htcp.rtt = Rtts { least: 20, most: 30 };
    let mut vitals = Vitals { cwnd: 128, ..vitals() };
    let thresholds: [u32; 3] = core::array::from_fn(|_| {
        htcp.rtt.most = 30;
        htcp.ssthresh(&mut vitals)
    });
    assert_eq!(thresholds, [64, 85, 85]);
}

#[test]
fn a_loss_at_another_throughput_halves() {
    let mut htcp = htcp();
    htcp.rtt = Rtts { least: 20, most: 22 };
    let mut vitals = Vitals { cwnd: 128, ..vitals() };
    htcp.ssthresh(&mut vitals);
    assert_eq!(htcp.ssthresh(&mut vitals), 102, "0.8 at most");
    htcp.throughput.old_most = 1_000;
    assert_eq!((htcp.ssthresh(&mut vitals), htcp.by_delay), (64, false));
}

/// 80 ms, then 90 ms (23 jiffies): within 5 of 20. 200 ms is too large a step.
#[test]
fn the_largest_round_trip_rises_by_small_steps_and_fades() {
    let (mut htcp, mut vitals) = (htcp(), vitals());
    for rtt_ms in [80, 90, 200] {
        htcp.on_acked(&mut vitals, &sample(1, rtt_ms));
    }
    assert_eq!(htcp.rtt, Rtts { least: 20, most: 23 });
    htcp.ssthresh(&mut vitals);
    assert_eq!(htcp.rtt.most, 22);
}

#[test]
fn an_error_gives_the_time_back() {
    let (mut htcp, mut vitals) = (htcp(), vitals());
    htcp.start(&mut vitals);
    vitals.now = ms(3_000);
    assert_eq!(htcp.insight(&Vitals { ssthresh: 5, ..vitals.clone() }).phase, "fast");
    htcp.on_state(&mut vitals, CaState::Recovery);
    assert_eq!(htcp.since, 750);
    htcp.undo_cwnd(&mut vitals);
    htcp.on_state(&mut vitals, CaState::Open);
    assert_eq!(htcp.since, 250);
    htcp.on_state(&mut vitals, CaState::Recovery);
    vitals.now = ms(3_100);
    htcp.on_state(&mut vitals, CaState::Open);
    assert_eq!(htcp.since, 775, "the second begins when all is well again");
}
