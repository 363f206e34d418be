//! Each model against the share of losses that its chain settles at.

use super::*;
use crate::queue::config::Correlated;
use crate::queue::tests::percent;

const PACKETS: u32 = 1_600_000;

/// Share lost in percent, and the mean length of a run of losses.
fn measured(loss: Loss) -> (f64, f64) {
    let (mut dice, mut numbers) = (Dice::named(3, "loss"), Prandom::seeded(3));
    let mut model = LossModel::new(loss, &mut dice);
    let (mut losses, mut runs, mut was_lost) = (0u32, 0u32, false);
    for _ in 0..PACKETS {
        let is_lost = model.strikes(&mut numbers);
        losses += u32::from(is_lost);
        runs += u32::from(is_lost && !was_lost);
        was_lost = is_lost;
    }
    (100.0 * f64::from(losses) / f64::from(PACKETS), f64::from(losses) / f64::from(runs.max(1)))
}

fn close(seen: f64, wanted: f64, tolerance: f64) -> bool {
    (seen - wanted).abs() <= tolerance * wanted
}

#[test]
fn random_loss_loses_its_share() {
    let (share, _) = measured(Loss::Random(Correlated { chance: percent(2.0), correlation: Chance(0) }));
    assert!(close(share, 2.0, 0.03), "{share}");
}

#[test]
fn correlation_makes_losses_come_together_and_rarer_as_in_linux() {
    // An average of old and new numbers keeps to the middle: at 50 % one in a thousand lies in the lowest tenth.
    let (share, run) = measured(Loss::Random(Correlated { chance: percent(10.0), correlation: percent(50.0) }));
    assert!(share < 1.0 && run > 1.05, "{share} {run}");
}

#[test]
fn the_simple_gilbert_model_loses_p_of_p_plus_r_in_runs_of_one_over_r() {
    // In the bad state all are lost: h = 0 for the kernel, 1-h = 100 % for tc.
    let (share, run) = measured(Loss::Gemodel { p: percent(1.0), r: percent(10.0), h: Chance(0), k1: Chance(0) });
    assert!(close(share, 100.0 / 11.0, 0.04), "{share}");
    assert!(close(run, 10.0, 0.04), "{run}");
}

#[test]
fn the_whole_model_weighs_the_losses_of_both_states() {
    // 1-h = 70 %, 1-k = 0.1 %: (p × 0.7 + r × 0.001) / (p + r).
    let (share, _) = measured(Loss::Gemodel { p: percent(1.0), r: percent(10.0), h: percent(30.0), k1: percent(0.1) });
    assert!(close(share, 100.0 * (0.01 * 0.7 + 0.1 * 0.001) / 0.11, 0.04), "{share}");
}

#[test]
fn the_four_state_model_settles_where_its_chain_does() {
    // Good to a burst 1 %, back 20 %, within the burst to reception 10 % and back 30 %, good to a single loss 2 %.
    let (enter, leave, pause, resume, alone) = (0.01, 0.2, 0.1, 0.3, 0.02);
    // As often as the burst is entered from the good state it is left for it; as often as it pauses it resumes.
    let good = 1.0 / (1.0 + alone + enter / leave * (1.0 + pause / resume));
    let wanted = 100.0 * good * (enter / leave + alone);
    let chance = |share: f64| percent(100.0 * share);
    let (share, _) = measured(Loss::State {
        p13: chance(enter),
        p31: chance(leave),
        p32: chance(pause),
        p23: chance(resume),
        p14: chance(alone),
    });
    assert!(close(share, wanted, 0.04), "{share} {wanted}");
}

#[test]
fn a_loss_alone_is_followed_by_a_packet_that_passes() {
    let loss = Loss::State { p13: Chance(0), p31: Chance(0), p32: Chance(0), p23: Chance(0), p14: percent(50.0) };
    let (share, run) = measured(loss);
    assert!(close(share, 100.0 / 3.0, 0.02) && close(run, 1.0, 0.0), "{share} {run}");
}

#[test]
fn every_tenth_is_every_tenth_also_after_a_change() {
    let (mut dice, mut numbers) = (Dice::named(3, "loss"), Prandom::seeded(3));
    let mut model = LossModel::new(Loss::Every { every: 10 }, &mut dice);
    let first: alloc::vec::Vec<u32> = (1..=25).filter(|_| model.strikes(&mut numbers)).collect();
    assert_eq!(first, [10, 20]);
    model.change(Loss::Every { every: 6 }, &mut dice);
    assert!(model.strikes(&mut numbers), "five have passed since, so this is the sixth");
}
