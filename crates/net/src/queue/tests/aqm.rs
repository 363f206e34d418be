//! Strategies for pie, sfq, choke, prio, drr and others, used by `trees`; and a test of their limits.

use super::node;
use super::trees::{World, rate, steps};
use crate::queue::config::{
    ChokeConfig, Config, DrrClass, DrrConfig, EtsConfig, Filter, FqPieConfig, GredConfig, GredQueue, HhfConfig,
    PieConfig, PoliceConfig, PrioConfig, Probability, RedConfig, Rule, SfbConfig, SfqConfig,
};
use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_queue_exceeds_its_limit(config in prop_oneof![10 => leaf(), 1 => hhf()], steps in steps()) {
        let mut world = World::new(&node("1:", config.clone()));
        for step in steps {
            world.take_step(&step)?;
            let backlog = world.bench.queue.backlog();
            match &config {
                Config::Gred(gred) => prop_assert!(backlog.bytes <= gred.limit.into()),
                config => prop_assert!(backlog.packets <= limit_of(config)),
            }
        }
    }
}

fn limit_of(config: &Config) -> u32 {
    match config {
        Config::Choke(choke) => choke.limit,
        Config::FqPie(fq_pie) => fq_pie.limit,
        Config::PfifoFast { limit } | Config::PfifoHeadDrop { limit } => *limit,
        Config::Pie(pie) => pie.limit,
        Config::Hhf(hhf) => hhf.limit,
        Config::Sfb(sfb) => sfb.limit,
        Config::Sfq(sfq) => sfq.limit,
        other => unreachable!("{other:?} is none of these"),
    }
}

/// Qdiscs that hold packets themselves.
pub(super) fn leaf() -> BoxedStrategy<Config> {
    prop_oneof![
        (0u32..40).prop_map(|limit| Config::PfifoFast { limit }),
        (0u32..40).prop_map(|limit| Config::PfifoHeadDrop { limit }),
        pie().prop_map(Config::Pie),
        (pie(), 1u32..50, 1u32..8, 0u32..3_000, 0u32..100).prop_map(|(pie, limit, flows, quantum, ecn_prob)| {
            Config::FqPie(FqPieConfig { limit, flows, quantum, ecn_prob, pie })
        }),
        (1u32..40, red(30)).prop_map(|(limit, red)| Config::Choke(Box::new(ChokeConfig { limit, red }))),
        sfq(),
        sfb(),
        gred(),
    ]
    .boxed()
}

fn pie() -> BoxedStrategy<PieConfig> {
    (0u32..60, 0u64..5_000, 1u32..80, 0u32..33, 0u32..33, any::<[bool; 3]>())
        .prop_map(|(limit, target, tupdate, alpha, beta, [ecn, bytemode, dq_rate_estimator])| PieConfig {
            limit,
            target: Span::from_micros(target),
            tupdate,
            alpha,
            beta,
            ecn,
            bytemode,
            dq_rate_estimator,
            mtu: 1_514,
        })
        .boxed()
}

fn red(max: u32) -> BoxedStrategy<RedConfig> {
    (0..max, 1..max, 0u8..10, any::<u32>(), any::<bool>(), any::<bool>())
        .prop_map(|(min, width, wlog, max_p, ecn, harddrop)| RedConfig {
            limit: 60_000,
            min,
            max: min + width,
            wlog,
            plog: 20,
            scell_log: 9,
            idle_damping: (0..=255).map(|cell: u8| cell / 9).collect(),
            max_p: Probability(max_p),
            ecn,
            harddrop,
            nodrop: false,
            adaptive: false,
            inner: None,
        })
        .boxed()
}

fn sfq() -> BoxedStrategy<Config> {
    (2u32..40, 1u32..20, 1u32..6, 1u32..9, 0u32..3_000, 0u32..3, any::<bool>(), prop::option::of(red(20_000)))
        .prop_map(|(limit, depth, flows, divisor, quantum, perturb, headdrop, red)| {
            Config::Sfq(Box::new(SfqConfig { limit, depth, flows, divisor, quantum, perturb, headdrop, red }))
        })
        .boxed()
}

fn gred() -> BoxedStrategy<Config> {
    (0u32..100_000, 0u32..3, prop::collection::vec((0u32..3, red(20_000)), 0..3))
        .prop_map(|(limit, default, queues)| {
            let queue = |(number, red): (u32, RedConfig)| {
                let red = RedConfig { limit: red.limit.min(limit.into()), ..red };
                GredQueue { number, prio: 8, red }
            };
            Config::Gred(Box::new(GredConfig { limit, default, queues: queues.into_iter().map(queue).collect() }))
        })
        .boxed()
}

/// Any hhf.
pub(super) fn hhf() -> BoxedStrategy<Config> {
    (0u32..40, 0u32..3_000, 0u32..5, 0u64..20, 0u32..20_000, 0u64..90, 1u32..4)
        .prop_map(|(limit, quantum, hh_limit, reset_timeout, admit_bytes, evict_timeout, non_hh_weight)| {
            Config::Hhf(HhfConfig {
                limit,
                quantum,
                hh_limit,
                reset_timeout,
                admit_bytes,
                evict_timeout,
                non_hh_weight,
            })
        })
        .boxed()
}

fn sfb() -> BoxedStrategy<Config> {
    let bins = (0u32..40, 0u32..20, 0u32..20, 0u32..65_536, 0u32..65_536);
    (bins, 0u64..300, 0u64..300, 0u32..1_000, 0u32..9, prop::option::of(rules()))
        .prop_map(|((limit, max, target, increment, decrement), rehash, warmup, penalty_rate, penalty_burst, rules)| {
            let rules = rules.unwrap_or_default();
            Config::Sfb(Box::new(SfbConfig {
                limit,
                max,
                target,
                increment,
                decrement,
                rehash,
                warmup,
                penalty_rate,
                penalty_burst,
                rules,
            }))
        })
        .boxed()
}

/// Filters to classes 1 to 3, some with a policer.
fn rules() -> BoxedStrategy<Vec<Rule>> {
    let police = (rate(), 0u64..5_000, 60u32..3_000, any::<bool>()).prop_map(|(rate, burst, mtu, peaks)| {
        PoliceConfig { rate, burst: Span::from_micros(burst), mtu, peak: peaks.then_some(rate) }
    });
    (prop::option::of(police), any::<bool>())
        .prop_map(|(police, all)| {
            let mut rules = vec![
                Rule { filter: Filter::Port { port: 5_201, minor: 1 }, police },
                Rule { filter: Filter::Port { port: 5_202, minor: 2 }, police: None },
                Rule { filter: Filter::Mark { mark: 2, minor: 9 }, police: None },
            ];
            rules.extend(all.then_some(Rule { filter: Filter::All { minor: 3 }, police: None }));
            rules
        })
        .boxed()
}

/// Three bands.
pub(super) fn prio(below: BoxedStrategy<Config>) -> BoxedStrategy<Config> {
    (prop::collection::vec(prop::option::of(below), 3), 0u32..5, rules(), 0u32..20)
        .prop_map(|(bands, default, rules, band_limit)| {
            let bands = bands.into_iter().map(|band| band.map(|config| node("60:", config))).collect();
            Config::Prio(Box::new(PrioConfig { bands, default, rules, band_limit }))
        })
        .boxed()
}

/// Three bands of which some are strict.
pub(super) fn ets(below: BoxedStrategy<Config>) -> BoxedStrategy<Config> {
    (prop::collection::vec((prop::option::of(below), 1u32..4_000), 3), 0u32..4, 0u32..3, rules(), 0u32..20)
        .prop_map(|(bands, strict, default, rules, band_limit)| {
            let (bands, quanta): (Vec<_>, Vec<_>) = bands.into_iter().unzip();
            let bands = bands.into_iter().map(|band| band.map(|config| node("65:", config))).collect();
            Config::Ets(Box::new(EtsConfig { strict, quanta, bands, default, rules, band_limit }))
        })
        .boxed()
}

/// Three classes.
pub(super) fn drr(below: BoxedStrategy<Config>) -> BoxedStrategy<Config> {
    (prop::collection::vec((prop::option::of(below), 0u32..4_000), 3), rules(), 0u32..20)
        .prop_map(|(classes, rules, class_limit)| {
            let classes = (1..).zip(classes).map(|(minor, (leaf, quantum))| {
                let leaf = leaf.map(|config| node("70:", config));
                DrrClass { minor, quantum, leaf }
            });
            Config::Drr(Box::new(DrrConfig { classes: classes.collect(), rules, class_limit }))
        })
        .boxed()
}
