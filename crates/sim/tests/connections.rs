//! Small experiments with TCP connections over a path with delay and a bottleneck.

mod common;

use common::{bottleneck, chain, left, millis, netem, probe, right, root, run, tcp, udp, watched};
use dumbbell_net::queue::{Config, Correlated, Loss, Probability};
use dumbbell_net::time::Span;
use dumbbell_sim::plan::{Plan, Traffic, Work};
use proptest::prelude::*;

/// sender - netem - router - receiver with this round-trip delay, rate in Mbit/s and queue in packets.
fn path(delay_ms: u64, mbit: u64, packets: u32, length_ms: u64) -> Plan {
    let mut plan = chain(&["a-sender", "netem", "router", "z-receiver"], length_ms);
    let half = Config::Netem(Box::new(netem(Span::from_micros(delay_ms * 500))));
    plan.devices =
        vec![root(left(1), "1:", half.clone()), bottleneck(left(2), mbit, packets), root(right(2), "1:", half)];
    plan.queues = vec![watched("bottleneck", left(2), "10:"), watched("bottleneck.shaper", left(2), "1:")];
    plan
}

#[test]
fn a_sized_flow_delivers_its_bytes_and_ends_the_experiment() {
    let mut plan = path(20, 80, 1_000, 60_000);
    plan.ends_when_done = true;
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Sized { bytes: 1_000_000 }));
    let outcome = run(&plan);
    let flow = &outcome.report.flows[0];
    assert_eq!((flow.bytes_received, flow.retransmits, flow.dropped_packets), (1_000_000, 0, 0));
    // The bottleneck's bucket is full when the SYN arrives, so htb passes it immediately.
    assert_eq!(flow.connected_ns, Some(20_000_000));
    assert_eq!(flow.completed_ns, Some(outcome.report.duration_ns));
    assert!(outcome.report.duration_ns < 1_000_000_000);
}

/// One program opens all connections in order of names: the second a microsecond after the first.
#[test]
fn flows_with_equal_start_times_start_one_after_the_other() {
    let mut plan = path(20, 80, 1_000, 1_000);
    for name in ["second", "first"] {
        plan.flows.push(tcp(&plan, name, "cubic", Work::Bulk));
    }
    let flows = run(&plan).report.flows;
    let times: Vec<_> = flows.iter().map(|flow| (flow.name.as_str(), flow.started_ns, flow.connected_ns)).collect();
    assert_eq!(times, [("second", Some(0), Some(20_001_000)), ("first", Some(0), Some(20_000_000))]);
}

#[test]
fn a_bulk_flow_fills_the_bottleneck() {
    let mut plan = path(20, 80, 200, 5_000);
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Bulk));
    let outcome = run(&plan);
    let rate = outcome.report.flows[0].bytes_received * 8 / 5;
    assert!((70_000_000..77_000_000).contains(&rate), "80 Mbit/s less headers and the start: {rate}");
}

#[test]
fn a_stopped_flow_sends_no_more() {
    let mut plan = path(20, 80, 200, 3_000);
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Bulk));
    plan.flows[0].stop = Some(millis(1_000));
    plan.probes.push(probe(&plan, "ping-1", Span::from_millis(100)));
    let outcome = run(&plan);
    assert_eq!(outcome.report.flows[0].stopped_ns, Some(1_000_000_000));
    let rtts = outcome.probes.column("rtt_ns").expect("a column");
    let last = (0..outcome.probes.rows() - 1).map(|row| rtts.text(row)).next_back();
    assert_eq!(last.as_deref(), Some("20000000"), "the queue is empty, the bucket full");
    let rows = outcome.flows.column("time_ns").expect("a column");
    assert_eq!(rows.text(outcome.flows.rows() - 1), "1000000000", "a sample includes flows that stop at the same time");
}

#[test]
fn an_exchange_takes_a_round_trip_and_its_bytes() {
    let mut plan = path(20, 80, 200, 1_000);
    let work = Work::Exchange { request: 100, response: 10_000, think: Span::from_millis(50) };
    plan.flows.push(tcp(&plan, "one", "cubic", work));
    let outcome = run(&plan);
    let times = &outcome.report.flows[0].exchanges_ns;
    assert!(times.len() > 10, "{times:?}");
    assert!(times.iter().all(|&time| (20_000_000..25_000_000).contains(&time)), "{times:?}");
}

#[test]
fn an_on_off_flow_pauses() {
    let mut plan = path(20, 80, 200, 2_000);
    let (on, off) = (Span::from_millis(300), Span::from_millis(700));
    plan.flows.push(tcp(&plan, "one", "cubic", Work::OnOff { on, off, bytes: None }));
    let outcome = run(&plan);
    let sent = outcome.flows.column("bytes_received").expect("a column");
    let at = |row: usize| sent.text(row).parse::<u64>().expect("a number");
    // Samples every 100 ms: the flow is paused in the ninth and tenth.
    assert!(at(3) > at(1));
    assert_eq!(at(8), at(9));
    assert!(at(13) > at(10), "and continues");
}

#[test]
fn datagrams_and_flows_share_a_queue() {
    let mut plan = path(20, 10, 50, 3_000);
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Bulk));
    plan.flows.push(udp(&plan, "two", Span::from_millis(2)));
    let outcome = run(&plan);
    let [one, two] = outcome.report.flows.as_slice() else { panic!("two flows") };
    assert!(one.bytes_received > 1_000_000 && two.bytes_received > 500_000);
    let dropped: u64 = outcome.report.drops.iter().map(|device| device.packets).sum();
    assert_eq!(one.dropped_packets + two.dropped_packets, dropped);
    assert_eq!(outcome.report.queues[0].drops, dropped);
}

/// One datagram per millisecond keeps the sending device's queue of two full: every packet of the connection is
/// refused, window probes included.
#[test]
fn a_sender_keeps_trying_when_every_packet_is_refused() {
    let mut plan = path(20, 80, 200, 5_000);
    let mut own = netem(Span::from_millis(3));
    own.limit = 2;
    plan.devices.push(root(left(0), "1:", Config::Netem(Box::new(own))));
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Sized { bytes: 10_000 }));
    plan.flows.push(udp(&plan, "two", Span::from_micros(500)));
    (plan.flows[1].start, plan.flows[1].stop) = (millis(22), Some(millis(2_000)));
    assert!(run(&plan).report.flows[0].completed_ns.is_some());
}

/// Cases per property.
const CASES: u32 = 48;

fn works() -> impl Strategy<Value = Work> {
    (1u64..400_000).prop_map(|bytes| Work::Sized { bytes })
}

/// Paths that lose, duplicate and reorder, with a shallow queue.
fn paths() -> impl Strategy<Value = Plan> {
    let chance = |most: u32| (0..=most).prop_map(|percent| Probability(u32::MAX / 100 * percent));
    let controllers = prop::sample::select(vec!["bbr", "cubic", "reno"]);
    let flows = prop::collection::vec((works(), controllers, 0u64..500, any::<bool>()), 1..5);
    (1u64..60, 2u64..50, 5u32..100, chance(5), chance(5), 0u64..5, any::<u64>(), flows).prop_map(
        |(delay, mbit, packets, loss, copies, jitter, seed, flows)| {
            let mut plan = path(delay, mbit, packets, 600_000);
            (plan.seed, plan.ends_when_done) = (seed, true);
            let mut there = netem(Span::from_millis(delay));
            there.jitter = Span::from_millis(jitter.min(delay));
            there.loss = Loss::Random(Correlated { chance: loss, correlation: Probability(0) });
            there.duplicate = Correlated { chance: copies, correlation: Probability(0) };
            plan.devices[0] = root(left(1), "1:", Config::Netem(Box::new(there)));
            for (number, (work, cc, start, offloads)) in flows.into_iter().enumerate() {
                let mut flow = tcp(&plan, &format!("flow-{number}"), cc, work);
                flow.start = millis(start);
                if let (true, Traffic::Tcp(tcp)) = (offloads, &mut flow.traffic) {
                    tcp.sender.gso_max_bytes = Some(65_536);
                }
                plan.flows.push(flow);
            }
            plan
        },
    )
}

/// The same for one flow with a queue on the sending device: the queue reports drops to the sender, and TCP small
/// queues limit it.
fn own_queues() -> impl Strategy<Value = Plan> {
    (paths(), any::<bool>(), 4u32..60).prop_map(|(mut plan, delays, packets)| {
        plan.flows.truncate(1);
        let own = if delays {
            let mut own = netem(Span::from_millis(3));
            own.limit = packets;
            root(left(0), "1:", Config::Netem(Box::new(own)))
        } else {
            bottleneck(left(0), 20, packets)
        };
        plan.devices.push(own);
        plan
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// In order and once: an endpoint counts a byte as received when it has all earlier bytes.
    #[test]
    fn every_flow_delivers_every_byte(plan in paths()) {
        let outcome = run(&plan);
        for (flow, report) in plan.flows.iter().zip(&outcome.report.flows) {
            let Traffic::Tcp(tcp) = &flow.traffic else { unreachable!("all are TCP") };
            let Work::Sized { bytes } = tcp.work else { unreachable!("all are sized") };
            prop_assert!(report.completed_ns.is_some(), "{:?}", report);
            prop_assert_eq!(report.bytes_received, bytes);
        }
    }

    #[test]
    fn a_queue_on_the_sending_device_delivers_every_byte(plan in own_queues()) {
        for report in run(&plan).report.flows {
            prop_assert!(report.completed_ns.is_some(), "{:?}", report);
        }
    }

    #[test]
    fn a_run_is_a_function_of_its_plan(plan in paths()) {
        let (one, other) = (run(&plan), run(&plan));
        prop_assert_eq!(one.flows, other.flows);
        prop_assert_eq!(one.queues, other.queues);
        prop_assert_eq!(one.report.cost, other.report.cost);
    }

    #[test]
    fn the_order_of_flows_in_a_file_does_not_matter(plan in paths()) {
        let mut reversed = plan.clone();
        reversed.flows.reverse();
        let (one, mut other) = (run(&plan), run(&reversed));
        other.report.flows.reverse();
        prop_assert_eq!(one.queues, other.queues);
        prop_assert_eq!(one.report.flows, other.report.flows);
    }
}

/// A device without offloads splits super-packets after its queue (`validate_xmit_skb`): TCP small queues allow two
/// packets there, of several segments each.
#[test]
fn without_offloads_the_sending_queue_still_holds_super_packets() {
    let mut plan = chain(&["a-sender", "router", "z-receiver"], 3_000);
    let fifo = Config::Pfifo { limit: 1_000 };
    let back = Config::Netem(Box::new(netem(Span::from_millis(30))));
    plan.devices = vec![bottleneck(left(0), 20, 100), root(left(1), "1:", fifo), root(right(1), "1:", back)];
    plan.queues = vec![watched("first", left(0), "10:")];
    plan.flows.push(tcp(&plan, "one", "reno", Work::Bulk));
    let outcome = run(&plan);
    let last = outcome.queues.rows() - 1;
    let standing = ["backlog_packets", "backlog_bytes"]
        .map(|name| outcome.queues.column(name).expect("a column").text(last).parse::<u64>().expect("a number"));
    assert!((2..=3).contains(&standing[0]), "two packets and one admitted below the limit: {standing:?}");
    assert!(standing[1] >= standing[0] * 2 * 1_514, "of two segments and more: {standing:?}");
    assert_eq!((outcome.report.flows[0].dropped_packets, outcome.report.flows[0].retransmits), (0, 0));
}
