//! The curve against the formulas of RFC 9438, and the cube root against the exact value.

use super::*;
use crate::table_checksum::table_checksum;

/// A curve with an epoch that began at jiffy 1000 with window `cwnd` below maximum `w_max`.
fn curve(w_max: u32, cwnd: u32) -> Curve {
    let mut curve = Curve { w_max, ..Curve::default() };
    curve.begin_epoch(1_000, cwnd, 1);
    curve
}

#[expect(clippy::cast_precision_loss, reason = "a precision of 2⁻⁵³ suffices")]
fn float(number: u64) -> f64 {
    number as f64
}

/// W(t) = C(t-K)³ + Wmax with C = 0.4 and t in seconds (RFC 9438 figure 1).
fn formula(w_max: f64, k: f64, t: f64) -> f64 {
    0.4 * (t - k).powi(3) + w_max
}

#[test]
fn the_cube_root_is_good_to_one_percent() {
    for x in [64, 1_000, 12_345, 1 << 20, 1 << 40, 26_817_356_770, 2_681_735_677_000, u64::MAX / 3] {
        let exact = float(x).cbrt();
        let error = (f64::from(cube_root(x)) - exact).abs() / exact;
        assert!(error < 0.01 || (f64::from(cube_root(x)) - exact).abs() <= 1.0, "{x}: {} is not {exact}", cube_root(x));
    }
}

#[test]
fn small_cube_roots_come_from_the_table() {
    let roots: [u32; 10] = core::array::from_fn(|x| cube_root(x as u64));
    assert_eq!(roots, [0, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
}

/// RFC 9438 figure 2: K = cbrt((Wmax - cwnd) / C).
#[test]
fn k_is_the_time_back_to_the_maximum() {
    for (w_max, cwnd) in [(100, 70), (1_000, 700), (5_926, 4_148), (40, 28)] {
        let exact = (f64::from(w_max - cwnd) / 0.4).cbrt();
        let k = f64::from(curve(w_max, cwnd).k) / 1_024.0;
        assert!((k - exact).abs() < 0.01 * exact, "K of {w_max} from {cwnd}: {k} s, not {exact} s");
    }
}

#[test]
fn the_target_is_the_cubic_function() {
    for (w_max, cwnd) in [(100, 70), (1_000, 700), (40, 28)] {
        let curve = curve(w_max, cwnd);
        for tenths in 0..150_u32 {
            let t = f64::from(tenths) / 10.0;
            let exact = formula(f64::from(w_max), f64::from(curve.k) / 1_024.0, t);
            let target = f64::from(curve.target(u64::from(tenths * 1_024 / 10)));
            assert!((target - exact).abs() <= 1.0 + 0.01 * exact.abs(), "{w_max} at {t} s: {target}, not {exact}");
        }
    }
}

#[test]
fn the_curve_begins_at_the_reduced_window_and_is_flat_at_the_maximum() {
    let curve = curve(1_000, 700);
    assert_eq!(curve.target(0), 701, "700 within the cube root's error");
    assert_eq!(curve.target(u64::from(curve.k)), 1_000);
    assert_eq!(curve.target(u64::from(curve.k) + 1_024), 1_000, "0.4 of a packet a second later");
    assert_eq!(curve.target(u64::from(curve.k) + 5 * 1_024), 1_050);
}

/// RFC 9438 section 4.7: a flow that did not reach its maximum again gives up more.
#[test]
fn fast_convergence_lowers_the_maximum() {
    let mut curve = Curve::default();
    curve.end_epoch(1_000, &Tuning::default());
    assert_eq!(curve.w_max, 1_000);
    curve.end_epoch(900, &Tuning::default());
    assert_eq!(curve.w_max, 765, "900 (1 + 0.7) / 2");
    curve.end_epoch(765, &Tuning::default());
    assert_eq!(curve.w_max, 765, "a window equal to the maximum is not below it");
}

#[test]
fn beta_is_seven_tenths() {
    assert_eq!([10, 100, 1_000].map(|cwnd| Tuning::default().decreased(cwnd)), [7, 70, 700]);
    assert_eq!(RENO_SCALE, 15, "Linux rounds 15.1 down");
}

/// A window of 20 acknowledged every 10 ms, as on a short path.
#[test]
fn short_round_trips_follow_reno() {
    let mut curve = Curve::default();
    curve.end_epoch(30, &Tuning::default());
    let mut cwnd = 21;
    let mut count = 0;
    for round in 0..100_u64 {
        let window = cwnd;
        for _ in 0..window {
            let per = curve.acks_per_packet(1_000 + round * 10 / 4, 10_000, cwnd, 1, &Tuning::default());
            count += 1;
            if count >= per {
                count = 0;
                cwnd += 1;
            }
        }
    }
    assert!(curve.follows_reno());
    // RFC 9438 section 4.3: alpha = 3 (1 - beta) / (1 + beta) = 0.53 packets a round trip; the cubic curve would be at
    // 30.
    assert!((21 + 48..=21 + 58).contains(&cwnd), "{cwnd}");
}

#[test]
fn long_round_trips_follow_the_curve() {
    let mut curve = Curve::default();
    curve.end_epoch(1_000, &Tuning::default());
    let per = curve.acks_per_packet(1_000, 100_000, 700, 1, &Tuning::default());
    assert!(!curve.follows_reno());
    assert_eq!(per, 700 / (curve.target(102) - 700), "100 ms are 25 jiffies, or 102/1024 s");
}

#[test]
fn growth_is_computed_once_per_jiffy_and_once_per_32_ms_for_the_same_window() {
    let mut curve = Curve::default();
    curve.end_epoch(1_000, &Tuning::default());
    curve.acks_per_packet(1_000, 100_000, 700, 1, &Tuning::default());
    let known = curve.clone();
    curve.acks_per_packet(1_007, 100_000, 700, 0, &Tuning::default());
    assert_eq!(curve, known, "nothing has changed seven jiffies later");
    curve.acks_per_packet(1_008, 100_000, 700, 0, &Tuning::default());
    assert_eq!(curve.last_jiffies, 1_008);
    curve.acks_per_packet(1_008, 100_000, 701, 0, &Tuning::default());
    assert_eq!(curve.last_cwnd, 700, "a new window waits for the next jiffy");
}

#[test]
fn idle_time_does_not_count() {
    let mut curve = curve(1_000, 700);
    curve.shift_epoch(3_000, 2_500);
    assert_eq!(curve.epoch, Some(1_500));
    curve.shift_epoch(3_000, 1_000);
    assert_eq!(curve.epoch, Some(3_000), "the epoch never starts in the future");
}

#[test]
fn an_unknown_maximum_grows_by_a_twentieth() {
    let mut curve = Curve::default();
    assert_eq!(curve.acks_per_packet(1_000, 1_000, 100, 1, &Tuning::default()), 20);
}

/// Linux's `cwnd * 100` wraps to 4 here.
#[test]
fn acks_a_packet_saturate_from_a_window_of_42_949_673() {
    for (cwnd, per) in [(42_949_672, 4_294_967_200), (42_949_673, u32::MAX)] {
        let mut flat = curve(cwnd, cwnd);
        flat.follow_the_curve(1_000, 0, cwnd, 1);
        assert_eq!(flat.per, per);
    }
}

/// `cube_rtt_scale * offs * offs * offs` in 64 bits, and `bic_origin_point + delta` in 32.
#[test]
fn the_cube_and_the_target_wrap() {
    let curve = curve(0, 1);
    assert_eq!(curve.target(1 << 22), 1, "410 * 2^66 leaves nothing in 64 bits");
    let high = Curve { origin: u32::MAX, ..Curve::default() };
    assert_eq!(high.target(5 << 10), u32::MAX.wrapping_add(50), "0.4 * 5^3 = 50 packets above the origin");
}

#[test]
fn the_table_of_cube_roots_is_linux_s() {
    assert_eq!(table_checksum(ROOTS), 0x18f6_a61f_9042_da7d);
}
