//! Pacing and packet sizes, compared with closed forms.

use super::dialogue::{Dialogue, settings};
use super::reno::{Reno, Steady};
use crate::rate::Rate;
use crate::time::{Span, Time};
use crate::transport::Settings;
use alloc::vec::Vec;

pub(super) fn steady(rate: Rate) -> Steady {
    Steady { cwnd: 10_000, rate, samples: Vec::new() }
}

/// Departure times of the first packets, with polling at each timer.
fn departures(d: &mut Dialogue<Steady>, packets: usize) -> Vec<(Time, u16)> {
    let mut times = Vec::new();
    while times.len() < packets {
        times.extend(d.transmissions().iter().map(|packet| (d.now, packet.segments)));
        d.now = d.now.max(d.sender.next_timer());
        d.sender.on_timer(d.now);
    }
    times.truncate(packets);
    times
}

/// Two segments per packet at 2 MB/s: ten unspaced, then exactly a millisecond between packets of 2000 bytes.
#[test]
fn the_gap_is_bytes_over_rate() {
    let mut d = Dialogue::of(&settings(), steady(Rate::from_bytes(2_000_000)), 40, u64::MAX);
    let start = d.now;
    let times: Vec<u64> = departures(&mut d, 30).iter().map(|at| at.0.since(start).as_micros()).collect();
    let expected: Vec<u64> = (0..30_u64).map(|packet| packet.saturating_sub(4) * 1_000).collect();
    assert_eq!(times, expected);
}

/// Lateness is compensated up to half a packet's time.
#[test]
fn lateness_is_credited_up_to_half_a_packet() {
    let mut d = Dialogue::of(&settings(), steady(Rate::from_bytes(2_000_000)), 40, u64::MAX);
    departures(&mut d, 10);
    for (late_us, gap_us) in [(0, 1_000), (200, 800), (900, 500)] {
        d.sends();
        d.now = d.sender.next_timer() + Span::from_micros(late_us);
        d.sender.on_timer(d.now);
        assert_eq!(d.sends().len(), 2);
        assert_eq!(d.sender.next_timer().since(d.now).as_micros(), gap_us, "{late_us} us late");
    }
}

/// A packet has a millisecond of the pacing rate, more on a short path, never more than the device takes.
#[test]
fn packet_size_follows_rate_and_path() {
    let table = [(40, 1_000_000, 2), (40, 20_480_000, 20), (40, 500_000_000, 65), (1, 1_000_000, 33)];
    for (rtt_ms, rate, segments) in table {
        let settings = Settings { gso_max_bytes: Some(65_536), ..settings() };
        let mut d = Dialogue::of(&settings, steady(Rate::from_bytes(rate)), rtt_ms, u64::MAX);
        let sizes: Vec<u16> = departures(&mut d, 12).iter().map(|packet| packet.1).collect();
        assert!(sizes.contains(&segments), "{rtt_ms} ms, {rate} B/s: {sizes:?}");
        assert!(sizes.iter().all(|size| *size <= segments), "{sizes:?}");
    }
}

/// The socket keeps two packets or a millisecond in the host's queue, not the window.
#[test]
fn small_queues_limit_what_is_in_the_hosts_queue() {
    let settings = Settings { gso_max_bytes: Some(65_536), initial_window: 200, ..settings() };
    let mut d = Dialogue::of(&settings, steady(Rate::from_bytes(8_192_000)), 40, u64::MAX);
    d.sender.cc.paced = false;
    let mut queued = Vec::new();
    while let Some(packet) = d.sender.poll(d.now) {
        queued.push(packet);
    }
    // 8 segments per packet: the third exceeds 2 * (832 + 8000) bytes.
    assert_eq!(queued.iter().map(|packet| packet.segments).collect::<Vec<_>>(), [8, 8]);
    if d.sender.on_departed(8 * 1_066, 1) {
        d.sender.on_resumed(d.now);
    }
    assert_eq!(d.sender.poll(d.now).map(|packet| packet.segments), Some(8));
    assert_eq!(d.sender.poll(d.now), None);
}

/// `SO_MAX_PACING_RATE` paces any controller.
#[test]
fn a_maximum_rate_paces_reno() {
    let settings = Settings { max_pacing_rate: Some(Rate::from_bytes(1_000_000)), ..settings() };
    let mut d = Dialogue::of(&settings, Reno, 40, u64::MAX);
    d.sends();
    assert_eq!(d.info().pacing_rate, Some(Rate::from_bytes(500_000)), "2 * 10 * 1000 B / 40 ms");
}

/// If the host's queue paces, the socket hands over as much as TSQ allows, each packet with its departure time, and
/// round-trip times start then.
#[test]
fn a_pacing_queue_gets_departure_times_instead_of_a_timer() {
    let settings = Settings { queue_paces: true, ..settings() };
    let mut d = Dialogue::of(&settings, steady(Rate::from_bytes(2_000_000)), 40, u64::MAX);
    let mut handed = Vec::new();
    while handed.len() < 12 {
        let packet = d.sender.poll(d.now).expect("no timer is set");
        handed.push(packet.departs_at.since(d.now).as_micros());
        if d.sender.on_departed(2 * 1_066, 1) {
            d.sender.on_resumed(d.now);
        }
    }
    assert_eq!(handed, [0, 0, 0, 0, 0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000]);
    assert!(d.sender.next_timer() > d.now + Span::from_millis(40), "{:?}", d.sender.next_timer());
}

/// fq paces controllers that do not pace.
#[test]
fn a_pacing_queue_paces_reno_too() {
    let settings = Settings { queue_paces: true, ..settings() };
    let mut d = Dialogue::of(&settings, Reno, 40, u64::MAX);
    assert!(d.sender.cc().paced);
    d.sends();
    assert_eq!(d.info().pacing_rate, Some(Rate::from_bytes(500_000)), "2 * 10 * 1000 B / 40 ms");
}
