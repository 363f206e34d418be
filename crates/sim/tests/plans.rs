//! Plans that can't be carried out, each with the message that a person reads.

mod common;

use common::{chain, left, netem, plan, probe, root, settings, tcp, udp, watched, wire};
use dumbbell_core::queue::Config;
use dumbbell_core::time::{Span, Time};
use dumbbell_sim::plan::{Capture, Change, Plan, What, Work};
use dumbbell_sim::{Error, World};

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
    let mut twins = line();
    twins.flows.push(twins.flows[0].clone());
    assert_eq!(problem(&twins), "two flows are called 'one'");
    let mut lost = line();
    lost.flows[0].receiver = "c".into();
    assert_eq!(problem(&lost), "flow 'one': no host is called 'c'");
    let doubled = plan(&["a", "a"], Vec::new(), 1);
    assert_eq!(problem(&doubled), "two hosts are called 'a'");
    let stray = plan(&["a"], vec![wire("a", "z")], 1);
    assert_eq!(problem(&stray), "wire 0: no host is called 'z'");
}

#[test]
fn wires_join_two_hosts_once() {
    let wires = vec![wire("a", "b"), wire("b", "a")];
    assert_eq!(problem(&plan(&["a", "b"], wires, 1)), "wire 1 from 'b' to 'a': these hosts are joined already");
    assert_eq!(problem(&plan(&["a"], vec![wire("a", "a")], 1)), "wire 0 from 'a' to 'a': it joins a host to itself");
}

#[test]
fn a_path_must_be_there_and_be_the_only_one() {
    let mut apart = plan(&["a", "b"], Vec::new(), 1);
    apart.probes.push(probe(&apart, "ping-1", Span::from_millis(1)));
    assert_eq!(problem(&apart), "probe 'ping-1': no path leads from 'a' to 'b'");
    let wires = vec![wire("a", "m"), wire("a", "n"), wire("m", "z"), wire("n", "z")];
    let mut ring = plan(&["a", "m", "n", "z"], wires, 1);
    ring.flows.push(udp(&ring, "one", Span::from_millis(1)));
    assert_eq!(problem(&ring), "flow 'one': two paths lead from 'a' to 'z', and nothing says which to take");
}

#[test]
fn numbers_make_sense() {
    let mut still = line();
    still.sample = Span::ZERO;
    assert_eq!(problem(&still), "the plan: the time between two samples is zero");
    let mut flood = line();
    flood.flows = vec![udp(&flood, "one", Span::ZERO)];
    assert_eq!(problem(&flood), "flow 'one': the time between two packets is zero");
    let mut empty = line();
    empty.flows = vec![tcp(&empty, "one", "cubic", Work::Sized { bytes: 0 })];
    assert_eq!(problem(&empty), "flow 'one': it has no bytes to send");
    assert!(settings().mss > 0);
}

#[test]
fn a_controller_that_is_not_there_is_named_with_those_that_are() {
    let mut plan = line();
    plan.flows = vec![tcp(&plan, "one", "vagas", Work::Bulk)];
    let has = dumbbell_core::cc::Controller::NAMES.join(", ");
    assert_eq!(problem(&plan), format!("flow 'one': the simulator has no controller 'vagas'; it has {has}"));
}

#[test]
fn ends_of_wires_are_checked_wherever_they_are_named() {
    let mut tapped = line();
    tapped.capture = Some(Capture { at: left(7) });
    assert_eq!(problem(&tapped), "the capture: there is no wire 7: there are 1");
    let mut plain = line();
    plain.queues.push(watched("bottleneck", left(0), "10:"));
    assert_eq!(problem(&plain), "queue 'bottleneck': no discipline on its device has the handle '10:'");
    let mut changed = line();
    let node = root(left(0), "1:", Config::Netem(Box::new(netem(Span::ZERO)))).root;
    changed.changes.push(Change { at: Time::from_nanos(5), device: left(0), what: What::Discipline(node) });
    assert_eq!(problem(&changed), "the change at 5 ns: no discipline on its device has the handle '1:'");
}

#[test]
fn a_wrong_value_is_found_by_its_path() {
    let text = r#"{"seed": 1, "duration": 1, "sample": 1, "ends_when_done": false, "hosts": [],
        "wires": [{"left": "a", "right": 3}]}"#;
    let Err(Error::Json { path, problem }) = Plan::from_json(text) else { panic!("3 is not a name") };
    assert_eq!(path, "wires[0].right");
    assert!(problem.contains("expected a string"), "{problem}");
}
