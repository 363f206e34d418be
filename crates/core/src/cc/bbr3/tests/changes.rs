//! The draft's example cases, by their numbers: paths that bunch ACKs, are tiny, change, or are policed.

use super::super::UNIT;
use super::super::phase::Phase;
use super::super::window::MIN_PIPE_CWND;
use super::cases::{is_close, max_bw_kbit, payload_kbit, plain};
use super::lane::{Lane, bbr3};
use alloc::vec::Vec;

fn bdp(lane: &Lane) -> u32 {
    lane.bbr().bdp_multiple(lane.bbr().max_bw.best(), UNIT)
}

/// Packets delivered in so many milliseconds, in per cent of what the link carries.
fn use_percent(lane: &mut Lane, kbit: u64, millis: u64) -> u64 {
    let delivered = lane.vitals().delivered;
    lane.run_for(millis);
    (lane.vitals().delivered - delivered) * 1_514 * 8 * 100 / (kbit * millis)
}

#[test]
fn case_12_startup_finds_the_bandwidth_though_acks_come_in_bunches() {
    let mut lane = Lane::new(bbr3("draft"), 20_000, 40, 200);
    lane.batch_acks(20);
    lane.run_to(Phase::Drain);
    assert!(lane.bbr().extra_acked() >= 20, "{} of 33 packets a bunch", lane.bbr().extra_acked());
    assert!(lane.vitals().cwnd > 2 * bdp(&lane), "{} and {}", lane.vitals().cwnd, bdp(&lane));
    assert!(max_bw_kbit(&lane) >= payload_kbit(20_000) * 98 / 100, "{}", max_bw_kbit(&lane));
}

#[test]
fn case_13_cruising_goes_on_between_bunches_of_acks() {
    let mut lane = Lane::new(bbr3("draft"), 20_000, 40, 200);
    lane.run_to(Phase::ProbeBwCruise);
    let before = lane.bbr().extra_acked();
    lane.batch_acks(40);
    lane.run_for(400);
    assert_eq!(lane.phase(), Phase::ProbeBwCruise);
    let extra = lane.bbr().extra_acked();
    assert!(extra > before + 20, "{before} -> {extra}");
    assert!(lane.vitals().cwnd >= 2 * bdp(&lane) + 20, "{} and {}", lane.vitals().cwnd, bdp(&lane));
    assert!(use_percent(&mut lane, 20_000, 1_000) >= 95);
}

/// 200 kbit/s and 5 ms hold an eleventh of a packet.
#[test]
fn case_14_four_packets_are_in_flight_however_little_the_path_holds() {
    let mut lane = Lane::new(bbr3("draft"), 200, 5, 1_000);
    lane.run_until(|lane| lane.phase().is_probe_bw());
    for _ in 0..200 {
        lane.run_for(100);
        assert!(lane.vitals().cwnd >= MIN_PIPE_CWND);
    }
    lane.run_to(Phase::ProbeBwCruise);
    let pacing_kbit = lane.vitals().pacing_rate.as_bits() / 1_000;
    assert!(is_close(pacing_kbit, payload_kbit(200), 4), "{pacing_kbit}");
    assert!(use_percent(&mut lane, 200, 5_000) >= 95);
}

/// The bound on what is in flight is known, of the small bandwidth and a buffer of 20 ms.
#[test]
fn case_15_ten_times_the_bandwidth_is_found_by_doubling_steps() {
    let mut lane = Lane::new(bbr3("draft"), 10_000, 40, 20);
    lane.run_until(|lane| lane.bbr().long_term.inflight_longterm != u32::MAX && lane.phase() == Phase::ProbeBwCruise);
    lane.set_rate(100_000);
    let (changed, round) = (lane.ms(), lane.bbr().rounds.count);
    let mut bounds = Vec::new();
    lane.run_until(|lane| {
        if lane.phase() == Phase::ProbeBwUp && lane.bbr().rounds.started {
            bounds.push(lane.bbr().long_term.inflight_longterm);
        }
        max_bw_kbit(lane) >= payload_kbit(100_000) * 95 / 100
    });
    let steps: Vec<u32> = bounds.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    assert!(steps.windows(2).any(|pair| pair[1] >= 2 * pair[0] && pair[0] > 2), "{steps:?}");
    let rounds = lane.bbr().rounds.count - round;
    assert!(lane.ms() - changed < 6_000, "{} ms, {rounds} rounds", lane.ms() - changed);
}

#[test]
fn case_16_a_tenth_of_the_bandwidth_is_adapted_to() {
    let mut lane = Lane::new(bbr3("draft"), 100_000, 40, 40);
    lane.run_for(2_000);
    lane.run_to(Phase::ProbeBwCruise);
    lane.set_rate(10_000);
    lane.run_for(700);
    let shortterm_kbit = lane.bbr().short_term.bw_shortterm.rate(1_448).as_bits() / 1_000;
    assert!(shortterm_kbit < 20_000, "{shortterm_kbit} kbit/s, eight rounds later");
    for _ in 0..2 {
        lane.run_to(Phase::ProbeBwUp);
        lane.run_to(Phase::ProbeBwCruise);
    }
    assert!(is_close(max_bw_kbit(&lane), payload_kbit(10_000), 5), "{} kbit/s", max_bw_kbit(&lane));
}

#[test]
fn case_17_a_policed_flow_settles_near_the_token_rate() {
    let mut lane = Lane::new(bbr3("draft"), 50_000, 40, 100);
    lane.run_to(Phase::ProbeBwCruise);
    lane.police(10_000, 100_000);
    lane.run_for(1_000);
    assert!(lane.bbr().short_term.inflight_shortterm < u32::MAX);
    lane.run_for(14_000);
    let (dropped, delivered, end) = (lane.dropped, lane.vitals().delivered, lane.ms() + 15_000);
    let (mut rounds, mut lossy) = (0, 0);
    while lane.ms() < end {
        let (round, before) = (lane.bbr().rounds.count, lane.dropped);
        lane.run_until(|lane| lane.bbr().rounds.count > round);
        rounds += 1;
        lossy += u32::from(lane.dropped > before);
    }
    let (dropped, delivered) = (lane.dropped - dropped, lane.vitals().delivered - delivered);
    let used = delivered * 1_514 * 8 * 100 / (10_000 * 15_000);
    assert!((80..=101).contains(&used), "{used} % of the token rate");
    assert!(lossy * 3 < rounds, "loss in {lossy} of {rounds} rounds: it comes with probes");
    assert!(dropped * 100 < delivered * 4, "{dropped} of {delivered}");
}

/// What the path of the other cases looks like in steady state.
#[test]
fn a_steady_cycle() {
    let mut lane = plain();
    let diary = lane.diary(5_000);
    let phases: Vec<Phase> = diary.iter().map(|page| page.0).take(8).collect();
    let cycle = [Phase::ProbeBwCruise, Phase::ProbeBwRefill, Phase::ProbeBwUp, Phase::ProbeBwDown];
    assert_eq!(phases[..2], [Phase::Startup, Phase::Drain]);
    assert_eq!(phases[2..6], cycle, "{diary:?}");
}
