//! BBR on an ideal path of 10 Mbit/s and 40 ms, compared with tables.

use super::*;
use crate::cc::testing::path::Path;
use crate::cc::testing::{cc, ms, tp};
use crate::cc::{Controller, Parameters};
use crate::time::Span;
use alloc::string::String;
use core::fmt::Write;

/// 10 Mbit/s of packets with 1514 bytes on the link, as ACKs show it: 826 packets per second.
pub(super) const TEN_MBIT: Bandwidth = Bandwidth(13_851);
/// A little more than the time of four packets at that rate.
pub(super) const FOUR_PACKETS: Span = Span::from_micros(5_000);

/// A flow in this mode with estimates of 10 Mbit/s and 40 ms and a full pipe.
pub(super) fn bbr_with(mode: Mode) -> (Bbr, SenderState, CcState) {
    let (mut tp, mut cc) = (SenderState { min_rtt_us: 40_000, srtt_us8: 320_000, ..tp() }, cc());
    tp.delivered_at = tp.now;
    let mut bbr = Bbr::new(Rng::from_name(1, "bbr"));
    bbr.init(&tp, &mut cc);
    bbr.mode = mode;
    bbr.max_bandwidth.update(0, TEN_MBIT, bandwidth::WINDOW);
    for _ in 0..4 {
        bbr.full_pipe.update(TEN_MBIT, true, false);
    }
    bbr.update_gains();
    (bbr, tp, cc)
}

fn path() -> Path {
    let rng = Rng::from_name(1, "bbr");
    Path::new(Controller::from_name("bbr", &mut Parameters::default(), rng).unwrap(), 10_000_000, 40)
}

fn bbr(path: &Path) -> &Bbr {
    let Controller::Bbr(bbr) = &path.controller else { unreachable!() };
    bbr
}

/// One line per change of phase or gain: milliseconds since the start, round, phase, pacing gain, window, in flight.
fn phase_log(path: &mut Path, until_ms: u64) -> String {
    let mut text = String::new();
    let mut last = ("", 0);
    while path.tp.now < ms(1_000 + until_ms) {
        let cc_info = path.cc_info();
        let now = (cc_info.phase, cc_info.pacing_gain.unwrap());
        if now != last {
            last = now;
            let millis = path.tp.now.since(ms(1_000)).as_micros() / 1_000;
            let (round, cwnd, in_flight) = (bbr(path).rounds.count, path.cc.cwnd, path.tp.in_flight());
            writeln!(text, "{millis:>6} {round:>4} {:<9} {:>3} {cwnd:>3} {in_flight:>3}", now.0, now.1).unwrap();
        }
        path.step();
    }
    text
}

/// The same path under Linux 6.12 (`kernel` engine, an ACK for every packet): drain after 492 ms, `probe_bw` 112 ms
/// later, then cycles of 41 to 50, 34 to 41 and 244 to 247 ms at windows of 76, 78 while probing.
#[test]
fn startup_fills_the_pipe_drain_empties_it_and_cycles_follow() {
    let table = "
     0    0 startup   739  10   0
   485    7 drain      88 103 101
   596    7 probe_bw  320  86  41
   638    8 probe_bw  192  84  47
   674    9 probe_bw  256  84  40
   921   14 probe_bw  320  77  37
   969   15 probe_bw  192  76  47
  1003   16 probe_bw  256  76  40
  1250   21 probe_bw  320  77  37
  1298   22 probe_bw  192  76  47
";
    assert_eq!(phase_log(&mut path(), 1_300), table.trim_start_matches('\n'));
}

/// Linux 6.12 on the same path: `probe_rtt` 10.005 s after the start, for 253 ms.
#[test]
fn min_rtt_is_probed_after_ten_seconds_for_200_ms_and_a_round() {
    let mut path = path();
    path.run_until(ms(10_700));
    let table = "
  9700  194 probe_bw  256  76  38
  9815  196 probe_bw  320  77  37
  9863  197 probe_bw  192  76  47
  9897  198 probe_bw  256  76  40
 10004  200 probe_rtt 256   4  39
 10253  206 probe_bw  256  77   3
 10462  211 probe_bw  320  77  33
 10544  212 probe_bw  192  76  49
 10579  213 probe_bw  256  78  42
";
    assert_eq!(phase_log(&mut path, 10_700), table.trim_start_matches('\n'));
    assert_eq!(path.cc_info().min_rtt_us, Some(41_211), "the delay and one packet's transmission time");
}

/// Startup round by round: the bandwidth doubles up to the path's, then three rounds bring less than 25 % more.
#[test]
fn the_bandwidth_doubles_each_round_up_to_the_paths() {
    let mut path = path();
    let mut table = String::new();
    let mut round = 0;
    while path.cc_info().phase == "startup" {
        path.step();
        if bbr(&path).rounds.count != round {
            round = bbr(&path).rounds.count;
            let kbit = path.cc_info().bandwidth.unwrap().as_bits() / 1_000;
            writeln!(table, "{round} {kbit:>5} {:>3} {}", path.cc.cwnd, bbr(&path).full_pipe.is_reached()).unwrap();
        }
    }
    let expected = "
1   281  11 false
2  2810  21 false
3  5621  41 false
4  8815  73 false
5  9563 102 false
6  9563 102 false
7  9563 103 true
";
    assert_eq!(table, expected.trim_start_matches('\n'));
}

#[test]
fn the_steady_window_is_twice_the_bdp_and_a_budget() {
    let mut path = path();
    path.run_until(ms(3_000));
    let (bdp, budget) = (34, 6);
    assert!((2 * bdp + budget..=2 * bdp + budget + 4).contains(&path.cc.cwnd), "{}", path.cc.cwnd);
    assert_eq!(path.cc_info().cwnd_gain, Some(512));
    assert_eq!(path.cc_info().bandwidth, Some(TEN_MBIT.rate(1_448)), "equal to Linux 6.12, to the byte");
}

/// A token bucket of 3 Mbit/s in front of 10 Mbit/s drops most of what BBR sends at the rate of the first burst.
#[test]
fn a_policer_is_detected_and_its_rate_used() {
    let mut path = path();
    path.police(3_000_000, 30_000);
    path.run_until(ms(3_000));
    let policed = bbr(&path).long_term.policed_to().expect("a policer was detected");
    let kbit = policed.rate(1_514).as_bits() / 1_000;
    assert!((2_700..=3_300).contains(&kbit), "{kbit} kbit/s");
    assert_eq!(path.cc_info().pacing_gain, Some(UNIT));
    let (lost, delivered) = (path.tp.lost, path.tp.delivered);
    path.run_until(ms(3_800));
    let (lost, delivered) = (path.tp.lost - lost, path.tp.delivered - delivered);
    assert!(lost * 50 < delivered, "{lost} of {delivered} are lost at the policer's rate");
}

#[test]
fn sending_after_idle_time_starts_at_the_bandwidth() {
    let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
    cc.pacing_rate = TEN_MBIT.paced(1_448, 320);
    bbr.cwnd_event(&tp, &mut cc, Event::TxStart);
    assert!(!bbr.idle_restart, "the application was not the limit");
    cc.app_limited = 1;
    tp.now += Span::from_secs(2);
    bbr.cwnd_event(&tp, &mut cc, Event::TxStart);
    assert!(bbr.idle_restart);
    assert_eq!(bbr.aggregation, Aggregation::new(&tp), "idle time does not count as time without ACKs");
    assert_eq!(cc.pacing_rate, TEN_MBIT.paced(1_448, UNIT));
}

#[test]
fn a_timeout_ends_a_round_and_starts_policer_detection() {
    let (mut bbr, tp, mut cc) = bbr_with(Mode::ProbeBw);
    bbr.set_state(&tp, &mut cc, CaState::Recovery);
    assert!(!bbr.rounds.started);
    let (estimate, pipe) = (bbr.long_term.clone(), bbr.full_pipe.clone());
    bbr.set_state(&tp, &mut cc, CaState::Loss);
    assert!(bbr.rounds.started);
    assert_ne!(bbr.long_term, estimate);
    assert_ne!(bbr.full_pipe, pipe, "the reference for a full pipe is reset");
}

#[test]
fn an_undo_keeps_the_window() {
    let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
    (cc.cwnd, tp.prior_cwnd) = (40, 80);
    assert_eq!(bbr.undo_cwnd(&tp, &mut cc), 40);
    assert!(bbr.has_cong_control());
    assert_eq!((bbr.sndbuf_expand(), bbr.name()), (3, "bbr"));
}
