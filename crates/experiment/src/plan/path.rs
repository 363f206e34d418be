//! Hosts from left to right, each with the qdiscs of its devices.

use super::building::Building;
use super::crossings::{Crossing, Way};
use super::error::Error;
use super::later;
use super::packets;
use super::routes::{EXIT, distinct, ends_of};
use super::shaping::{Netem, Requested, impairs, queue};
use super::verbatim::has_script_towards_senders;
use crate::model::{Flows, Link, Path, Position, Segment, Transport};
use dumbbell_plan::{Device, Ecn};
use std::collections::BTreeMap;

pub(super) const ROUTER: &str = "router";
const RTT: &str = "rtt";
pub(super) const RECEIVER: &str = "receiver";
pub(super) const SENDER: &str = "sender";

/// What a host between senders and receivers is for.
#[derive(Clone, Copy, Debug)]
enum Role<'a> {
    /// Netems that drop or delay single packets: the stage with this number.
    Packets(usize),
    /// The path's own netem.
    Path,
    /// Netem of a link.
    Netem(&'a Link),
    /// Rate and queue of a link.
    Queue(&'a Link),
    /// The queue under test, and the reverse path's netem.
    Bottleneck,
    /// Rate and queue of the reverse path.
    Reverse,
    /// The reverse path's netem, where a script has the router's device towards the senders.
    ReverseNetem,
    /// The end of a path that groups leave at changing places.
    Exit,
}

impl Role<'_> {
    /// The link that the host belongs to.
    fn link(&self) -> Option<&str> {
        match self {
            Self::Netem(link) | Self::Queue(link) => Some(&link.name),
            Self::Bottleneck => Some("bottleneck"),
            Self::Packets(_) | Self::Path | Self::Reverse | Self::ReverseNetem | Self::Exit => None,
        }
    }
}

/// Hosts between senders and receivers, from left to right.
type Chain<'a> = Vec<Member<'a>>;
type Member<'a> = (String, Role<'a>);

/// Creates hosts, links and qdiscs.
pub(super) fn lay_out(building: &mut Building<'_>) -> Result<(), Error> {
    let chain = chain(building);
    add_senders(building);
    for (name, _) in &chain {
        building.layout.add(name, true);
    }
    building.layout.add(RECEIVER, false);
    let names: Vec<_> = chain.iter().map(|(name, _)| name.clone()).chain([RECEIVER.into()]).collect();
    let stretches = stretches(&chain);
    let (flows, path) = (&building.experiment.flows, &building.experiment.path);
    building.crossings.row.clone_from(&names);
    for (number, group) in flows.iter().enumerate() {
        let first = group.joins(path).map_or(0, |link| stretches[link].0);
        let end = names.len() - 2;
        let way = |(first, last): (Option<&str>, Option<&str>)| {
            let join = first.map_or(0, |link| stretches[link].0);
            (join, last.map_or(end, |link| stretches[link].1 + 1))
        };
        let later: Vec<_> = building.later_routes(number).map(|route| way(ends_of(route, path))).collect();
        let firsts = if later.is_empty() {
            vec![names[first].clone()]
        } else {
            let ways = [vec![way((group.joins(path), group.leaves(path)))], later].concat();
            add_crossing(building, number, ways)
        };
        connect_sender(building, number, group, &firsts)?;
    }
    for pair in names.windows(2) {
        building.layout.connect(&pair[0], &pair[1]);
    }
    for (number, group) in flows.iter().enumerate() {
        if let Some(crossing) = building.crossings.of_group.get(&number).cloned() {
            connect_crossing(building, &crossing);
            continue;
        }
        let last = group.leaves(path).map_or(RECEIVER, |link| &names[stretches[link].1 + 1]);
        connect_receiver(building, last);
    }
    for (name, role) in &chain {
        furnish(building, name, *role)?;
    }
    Ok(())
}

fn chain<'a>(building: &Building<'a>) -> Chain<'a> {
    let path = &building.experiment.path;
    let mut chain = Chain::new();
    chain.extend(
        (0..packets::stages(&path.packets).len()).map(|stage| (format!("packets{}", stage + 1), Role::Packets(stage))),
    );
    let needs_netem = impairs(&path.impairment) || later::needs_path_netem(&building.changes);
    if needs_netem || building.forward_delay() > 0 {
        chain.push(("netem".into(), Role::Path));
    }
    let at = |position: Position| path.links.iter().filter(move |link| link.position == position);
    for (number, link) in (1..).zip(at(Position::Before)) {
        let (queue, netem) = link_hosts(&format!("before{number}"), link);
        chain.extend(netem.into_iter().chain(queue));
    }
    chain.push((ROUTER.into(), Role::Bottleneck));
    if has_script_towards_senders(building, ROUTER) {
        chain.push((RTT.into(), Role::ReverseNetem));
    }
    for (number, link) in (1..).zip(at(Position::After)) {
        let (queue, netem) = link_hosts(&format!("after{number}"), link);
        chain.extend(queue.into_iter().chain(netem));
    }
    if path.reverse.as_ref().is_some_and(Segment::has_queue) {
        chain.push(("back".into(), Role::Reverse));
    }
    if building.changes_routes() {
        chain.push((EXIT.into(), Role::Exit));
    }
    chain
}

/// The hosts of a link: one for its queue, one for its netem.
fn link_hosts<'a>(name: &str, link: &'a Link) -> (Option<Member<'a>>, Option<Member<'a>>) {
    let has_queue = link.segment.has_queue();
    let queue = has_queue.then(|| (name.to_owned(), Role::Queue(link)));
    let netem = impairs(&link.segment.impairment).then(|| (format!("{name}n"), Role::Netem(link)));
    (queue, netem)
}

/// The first and the last host of each link in the chain, by the link's name.
fn stretches<'a>(chain: &'a Chain<'a>) -> BTreeMap<&'a str, (usize, usize)> {
    let mut found = BTreeMap::<&str, (usize, usize)>::new();
    for (position, (_, role)) in chain.iter().enumerate() {
        if let Some(link) = role.link() {
            found.entry(link).or_insert((position, position)).1 = position;
        }
    }
    found
}

/// One host for all plain groups, and one for each group that differs in access link, qdisc, ECN, window or ACKs.
fn add_senders(building: &mut Building<'_>) {
    for (number, group) in building.experiment.flows.iter().enumerate() {
        let changes_route = building.later_routes(number).next().is_some();
        let name = if changes_route || has_own_host(group, &building.experiment.path) {
            format!("{SENDER}{}", number + 1)
        } else {
            SENDER.into()
        };
        if !building.layout.has(&name) {
            let host = building.layout.add(&name, false);
            host.initial_window = group.initial_window;
            host.ecn = own_ecn(group);
            host.quickack = !group.delayed_ack;
        }
        building.senders.push(name);
    }
}

/// A UDP socket itself says whether its packets are ECN-capable.
fn own_ecn(group: &Flows) -> Ecn {
    if group.kind == Transport::Tcp { group.ecn } else { Ecn::Auto }
}

fn has_own_host(group: &Flows, path: &Path) -> bool {
    group.access.is_some()
        || own_ecn(group) != Ecn::Auto
        || group.initial_window.is_some()
        || group.joins(path).is_some()
        || group.host_qdisc.is_some()
        || !group.delayed_ack
}

/// A group whose route changes, with these ways; returns the hosts at which it joins the path.
fn add_crossing(building: &mut Building<'_>, number: usize, ways: Vec<Way>) -> Vec<String> {
    let named = |name: &str| format!("{name}{}", number + 1);
    let joins = distinct(ways.iter().map(|way| way.0)).into_iter();
    let firsts = joins.map(|at| building.crossings.row[at].clone()).collect();
    let sender = building.senders[number].clone();
    let crossing = Crossing { sender, fork: named("fork"), merge: named("merge"), receiver: named(RECEIVER), ways };
    building.crossings.of_group.insert(number, crossing);
    firsts
}

/// The receiver of such a group, behind every host at which it leaves the path.
fn connect_crossing(building: &mut Building<'_>, Crossing { merge, receiver, ways, .. }: &Crossing) {
    building.layout.add(merge, true);
    building.layout.add(receiver, false);
    for at in distinct(ways.iter().map(|way| way.1)) {
        let last = building.crossings.row[at].clone();
        building.layout.connect(&last, merge);
    }
    building.layout.connect(merge, receiver);
    building.receivers.push(receiver.clone());
}

/// The group's host, its access link if it has one, then the first host that all share: several if its route changes.
fn connect_sender(building: &mut Building<'_>, number: usize, group: &Flows, firsts: &[String]) -> Result<(), Error> {
    let host = building.senders[number].clone();
    if !building.layout.host(&host).rights.is_empty() {
        return Ok(());
    }
    let none = Segment::default();
    let access = group.access.as_ref().unwrap_or(&none);
    let (queue, air) = (format!("access{}", number + 1), format!("air{}", number + 1));
    let has_queue = access.rate.is_some() || access.qdisc.is_some();
    let has_netem = impairs(&access.impairment);
    let mut row = vec![&host[..]];
    row.extend(has_queue.then_some(&queue[..]));
    row.extend(has_netem.then_some(&air[..]));
    let fork = building.crossings.of_group.get(&number).map(|crossing| crossing.fork.clone());
    row.extend(fork.as_deref());
    for added in &row[1..] {
        building.layout.add(added, true);
    }
    for pair in row.windows(2) {
        building.layout.connect(pair[0], pair[1]);
    }
    for first in firsts {
        building.layout.connect(row[row.len() - 1], first);
    }
    put_host_queue(building, number, group)?;
    let name = format!("access-{}", building.group_names[number]);
    let key = format!("flows.{number}.access");
    if has_queue {
        put_segment(building, &queue, &name, access, &key)?;
    }
    if has_netem {
        let settings = Netem { impairment: access.impairment.clone(), rate_bps: access.rate };
        building.put_netem(vec![building.right_of(&air)], &format!("{name}-netem"), settings, &key);
    }
    Ok(())
}

/// The group's receiver: the one at the end of the path, or one for all groups that leave at `last`.
fn connect_receiver(building: &mut Building<'_>, last: &str) {
    let host = if last == RECEIVER { last.into() } else { format!("{RECEIVER}-{last}") };
    if !building.layout.has(&host) {
        building.layout.add(&host, false);
        building.layout.connect(last, &host);
    }
    building.receivers.push(host);
}

/// The qdisc of the group's own host: it may drop, but is not under test.
fn put_host_queue(building: &mut Building<'_>, number: usize, group: &Flows) -> Result<(), Error> {
    if group.host_qdisc.is_none() {
        return Ok(());
    }
    let device = building.right_of(&building.senders[number]);
    let name = format!("host-{}", building.group_names[number]);
    let key = format!("flows.{number}.host_qdisc");
    let requested = Requested { name: &name, rate_bps: None, qdisc: group.host_qdisc.as_ref(), key: &key };
    let (steps, mut queues) = queue(&device, requested, building.sizes())?;
    for queue in &mut queues {
        queue.under_test = false;
    }
    building.disciplines.extend(steps);
    building.queues.extend(queues);
    Ok(())
}

/// Rate and queue of a segment on the host's device towards the receivers.
fn put_segment(building: &mut Building<'_>, host: &str, name: &str, what: &Segment, key: &str) -> Result<(), Error> {
    let key = format!("{key}.qdisc");
    let rate_bps = what.rate.or_else(|| building.first_rate(name));
    let requested = Requested { name, rate_bps, qdisc: what.qdisc.as_ref(), key: &key };
    building.put_queue(building.right_of(host), requested)
}

/// Sets up the qdiscs of a shared host.
fn furnish(building: &mut Building<'_>, host: &str, role: Role<'_>) -> Result<(), Error> {
    let path = &building.experiment.path;
    match role {
        Role::Packets(stage) => {
            let device = building.right_of(host);
            packets::put_packet_netems(building, &device, &packets::stages(&path.packets)[stage])?;
        }
        Role::Path => {
            let settings = Netem { impairment: building.forward_path(), rate_bps: None };
            building.put_netem(vec![building.right_of(host)], "path-netem", settings, "path");
        }
        Role::Netem(Link { name, segment, .. }) => {
            let settings = Netem { impairment: segment.impairment.clone(), rate_bps: segment.rate };
            let key = format!("path.links.{name}");
            building.put_netem(vec![building.right_of(host)], &format!("{name}-netem"), settings, &key);
        }
        Role::Queue(link) => {
            put_segment(building, host, &link.name, &link.segment, &format!("path.links.{}", link.name))?;
        }
        Role::Reverse => {
            if let (Some(reverse), Some(device)) = (&path.reverse, building.lefts_of(host).into_iter().next()) {
                let qdisc = reverse.qdisc.as_ref();
                let rate_bps = reverse.rate.or_else(|| building.first_rate("reverse"));
                let requested = Requested { name: "reverse", rate_bps, qdisc, key: "path.reverse.qdisc" };
                building.put_queue(device, requested)?;
            }
        }
        Role::ReverseNetem => put_reverse_netem(building, building.lefts_of(host)),
        Role::Exit => {}
        Role::Bottleneck => {
            put_bottleneck(building, building.right_of(host))?;
            if !building.layout.has(RTT) {
                put_reverse_netem(building, building.lefts_of(host));
            }
        }
    }
    Ok(())
}

/// The queue under test.
pub(super) fn put_bottleneck(building: &mut Building<'_>, device: Device) -> Result<(), Error> {
    let Some(bottleneck) = &building.experiment.path.bottleneck else { return Ok(()) };
    let (rate_bps, qdisc) = (building.bottleneck_rate(), Some(&bottleneck.qdisc));
    building.put_queue(device, Requested { name: "bottleneck", rate_bps, qdisc, key: "path.bottleneck.qdisc" })
}

/// The reverse path's netem, if it has anything to do.
pub(super) fn put_reverse_netem(building: &mut Building<'_>, devices: Vec<Device>) {
    let impairment = building.reverse_path();
    if impairs(&impairment) || later::needs_reverse_netem(&building.changes) {
        let key = if building.experiment.path.reverse.is_some() { "path.reverse" } else { "path.rtt" };
        let settings = Netem { impairment, rate_bps: building.highest_rate() };
        building.put_netem(devices, "reverse-netem", settings, key);
    }
}
