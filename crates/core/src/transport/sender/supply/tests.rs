//! What is written, how skbs are filled and grow, and when they are pushed.

use super::*;
use crate::transport::sender::tests::settings;

/// An application that never ends has begun to write.
fn endless() -> Supply {
    let mut supply = Supply::new(&settings());
    supply.write(u64::MAX);
    supply.wake(1);
    supply
}

fn fill(supply: &mut Supply) -> u64 {
    let before = supply.end();
    supply.wake(1);
    while supply.is_writing() {
        let memory = Supply::memory((supply.end() - 1) / 1_448, supply.end() - 1);
        supply.add(1_448, memory);
    }
    supply.end() - before
}

#[test]
fn an_endless_supply_fills_the_buffer_and_waits_for_a_third_of_it() {
    let mut supply = Supply::new(&settings());
    supply.grow(10, 2);
    supply.write(u64::MAX);
    // 2 * 10 segments of 2048 + 256 bytes; an skb of one segment takes 832 + 1448.
    assert_eq!(fill(&mut supply), 46_080_u64.div_ceil(2_280) * 1_448);
    assert!(supply.starved && !supply.has_room(30_721) && supply.has_room(30_720));
    supply.write(0);
    assert!(fill(&mut supply) == 0 && supply.is_whole());
}

#[test]
fn fin_waits_for_the_last_byte() {
    let mut supply = Supply::new(&settings());
    supply.write(20_000);
    supply.close();
    fill(&mut supply);
    assert!(supply.starved && !supply.queue_fin());
    supply.grow(10, 2);
    fill(&mut supply);
    assert!(supply.queue_fin() && !supply.queue_fin());
    assert_eq!(supply.end(), 20_002);
}

#[test]
fn an_skb_that_is_too_short_takes_from_the_one_behind_it_only() {
    let mut supply = endless();
    for _ in 0..3 {
        supply.add(2_000, 0);
    }
    supply.sent(1_501);
    assert_eq!((supply.head(1_501), supply.skbs()), (500, 3));
    supply.grow_head(1_501, 1_500);
    assert_eq!((supply.head(1_501), supply.skbs()), (1_500, 3));
    supply.grow_head(1_501, 9_000);
    assert_eq!((supply.head(1_501), supply.skbs()), (2_500, 2), "one at a time");
    supply.sent(4_001);
    supply.take_back(4_001);
    assert_eq!((supply.head(3_001), supply.skbs()), (1_000, 2), "what was refused stays by itself");
}

#[test]
fn the_last_skb_is_filled_up_and_pushed_when_it_is_the_only_one() {
    let mut supply = endless();
    supply.add(2_000, 0);
    assert!(supply.pushes(1, 2_000, 10_000) && supply.push_one);
    supply.sent(1_001);
    assert!(supply.fill(1_001, 2_000) && !supply.fill(1_001, 2_000));
    assert_eq!(supply.head(1_001), 2_000);
    supply.add(2_000, 0);
    assert!(!supply.pushes(1_001, 2_000, 10_000), "there are two");
    supply.add(2_000, 0);
    assert!(supply.pushes(1_001, 2_000, 10_000) && !supply.push_one, "half of the window was written");
}

#[test]
fn what_is_written_is_pushed_when_the_pipe_is_empty() {
    let mut supply = endless();
    supply.add(65_160, 0);
    assert!(supply.pushes(1, 65_160, 1 << 20) && supply.push_one && !supply.corked);
    supply.add(65_160, 0);
    assert_eq!((supply.tail(1), supply.written()), (376, 65_537), "the rest of 16 pages");
    assert!(supply.pushes(1, 65_160, 1 << 20) && supply.corked && !supply.push_one);
    assert!(supply.fill(1, 65_160) && !supply.pushes(1, 65_160, 1 << 20), "a full skb behind another");
}

#[test]
fn an_skb_with_seventeen_pieces_of_pages_is_full() {
    let mut supply = endless();
    supply.add(63_712, 0);
    supply.sent(23_169);
    supply.wake(1);
    assert!(supply.fill(23_169, 65_160));
    assert_eq!(supply.head(23_169), 40_544 + 6 * 4_096, "40 bytes less than it should have");
    assert!(!supply.fill(23_169, 65_160) && supply.add(65_160, 0));
}
