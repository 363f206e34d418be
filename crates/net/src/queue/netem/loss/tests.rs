//! Long-run loss of each model compared with its stationary value.

use super::*;
use crate::queue::config::Correlated;
use crate::queue::tests::percent;

const PACKETS: u32 = 1_600_000;

/// Loss in percent, and the mean length of a run of losses.
fn measured(loss: Loss) -> (f64, f64) {
    let (mut rng, mut numbers) = (Rng::from_name(3, "loss"), Prandom::seeded(3));
    let mut model = LossModel::new(loss, &mut rng);
    let (mut losses, mut runs, mut was_lost) = (0u32, 0u32, false);
    for _ in 0..PACKETS {
        let is_lost = model.hits_next(&mut numbers);
        losses += u32::from(is_lost);
        runs += u32::from(is_lost && !was_lost);
        was_lost = is_lost;
    }
    (100.0 * f64::from(losses) / f64::from(PACKETS), f64::from(losses) / f64::from(runs.max(1)))
}

fn close(seen: f64, expected: f64, tolerance: f64) -> bool {
    (seen - expected).abs() <= tolerance * expected
}

#[test]
fn random_loss_loses_its_share() {
    let (share, _) = measured(Loss::Random(Correlated { chance: percent(2.0), correlation: Probability(0) }));
    assert!(close(share, 2.0, 0.03), "{share}");
}

#[test]
fn correlation_clusters_losses_and_reduces_them_as_in_linux() {
    // Averaging old and new draws concentrates them in the middle: at 50 % one in a thousand is in the lowest tenth.
    let (share, run) = measured(Loss::Random(Correlated { chance: percent(10.0), correlation: percent(50.0) }));
    assert!(share < 1.0 && run > 1.05, "{share} {run}");
}

#[test]
fn simple_gilbert_loses_p_of_p_plus_r_in_runs_of_one_over_r() {
    // In the bad state every packet is lost: h = 0 for the kernel, 1-h = 100 % for tc.
    let (share, run) =
        measured(Loss::Gemodel { p: percent(1.0), r: percent(10.0), h: Probability(0), k1: Probability(0) });
    assert!(close(share, 100.0 / 11.0, 0.04), "{share}");
    assert!(close(run, 10.0, 0.04), "{run}");
}

#[test]
fn gilbert_elliott_weighs_the_losses_of_both_states() {
    // 1-h = 70 %, 1-k = 0.1 %: (p × 0.7 + r × 0.001) / (p + r).
    let (share, _) = measured(Loss::Gemodel { p: percent(1.0), r: percent(10.0), h: percent(30.0), k1: percent(0.1) });
    assert!(close(share, 100.0 * (0.01 * 0.7 + 0.1 * 0.001) / 0.11, 0.04), "{share}");
}

#[test]
fn the_four_state_model_converges_to_its_stationary_loss() {
    // Good to burst 1 %, back 20 %, burst to reception within it 10 %, back 30 %, good to isolated loss 2 %.
    let (enter, leave, pause, resume, alone) = (0.01, 0.2, 0.1, 0.3, 0.02);
    // In equilibrium transitions balance: good to burst and back, burst loss to burst reception and back.
    let good = 1.0 / (1.0 + alone + enter / leave * (1.0 + pause / resume));
    let expected = 100.0 * good * (enter / leave + alone);
    let chance = |share: f64| percent(100.0 * share);
    let (share, _) = measured(Loss::State {
        p13: chance(enter),
        p31: chance(leave),
        p32: chance(pause),
        p23: chance(resume),
        p14: chance(alone),
    });
    assert!(close(share, expected, 0.04), "{share} {expected}");
}

#[test]
fn an_isolated_loss_is_followed_by_a_received_packet() {
    let loss = Loss::State {
        p13: Probability(0),
        p31: Probability(0),
        p32: Probability(0),
        p23: Probability(0),
        p14: percent(50.0),
    };
    let (share, run) = measured(loss);
    assert!(close(share, 100.0 / 3.0, 0.02) && close(run, 1.0, 0.0), "{share} {run}");
}

#[test]
fn every_tenth_packet_is_lost_also_after_a_change() {
    let (mut rng, mut numbers) = (Rng::from_name(3, "loss"), Prandom::seeded(3));
    let mut model = LossModel::new(Loss::Every { every: 10 }, &mut rng);
    let first: alloc::vec::Vec<u32> = (1..=25).filter(|_| model.hits_next(&mut numbers)).collect();
    assert_eq!(first, [10, 20]);
    model.change(Loss::Every { every: 6 }, &mut rng);
    assert!(model.hits_next(&mut numbers), "five packets have passed, this is the sixth");
}
