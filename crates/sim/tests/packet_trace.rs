//! Properties of packet traces on small networks: recording changes nothing, times increase, and traces agree with
//! samples.

mod common;

use common::{bottleneck, chain, left, millis, netem, probe, right, root, run, tcp, udp, watched};
use dumbbell_net::queue::{Config, Correlated, Loss, Node, Probability};
use dumbbell_net::time::{Span, Time};
use dumbbell_sim::packet_trace::{TraceResult, Window};
use dumbbell_sim::plan::{Plan, Traffic, Work};
use dumbbell_sim::{Column, RunResult, Table, World};
use dumbbell_tc as tc;
use dumbbell_tc::tree::Tree;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One row of a packet trace; times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    flow: String,
    kind: String,
    direction: String,
    size: i64,
    sequence: Option<i64>,
    retransmit: bool,
    marked: bool,
    sent: i64,
    queue: String,
    queued: Option<i64>,
    dequeued: Option<i64>,
    departed: Option<i64>,
    received: Option<i64>,
    dropped: Option<i64>,
    dropped_at: String,
}

impl Row {
    fn end(&self) -> Option<i64> {
        self.received.or(self.dropped)
    }

    /// Departure from the queue under test, or the drop.
    fn out(&self) -> Option<i64> {
        self.dequeued.or(self.dropped)
    }
}

fn rows(table: &Table) -> Vec<Row> {
    let text = |name: &str, row| table.column(name).expect("a column").text(row);
    let number = |name: &str, row| match table.column(name) {
        Some(Column::I64(cells)) => cells.get(row),
        other => panic!("{other:?}"),
    };
    (0..table.rows())
        .map(|row| Row {
            flow: text("flow", row),
            kind: text("kind", row),
            direction: text("direction", row),
            size: number("size_bytes", row).expect("a size"),
            sequence: number("sequence_bytes", row),
            retransmit: text("retransmit", row) == "true",
            marked: text("marked", row) == "true",
            sent: number("sent_ns", row).expect("a time"),
            queue: text("queue", row),
            queued: number("queued_ns", row),
            dequeued: number("dequeued_ns", row),
            departed: number("departed_ns", row),
            received: number("received_ns", row),
            dropped: number("dropped_ns", row),
            dropped_at: text("dropped_at", row),
        })
        .collect()
}

fn window(from: u64, to: u64) -> Window {
    Window { from: millis(from), to: millis(to), max_rows: usize::MAX }
}

fn recorded(plan: &Plan, window: Window) -> RunResult {
    let mut world = World::new(plan).unwrap_or_else(|error| panic!("{error}"));
    world.record(plan, window);
    world.run(Time::NEVER).unwrap_or_else(|error| panic!("{error}"));
    world.finish()
}

/// As recorded, run no longer than needed.
fn recorded_alone(plan: &Plan, window: Window) -> (TraceResult, Time) {
    let mut world = World::new(plan).expect("the plan is valid");
    world.record(plan, window);
    let progress = world.run_recorded(Time::NEVER).expect("the run succeeds");
    assert!(progress.is_over);
    (world.finish().packet_trace.expect("they were recorded"), progress.now)
}

fn traced(outcome: &RunResult) -> Vec<Row> {
    rows(&outcome.packet_trace.as_ref().expect("they were recorded").packets)
}

/// Qdiscs under test: name, whether they may split super-packets, settings.
const QUEUES: &[(&str, bool, &[&str])] = &[
    ("pfifo", false, &["pfifo limit 30"]),
    ("bfifo", false, &["bfifo limit 40000"]),
    ("head drop", false, &["pfifo_head_drop limit 20"]),
    ("codel", false, &["codel limit 60 target 5ms interval 20ms ecn"]),
    ("fq_codel", false, &["fq_codel limit 40 flows 16 target 5ms interval 20ms"]),
    ("pie", false, &["pie limit 30 target 5ms ecn"]),
    ("sfq", false, &["sfq limit 40"]),
    ("tbf", true, &["tbf rate 6400kbit burst 4000 limit 30000"]),
    ("tbf over codel", true, &["tbf rate 6400kbit burst 4000 limit 30000", "codel limit 60 target 5ms interval 20ms"]),
    ("cake", true, &["cake bandwidth 6400kbit memlimit 30000"]),
];

#[derive(Clone, Debug)]
struct Scenario {
    queue: usize,
    mbit: u64,
    flows: Vec<(usize, u64, usize)>,
    datagrams: Option<u64>,
    offloads: bool,
    ecn: bool,
    host_queue: bool,
    loss: u32,
    duplicate: u32,
    jitter: u64,
    seed: u64,
}

impl Scenario {
    fn plan(&self) -> Plan {
        let mut plan = chain(&["a", "air", "router", "z"], 800);
        plan.seed = self.seed;
        plan.sample = Span::from_nanos(9_999_991);
        let node = self.node();
        let mut device = bottleneck(left(2), self.mbit, 30);
        match (&node.config, &mut device.root.config) {
            (Config::Tbf(_) | Config::Cake(_), root) => *root = node.config.clone(),
            (_, Config::Htb(htb)) => htb.classes[0].leaf = Some(node),
            _ => unreachable!("a bottleneck is an htb"),
        }
        let handle = if matches!(device.root.config, Config::Htb(_)) { "10:" } else { "1:" };
        plan.devices = vec![
            device,
            root(left(1), "1:", self.air()),
            root(right(0), "1:", Config::Netem(Box::new(netem(Span::from_millis(8))))),
        ];
        plan.queues = vec![
            watched("bottleneck", left(2), handle),
            watched("air", left(1), "1:"),
            watched("back", right(0), "1:"),
        ];
        plan.queues[1].under_test = false;
        plan.queues[2].under_test = false;
        if self.host_queue {
            plan.devices.push(root(left(0), "1:", Config::Pfifo { limit: 5 }));
            plan.queues.push(watched("host", left(0), "1:"));
            plan.queues[3].under_test = false;
        }
        for &(cc, start, work) in &self.flows {
            let work = [Work::Bulk, Work::Sized { bytes: 90_000 }, EXCHANGE][work];
            let mut flow = tcp(&plan, &format!("{cc}-{start}-{}", plan.flows.len()), CONTROLLERS[cc], work);
            flow.start = millis(start);
            let Traffic::Tcp(tcp) = &mut flow.traffic else { unreachable!("it is a connection") };
            for end in [&mut tcp.sender, &mut tcp.receiver] {
                end.ecn = self.ecn;
                end.gso_max_bytes = self.offloads.then_some(65_536);
            }
            plan.flows.push(flow);
        }
        if let Some(interval) = self.datagrams {
            plan.flows.push(udp(&plan, "datagrams", Span::from_micros(interval)));
        }
        plan.probes.push(probe(&plan, "ping-1", Span::from_micros(7_300)));
        plan
    }

    fn node(&self) -> Node {
        let mut tree = Tree::new(tc::Device { mtu: 1514, queue_length: 1000, seeds: BTreeMap::new() });
        for (parent, options) in ["root handle 10:", "parent 10: handle 20:"].iter().zip(QUEUES[self.queue].2) {
            let command = format!("qdisc add {parent} {options}");
            tree.execute(&dumbbell_tc::Command::of_line(&command).expect("a qdisc")).expect("a qdisc");
        }
        tree.root().expect("the root was added")
    }

    fn air(&self) -> Config {
        let share =
            |percent: u32| Correlated { chance: Probability(u32::MAX / 100 * percent), ..Correlated::default() };
        let mut netem = netem(Span::from_millis(2));
        netem.jitter = Span::from_micros(self.jitter);
        netem.loss = if self.loss > 0 { Loss::Random(share(self.loss)) } else { Loss::None };
        netem.duplicate = share(self.duplicate);
        Config::Netem(Box::new(netem))
    }

    fn cuts_unseen(&self) -> bool {
        self.offloads && QUEUES[self.queue].1
    }
}

const CONTROLLERS: [&str; 4] = ["cubic", "reno", "bbr", "dctcp"];
const EXCHANGE: Work = Work::Exchange { request: 3_000, response: 40_000, think: Span::from_millis(3) };

fn worlds() -> impl Strategy<Value = Scenario> {
    let flows = prop::collection::vec((0usize..CONTROLLERS.len(), 0u64..300, 0usize..3), 1..4);
    let shares = (0u32..4, prop_oneof![Just(0u32), 0u32..20], prop_oneof![Just(0u64), 0u64..1_500]);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of(500u64..5_000));
    (0usize..QUEUES.len(), 4u64..12, flows, shares, switches, any::<u64>()).prop_map(
        |(queue, mbit, flows, (loss, duplicate, jitter), (offloads, ecn, host_queue, datagrams), seed)| Scenario {
            queue,
            mbit,
            flows,
            datagrams,
            offloads,
            ecn,
            host_queue,
            loss,
            duplicate,
            jitter,
            seed,
        },
    )
}

fn samples(outcome: &RunResult, queue: &str, column: &str) -> Vec<(i64, i64)> {
    let table = &outcome.queues;
    let text = |name: &str, row| table.column(name).expect("a column").text(row);
    let number = |name: &str, row| text(name, row).parse::<i64>().expect("a number");
    let mine = (0..table.rows()).filter(|&row| text("queue", row) == queue);
    mine.map(|row| (number("time_ns", row), number(column, row))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn recording_does_not_change_a_run(scenario in worlds(), from in 0u64..700, long in 0u64..300) {
        let plan = scenario.plan();
        let (without, with) = (run(&plan), recorded(&plan, window(from, from + long)));
        prop_assert_eq!(without.flows, with.flows);
        prop_assert_eq!(without.queues, with.queues);
        prop_assert_eq!(without.probes, with.probes);
        let report = |report| serde_json::to_string(report).expect("plain numbers");
        prop_assert_eq!(report(&without.report), report(&with.report));
    }

    #[test]
    fn times_increase_and_queued_packets_depart_once(scenario in worlds()) {
        let outcome = recorded(&scenario.plan(), window(0, 800));
        for row in traced(&outcome) {
            let times: Vec<i64> = [Some(row.sent), row.queued, row.dequeued, row.departed, row.received.or(row.dropped)]
                .into_iter().flatten().collect();
            prop_assert!(times.is_sorted(), "{row:?}");
            prop_assert!(row.received.is_none() || row.dropped.is_none(), "{row:?}");
            prop_assert_eq!(row.dropped.is_none(), row.dropped_at.is_empty());
            prop_assert_eq!(row.queued.is_none(), row.queue.is_empty());
            prop_assert_eq!(row.dequeued, row.departed);
            if row.direction == "forward" && row.received.is_some() {
                prop_assert!(row.queued.is_some() && row.dequeued.is_some(), "{row:?}");
            }
        }
    }

    #[test]
    fn drops_agree_with_the_counters(scenario in worlds()) {
        let outcome = recorded(&scenario.plan(), window(0, 800));
        let packet_trace = traced(&outcome);
        for queue in &outcome.report.queues {
            let mut before = (-1, 0);
            for (time, drops) in samples(&outcome, &queue.name, "drops_packets") {
                let was_dropped = |row: &&Row| row.dropped_at == queue.name && row.dropped.is_some_and(|at| before.0 < at && at <= time);
                let tied = packet_trace.iter().any(|row| row.dropped == Some(time));
                if tied { continue }
                prop_assert_eq!(counted(packet_trace.iter().filter(was_dropped)), drops - before.1, "{} at {}", queue.name, time);
                before = (time, drops);
            }
        }
    }

    /// A splitting qdisc counts the segments before they leave; the trace records the split when the first one leaves.
    #[test]
    fn queued_packets_agree_with_the_backlog(scenario in worlds().prop_filter("cuts", |scenario| !scenario.cuts_unseen())) {
        let outcome = recorded(&scenario.plan(), window(0, 800));
        let packet_trace: Vec<_> = traced(&outcome).into_iter().filter(|row| row.queue == "bottleneck").collect();
        let (mut compared, mut was_queued) = (0, 0);
        for (time, backlog) in samples(&outcome, "bottleneck", "backlog_packets") {
            if packet_trace.iter().any(|row| row.queued == Some(time) || row.out() == Some(time)) {
                continue; // The event queue decides who is first at this time.
            }
            let is_queued = |row: &&Row| row.queued.is_some_and(|at| at < time) && row.out().is_none_or(|at| time < at);
            prop_assert_eq!(counted(packet_trace.iter().filter(is_queued)), backlog, "at {}", time);
            compared += 1;
            was_queued += backlog;
        }
        prop_assert!(compared > 60, "{compared} samples, {was_queued} packets");
    }

    /// Without copies, a packet's own times decide whether it is in a window.
    #[test]
    fn a_window_is_a_subset_of_the_full_trace(
        scenario in worlds().prop_map(|scenario| Scenario { duplicate: 0, offloads: false, host_queue: false, ..scenario }),
        from in 0u64..700, long in 0u64..300, max_rows in 0usize..300,
    ) {
        let plan = scenario.plan();
        let (start, stop) = (nanos(from), nanos(from + long));
        let full = traced(&recorded(&plan, window(0, 800)));
        let inside = |row: &Row| row.sent <= stop && row.end().is_none_or(|end| end >= start);
        let expected: Vec<_> = full.into_iter().filter(inside).collect();
        let (alone, ended) = recorded_alone(&plan, window(from, from + long));
        prop_assert!(ended <= millis(800));
        prop_assert_eq!(rows(&alone.packets), expected.clone());
        prop_assert_eq!(alone.left_out, 0);
        let (short, _) = recorded_alone(&plan, Window { max_rows, ..window(from, from + long) });
        let kept = expected.len().min(max_rows);
        prop_assert_eq!(rows(&short.packets), expected[..kept].to_vec());
        prop_assert_eq!(short.left_out, (expected.len() - kept) as u64);
    }

    #[test]
    fn retransmissions_agree_with_the_senders_counters(
        scenario in worlds().prop_map(|scenario| Scenario { duplicate: 0, offloads: false, ..scenario })
    ) {
        let plan = scenario.plan();
        let outcome = recorded(&plan, window(0, 800));
        let packet_trace = traced(&outcome);
        for (flow, report) in plan.flows.iter().zip(&outcome.report.flows) {
            let mine = |row: &&Row| row.flow == flow.name && row.direction == "forward" && row.kind != "ack";
            // A FIN may be retransmitted after the flow has ended, which its report does not count.
            let end = report.stopped_ns.map_or(i64::MAX, |at| i64::try_from(at).expect("a short run"));
            let counts = |row: &&Row| row.retransmit && refused(row).is_none() && row.sent <= end;
            let count = packet_trace.iter().filter(mine).filter(counts).count();
            prop_assert_eq!(count as u64, report.retransmits, "{}", &flow.name);
        }
    }
}

fn counted<'a>(rows: impl Iterator<Item = &'a Row>) -> i64 {
    i64::try_from(rows.count()).expect("few rows")
}

fn nanos(at: u64) -> i64 {
    millis(at).as_nanos().cast_signed()
}

/// A packet that its own host's queue refused was not sent.
fn refused(row: &Row) -> Option<i64> {
    row.dropped.filter(|_| row.dropped_at == "host")
}
