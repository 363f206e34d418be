//! Invalid plans, each with its message.

mod common;

use common::{chain, left, link, netem, plan, probe, root, settings, tcp, udp, watched};
use dumbbell_net::queue::Config;
use dumbbell_net::time::{Span, Time};
use dumbbell_sim::World;
use dumbbell_sim::plan::{Capture, Change, Plan, What, Work};
use dumbbell_tc::tree::Change as TcChange;

fn problem(plan: &Plan) -> String {
    match World::new(plan) {
        Ok(_) => panic!("this plan should have been refused"),
        Err(error) => error.to_string(),
    }
}

fn line() -> Plan {
    let mut plan = chain(&["a", "b"], 1_000);
    plan.flows.push(udp(&plan, "one", Span::from_millis(1)));
    plan
}

#[test]
fn names_are_unique_and_known() {
    let mut duplicates = line();
    duplicates.flows.push(duplicates.flows[0].clone());
    assert_eq!(problem(&duplicates), "two flows have the name 'one'");
    let mut lost = line();
    lost.flows[0].receiver = "c".into();
    assert_eq!(problem(&lost), "flow 'one': unknown host 'c'");
    let repeated = plan(&["a", "a"], Vec::new(), 1);
    assert_eq!(problem(&repeated), "two hosts have the name 'a'");
    let unknown = plan(&["a"], vec![link("a", "z")], 1);
    assert_eq!(problem(&unknown), "link 0: unknown host 'z'");
}

#[test]
fn links_join_two_hosts_once() {
    let wires = vec![link("a", "b"), link("b", "a")];
    assert_eq!(problem(&plan(&["a", "b"], wires, 1)), "link 1 from 'b' to 'a': these hosts already have a link");
    assert_eq!(problem(&plan(&["a"], vec![link("a", "a")], 1)), "link 0 from 'a' to 'a': both ends are the same host");
}

#[test]
fn a_path_must_exist_and_be_unique() {
    let mut apart = plan(&["a", "b"], Vec::new(), 1);
    apart.probes.push(probe(&apart, "ping-1", Span::from_millis(1)));
    assert_eq!(problem(&apart), "probe 'ping-1': no path from 'a' to 'b'");
    let wires = vec![link("a", "m"), link("a", "n"), link("m", "z"), link("n", "z")];
    let mut ring = plan(&["a", "m", "n", "z"], wires, 1);
    ring.flows.push(udp(&ring, "one", Span::from_millis(1)));
    assert_eq!(problem(&ring), "flow 'one': more than one path from 'a' to 'z'; exactly one is required");
}

#[test]
fn numbers_make_sense() {
    let mut still = line();
    still.sample = Span::ZERO;
    assert_eq!(problem(&still), "the plan: sample is 0 ns; it must be above 0");
    let mut flood = line();
    flood.flows = vec![udp(&flood, "one", Span::ZERO)];
    assert_eq!(problem(&flood), "flow 'one': interval is 0 ns; it must be above 0");
    let mut empty = line();
    empty.flows = vec![tcp(&empty, "one", "cubic", Work::Sized { bytes: 0 })];
    assert_eq!(problem(&empty), "flow 'one': bytes is 0; it must be above 0");
    assert!(settings().mss > 0);
}

#[test]
fn an_unknown_controller_is_named_with_the_known_ones() {
    let mut plan = line();
    plan.flows = vec![tcp(&plan, "one", "vagas", Work::Bulk)];
    let has = dumbbell_net::cc::Controller::NAMES.join(", ");
    assert_eq!(problem(&plan), format!("flow 'one': unknown controller 'vagas' (the simulator has {has})"));
}

#[test]
fn link_ends_are_checked_in_every_object() {
    let mut tapped = line();
    tapped.capture = Some(Capture { at: left(7) });
    assert_eq!(problem(&tapped), "the capture: link 7 does not exist (the plan has 1)");
    let mut plain = line();
    plain.queues.push(watched("bottleneck", left(0), "10:"));
    assert_eq!(problem(&plain), "queue 'bottleneck': no qdisc on its device has the handle '10:'");
    let mut changed = line();
    let node = root(left(0), "1:", Config::Netem(Box::new(netem(Span::ZERO)))).root;
    changed
        .changes
        .push(Change { at: Time::from_nanos(5), what: What::Tc { device: left(0), change: TcChange::Qdisc(node) } });
    assert_eq!(problem(&changed), "the change at 5 ns: no qdisc on its device has the handle '1:'");
}
