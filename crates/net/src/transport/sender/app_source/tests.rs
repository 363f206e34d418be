//! Writing data, filling and growing skbs, and pushes.

use super::*;
use crate::transport::sender::tests::settings;

/// An application with unlimited data that has started writing.
fn endless() -> AppSource {
    let mut app_source = AppSource::new(&settings());
    app_source.write(u64::MAX);
    app_source.wake(1);
    app_source
}

fn fill(app_source: &mut AppSource) -> u64 {
    let before = app_source.end();
    app_source.wake(1);
    while app_source.is_writing() {
        let memory = AppSource::memory((app_source.end() - 1) / 1_448, app_source.end() - 1);
        app_source.add(1_448, memory);
    }
    app_source.end() - before
}

#[test]
fn unlimited_data_fills_the_buffer_and_waits_for_a_third_of_it() {
    let mut app_source = AppSource::new(&settings());
    app_source.grow(10, 2);
    app_source.write(u64::MAX);
    // 2 * 10 segments of 2048 + 256 bytes; an skb of one segment takes 832 + 1448.
    assert_eq!(fill(&mut app_source), 46_080_u64.div_ceil(2_280) * 1_448);
    assert!(app_source.nospace && !app_source.has_room(30_721) && app_source.has_room(30_720));
    app_source.write(0);
    assert!(fill(&mut app_source) == 0 && app_source.is_complete());
}

#[test]
fn fin_waits_for_the_last_byte() {
    let mut app_source = AppSource::new(&settings());
    app_source.write(20_000);
    app_source.close();
    fill(&mut app_source);
    assert!(app_source.nospace && !app_source.queue_fin());
    app_source.grow(10, 2);
    fill(&mut app_source);
    assert!(app_source.queue_fin() && !app_source.queue_fin());
    assert_eq!(app_source.end(), 20_002);
}

#[test]
fn a_short_skb_takes_only_from_the_next_one() {
    let mut app_source = endless();
    for _ in 0..3 {
        app_source.add(2_000, 0);
    }
    app_source.sent(1_501);
    assert_eq!((app_source.head(1_501), app_source.skbs()), (500, 3));
    app_source.grow_head(1_501, 1_500);
    assert_eq!((app_source.head(1_501), app_source.skbs()), (1_500, 3));
    app_source.grow_head(1_501, 9_000);
    assert_eq!((app_source.head(1_501), app_source.skbs()), (2_500, 2), "one at a time");
    app_source.sent(4_001);
    app_source.take_back(4_001, false);
    assert_eq!((app_source.head(3_001), app_source.skbs()), (1_000, 2), "refused data stays separate");
}

#[test]
fn the_last_skb_is_filled_up_and_pushed_when_it_is_the_only_one() {
    let mut app_source = endless();
    app_source.add(2_000, 0);
    assert!(app_source.pushes(1, 2_000, 10_000) && app_source.push_one);
    app_source.sent(1_001);
    assert!(app_source.fill(1_001, 2_000) && !app_source.fill(1_001, 2_000));
    assert_eq!(app_source.head(1_001), 2_000);
    app_source.add(2_000, 0);
    assert!(!app_source.pushes(1_001, 2_000, 10_000), "there are two");
    app_source.add(2_000, 0);
    assert!(app_source.pushes(1_001, 2_000, 10_000) && !app_source.push_one, "half of the window was written");
}

#[test]
fn data_is_pushed_when_the_pipe_is_empty() {
    let mut app_source = endless();
    app_source.add(65_160, 0);
    assert!(app_source.pushes(1, 65_160, 1 << 20) && app_source.push_one && !app_source.corked);
    app_source.add(65_160, 0);
    assert_eq!((app_source.tail(1), app_source.written()), (376, 65_537), "the rest of 16 pages");
    assert!(app_source.pushes(1, 65_160, 1 << 20) && app_source.corked && !app_source.push_one);
    assert!(app_source.fill(1, 65_160) && !app_source.pushes(1, 65_160, 1 << 20), "a full skb behind another");
}

#[test]
fn an_skb_with_seventeen_page_fragments_is_full() {
    let mut app_source = endless();
    app_source.add(63_712, 0);
    app_source.sent(23_169);
    app_source.wake(1);
    assert!(app_source.fill(23_169, 65_160));
    assert_eq!(app_source.head(23_169), 40_544 + 6 * 4_096, "40 bytes below its goal");
    assert!(!app_source.fill(23_169, 65_160) && app_source.add(65_160, 0));
}

#[test]
fn a_grown_skb_keeps_its_psh_at_its_new_end_and_a_split_moves_it() {
    let mut app_source = endless();
    app_source.add(2_000, 0);
    app_source.note_push();
    app_source.add(2_000, 0);
    assert!(app_source.is_pushed(2_001));
    app_source.grow_head(1, 3_000);
    assert!(!app_source.is_pushed(2_001) && app_source.is_pushed(3_001));
    app_source.cut_head(2_501);
    assert!(!app_source.is_pushed(2_501));
    app_source.sent(2_501);
    assert!(app_source.is_pushed(3_001));
    app_source.sent(3_001);
    assert!(!app_source.is_pushed(4_001), "the rest of the second skb was never pushed");
}
