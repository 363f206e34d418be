//! Moments and quantiles of the tables, compared with iproute2's.

use super::*;
use crate::queue::netem::tests::moments;
use alloc::vec::Vec;

fn numbers(table: &Table) -> Vec<f64> {
    table.iter().map(|entry| f64::from(*entry) / 8_192.0).collect()
}

fn of(distribution: Distribution) -> &'static Table {
    table(distribution).expect("it has one")
}

fn assert_moments(table: &Table, mean: f64, deviation: f64) {
    let (seen_mean, seen_deviation) = moments(&numbers(table));
    assert!((seen_mean - mean).abs() < 1e-4, "mean {seen_mean}");
    assert!((seen_deviation - deviation).abs() < 1e-4, "deviation {seen_deviation}");
}

#[test]
fn the_tables_have_the_moments_of_iproute2s() {
    assert_moments(of(Distribution::Normal), -0.00074, 1.00001);
    assert_moments(of(Distribution::Pareto), -0.03349, 0.81968);
    assert_moments(of(Distribution::Paretonormal), -0.02530, 0.83394);
}

#[test]
fn the_normal_table_has_the_quantiles_of_the_normal_distribution() {
    // Entry i is the quantile of (i + 1/8)/4096.
    for (entry, quantile) in [(2_048, 0.000_077), (3_446, 1.000_0), (3_993, 1.958), (649, -1.000_6), (4_095, 3.523)] {
        let seen = f64::from(of(Distribution::Normal)[entry]) / 8_192.0;
        assert!((seen - quantile).abs() < 2e-3, "entry {entry}: {seen}");
    }
    assert!(of(Distribution::Normal).is_sorted());
}

#[test]
fn the_pareto_table_matches_the_formula() {
    for entry in [0u16, 1, 2_048, 3_584, 4_000] {
        let u = f64::from(4_096 - entry) / 4_096.0;
        let expected = (4.0 / 3.0 * 8_192.0 * (u.powf(-1.0 / 3.0) - 1.5)).round();
        assert!((f64::from(of(Distribution::Pareto)[usize::from(entry)]) - expected).abs() < 0.5, "entry {entry}");
    }
    assert_eq!(of(Distribution::Pareto)[4_095], i16::MAX);
}

#[test]
fn jitter_scales_the_table_and_rounds_away_from_zero() {
    let mut rng = Rng::from_name(1, "jitter");
    let config = NetemConfig {
        delay: crate::time::Span::from_millis(100),
        jitter: crate::time::Span::from_nanos(8_192),
        distribution: Distribution::Normal,
        ..crate::queue::tests::transparent_netem()
    };
    let mut jitter = Jitter::new(&config, &mut rng);
    let mut numbers = Prandom::seeded(1);
    // A jitter of one table unit is the table itself.
    let expected = i64::from(of(Distribution::Normal)[numbers.clone().next_u32() as usize % ENTRIES]);
    assert_eq!(jitter.draw(&mut numbers), 100_000_000 + expected);
}
