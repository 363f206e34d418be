//! What goes into one packet, and when the program writes: where skbs end shows in what is sent.

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

/// A window's odd end is sent, but while it is out the next one waits, though more data lie behind it
/// (`tcp_mss_split_point`, `tcp_nagle_check`).
#[test]
fn an_odd_end_waits_for_the_one_that_is_out() {
    let mut d = Dialogue::with(40, 100_000);
    d.sends();
    d.wait_ms(40);
    assert_eq!(lengths(&mut d, byte(10), 5_500).iter().sum::<u32>(), 5_500);
    assert_eq!(lengths(&mut d, byte(10), 9_000), [2_000, 1_000]);
    d.wait_ms(40);
    assert_eq!(lengths(&mut d, byte(10) + 8_500, 3_500), [2_000, 1_500]);
}

/// What the host's queue has no room for has been cut already: the skb stays as long as it was to be.
#[test]
fn an_skb_is_cut_before_the_host_s_queue_is_looked_at() {
    let settings = Settings { gso_max_bytes: Some(65_536), initial_window: 200, ..settings() };
    let mut d = Dialogue::of(&settings, steady(Rate::from_bytes(8_192_000)), 40, u64::MAX);
    d.sender.vitals.paced = false;
    while d.sender.poll(d.now).is_some() {}
    let next = d.sender.next_seq();
    assert_eq!(d.sender.supply.head(next), 8_000);
    assert!(d.sender.unsent_bytes() > 8_000);
}

/// An ACK makes room: the program is woken by it, and writes when its turn comes.
#[test]
fn a_program_writes_when_its_turn_comes() {
    let settings = Settings { sndbuf: Some(100_000), ..settings() };
    let mut d = Dialogue::of(&settings, Reno, 40, u64::MAX);
    d.sends();
    let written = d.sender.unsent_bytes() + d.sender.next_seq();
    d.wait_ms(40);
    let mut acked = 0;
    while !d.sender.wants_turn() {
        acked += 1;
        d.sender.on_ack(d.now, &Segment { seq: 1, ack: byte(acked), window: 1 << 30, ..Segment::default() }, false);
        while d.sender.poll(d.now).is_some() {
            assert!(!d.sender.departs_at_once());
        }
    }
    assert_eq!(d.sender.unsent_bytes() + d.sender.next_seq(), written);
    d.sender.take_turn(d.now);
    assert!(d.sender.unsent_bytes() + d.sender.next_seq() > written);
    assert!(d.sender.departs_at_once() && !d.sender.wants_turn());
}
