//! CUBIC over the life of a flow, and packetdrill's scripts for it (google/packetdrill, gtests/net/tcp/cubic).

use super::*;
use crate::cc::testing::path::Path;
use crate::cc::testing::{cc, ms, tp};
use crate::cc::{Controller, INFINITE_SSTHRESH};
use crate::rng::Rng;
use crate::time::{Span, Time};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A sender of 1000-byte packets that always fills its window; times are milliseconds of the script.
struct Script {
    cubic: Cubic,
    tp: SenderState,
    cc: CcState,
    sent: VecDeque<Time>,
}

impl Script {
    fn new() -> Self {
        let (tp, mut cc) = (SenderState { mss: 1_000, ..tp() }, cc());
        let mut cubic = Cubic::default();
        cubic.init(&tp, &mut cc);
        let mut script = Self { cubic, tp, cc, sent: VecDeque::new() };
        script.send(0);
        script
    }

    /// Fills the window.
    fn send(&mut self, at: u64) {
        while self.tp.packets_out < self.cc.cwnd {
            self.sent.push_back(ms(1_000 + at));
            self.tp.packets_out += 1;
            self.tp.snd_nxt += 1_000;
        }
    }

    /// Acknowledges `packets` packets, and fills the window again.
    fn ack(&mut self, at: u64, packets: u32) -> u32 {
        self.ack_only(at, packets);
        self.send(at);
        self.cc.cwnd
    }

    fn ack_only(&mut self, at: u64, packets: u32) {
        self.tp.now = ms(1_000 + at);
        let mut rtt = None;
        for _ in 0..packets {
            rtt = self.sent.pop_front().map(|sent| self.tp.now.since(sent));
            self.tp.packets_out -= 1;
            self.tp.snd_una += 1_000;
        }
        let sample = AckSample { acked: packets, rtt, in_flight: self.tp.packets_out };
        self.cubic.pkts_acked(&self.tp, &mut self.cc, &sample);
        self.cubic.cong_avoid(&self.tp, &mut self.cc, packets);
    }

    fn phase(&self) -> &'static str {
        self.cubic.cc_info(&self.tp, &self.cc).phase
    }
}

/// cubic-hystart-delay-rtt-jumps-upward: min RTT 200 ms, then samples of 240 ms and more.
#[test]
fn slow_start_ends_at_the_ninth_sample_of_a_higher_delay() {
    let mut script = Script::new();
    assert_eq!(script.ack(200, 10), 20);
    let windows: Vec<(u32, u32)> = (0..9).map(|number| (script.ack(440 + number, 2), script.cc.ssthresh)).collect();
    let slow = |cwnd| (cwnd, INFINITE_SSTHRESH);
    assert_eq!(
        windows,
        [slow(22), slow(24), slow(26), slow(28), slow(30), slow(32), slow(34), slow(36), (36, 36)],
        "225 ms would be within the threshold"
    );
    assert_eq!(script.phase(), "avoidance");
}

/// cubic-hystart-delay-min-rtt-jumps-downward: the ninth sample is the minimum.
#[test]
fn a_new_minimum_does_not_end_slow_start() {
    let mut script = Script::new();
    script.ack(200, 10);
    // All but two packets of the new window leave at once, those two 180 ms later.
    script.sent.truncate(18);
    script.sent.extend([ms(1_380); 2]);
    let windows: Vec<u32> = (0..10)
        .map(|number| {
            script.ack_only(400 + number, 2);
            script.cc.cwnd
        })
        .collect();
    assert_eq!(windows, [22, 24, 26, 28, 30, 32, 34, 36, 38, 40]);
    assert_eq!(script.cc.ssthresh, INFINITE_SSTHRESH);
}

/// cubic-rto-ss-ca-cwnd-bump: after a timeout at 10 the threshold is 7, then one packet more for 20 acknowledged.
#[test]
fn a_timeout_resets_everything_but_the_threshold() {
    let mut script = Script::new();
    script.cc.ssthresh = script.cubic.ssthresh(&script.tp, &mut script.cc);
    assert_eq!(script.cc.ssthresh, 7);
    script.cubic.set_state(&script.tp, &mut script.cc, CaState::Loss);
    assert_eq!(script.cubic.min_rtt_us, 0);
    (script.cc.cwnd, script.tp.packets_out) = (2, 0);
    script.sent.clear();
    script.send(1_000);
    let slow: Vec<u32> = [1_100, 1_102, 1_200, 1_202, 1_204].map(|at| script.ack(at, 1)).to_vec();
    assert_eq!(slow, [3, 4, 5, 6, 7]);
    let times =
        [1_206, 1_304, 1_306, 1_308, 1_310, 1_312, 1_314, 1_316, 1_414, 1_416, 1_418, 1_420, 1_422, 1_424, 1_426];
    for at in times {
        assert_eq!(script.ack(at, 1), 7);
    }
    assert_eq!(script.ack(1_524, 1), 8);
}

/// The path of cubic-bulk-166k ([`super::script`]). Linux 6.12 counts rounds from the first ACK on, so that one begins
/// at 12000 bytes, and its ninth sample ends slow start.
#[test]
fn a_round_that_began_below_16_packets_ends_slow_start() {
    let mut script = Script::new();
    let windows: Vec<u32> = (1..=14).map(|number| script.ack(number * 100, 2)).collect();
    assert_eq!((windows[12], windows[13], script.cc.ssthresh), (36, 36, 36));
}

/// Slow start, loss, recovery, and the curve back to the maximum.
#[test]
fn a_window_returns_to_its_maximum_in_k() {
    let mut script = Script::new();
    script.cc.cwnd = 1_000;
    script.tp.prior_cwnd = 1_000;
    script.cc.ssthresh = script.cubic.ssthresh(&script.tp, &mut script.cc);
    script.cc.cwnd = script.cc.ssthresh; // the window after PRR
    assert_eq!((script.cc.ssthresh, script.cubic.undo_cwnd(&script.tp, &mut script.cc)), (700, 1_000));

    let mut seen = Vec::new();
    for round in 0..130_u64 {
        script.tp.now = ms(2_000 + round * 100);
        script.cubic.min_rtt_us = 100_000;
        for _ in 0..script.cc.cwnd / 2 {
            script.cubic.cong_avoid(&script.tp, &mut script.cc, 2);
        }
        if round % 20 == 19 {
            seen.push(script.cc.cwnd);
        }
    }
    // K = cbrt(300 / 0.4) = 9.09 s, so RFC 9438 has 857, 947, 988, 999, 1000, 1010; Linux's K is 9.06 s.
    assert_eq!(seen, [859, 948, 989, 1_000, 1_000, 1_010]);
    assert_eq!(script.phase(), "avoidance");
}

#[test]
fn idle_time_shifts_the_epoch() {
    let mut script = Script::new();
    script.cc.ssthresh = 7;
    script.cubic.cong_avoid(&script.tp, &mut script.cc, 1); // an epoch begins
    script.tp.last_sent_at = script.tp.now;
    script.tp.now += Span::from_secs(10);
    script.cubic.cwnd_event(&script.tp, &mut script.cc, Event::TxStart);
    assert_eq!(script.cubic.curve.epoch_age(script.tp.now.jiffies()), Some(0));
}

#[test]
fn samples_in_the_second_after_a_recovery_are_ignored() {
    let mut script = Script::new();
    script.cc.ssthresh = 7;
    script.cc.cwnd = 7;
    script.cubic.cong_avoid(&script.tp, &mut script.cc, 1); // an epoch begins
    let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(5)), in_flight: 0 };
    script.tp.now = ms(1_999);
    script.cubic.pkts_acked(&script.tp, &mut script.cc, &sample);
    assert_eq!(script.cubic.min_rtt_us, 0);
    script.tp.now = ms(2_000);
    script.cubic.pkts_acked(&script.tp, &mut script.cc, &sample);
    assert_eq!(script.cubic.min_rtt_us, 5_000);
}

/// The kernel engine leaves slow start at 38 on 10 Mbit/s and 40 ms (a long ACK train), and at 28 with a packet every
/// 50 ms and 100 ms (the ninth sample of the round that began at 20).
#[test]
fn an_ideal_path_ends_slow_start_where_linux_does() {
    for (bits_per_second, rtt_ms, threshold) in [(10_000_000, 40, 38), (242_240, 100, 28)] {
        let mut path = Path::new(
            Controller::from_name("cubic", &mut Parameters::default(), Rng::from_name(1, "cubic")).unwrap(),
            bits_per_second,
            rtt_ms,
        );
        path.run_until(ms(3_000));
        assert_eq!(path.cc.ssthresh, threshold, "{bits_per_second} bit/s");
    }
}

/// The kernel engine on 50 Mbit/s, 100 ms, 400 packets of buffer: a loss at 814 after one at 822, hence a maximum of
/// 691 by fast convergence, and these windows every half second from the end of that recovery to the next loss.
#[test]
fn an_epoch_follows_linux() {
    let linux = [
        569, 592, 613, 632, 647, 660, 670, 677, 683, 687, 690, 691, 691, 691, 691, 691, 691, 693, 696, 699, 704, 711,
        721, 733, 747, 764, 785, 810,
    ];
    let (mut tp, mut cc) = (tp(), cc());
    let mut cubic = Cubic { min_rtt_us: 100_000, ..Cubic::default() };
    for window in [822, 814] {
        cc.cwnd = window;
        cc.ssthresh = cubic.ssthresh(&tp, &mut cc);
    }
    cc.cwnd = cc.ssthresh;
    let spacing = Span::from_nanos(242_240); // of ACKs: 1514 bytes at 50 Mbit/s
    for (number, window) in linux.into_iter().enumerate() {
        assert!(cc.cwnd.abs_diff(window) <= 1, "{}, expected {window}, after {number} half seconds", cc.cwnd);
        let end = tp.now + Span::from_millis(500);
        while tp.now < end {
            tp.now += spacing;
            cubic.cong_avoid(&tp, &mut cc, 1);
        }
    }
}
