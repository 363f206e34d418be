//! Strategies for fq and cake, used by `trees`.

use crate::queue::config::{AckFilter, CakeConfig, FqConfig, Framing, Isolation, Link};
use crate::rate::Rate;
use crate::time::Span;
use alloc::boxed::Box;
use proptest::prelude::*;

/// Any fq.
pub fn fq() -> BoxedStrategy<Box<FqConfig>> {
    let sizes = (0u32..60, 0u32..30, 256u32..9_000, 0u32..20_000, 0u32..8);
    let times = (0u64..50_000, prop::option::of(0u64..3_000), 0u64..100, 0u64..50_000);
    (sizes, times, any::<[bool; 2]>(), prop::option::of(10_000u64..100_000_000))
        .prop_map(
            |(
                (limit, flow_limit, quantum, initial_quantum, orphan_mask),
                (refill, threshold, slack, horizon),
                [pacing, horizon_drop],
                max_rate,
            )| {
                Box::new(FqConfig {
                    limit,
                    flow_limit,
                    quantum,
                    initial_quantum,
                    pacing,
                    max_rate: max_rate.map(Rate::from_bytes),
                    refill_delay: Span::from_micros(refill),
                    low_rate_threshold: Rate::from_bits(550_000),
                    orphan_mask,
                    ce_threshold: threshold.map(Span::from_micros),
                    timer_slack: Span::from_micros(slack),
                    horizon: Span::from_micros(horizon),
                    horizon_drop,
                })
            },
        )
        .boxed()
}

/// Any cake.
pub fn cake() -> BoxedStrategy<Box<CakeConfig>> {
    let isolation = prop::sample::select(&[
        Isolation::Flowblind,
        Isolation::Srchost,
        Isolation::Hosts,
        Isolation::Flows,
        Isolation::DualDsthost,
        Isolation::TripleIsolate,
    ]);
    let framing = prop::sample::select(&[Framing::Plain, Framing::Atm, Framing::Ptm]);
    let link = (-64i32..257, any::<bool>(), 0u32..257, framing);
    let words = (prop::option::of(10_000u64..100_000_000), 1u64..20_000, prop::option::of(1u64..200_000));
    (words, link, isolation, any::<[bool; 3]>())
        .prop_map(
            |(
                (rate, interval, memory_limit),
                (overhead, raw, least, framing),
                isolation,
                [split_gso, ingress, filters],
            )| {
                let rate = rate.map(Rate::from_bytes);
                Box::new(CakeConfig {
                    rate,
                    tin_rate: rate,
                    target: Span::from_micros(interval / 20 + 1),
                    interval: Span::from_micros(interval),
                    isolation,
                    ack_filter: if filters { AckFilter::Aggressive } else { AckFilter::None },
                    link: Link { overhead, raw, least, framing },
                    memory_limit,
                    split_gso,
                    ingress,
                    mtu: 1_514,
                })
            },
        )
        .boxed()
}
