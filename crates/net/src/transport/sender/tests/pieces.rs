//! The contents of packets, and the times of the program's writes: packets show the ends of skbs.

use super::dialogue::{Dialogue, byte, settings};
use super::pace::steady;
use super::reno::Reno;
use crate::packet::Segment;
use crate::rate::Rate;
use crate::transport::Settings;
use alloc::vec::Vec;

fn lengths(d: &mut Dialogue<Reno>, ack: u64, window: u32) -> Vec<u32> {
    d.sender.on_ack(d.now, &Segment { seq: 1, ack, window, ..Segment::default() }, false);
    d.transmissions().iter().map(|packet| packet.len).collect()
}

/// A window's partial segment is sent, but while it is outstanding the next one waits, although more data follows
/// (`tcp_mss_split_point`, `tcp_nagle_check`).
#[test]
fn a_partial_segment_waits_for_the_outstanding_one() {
    let mut d = Dialogue::with(40, 100_000);
    d.sends();
    d.wait_ms(40);
    assert_eq!(lengths(&mut d, byte(10), 5_500).iter().sum::<u32>(), 5_500);
    assert_eq!(lengths(&mut d, byte(10), 9_000), [2_000, 1_000]);
    d.wait_ms(40);
    assert_eq!(lengths(&mut d, byte(10) + 8_500, 3_500), [2_000, 1_500]);
}

/// An skb is split before the host's queue is found full, and keeps that length.
#[test]
fn an_skb_is_split_before_the_hosts_queue_is_checked() {
    let settings = Settings { gso_max_bytes: Some(65_536), initial_window: 200, ..settings() };
    let mut d = Dialogue::of(&settings, steady(Rate::from_bytes(8_192_000)), 40, u64::MAX);
    d.sender.cc.paced = false;
    while d.sender.poll(d.now).is_some() {}
    let next = d.sender.next_seq();
    assert_eq!(d.sender.app_source.head(next), 8_000);
    assert!(d.sender.unsent_bytes() > 8_000);
}

/// An ACK frees buffer space: it wakes the program, which writes later.
#[test]
fn a_woken_program_writes_later() {
    let settings = Settings { sndbuf: Some(100_000), ..settings() };
    let mut d = Dialogue::of(&settings, Reno, 40, u64::MAX);
    d.sends();
    let written = d.sender.unsent_bytes() + d.sender.next_seq();
    d.wait_ms(40);
    let mut acked = 0;
    while !d.sender.wants_to_write() {
        acked += 1;
        d.sender.on_ack(d.now, &Segment { seq: 1, ack: byte(acked), window: 1 << 30, ..Segment::default() }, false);
        while d.sender.poll(d.now).is_some() {
            assert!(!d.sender.departs_at_once());
        }
    }
    assert_eq!(d.sender.unsent_bytes() + d.sender.next_seq(), written);
    d.sender.continue_writing(d.now);
    assert!(d.sender.unsent_bytes() + d.sender.next_seq() > written);
    assert!(d.sender.departs_at_once() && !d.sender.wants_to_write());
}
