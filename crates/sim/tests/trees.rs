//! Properties of any plan of datagrams and probes over any tree of hosts.

mod common;

use common::{link, plan, probe, run, udp};
use dumbbell_net::time::{Span, Time};
use dumbbell_sim::plan::Plan;
use dumbbell_sim::{RunResult, World};
use proptest::prelude::*;

/// A tree: every host except the root links right to an earlier one; flows go to the root.
fn trees() -> impl Strategy<Value = Plan> {
    let hosts = prop::collection::vec(any::<prop::sample::Index>(), 1..8);
    let flows =
        prop::collection::vec((any::<prop::sample::Index>(), 1u64..50, 0u64..300, prop::option::of(0u64..900)), 0..6);
    (hosts, flows, 0u64..3).prop_map(|(parents, flows, probes)| {
        let names: Vec<String> = (0..=parents.len()).map(|number| format!("h{}", (number * 7) % 11)).collect();
        let wires = parents
            .iter()
            .enumerate()
            .map(|(number, parent)| link(&names[number + 1], &names[parent.index(number + 1)]))
            .collect();
        let mut plan = plan(&names.iter().map(String::as_str).collect::<Vec<_>>(), wires, 500);
        let somewhere = |index: prop::sample::Index| names[1 + index.index(names.len() - 1)].clone();
        for (number, (host, interval, start, stop)) in flows.into_iter().enumerate() {
            let mut flow = udp(&plan, &format!("flow-{number}"), Span::from_micros(interval * 1_000));
            (flow.sender, flow.receiver) = (somewhere(host), names[0].clone());
            (flow.start, flow.stop) = (common::millis(start), stop.map(common::millis));
            plan.flows.push(flow);
        }
        for number in 0..probes {
            let mut probe = probe(&plan, &format!("ping-{number}"), Span::from_micros(7_000 + number));
            (probe.sender, probe.receiver) = (names[1].clone(), names[0].clone());
            plan.probes.push(probe);
        }
        plan
    })
}

/// Rows of a table in an order independent of the plan's.
fn rows(table: &dumbbell_sim::Table) -> Vec<String> {
    let mut rows: Vec<_> = table.text().lines().map(ToString::to_string).collect();
    rows.sort_unstable();
    rows
}

fn tables(outcome: &RunResult) -> [Vec<String>; 3] {
    [rows(&outcome.flows), rows(&outcome.queues), rows(&outcome.probes)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The run checks conservation; here every datagram must arrive, because nothing drops.
    #[test]
    fn every_datagram_arrives_without_drops(plan in trees()) {
        let outcome = run(&plan);
        for (flow, report) in plan.flows.iter().zip(&outcome.report.flows) {
            prop_assert_eq!(&flow.name, &report.name);
            prop_assert_eq!(report.bytes_received, report.data_segs_out * 1_000);
            prop_assert_eq!(report.dropped_packets, 0);
        }
        let answered = outcome.probes.column("rtt_ns").is_some_and(|column| {
            (0..outcome.probes.rows()).all(|row| column.text(row) == "0")
        });
        prop_assert!(answered);
    }

    #[test]
    fn a_run_is_a_function_of_its_plan(plan in trees()) {
        let (one, other) = (run(&plan), run(&plan));
        prop_assert_eq!(one.flows, other.flows);
        prop_assert_eq!(one.probes, other.probes);
        prop_assert_eq!(one.report.cost, other.report.cost);
    }

    #[test]
    fn the_order_in_a_file_does_not_matter(plan in trees()) {
        let mut reversed = plan.clone();
        reversed.flows.reverse();
        reversed.hosts.reverse();
        reversed.wires.reverse();
        prop_assert_eq!(tables(&run(&plan)), tables(&run(&reversed)));
    }

    #[test]
    fn running_in_slices_does_not_change_a_run(plan in trees(), slices in 1u64..20) {
        let mut world = World::new(&plan).expect("a good plan");
        for slice in 1..=slices {
            world.run(common::millis(500 * slice / slices)).expect("a good run");
        }
        let progress = world.run(Time::NEVER).expect("a good run");
        prop_assert!(progress.is_over);
        prop_assert_eq!(tables(&world.finish()), tables(&run(&plan)));
    }
}
