//! Loss recovery, step by step.

use super::dialogue::{Dialogue, settings};
use super::reno::Reno;
use crate::cc::{CaState, INFINITE_SSTHRESH};
use crate::packet::Flags;
use crate::transport::testing::poll;
use crate::transport::{Info, Settings};
use alloc::vec;
use alloc::vec::Vec;

const ENDLESS: u64 = u64::MAX;

fn range(numbers: core::ops::Range<u64>) -> Vec<u64> {
    numbers.collect()
}

/// Slow start: each ACK of two sends four.
#[test]
fn slow_start_doubles_the_window() {
    let mut d = Dialogue::with(100, ENDLESS);
    assert_eq!(d.sends(), range(0..10));
    d.wait_ms(100);
    for (acked, sent) in [(2, 10..14), (4, 14..18), (6, 18..22), (8, 22..26), (10, 26..30)] {
        assert_eq!(d.acks(acked, &[]), range(sent), "after {acked}");
    }
    assert_eq!(d.state(), (CaState::Open, 20, INFINITE_SSTHRESH));
    assert_eq!(d.info().delivered, 11, "the handshake counts");
}

/// A program that will close writes like one that will not: the first push does not wait until the buffer is full.
#[test]
fn closing_after_a_long_write_does_not_change_the_write() {
    let first = |closes: bool| {
        let mut d = Dialogue::with(100, 1_000_000);
        if closes {
            d.sender.close(d.now);
        }
        (d.transmissions(), d.info().notsent_bytes)
    };
    assert_eq!(first(true), first(false));
}

/// The send buffer grows with the window before it is checked for room (`tcp_new_space`).
#[test]
fn unlimited_data_keeps_a_growing_window_full() {
    // The first skb has 65 segments: with 11 at first and two for each ACK nothing is left over.
    let mut d = Dialogue::of(&Settings { initial_window: 11, ..settings() }, Reno, 100, ENDLESS);
    d.sends();
    for acked in 1..=80 {
        d.wait_ms(1);
        d.acks(acked, &[]);
        let (out, cwnd) = (d.counts()[0], d.state().1);
        assert!(out + 2 >= cwnd, "{out} of {cwnd} outstanding after {acked}");
    }
}

/// Packet 0 is lost. A SACK releases new data (limited transmit); the next waits for a packet of two segments. The
/// third makes RACK's window zero; PRR sends one packet for every two delivered until the threshold is reached, then
/// one for one.
#[test]
fn fast_recovery_halves_the_window_proportionally() {
    let mut d = Dialogue::with(100, ENDLESS);
    assert_eq!(d.sends(), range(0..10));
    d.wait_ms(100);
    assert_eq!(d.acks(0, &[(1, 2)]), vec![10]);
    assert_eq!(d.state(), (CaState::Disorder, 10, INFINITE_SSTHRESH));
    assert_eq!(d.acks(0, &[(1, 3)]), vec![]);
    assert_eq!(d.acks(0, &[(1, 4)]), vec![0]);
    // 7 in flight and ceil(5 * 1 / 10) to send.
    assert_eq!((d.state(), d.counts()), ((CaState::Recovery, 8, 5), [11, 3, 1, 1]));
    let table = [(5, None, 7), (6, Some(11), 7), (7, None, 6), (8, None, 5), (9, Some(12), 5), (10, Some(13), 5)];
    for (end, sent, cwnd) in table {
        let got = d.acks(0, &[(1, end)]);
        assert_eq!((got, d.state().1), (sent.into_iter().collect(), cwnd), "1..{end}");
    }
    d.wait_ms(100);
    assert_eq!(d.acks(12, &[]), vec![14, 15]);
    assert_eq!((d.state(), d.counts()), ((CaState::Open, 5, 5), [4, 0, 0, 0]));
}

/// If the tail of a window is lost there are no SACKs: a probe after two round trips reveals the loss.
#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let mut d = Dialogue::with(40, 10_000);
    assert_eq!(d.sends(), range(0..10));
    d.wait_ms(40);
    assert_eq!(d.acks(7, &[]), vec![]);
    let (waited, sent) = d.fire_timer();
    assert_eq!(sent, vec![9], "the last one again");
    // 2 * 40 ms + 2 ms, in jiffies of 4 ms, plus the wheel's one.
    assert!((84..=88).contains(&waited), "{waited}");
    d.wait_ms(40);
    assert_eq!(
        d.acks(7, &[(9, 10)]),
        vec![7],
        "the probe's SACK shows that 7 and 8 are lost, the window of recovery allows one"
    );
    assert_eq!(d.state().0, CaState::Recovery);
    d.wait_ms(40);
    assert_eq!(d.acks(8, &[(9, 10)]), vec![8]);
    d.wait_ms(40);
    assert_eq!(d.acks(10, &[]), vec![]);
    assert_eq!(d.state().0, CaState::Open);
}

/// The probe itself repaired the loss: the window is reduced nevertheless.
#[test]
fn a_probe_that_repairs_a_loss_causes_a_reduction() {
    let mut d = Dialogue::with(40, 10_000);
    d.sends();
    d.wait_ms(40);
    d.acks(9, &[]);
    assert_eq!(d.state().1, 19);
    let (_, sent) = d.fire_timer();
    assert_eq!(sent, vec![9]);
    d.sender.write(d.now, 1_000);
    assert_eq!(d.sends(), vec![10]);
    d.wait_ms(40);
    assert_eq!(d.acks(11, &[]), vec![]);
    assert_eq!(d.state(), (CaState::Open, 9, 9));
}

/// Probe and original both arrived: a DSACK reports it, and nothing is reduced.
#[test]
fn a_spurious_probe_causes_no_reduction() {
    let mut d = Dialogue::with(40, 10_000);
    d.sends();
    d.wait_ms(40);
    d.acks(9, &[]);
    assert_eq!(d.fire_timer().1, vec![9]);
    d.wait_ms(1);
    assert_eq!(d.acks(10, &[]), vec![]);
    d.wait_ms(40);
    assert_eq!(d.acks(10, &[(9, 10)]), vec![]);
    assert_eq!(d.state().0, CaState::Open);
    assert!(d.state().1 >= 19 && d.info().dsack_dups == 1);
}

/// No ACK at all: probe, then timeouts that double.
#[test]
fn without_acks_timeouts_double() {
    let mut d = Dialogue::with(40, 3_000);
    assert_eq!(d.sends(), vec![0, 1, 2]);
    assert_eq!(d.fire_timer().1, vec![2], "the probe");
    let (_, sent) = d.fire_timer();
    assert_eq!(sent, vec![0]);
    assert_eq!((d.state(), d.counts()), ((CaState::Loss, 1, 5), [3, 0, 3, 1]));
    let waits: Vec<u64> = (0..5).map(|_| d.fire_timer().0).collect();
    for (index, wait) in waits.iter().enumerate() {
        let timeout = 240 << (index + 1);
        assert!((timeout..timeout + timeout / 4).contains(wait), "{index}: {wait} for {timeout}");
    }
    assert_eq!(d.info().backoff, 6);
}

/// F-RTO: the ACKs were late, not lost. New data is sent; the acknowledgement of an original undoes the timeout.
#[test]
fn a_spurious_timeout_is_undone_by_what_was_never_retransmitted() {
    let mut d = Dialogue::with(40, 30_000);
    assert_eq!(d.sends(), range(0..10));
    assert_eq!(d.fire_timer().1, vec![10], "the probe is new data");
    assert_eq!(d.fire_timer().1, vec![0], "timeout");
    assert_eq!(d.state(), (CaState::Loss, 1, 5));
    d.wait_ms(10);
    assert_eq!(d.acks(1, &[]), vec![11, 12], "step 2.b: two new segments");
    d.wait_ms(10);
    d.acks(2, &[]);
    assert_eq!(d.state().0, CaState::Open, "1 was never retransmitted");
    assert!(d.state().1 >= 10 && d.state().2 == INFINITE_SSTHRESH);
    assert_eq!(d.counts()[2], 0);
}

/// F-RTO: the loss was real. The new data is SACKed, so the rest is retransmitted.
#[test]
fn a_real_timeout_is_recognised_by_sacks_of_new_data() {
    let mut d = Dialogue::with(40, 30_000);
    d.sends();
    assert_eq!(d.fire_timer().1, vec![10]);
    assert_eq!(d.fire_timer().1, vec![0]);
    d.wait_ms(40);
    assert_eq!(d.acks(1, &[]), vec![11, 12]);
    d.wait_ms(40);
    assert_eq!(d.acks(1, &[(11, 12)]), vec![1]);
    assert_eq!(d.state().0, CaState::Loss);
}

/// Eifel: the ACK's echo is older than the retransmission.
#[test]
fn an_old_echo_undoes_a_recovery() {
    let mut d = Dialogue::with(100, ENDLESS);
    d.sends();
    let sent_at = d.now;
    d.wait_ms(100);
    d.echo = Some(sent_at);
    d.acks(0, &[(1, 2)]);
    d.acks(0, &[(1, 3)]);
    assert_eq!(d.acks(0, &[(1, 4)]), vec![0]);
    assert_eq!(d.state().0, CaState::Recovery);
    d.wait_ms(5);
    d.acks(4, &[]);
    assert_eq!(d.state(), (CaState::Open, 11, INFINITE_SSTHRESH), "back to 10, plus one for the ACK");
    assert!(d.info().reord_seen > 0);
}

/// DSACK: the receiver got the retransmitted segment twice.
#[test]
fn dsacks_for_all_retransmissions_undo_a_recovery() {
    let mut d = Dialogue::with(100, ENDLESS);
    d.sends();
    d.wait_ms(100);
    d.acks(0, &[(1, 4)]);
    assert_eq!(d.state().0, CaState::Recovery);
    d.wait_ms(10);
    d.acks(4, &[]);
    assert_eq!(d.state().0, CaState::Recovery);
    d.wait_ms(100);
    d.acks(10, &[(0, 1)]);
    assert_eq!((d.state().0, d.state().2), (CaState::Open, INFINITE_SSTHRESH));
}

/// Reordering within the window: once reordering was seen, retransmission waits until the window ends.
#[test]
fn the_reordering_window_waits_and_then_retransmits() {
    let mut d = Dialogue::with(100, ENDLESS);
    d.sends();
    d.wait_ms(100);
    assert_eq!(d.acks(0, &[(1, 2)]), vec![10]);
    assert_eq!(d.acks(2, &[]), vec![11, 12]);
    assert_eq!(d.info().reord_seen, 1, "0 arrived late: reordering");
    d.wait_ms(1);
    let sent = d.acks(2, &[(3, 9)]);
    assert!(!sent.contains(&2), "25 ms to wait: {sent:?}");
    let (waited, sent) = d.fire_timer();
    assert!(sent.contains(&2) && (24..=36).contains(&waited), "{waited} {sent:?}");
    assert_eq!(d.state().0, CaState::Recovery);
}

/// ECE halves the window once per round trip, and new data carries CWR.
#[test]
fn congestion_echo_reduces_the_window_once() {
    let settings = crate::transport::Settings { ecn: true, ..settings() };
    let mut d = Dialogue::of(&settings, Reno, 100, ENDLESS);
    assert!(d.transmissions().iter().all(|packet| packet.ect && !packet.cwr));
    d.wait_ms(100);
    d.ack(2, &[], Flags { ece: true, ..Flags::default() });
    assert_eq!((d.state().0, d.state().2), (CaState::Cwr, 5), "no growth by an ACK with ECE");
    let mut sent = d.transmissions();
    for acked in 3..10 {
        d.ack(acked, &[], Flags { ece: true, ..Flags::default() });
        sent.extend(d.transmissions());
    }
    assert_eq!(sent.iter().filter(|packet| packet.cwr).count(), 1);
    assert!(sent[0].cwr);
    assert_eq!(d.state().2, 5, "one reduction per window");
    let high = sent.last().unwrap().seq / 1_000 + 1;
    d.wait_ms(100);
    d.acks(high, &[]);
    assert_eq!(d.state().0, CaState::Open);
    assert_eq!(d.state().1, 5);
}

/// A packet that the host's own queue refuses counts as not sent: it is retransmitted, and the window is reduced. A write
/// that finds no more room pushes twice: each push is another attempt.
#[test]
fn a_refused_packet_is_sent_later_and_reduces_the_window() {
    let mut d = Dialogue::with(100, ENDLESS);
    for number in 0..2 {
        assert_eq!(d.sender.poll(d.now).unwrap().seq, 1 + number * 2_000);
    }
    assert!(!d.sender.on_refused(d.now), "nothing waited for a departure");
    let mut attempts = 0;
    while let Some(packet) = poll(&mut d.sender, d.now) {
        assert_eq!(packet.seq, 2_001);
        d.sender.on_refused(d.now);
        attempts += 1;
    }
    assert_eq!(attempts, 2);
    d.check();
    assert_eq!((d.state().0, d.state().2, d.counts()[0]), (CaState::Cwr, 5, 2));
    d.wait_ms(100);
    let sent = d.acks(2, &[]);
    assert_eq!(sent.first(), Some(&2));
}

/// Linux frees a refused packet like one that departs, so a sender that waits for a departure tries again.
#[test]
fn a_refused_packet_ends_the_wait_for_a_departure() {
    let mut d = Dialogue::with(100, ENDLESS);
    let seq = d.sender.poll(d.now).unwrap().seq;
    d.sender.host.throttle();
    assert!(d.sender.on_refused(d.now) && !d.sender.host.take_throttled());
    while d.sender.poll(d.now).is_some() {
        assert!(!d.sender.on_refused(d.now), "it no longer waits");
    }
    d.sender.on_resumed(d.now);
    assert_eq!(d.sender.poll(d.now).unwrap().seq, seq);
}

/// The FIN follows what was written before it, and is acknowledged like a byte. The first two
/// segments are one packet to TCP, and super-packets carry PSH.
#[test]
fn fin_ends_the_stream() {
    let mut d = Dialogue::with(40, 2_500);
    d.sender.close(d.now);
    let sent = d.transmissions();
    let shape: Vec<_> = sent.iter().map(|packet| (packet.seq, packet.len, packet.fin, packet.psh)).collect();
    assert_eq!(shape, [(1, 2_000, false, true), (2_001, 500, false, true), (2_501, 0, true, false)]);
    assert!(!d.sender.is_done() && d.sender.next_seq() == 2_502);
    d.wait_ms(40);
    let segment = crate::packet::Segment { seq: 1, ack: 2_502, window: 1 << 20, ..Default::default() };
    d.sender.on_ack(d.now, &segment, false);
    assert!(d.sender.is_done() && !d.sender.next_timer().is_set());
}

/// Nagle with Minshall's change: a second small segment waits for the first one's ACK.
#[test]
fn small_segments_wait_for_each_other() {
    let mut d = Dialogue::with(40, 300);
    assert_eq!(d.transmissions().len(), 1);
    d.sender.write(d.now, 300);
    assert_eq!(d.transmissions().len(), 0);
    d.wait_ms(40);
    let segment = crate::packet::Segment { seq: 1, ack: 301, window: 1 << 20, ..Default::default() };
    d.sender.on_ack(d.now, &segment, false);
    assert_eq!(d.transmissions().iter().map(|packet| packet.len).collect::<Vec<_>>(), [300]);
}

/// The host's queue accepted the packet but dropped another: the window is reduced, nothing is sent twice.
#[test]
fn a_congested_host_queue_reduces_the_window() {
    let mut d = Dialogue::with(100, ENDLESS);
    assert_eq!(d.sender.poll(d.now).unwrap().seq, 1);
    d.sender.on_congested(d.now);
    assert_eq!((d.state().0, d.state().2), (CaState::Cwr, 5));
    assert_eq!(d.sends(), range(2..10));
}

/// Two lost SYNs indicate congestion; one does not, nor do two whose answers were only late.
#[test]
fn lost_syns_shrink_the_initial_window() {
    for (times, is_lossy, cwnd) in [(1, true, 10), (2, true, 1), (2, false, 10)] {
        let mut sender = crate::transport::sender::Sender::new(&settings(), Reno);
        sender.after_handshake(times, is_lossy);
        sender.established(crate::time::Time::ZERO, None, 1 << 16, true);
        let mut info = Info::default();
        sender.fill(crate::time::Time::ZERO, &mut info);
        assert_eq!((info.cwnd, info.total_retrans), (cwnd, times));
    }
}
