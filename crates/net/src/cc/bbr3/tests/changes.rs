//! The draft's example test cases by number: paths that aggregate ACKs, are tiny, change, or are policed.

use super::super::UNIT;
use super::super::phase::Phase;
use super::cases::{is_close, max_bw_kbit, payload_kbit, plain};
use super::test_path::{TestPath, draft};
use crate::cc::model::probe_rtt::MIN_PIPE_CWND;
use alloc::vec::Vec;

fn bdp(test_path: &TestPath) -> u32 {
    test_path.bbr().bdp_multiple(test_path.bbr().max_bw.best(), UNIT)
}

/// Packets delivered in `millis`, in percent of the link's capacity.
fn use_percent(test_path: &mut TestPath, kbit: u64, millis: u64) -> u64 {
    let delivered = test_path.tp().delivered;
    test_path.run_for(millis);
    (test_path.tp().delivered - delivered) * 1_514 * 8 * 100 / (kbit * millis)
}

#[test]
fn case_12_startup_finds_the_bandwidth_with_aggregated_acks() {
    let mut test_path = TestPath::new(draft(), 20_000, 40, 200);
    test_path.batch_acks(20);
    test_path.run_to(Phase::Drain);
    assert!(test_path.bbr().extra_acked() >= 20, "{} of 33 packets per batch", test_path.bbr().extra_acked());
    assert!(test_path.cc().cwnd > 2 * bdp(&test_path), "{} and {}", test_path.cc().cwnd, bdp(&test_path));
    assert!(max_bw_kbit(&test_path) >= payload_kbit(20_000) * 98 / 100, "{}", max_bw_kbit(&test_path));
}

#[test]
fn case_13_cruising_continues_between_batches_of_acks() {
    let mut test_path = TestPath::new(draft(), 20_000, 40, 200);
    test_path.run_to(Phase::ProbeBwCruise);
    let before = test_path.bbr().extra_acked();
    test_path.batch_acks(40);
    test_path.run_for(400);
    assert_eq!(test_path.phase(), Phase::ProbeBwCruise);
    let extra = test_path.bbr().extra_acked();
    assert!(extra > before + 20, "{before} -> {extra}");
    assert!(test_path.cc().cwnd >= 2 * bdp(&test_path) + 20, "{} and {}", test_path.cc().cwnd, bdp(&test_path));
    assert!(use_percent(&mut test_path, 20_000, 1_000) >= 95);
}

/// 200 kbit/s and 5 ms hold an eleventh of a packet.
#[test]
fn case_14_four_packets_stay_in_flight_on_a_tiny_path() {
    let mut test_path = TestPath::new(draft(), 200, 5, 1_000);
    test_path.run_until(|test_path| test_path.phase().is_probe_bw());
    for _ in 0..200 {
        test_path.run_for(100);
        assert!(test_path.cc().cwnd >= MIN_PIPE_CWND);
    }
    test_path.run_to(Phase::ProbeBwCruise);
    let pacing_kbit = test_path.cc().pacing_rate.as_bits() / 1_000;
    assert!(is_close(pacing_kbit, payload_kbit(200), 4), "{pacing_kbit}");
    assert!(use_percent(&mut test_path, 200, 5_000) >= 95);
}

/// The bound on in-flight data starts from the small bandwidth and a buffer of 20 ms.
#[test]
fn case_15_ten_times_the_bandwidth_is_found_by_doubling_steps() {
    let mut test_path = TestPath::new(draft(), 10_000, 40, 20);
    test_path.run_until(|test_path| {
        test_path.bbr().long_term.inflight_longterm != u32::MAX && test_path.phase() == Phase::ProbeBwCruise
    });
    test_path.set_rate(100_000);
    let (changed, round) = (test_path.ms(), test_path.bbr().rounds.count);
    let mut bounds = Vec::new();
    test_path.run_until(|test_path| {
        if test_path.phase() == Phase::ProbeBwUp && test_path.bbr().rounds.started {
            bounds.push(test_path.bbr().long_term.inflight_longterm);
        }
        max_bw_kbit(test_path) >= payload_kbit(100_000) * 95 / 100
    });
    let steps: Vec<u32> = bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    assert!(steps.windows(2).any(|pair| pair[1] >= 2 * pair[0] && pair[0] > 2), "{steps:?}");
    let rounds = test_path.bbr().rounds.count - round;
    assert!(test_path.ms() - changed < 6_000, "{} ms, {rounds} rounds", test_path.ms() - changed);
}

#[test]
fn case_16_the_flow_adapts_to_a_tenth_of_the_bandwidth() {
    let mut test_path = TestPath::new(draft(), 100_000, 40, 40);
    test_path.run_for(2_000);
    test_path.run_to(Phase::ProbeBwCruise);
    test_path.set_rate(10_000);
    test_path.run_for(700);
    let shortterm_kbit = test_path.bbr().short_term.bw_shortterm.rate(1_448).as_bits() / 1_000;
    assert!(shortterm_kbit < 20_000, "{shortterm_kbit} kbit/s, eight rounds later");
    for _ in 0..2 {
        test_path.run_to(Phase::ProbeBwUp);
        test_path.run_to(Phase::ProbeBwCruise);
    }
    assert!(is_close(max_bw_kbit(&test_path), payload_kbit(10_000), 5), "{} kbit/s", max_bw_kbit(&test_path));
}

#[test]
fn case_17_a_policed_flow_settles_near_the_token_rate() {
    let mut test_path = TestPath::new(draft(), 50_000, 40, 100);
    test_path.run_to(Phase::ProbeBwCruise);
    test_path.police(10_000, 100_000);
    test_path.run_for(1_000);
    assert!(test_path.bbr().short_term.inflight_shortterm < u32::MAX);
    test_path.run_for(14_000);
    let (dropped, delivered, end) = (test_path.dropped, test_path.tp().delivered, test_path.ms() + 15_000);
    let (mut rounds, mut lossy) = (0, 0);
    while test_path.ms() < end {
        let (round, before) = (test_path.bbr().rounds.count, test_path.dropped);
        test_path.run_until(|test_path| test_path.bbr().rounds.count > round);
        rounds += 1;
        lossy += u32::from(test_path.dropped > before);
    }
    let (dropped, delivered) = (test_path.dropped - dropped, test_path.tp().delivered - delivered);
    let used = delivered * 1_514 * 8 * 100 / (10_000 * 15_000);
    assert!((80..=101).contains(&used), "{used} % of the token rate");
    assert!(lossy * 3 < rounds, "loss in {lossy} of {rounds} rounds: expected only with probes");
    assert!(dropped * 100 < delivered * 4, "{dropped} of {delivered}");
}

/// The steady state of the path that the other cases use.
#[test]
fn a_steady_cycle() {
    let mut test_path = plain();
    let phase_log = test_path.phase_log(5_000);
    let phases: Vec<Phase> = phase_log.iter().map(|page| page.0).take(8).collect();
    let cycle = [Phase::ProbeBwCruise, Phase::ProbeBwRefill, Phase::ProbeBwUp, Phase::ProbeBwDown];
    assert_eq!(phases[..2], [Phase::Startup, Phase::Drain]);
    assert_eq!(phases[2..6], cycle, "{phase_log:?}");
}
