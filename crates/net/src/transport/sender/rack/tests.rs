//! RACK's window and its losses against RFC 8985's definitions.

use super::*;
use crate::transport::sender::initial_state::initial_state;
use crate::transport::sender::tests::settings;
use crate::transport::sender::tso::Tso;
use alloc::vec::Vec;
use proptest::prelude::*;

fn state(state: CaState, min_rtt_us: u32, srtt_us: u32, sacked_out: u32) -> SenderState {
    let settings = settings();
    let tp = initial_state(&settings, &Tso::new(&settings, None));
    SenderState { state, min_rtt_us, srtt_us8: srtt_us * 8, sacked_out, ..tp }
}

fn seen() -> Reordering {
    let mut reordering = Reordering::new();
    reordering.delivered_late(1, 2, 1_000);
    reordering
}

/// What happens to the window.
#[derive(Clone, Copy, Debug)]
enum Round {
    /// An ACK of something sent so many deliveries ago.
    Ack(u64),
    Dsack,
    Recovered,
    Undone,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// RFC 8985 section 6.2, step 4: a quarter of the minimum round-trip time per step, at most the smoothed one; none
    /// while no reordering was seen and loss is likely.
    #[test]
    fn the_window_is_a_quarter_of_the_minimum(
        min_rtt_us in 4_u32..400_000,
        extra_us in 0_u32..400_000,
        sacked_out in 0_u32..10,
        recovers in any::<bool>(),
        reordered in any::<bool>(),
    ) {
        let ca_state = if recovers { CaState::Recovery } else { CaState::Open };
        let tp = state(ca_state, min_rtt_us, min_rtt_us + extra_us, sacked_out);
        let reordering = if reordered { seen() } else { Reordering::new() };
        let window_us = Rack::new().window_us(&tp, &reordering);
        let is_zero = !reordered && (recovers || sacked_out >= 3);
        prop_assert_eq!(window_us, if is_zero { 0 } else { u64::from(min_rtt_us / 4) });
    }

    /// The window grows by a step for each round with a DSACK and never beyond the smoothed round-trip time; it shrinks
    /// only after sixteen recoveries without one.
    #[test]
    fn dsacks_widen_the_window_for_sixteen_recoveries(
        rounds in prop::collection::vec(
            prop_oneof![
                4 => (0_u64..40).prop_map(Round::Ack),
                2 => Just(Round::Dsack),
                4 => Just(Round::Recovered),
                1 => Just(Round::Undone),
            ],
            1..300,
        ),
    ) {
        let mut rack = Rack::new();
        let tp = state(CaState::Open, 40_000, 60_000, 0);
        let (mut steps, mut left, mut widened_at, mut has_dsack) = (1_u64, 0_u32, 0, false);
        for (delivered, round) in (100..).zip(&rounds) {
            match *round {
                Round::Dsack => {
                    rack.take_dsack();
                    has_dsack = true;
                }
                Round::Recovered => {
                    rack.on_recovered();
                    left = left.saturating_sub(1);
                }
                Round::Undone => {
                    rack.on_undone();
                    left = (left + 1).min(16);
                }
                Round::Ack(ago) => {
                    let prior_delivered = delivered - ago;
                    rack.update_window(prior_delivered, delivered);
                    // Only a DSACK for something sent after the last change counts.
                    if has_dsack && prior_delivered >= widened_at {
                        (steps, left, widened_at) = (steps + 1, 16, delivered);
                    } else if left == 0 {
                        steps = 1;
                    }
                    has_dsack = false;
                }
            }
            prop_assert_eq!(rack.window_us(&tp, &seen()), (steps * 10_000).min(60_000));
        }
    }

    /// A record is lost if and only if a later one arrived and its time is over; of the others sent before that one, the
    /// longest wait is returned. A later call with nothing new finds the same records gone.
    #[test]
    fn exactly_the_overdue_records_are_lost(
        gaps_us in prop::collection::vec(prop_oneof![Just(0), 0_u64..30_000], 2..40),
        arrived in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        window_us in 0_u64..50_000,
        rtt_us in 1_u64..100_000,
        waits_us in 0_u64..60_000,
    ) {
        let mut tp = state(CaState::Open, 1, 1, 0);
        let mut board = Scoreboard::new(1_000);
        board.begin(1);
        let mut sent_us = 1;
        let mut keys = Vec::new();
        for (number, gap_us) in (1..).zip(&gaps_us) {
            sent_us += gap_us;
            let record = Record { end: 1 + number * 1_000, sent_us, marks: Marks::FIRST, ..Record::default() };
            keys.push(record.order());
            board.push(&mut tp, record);
        }
        let mut rack = Rack::new();
        prop_assert!(!rack.take_advance());
        let mut newest = (0, 0);
        let (mut now_us, mut last_rtt_us) = (sent_us + rtt_us, 0);
        for index in &arrived {
            let number = index.index(keys.len());
            now_us += 1;
            if !board.get(number as u64).marks.has(Marks::SACKED) {
                rack.advance(board.get(number as u64), now_us, 1);
                board.sack(&mut tp, number as u64);
                last_rtt_us = now_us - keys[number].0;
                newest = newest.max(keys[number]);
            }
        }
        prop_assert!(rack.take_advance() && !rack.take_advance());
        now_us += waits_us;
        let left_us = |key: (u64, u64)| (key.0 + last_rtt_us + window_us).saturating_sub(now_us);
        let earlier: Vec<u64> = (0..keys.len() as u64)
            .filter(|number| !board.get(*number).marks.has(Marks::SACKED) && keys[usize::try_from(*number).unwrap()] < newest)
            .collect();
        let key = |number: &u64| keys[usize::try_from(*number).unwrap()];
        let overdue: Vec<u64> = earlier.iter().copied().filter(|number| left_us(key(number)) == 0).collect();
        let longest_us = earlier.iter().map(|number| left_us(key(number))).max().unwrap_or(0);
        let mut lost = Vec::new();
        let waited = rack.detect(&mut board, window_us, now_us, |board, number| {
            board.mark_lost(&mut tp, number);
            lost.push(number);
        });
        prop_assert_eq!((&lost, waited), (&overdue, longest_us));
        prop_assert!(lost.iter().all(|number| board.get(*number).marks.has(Marks::OVERDUE)));
        prop_assert_eq!(rack.detect(&mut board, window_us, now_us, |_, _| panic!("lost twice")), longest_us);
    }

    /// An ACK sooner than the minimum round-trip time belongs to an earlier transmission (RFC 8985 section 6.2, step 2).
    #[test]
    fn a_retransmission_cannot_arrive_before_the_minimum(rtt_us in 0_u64..100_000, min_rtt_us in 1_u32..100_000) {
        for marks in [Marks::EMPTY, Marks::RETRANS, Marks::EVER] {
            let mut rack = Rack::new();
            rack.advance(&Record { sent_us: 5, end: 1_001, marks, ..Record::default() }, 5 + rtt_us, min_rtt_us);
            let counts = marks == Marks::EMPTY || rtt_us >= u64::from(min_rtt_us);
            prop_assert_eq!(rack.take_advance(), counts);
        }
    }
}
