//! Builds the topology of a plan: names to indices, and routes.

use super::meter::Meter;
use super::{Device, DeviceId, HostId, NO_DEVICE, Net};
use crate::error::Error;
use crate::plan::{Link, LinkSide, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Sender, receiver, and the flow or probe that connects them; in order of flow ids.
pub type Pair<'a> = (String, &'a str, &'a str);

/// Builds the topology. `pairs`: sender and receiver of every flow, then of every probe series.
pub fn build(plan: &Plan, pairs: &[Pair<'_>]) -> Result<Net, Error> {
    let mut hosts = plan.hosts.clone();
    hosts.sort_unstable();
    if let Some(pair) = hosts.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::SameName { what: "host", name: pair[0].clone() });
    }
    let links = resolve_links(plan, &hosts)?;
    let (devices, device_of) = number_devices(&links);
    let mut net = Net { devices, ends: Vec::new(), next: vec![NO_DEVICE; hosts.len() * hosts.len()], device_of, hosts };
    let mut known = BTreeSet::new();
    for (object, from, to) in pairs {
        let ends = [find(&net.hosts, from, object)?, find(&net.hosts, to, object)?];
        net.ends.push(ends);
        if known.insert(ends) {
            let has_ways = plan.routes.iter().any(|route| [*from, *to].contains(&&route.to[..]));
            add_paths(&mut net, &links, ends, object, has_ways)?;
        }
    }
    plan.routes.iter().try_for_each(|route| net.set_route(route))?;
    attach_queue(&mut net, plan)?;
    Ok(net)
}

fn find(hosts: &[String], name: &str, object: &str) -> Result<HostId, Error> {
    let unknown = || Error::UnknownHost { object: object.into(), host: name.into() };
    hosts.binary_search_by(|host| host.as_str().cmp(name)).map(number).map_err(|_| unknown())
}

/// Left and right host of every link.
fn resolve_links(plan: &Plan, hosts: &[String]) -> Result<Vec<[HostId; 2]>, Error> {
    let mut seen = BTreeSet::new();
    let mut links = Vec::with_capacity(plan.wires.len());
    for (link, Link { left, right }) in plan.wires.iter().enumerate() {
        let object = format!("link {link}");
        let ends = [find(hosts, left, &object)?, find(hosts, right, &object)?];
        let wrong = |problem| Error::Link { link, left: left.clone(), right: right.clone(), problem };
        if ends[0] == ends[1] {
            return Err(wrong("both ends are the same host"));
        }
        if !seen.insert(ends) || seen.contains(&[ends[1], ends[0]]) {
            return Err(wrong("these hosts already have a link"));
        }
        links.push(ends);
    }
    Ok(links)
}

/// Devices in order of (host, neighbour), and the two devices of each link.
fn number_devices(links: &[[HostId; 2]]) -> (Vec<Device>, Vec<[DeviceId; 2]>) {
    let mut places: Vec<_> = links
        .iter()
        .enumerate()
        .flat_map(|(link, &[left, right])| [(left, right, link, LinkSide::Left), (right, left, link, LinkSide::Right)])
        .collect();
    places.sort_unstable();
    let mut device_of = vec![[NO_DEVICE; 2]; links.len()];
    for (id, &(_, _, link, side)) in places.iter().enumerate() {
        device_of[link][side as usize] = number(id);
    }
    (places.iter().map(|&(host, peer, ..)| Device::new(host, peer)).collect(), device_of)
}

/// Finds the only path between two hosts and enters both directions into the routing table. Data may also go from right to
/// left. If the plan `has_ways`, there may be several: its routes say which is taken where they part.
fn add_paths(
    net: &mut Net,
    links: &[[HostId; 2]],
    [from, to]: [HostId; 2],
    object: &str,
    has_ways: bool,
) -> Result<(), Error> {
    let names = || (object.to_string(), net.hosts[from as usize].clone(), net.hosts[to as usize].clone());
    let most = if has_ways { usize::MAX } else { 2 };
    let mut found = paths(links, from, to, most);
    let [from, to] = if found.is_empty() { [to, from] } else { [from, to] };
    if found.is_empty() {
        found = paths(links, from, to, most);
    }
    let (object, first, last) = names();
    if found.is_empty() {
        return Err(Error::NoPath { object, from: first, to: last });
    }
    if found.len() > 1 && !has_ways {
        return Err(Error::TwoPaths { object, from: first, to: last });
    }
    for link in found.into_iter().flatten() {
        let ([left, right], [leftmost, rightmost]) = (links[link], net.device_of[link]);
        enter(net, left, to, leftmost);
        enter(net, right, from, rightmost);
    }
    for device in &mut net.devices {
        device.is_home |= device.host == from || device.host == to;
    }
    Ok(())
}

fn enter(net: &mut Net, at: HostId, to: HostId, device: DeviceId) {
    let hosts = net.hosts.len();
    net.next[at as usize * hosts + to as usize] = device;
}

/// Up to `most` paths from left to right, as link indices. Dead ends and loops are visited once.
fn paths(links: &[[HostId; 2]], from: HostId, to: HostId, most: usize) -> Vec<Vec<usize>> {
    let mut rights: BTreeMap<HostId, Vec<usize>> = BTreeMap::new();
    for (link, &[left, _]) in links.iter().enumerate() {
        rights.entry(left).or_default().push(link);
    }
    let hosts_reaching = hosts_reaching(links, to);
    let mut found = Vec::new();
    let mut open = vec![(from, Vec::new())];
    while let Some((host, path)) = open.pop() {
        if host == to && !path.is_empty() {
            found.push(path);
            if found.len() == most {
                break;
            }
            continue;
        }
        for &link in rights.get(&host).into_iter().flatten() {
            let next = links[link][1];
            let is_new = next != from && !path.iter().any(|&before: &usize| links[before][1] == next);
            if is_new && hosts_reaching.contains(&next) {
                open.push((next, path.iter().copied().chain([link]).collect()));
            }
        }
    }
    found
}

/// Hosts from which `to` can be reached by going right.
fn hosts_reaching(links: &[[HostId; 2]], to: HostId) -> BTreeSet<HostId> {
    let mut lefts: BTreeMap<HostId, Vec<HostId>> = BTreeMap::new();
    for &[left, right] in links {
        lefts.entry(right).or_default().push(left);
    }
    let (mut hosts_reaching, mut open) = (BTreeSet::from([to]), vec![to]);
    while let Some(host) = open.pop() {
        open.extend(lefts.get(&host).into_iter().flatten().filter(|&&left| hosts_reaching.insert(left)));
    }
    hosts_reaching
}

/// Attaches every queue to its device.
fn attach_queue(net: &mut Net, plan: &Plan) -> Result<(), Error> {
    for device in &plan.devices {
        let (link, links) = (device.at.wire, plan.wires.len());
        let object = || format!("qdisc '{}'", device.root.handle);
        let id = net.device_at(device.at).ok_or_else(|| Error::NoLink { object: object(), link, links })?;
        let target = &mut net.devices[id as usize];
        if target.queue.is_some() {
            let side = if device.at.side == LinkSide::Left { "left" } else { "right" };
            return Err(Error::SecondRoot { link, side });
        }
        let name = format!("{}-{}", net.hosts[target.host as usize], net.hosts[target.peer as usize]);
        target.attach_queue(&device.root, plan.seed, &name, &net.ends);
        if device.telemetry {
            let no_rate = || Error::Invalid { object: object(), problem: "it stamps packets but has no rate".into() };
            target.meter = Some(Box::new(Meter::of(&device.root).ok_or_else(no_rate)?));
        }
    }
    Ok(())
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("hosts and links fit in 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a and b connect to m, m to z.
    const TREE: [[HostId; 2]; 3] = [[0, 2], [1, 2], [2, 3]];

    #[test]
    fn paths_go_right_only() {
        assert_eq!(paths(&TREE, 0, 3, 2), [[0, 2]]);
        assert!(paths(&TREE, 0, 1, 2).is_empty());
        assert!(paths(&TREE, 3, 0, 2).is_empty());
    }

    #[test]
    fn a_second_path_is_found_and_loops_terminate() {
        assert_eq!(paths(&[[0, 1], [0, 2], [1, 3], [2, 3]], 0, 3, 2).len(), 2);
        assert_eq!(paths(&[[0, 1], [1, 2], [2, 0], [1, 3]], 0, 3, 2), [[0, 3]]);
    }

    #[test]
    fn devices_are_numbered_by_names_not_by_links() {
        let (devices, device_of) = number_devices(&TREE);
        let (same, other) = number_devices(&[TREE[2], TREE[0], TREE[1]]);
        assert_eq!(devices.len(), 6);
        assert!(devices.iter().zip(&same).all(|(one, two)| (one.host, one.peer) == (two.host, two.peer)));
        assert_eq!(device_of[2], other[0]);
    }
}
