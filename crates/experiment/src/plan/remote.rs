//! An experiment on real hosts: which host runs which commands, and which ends of flows and probes.
//!
//! ```text
//!             with a router                                     without
//! sender      netem of the path (loss, jitter, forward delay)   bottleneck; if there is none, the path's netem
//! router      bottleneck towards the receiver,
//!             netem of the rtt towards the sender
//! receiver                                                      netem of the rtt towards the sender
//! ```
//!
//! A qdisc is the root of a device that the experiment names, and nowhere else. What needs more devices than there are
//! is refused by its key. `rtt` is in addition to the cable's. Each flow has a port of its own, which identifies its
//! connection at the receiver.

use super::attachments::Attachments;
use super::building::Building;
use super::draws::Streams;
use super::error::Error;
use super::layout::offload;
use super::limits::Limits;
use super::path::{put_bottleneck, put_reverse_netem};
use super::settings::{ecn_of_sender, host_settings};
use super::shaping::{Netem, impairs};
use super::size::{refuse_too_many, refuse_too_much};
use super::traffic::{self, FIRST_PORT};
use super::{are_sized, changes, later, names, netem_seeds};
use crate::limits::grouped;
use crate::model::{Direction, End, Experiment, Flows, Hosts, Impairment, Trace};
use crate::value::Value;
use dumbbell_plan::{Device, Ecn, Flow, Plan, RemoteHost, RemotePlan, Role, Step, Transport};
use std::collections::BTreeSet;
use std::net::IpAddr;

const SENDER: &str = Role::Sender.word();
const RECEIVER: &str = Role::Receiver.word();
const ROUTER: &str = Role::Router.word();
/// Each has a port of its own, in addition to those of the host's services.
const MAX_FLOWS: usize = 10_000;
const ELSEWHERE: &str = "leave it out, or run it with --engine kernel";
const OWN_QUEUE: &str = "the queue under test is on the sender's own device, for there is no router: TCP is throttled \
                         by back-pressure, and where the device has offloads on one loss takes a whole super-packet";

/// The plan of an experiment on its hosts.
///
/// # Errors
///
/// The experiment has no hosts, or these hosts can't do it.
pub fn plan_remote(
    experiment: &Experiment,
    attachments: &Attachments,
    seed: u64,
    limits: &Limits,
) -> Result<RemotePlan, Error> {
    let Some(hosts) = &experiment.hosts else {
        return Err(Error::at("hosts", "no hosts", "a table of [hosts.sender] and [hosts.receiver]"));
    };
    refuse(experiment, hosts)?;
    refuse_too_many(experiment, attachments, limits)?;
    let mut building = Building::new(experiment, attachments);
    set_up(&mut building, hosts)?;
    let changes = changes::changes(&mut building)?;
    let groups = experiment.flows.len();
    building.senders = vec![SENDER.into(); groups];
    let address = address(&hosts.receiver, "hosts.receiver.address")?;
    let ends = vec![(RECEIVER.into(), address); groups];
    let mut draws = Streams::new(seed);
    let flows = own_ports(traffic::flows(&building, &ends, &mut draws))?;
    let remote_hosts = remote_hosts(hosts)?;
    let mut setup = settings(experiment, &remote_hosts);
    setup.append(&mut building.disciplines);
    let path = &experiment.path;
    let is_throttled = path.bottleneck.is_some() && hosts.router.is_none();
    let plan = Plan {
        duration_ns: experiment.duration,
        sample_ns: experiment.sample,
        ends_when_done: !flows.is_empty() && are_sized(&flows),
        telemetry: path.telemetry,
        every_change: experiment.record == Trace::Events,
        hosts: remote_hosts.iter().map(|host| host.role.word().into()).collect(),
        net: super::net(experiment, Vec::new(), Vec::new()),
        setup,
        flows,
        probes: traffic::probes(experiment, SENDER, RECEIVER, address),
        changes,
        netem_seeds: netem_seeds(&building.queues, &mut draws),
        queues: building.queues,
        bottleneck: path.bottleneck.as_ref().map(|_| "bottleneck".into()),
        warnings: if is_throttled { vec![OWN_QUEUE.into()] } else { Vec::new() },
        programs: Vec::new(),
        hosts_file: String::new(),
    };
    refuse_too_much(&plan, limits, None)?;
    names::refuse_duplicates(&plan.queues)?;
    Ok(RemotePlan { plan, hosts: remote_hosts })
}

/// The parser checks addresses; values that a program made may have others.
fn address(end: &End, key: &str) -> Result<IpAddr, Error> {
    let fault = |_| Error::at(key, "not an IP address", "such as 192.168.7.1").with(end.address.as_str());
    end.address.parse().map_err(fault)
}

fn remote_hosts(hosts: &Hosts) -> Result<Vec<RemoteHost>, Error> {
    let end = |role: Role, end: &End| -> Result<_, Error> {
        let address = Some(address(end, &format!("hosts.{}.address", role.word()))?);
        Ok(RemoteHost { role, ssh: end.ssh.clone(), devices: vec![end.device.clone()], address })
    };
    let router = hosts.router.as_ref().map(|router| RemoteHost {
        role: Role::Router,
        ssh: router.ssh.clone(),
        devices: vec![router.to_receiver.clone(), router.to_sender.clone()],
        address: None,
    });
    let (sender, receiver) = (end(Role::Sender, &hosts.sender)?, end(Role::Receiver, &hosts.receiver)?);
    Ok([sender].into_iter().chain(router).chain([receiver]).collect())
}

/// Qdiscs on devices.
fn set_up(building: &mut Building<'_>, hosts: &Hosts) -> Result<(), Error> {
    let device = |host: &str, name: &String| Device { host: host.into(), name: name.clone() };
    let sender = device(SENDER, &hosts.sender.device);
    let (narrow, answers) = match &hosts.router {
        Some(router) => (device(ROUTER, &router.to_receiver), device(ROUTER, &router.to_sender)),
        None => (sender.clone(), device(RECEIVER, &hosts.receiver.device)),
    };
    let forward = building.forward_path();
    if impairs(&forward) || later::needs_path_netem(&building.changes) {
        building.put_netem(vec![sender], "path-netem", Netem { impairment: forward, rate_bps: None }, "path");
    }
    put_bottleneck(building, narrow)?;
    put_reverse_netem(building, vec![answers]);
    Ok(())
}

fn settings(experiment: &Experiment, hosts: &[RemoteHost]) -> Vec<Step> {
    let devices = hosts.iter().flat_map(|host| host.devices.iter().map(|device| (host.role.word(), device)));
    let mut steps: Vec<_> = devices.map(|(role, device)| offload(role, device, experiment.path.offloads)).collect();
    let tcp = &experiment.tcp;
    let settings = host_settings(tcp, ecn_of_sender(tcp.ecn, Ecn::Auto), &tcp.sysctl);
    for host in hosts.iter().filter(|host| host.role != Role::Router) {
        steps.extend(settings.iter().map(|(key, value)| Step::sysctl(host.role.word(), key, value)));
    }
    steps
}

/// A port for each flow: its own if no earlier flow has it, or else the next free one.
fn own_ports(mut flows: Vec<Flow>) -> Result<Vec<Flow>, Error> {
    if flows.len() > MAX_FLOWS {
        let hint = format!("at most {}, or --engine kernel", grouped(MAX_FLOWS));
        let error = Error::at("flows", "more flows than real hosts have ports for", hint);
        return Err(error.with(Value::from(flows.len() as u64)));
    }
    let wanted: BTreeSet<_> = flows.iter().map(|flow| flow.port).collect();
    let mut taken = BTreeSet::new();
    let mut free = (FIRST_PORT..=u16::MAX).filter(|port| !wanted.contains(port));
    for flow in &mut flows {
        if taken.contains(&flow.port) {
            flow.port = free.next().unwrap_or(u16::MAX);
        }
        taken.insert(flow.port);
    }
    Ok(flows)
}

/// Refuses what two or three hosts with one device each can't do.
fn refuse(experiment: &Experiment, hosts: &Hosts) -> Result<(), Error> {
    let path = &experiment.path;
    let elsewhere = |key: &str, problem: &str| Error::at(key, problem, ELSEWHERE);
    if !path.links.is_empty() {
        let names: Vec<_> = path.links.iter().map(|link| &link.name[..]).collect();
        let error = elsewhere("path.links", "real hosts have one link in each direction");
        return Err(error.with(names.join(", ").as_str()));
    }
    if let Some(number) = experiment.changes.iter().position(|change| change.route.is_some()) {
        return Err(elsewhere(&format!("changes.{number}.route"), "real hosts have one link in each direction"));
    }
    if !path.tc.is_empty() {
        return Err(elsewhere("path.tc", "a script of tc commands isn't allowed on real hosts"));
    }
    if !path.packets.is_empty() {
        return Err(elsewhere("path.packets", "real hosts have no device for it in front of the path"));
    }
    if !experiment.programs.is_empty() {
        return Err(elsewhere("programs", "the engine for real hosts starts no programs there"));
    }
    if path.reverse.as_ref().is_some_and(|reverse| reverse.rate.is_some() || reverse.qdisc.is_some()) {
        let problem = "the reverse path has one device, which the rtt's netem uses";
        return Err(elsewhere("path.reverse", problem).with("rate or qdisc"));
    }
    for (number, group) in experiment.flows.iter().enumerate() {
        if let Some((name, problem, value)) = refused_key(group) {
            let error = elsewhere(&format!("flows.{number}.{name}"), problem);
            return Err(match value {
                Some(value) => error.with(value),
                None => error,
            });
        }
    }
    if path.bottleneck.is_some() && hosts.router.is_none() { refuse_two_on_one(experiment) } else { Ok(()) }
}

/// A key of a group that needs hosts of its own, and why.
fn refused_key(group: &Flows) -> Option<(&'static str, &'static str, Option<Value>)> {
    const ONE_LINK: &str = "real hosts have one link in each direction";
    const ONE_ROUTE: &str = "a route has one setting for all groups and for all programs of the machine";
    let text = |value: &Option<String>| value.as_deref().map(Value::from);
    let keys = [
        (
            group.access.is_some(),
            ("access", "real hosts have one device on the path, and no link of a group's own", None),
        ),
        (!group.route.is_empty(), ("route", ONE_LINK, text(&group.route.first().cloned()))),
        (group.enter.is_some(), ("enter", ONE_LINK, text(&group.enter))),
        (group.leave.is_some(), ("leave", ONE_LINK, text(&group.leave))),
        (
            group.direction == Direction::Reverse,
            ("direction", "real hosts send from the sender only", Some(Value::from("reverse"))),
        ),
        (
            group.host_qdisc.is_some(),
            ("host_qdisc", "the sender's device has one root discipline, for all groups", None),
        ),
        (
            group.initial_window.is_some(),
            (
                "initial_window",
                "a route has one, for all groups and for all programs of the machine",
                group.initial_window.map(Value::from),
            ),
        ),
        (
            group.ecn != Ecn::Auto && group.kind == Transport::Tcp,
            ("ecn", "a host has one setting for all groups: tcp.ecn", Some(Value::from(group.ecn.word()))),
        ),
        (
            group.kind == Transport::Quic,
            ("kind", "real hosts run no QUIC stacks; without [hosts] this one does", Some(Value::from("quic"))),
        ),
        (!group.delayed_ack, ("delayed_ack", ONE_ROUTE, Some(Value::from(false)))),
        (
            !group.cc_parameters.is_empty(),
            (
                "cc_parameters",
                "a controller's parameters are the whole machine's, and its other connections would have them too",
                None,
            ),
        ),
    ];
    keys.into_iter().find(|(is_refused, _)| *is_refused).map(|(_, refused)| refused)
}

/// Without a router the bottleneck is alone on the sender's device.
fn refuse_two_on_one(experiment: &Experiment) -> Result<(), Error> {
    let path = &experiment.path;
    let delay = match path.forward_delay {
        _ if path.forward() == 0 => None,
        Some(_) => Some("forward_delay"),
        None if path.reverse_delay.is_some() => Some("reverse_delay"),
        None => path.stated_reverse_delay().map(|_| "reverse.delay"),
    };
    if let Some(key) = delay.or_else(|| first_key(&path.impairment)) {
        let problem = format!("'{key}' needs a device of its own, and the bottleneck is on the sender's device");
        let hint = "add [hosts.router], leave out one of the two, or run it with --engine kernel";
        return Err(Error::at(format!("path.{key}"), problem, hint));
    }
    if later::needs_path_netem(&later::listed(experiment, &Attachments::default())) {
        let problem =
            "a change of loss, delay or jitter needs a device of its own, and the bottleneck is on the sender's device";
        return Err(Error::at("changes", problem, "add [hosts.router], or run it with --engine kernel"));
    }
    Ok(())
}

/// The first key that is set.
fn first_key(what: &Impairment) -> Option<&'static str> {
    let has = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
    [
        ("delay", what.delay > 0),
        ("loss", has(&what.loss)),
        ("jitter", what.jitter > 0),
        ("distribution", has(&what.distribution)),
        ("reorder", has(&what.reorder)),
        ("duplicate", has(&what.duplicate)),
        ("corrupt", has(&what.corrupt)),
        ("slot", has(&what.slot)),
    ]
    .into_iter()
    .find(|(_, is_set)| *is_set)
    .map(|(key, _)| key)
}
