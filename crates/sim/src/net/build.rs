//! From a plan's names to numbers: hosts, devices, and the way of every flow.

use super::{Device, DeviceId, HostId, NOWHERE, Net};
use crate::error::Error;
use crate::plan::{Plan, Side, Wire};
use crate::telemetry::Meter;
use std::collections::{BTreeMap, BTreeSet};

/// Two hosts that want to talk, in the order of their flows' numbers, and in whose name.
pub type Pair<'a> = (String, &'a str, &'a str);

/// Builds the net of a plan. `pairs`: sender and receiver of every flow, then of every series of probes.
pub fn build(plan: &Plan, pairs: &[Pair<'_>]) -> Result<Net, Error> {
    let mut hosts = plan.hosts.clone();
    hosts.sort_unstable();
    if let Some(pair) = hosts.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::SameName { what: "host", name: pair[0].clone() });
    }
    let wires = resolve_wires(plan, &hosts)?;
    let (devices, device_of) = number_devices(&wires);
    let mut net = Net { devices, ends: Vec::new(), next: vec![NOWHERE; hosts.len() * hosts.len()], device_of, hosts };
    let mut known = BTreeSet::new();
    for (whose, from, to) in pairs {
        let ends = [find(&net.hosts, from, whose)?, find(&net.hosts, to, whose)?];
        net.ends.push(ends);
        if known.insert(ends) {
            lay(&mut net, &wires, ends, whose)?;
        }
    }
    furnish(&mut net, plan)?;
    Ok(net)
}

fn find(hosts: &[String], name: &str, whose: &str) -> Result<HostId, Error> {
    let unknown = || Error::UnknownHost { whose: whose.into(), host: name.into() };
    hosts.binary_search_by(|host| host.as_str().cmp(name)).map(number).map_err(|_| unknown())
}

/// Left and right host of every wire.
fn resolve_wires(plan: &Plan, hosts: &[String]) -> Result<Vec<[HostId; 2]>, Error> {
    let mut seen = BTreeSet::new();
    let mut wires = Vec::with_capacity(plan.wires.len());
    for (wire, Wire { left, right }) in plan.wires.iter().enumerate() {
        let whose = format!("wire {wire}");
        let ends = [find(hosts, left, &whose)?, find(hosts, right, &whose)?];
        let wrong = |problem| Error::Wire { wire, left: left.clone(), right: right.clone(), problem };
        if ends[0] == ends[1] {
            return Err(wrong("it joins a host to itself"));
        }
        if !seen.insert(ends) || seen.contains(&[ends[1], ends[0]]) {
            return Err(wrong("these hosts are joined already"));
        }
        wires.push(ends);
    }
    Ok(wires)
}

/// Devices in order of (host, neighbour), and where each wire's two are.
fn number_devices(wires: &[[HostId; 2]]) -> (Vec<Device>, Vec<[DeviceId; 2]>) {
    let mut places: Vec<_> = wires
        .iter()
        .enumerate()
        .flat_map(|(wire, &[left, right])| [(left, right, wire, Side::Left), (right, left, wire, Side::Right)])
        .collect();
    places.sort_unstable();
    let mut device_of = vec![[NOWHERE; 2]; wires.len()];
    for (id, &(_, _, wire, side)) in places.iter().enumerate() {
        device_of[wire][side as usize] = number(id);
    }
    (places.iter().map(|&(host, peer, ..)| Device::new(host, peer)).collect(), device_of)
}

/// Finds the only path between two hosts and writes both its directions into the table.
fn lay(net: &mut Net, wires: &[[HostId; 2]], [from, to]: [HostId; 2], whose: &str) -> Result<(), Error> {
    let names = || (whose.to_string(), net.hosts[from as usize].clone(), net.hosts[to as usize].clone());
    let mut paths = paths(wires, from, to).into_iter();
    let Some(path) = paths.next() else {
        let (whose, from, to) = names();
        return Err(Error::NoPath { whose, from, to });
    };
    if paths.next().is_some() {
        let (whose, from, to) = names();
        return Err(Error::TwoPaths { whose, from, to });
    }
    for wire in path {
        let ([left, right], [leftmost, rightmost]) = (wires[wire], net.device_of[wire]);
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

/// Up to two paths from left to right, as numbers of wires. A host that leads nowhere, or in a ring, is visited once.
fn paths(wires: &[[HostId; 2]], from: HostId, to: HostId) -> Vec<Vec<usize>> {
    let mut rights: BTreeMap<HostId, Vec<usize>> = BTreeMap::new();
    for (wire, &[left, _]) in wires.iter().enumerate() {
        rights.entry(left).or_default().push(wire);
    }
    let reaching = reaching(wires, to);
    let mut found = Vec::new();
    let mut open = vec![(from, Vec::new())];
    while let Some((host, path)) = open.pop() {
        if host == to && !path.is_empty() {
            found.push(path);
            if found.len() == 2 {
                break;
            }
            continue;
        }
        for &wire in rights.get(&host).into_iter().flatten() {
            let next = wires[wire][1];
            let is_new = next != from && !path.iter().any(|&before: &usize| wires[before][1] == next);
            if is_new && reaching.contains(&next) {
                open.push((next, path.iter().copied().chain([wire]).collect()));
            }
        }
    }
    found
}

/// Hosts from which `to` can be reached by going right.
fn reaching(wires: &[[HostId; 2]], to: HostId) -> BTreeSet<HostId> {
    let mut lefts: BTreeMap<HostId, Vec<HostId>> = BTreeMap::new();
    for &[left, right] in wires {
        lefts.entry(right).or_default().push(left);
    }
    let (mut reaching, mut open) = (BTreeSet::from([to]), vec![to]);
    while let Some(host) = open.pop() {
        open.extend(lefts.get(&host).into_iter().flatten().filter(|&&left| reaching.insert(left)));
    }
    reaching
}

/// Puts every discipline on its device.
fn furnish(net: &mut Net, plan: &Plan) -> Result<(), Error> {
    for device in &plan.devices {
        let (wire, wires) = (device.at.wire, plan.wires.len());
        let whose = || format!("the discipline '{}'", device.root.handle);
        let id = net.device_at(device.at).ok_or_else(|| Error::NoWire { whose: whose(), wire, wires })?;
        let target = &mut net.devices[id as usize];
        if target.queue.is_some() {
            let side = if device.at.side == Side::Left { "left" } else { "right" };
            return Err(Error::SecondRoot { wire, side });
        }
        let name = format!("{}-{}", net.hosts[target.host as usize], net.hosts[target.peer as usize]);
        target.furnish(&device.root, plan.seed, &name, &net.ends);
        if device.telemetry {
            let no_rate = || Error::Nonsense { whose: whose(), problem: "it stamps packets, but has no rate".into() };
            target.meter = Some(Box::new(Meter::of(&device.root).ok_or_else(no_rate)?));
        }
    }
    Ok(())
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("hosts and wires fit in 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a and b lead to m, m to z.
    const TREE: [[HostId; 2]; 3] = [[0, 2], [1, 2], [2, 3]];

    #[test]
    fn a_path_goes_right_only() {
        assert_eq!(paths(&TREE, 0, 3), [[0, 2]]);
        assert!(paths(&TREE, 0, 1).is_empty());
        assert!(paths(&TREE, 3, 0).is_empty());
    }

    #[test]
    fn a_second_path_is_found_and_a_ring_ends() {
        assert_eq!(paths(&[[0, 1], [0, 2], [1, 3], [2, 3]], 0, 3).len(), 2);
        assert_eq!(paths(&[[0, 1], [1, 2], [2, 0], [1, 3]], 0, 3), [[0, 3]]);
    }

    #[test]
    fn devices_are_numbered_by_names_not_by_wires() {
        let (devices, device_of) = number_devices(&TREE);
        let (same, other) = number_devices(&[TREE[2], TREE[0], TREE[1]]);
        assert_eq!(devices.len(), 6);
        assert!(devices.iter().zip(&same).all(|(one, two)| (one.host, one.peer) == (two.host, two.peer)));
        assert_eq!(device_of[2], other[0]);
    }
}
