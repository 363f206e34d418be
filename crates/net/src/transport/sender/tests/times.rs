//! Windows and their use: idle time, application limits, the peer's window.

use super::dialogue::{Dialogue, byte, settings};
use super::reno::{Reno, Steady};
use crate::cc::{CaState, INFINITE_SSTHRESH};
use crate::packet::{Flags, Segment};
use crate::rate::Rate;
use crate::transport::Settings;
use alloc::vec;
use alloc::vec::Vec;

fn grow(d: &mut Dialogue, packets: u64) {
    let mut acked = 0;
    while acked < packets {
        d.sends();
        d.wait_ms(40);
        while acked < (d.sender.next_seq() - 1) / 1_000 {
            acked = (acked + 2).min((d.sender.next_seq() - 1) / 1_000);
            d.ack(acked, &[], Flags::default());
        }
    }
}

/// RFC 2861: after idle time the window is halved for each RTO, down to the initial one.
#[test]
fn an_idle_window_restarts() {
    let mut d = Dialogue::with(40, 630_000);
    grow(&mut d, 630);
    let before = d.state().1;
    assert!(before > 300, "{before}");
    d.wait_ms(550); // a little more than two timeouts of 244 ms
    d.sender.write(d.now, 1_000_000);
    assert_eq!(d.state().1, before / 4);
    assert!(d.state().2 >= before / 2 + before / 4);
    d.wait_ms(0);
    d.sends();
    assert!(u64::from(before / 4) == d.counts()[0].into());
}

/// An unused window does not grow.
#[test]
fn a_window_that_does_not_limit_does_not_grow() {
    let mut d = Dialogue::with(40, 2_000);
    for round in 1..=20 {
        d.sends();
        d.wait_ms(40);
        d.ack(2 * round, &[], Flags::default());
        d.sender.write(d.now, 2_000);
    }
    assert_eq!(d.state(), (CaState::Open, 10, INFINITE_SSTHRESH));
}

/// Samples of a sender without data are marked until the gap is acknowledged.
#[test]
fn app_limited_samples_are_marked() {
    let controller = Steady { cwnd: 100, rate: Rate::from_bytes(10_000_000), samples: Vec::new() };
    let mut d = Dialogue::of(&settings(), controller, 40, 2_000);
    d.sends();
    d.wait_ms(40);
    d.acks(2, &[]);
    d.sender.write(d.now, 50_000);
    d.now += crate::time::Span::from_millis(1);
    d.sends();
    d.wait_ms(40);
    d.acks(4, &[]);
    let marks: Vec<bool> = d.sender.controller.samples.iter().map(|sample| sample.is_app_limited).collect();
    assert_eq!(marks, [true, true]);
    let sample = d.sender.controller.samples[0];
    assert_eq!((sample.delivered, sample.interval.as_micros()), (Some(2), 40_000));
}

/// `tcp_info` reports the rate as application-limited before the first sample (`tcp_init_sock`), and in the first
/// flight: the application wrote into an empty queue.
#[test]
fn before_the_first_sample_the_rate_is_app_limited() {
    let mut d = Dialogue::with(40, 1_000_000);
    d.sends();
    let mut shown = vec![d.info().app_limited];
    for acked in [10, 12] {
        d.wait_ms(40);
        d.acks(acked, &[]);
        shown.push(d.info().app_limited);
    }
    assert_eq!(shown, [true, true, false]);
}

/// The peer's window is respected; a zero window is probed at growing intervals.
#[test]
fn a_zero_window_is_probed() {
    let mut d = Dialogue::with(40, 100_000);
    let window = |ack: u64, window: u32| Segment { seq: 1, ack, window, ..Segment::default() };
    d.sends();
    d.wait_ms(40);
    d.sender.on_ack(d.now, &window(byte(10), 0), false);
    assert_eq!(d.sends(), vec![]);
    let mut waits = Vec::new();
    for _ in 0..3 {
        let at = d.sender.next_timer();
        waits.push(at.since(d.now).as_micros() / 1_000);
        d.now = at;
        d.sender.on_timer(d.now);
        let probe = d.sender.poll(d.now).expect("a probe");
        assert_eq!((probe.seq, probe.len), (10_000, 0));
        assert_eq!(d.sender.poll(d.now), None);
        d.sender.on_ack(d.now, &window(byte(10), 0), false);
    }
    assert!((240..=280).contains(&waits[0]) && (480..=544).contains(&waits[1]) && waits[2] >= 960, "{waits:?}");
    d.sender.on_ack(d.now, &window(byte(10), 5_500), false);
    let sent: Vec<u32> = d.transmissions().iter().map(|packet| packet.len).collect();
    assert_eq!(sent.iter().sum::<u32>(), 5_500, "{sent:?}");
    assert!(d.info().rwnd_limited > crate::time::Span::ZERO);
}

/// A fixed send buffer limits what is outstanding: 100 packets plus an skb of 65, begun while there was room, which is
/// refilled, without checking the buffer, as far as it was sent (`tcp_push_one`).
#[test]
fn a_small_send_buffer_limits_what_is_outstanding() {
    let settings = Settings { sndbuf: Some(100_000), ..settings() };
    let mut d = Dialogue::of(&settings, Reno, 40, u64::MAX);
    let mut acked = 0;
    let mut maximum = 0;
    for _ in 0..50 {
        d.sends();
        maximum = maximum.max(d.counts()[0]);
        d.wait_ms(40);
        let sent = (d.sender.next_seq() - 1) / 1_000;
        while acked < sent {
            acked += 1;
            d.acks(acked, &[]);
            maximum = maximum.max(d.counts()[0]);
        }
    }
    assert!((50..=100 + 2 * 65).contains(&maximum), "{maximum}");
    assert!(d.info().sndbuf_limited > crate::time::Span::ZERO || maximum > 90);
}
