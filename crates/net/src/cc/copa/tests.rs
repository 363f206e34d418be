//! Copa on an ideal path: the paper's properties of a single flow.

use super::*;
use crate::cc::Controller;
use crate::cc::testing::ms;
use crate::cc::testing::path::Path;
use crate::rng::Rng;
use alloc::vec::Vec;

fn path(bits_per_second: u64, rtt_ms: u64) -> Path {
    let controller = Controller::from_name("copa", &mut Parameters::default(), Rng::from_name(1, "copa")).unwrap();
    Path::new(controller, bits_per_second, rtt_ms)
}

/// Packets beyond the path's own, every millisecond from 5 to 15 s.
fn queues(bits_per_second: u64, rtt_ms: u64) -> Vec<u32> {
    let mut path = path(bits_per_second, rtt_ms);
    let bdp = u32::try_from(bits_per_second * rtt_ms / 8 / 1_514 / 1_000).unwrap();
    (5_000..15_000)
        .map(|at| {
            path.run_until(ms(at));
            path.tp.in_flight().saturating_sub(bdp)
        })
        .collect()
}

#[test]
fn one_flow_keeps_about_two_packets_in_the_queue_and_empties_it_every_few_round_trips() {
    for (bits_per_second, rtt_ms) in [(10_000_000, 40), (20_000_000, 30), (100_000_000, 20)] {
        let queues = queues(bits_per_second, rtt_ms);
        let mean = f64::from(queues.iter().sum::<u32>()) / f64::from(u32::try_from(queues.len()).unwrap());
        assert!((0.5..=5.0).contains(&mean), "{bits_per_second} bit/s, {rtt_ms} ms: {mean} packets");
        let cycle = usize::try_from(rtt_ms * 12).unwrap();
        let empties = queues.chunks_exact(cycle).all(|cycle| cycle.iter().min() <= Some(&1));
        assert!(empties, "{bits_per_second} bit/s, {rtt_ms} ms: the queue never empties");
        assert!(*queues.iter().max().unwrap() <= 20, "{:?}", queues.iter().max());
    }
}

/// Not always: a slowly draining queue occasionally lasts for more than five round trips.
#[test]
fn alone_it_is_mostly_in_default_mode() {
    let mut path = path(20_000_000, 30);
    let competitive = (3_000..33_000).filter(|at| {
        path.run_until(ms(*at));
        path.cc_info().phase != "default"
    });
    assert!(competitive.count() < 3_000, "a tenth of the time");
}

#[test]
fn slow_start_ends_with_the_first_queue() {
    let mut path = path(100_000_000, 40);
    let mut window = 0;
    while path.cc_info().phase == "slow_start" {
        window = path.cc.cwnd;
        path.step();
    }
    assert!((330..=670).contains(&window), "the path holds 330 packets; slow start ended at {window}");
}
