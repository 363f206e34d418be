//! Hosts, links, addresses.
//!
//! A path runs from left (senders) to right (receivers), and devices have these names: `right` of a host is towards
//! the receivers, `left` towards the senders. A link is a veth pair with a /24 of its own; neighbours are permanent, so
//! that no queue ever contains ARP packets.

use dumbbell_plan::operation::{Network, Route, VethEnd};
use dumbbell_plan::{Ecn, Link, Operation, Step};
use std::collections::BTreeMap;

const DEFAULT_MTU: u32 = 1500;

/// One network namespace.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub name: String,
    /// Whether it forwards.
    pub routes: bool,
    /// Indices of links.
    pub lefts: Vec<usize>,
    pub rights: Vec<usize>,
    /// Of a sender; None: Linux's.
    pub initial_window: Option<u32>,
    /// Which ECN this sender asks for; auto: as all hosts.
    pub ecn: Ecn,
    /// Whether data of this sender is acknowledged at once.
    pub quickack: bool,
}

/// All hosts and links, in the order in which they are created.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub hosts: Vec<Host>,
    pub wires: Vec<Link>,
    by_name: BTreeMap<String, usize>,
}

impl Layout {
    pub fn add(&mut self, name: &str, routes: bool) -> &mut Host {
        let (lefts, rights) = (Vec::new(), Vec::new());
        let index = self.hosts.len();
        let name = name.to_owned();
        self.by_name.insert(name.clone(), index);
        self.hosts.push(Host { name, routes, lefts, rights, initial_window: None, ecn: Ecn::Auto, quickack: false });
        &mut self.hosts[index]
    }

    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// A host that was added.
    pub fn host(&self, name: &str) -> &Host {
        &self.hosts[self.by_name[name]]
    }

    /// A link between two hosts.
    pub fn connect(&mut self, left: &str, right: &str) {
        let (left_index, right_index) = (self.by_name[left], self.by_name[right]);
        let wire = self.wires.len();
        self.wires.push(Link {
            number: wire + 1,
            left_host: left.into(),
            left_device: numbered("right", self.hosts[left_index].rights.len()),
            right_host: right.into(),
            right_device: numbered("left", self.hosts[right_index].lefts.len()),
        });
        self.hosts[left_index].rights.push(wire);
        self.hosts[right_index].lefts.push(wire);
    }

    /// The first link of a host towards the receivers.
    pub fn right_of(&self, host: &str) -> &Link {
        &self.wires[self.host(host).rights[0]]
    }

    /// The links of a host towards the senders.
    pub fn lefts_of(&self, host: &str) -> impl Iterator<Item = &Link> {
        self.host(host).lefts.iter().map(|wire| &self.wires[*wire])
    }

    /// Namespaces, links, addresses, neighbours, routes, in an order that Linux accepts.
    ///
    /// `ecn` is that of all hosts.
    pub fn steps(&self, senders: &[String], mtu: u32, offloads: bool, ecn: Ecn) -> Vec<Step> {
        let add = |host: &Host| Step::new("", Operation::AddHost { name: host.name.clone() });
        let mut steps: Vec<_> = self.hosts.iter().map(add).collect();
        steps.extend(self.wires.iter().map(|wire| veth(wire, mtu)));
        for host in &self.hosts {
            self.host_steps(host, senders, ecn, &mut steps);
        }
        for device in self.wires.iter().flat_map(Link::devices) {
            steps.push(offload(&device.host, &device.name, offloads));
        }
        steps
    }

    fn host_steps(&self, host: &Host, senders: &[String], ecn: Ecn, steps: &mut Vec<Step>) {
        let forwards = host.routes.then_some("net.ipv4.ip_forward");
        let settings =
            ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"].into_iter().chain(forwards);
        steps.extend(settings.map(|key| Step::sysctl(&host.name, key, "1")));
        let mut add = |operation| steps.push(Step::new(&host.name, operation));
        add(Operation::Up { device: "lo".into() });
        for wire in host.rights.iter().map(|wire| &self.wires[*wire]) {
            end(wire, 1, &mut add);
        }
        for wire in host.lefts.iter().map(|wire| &self.wires[*wire]) {
            end(wire, 2, &mut add);
        }
        if let Some(wire) = host.rights.first() {
            let (via, initial_window) = (Some(self.wires[*wire].right_address()), host.initial_window);
            let ecn = host.ecn == Ecn::Classic && ecn == Ecn::Auto;
            add(Operation::Route(Route { via, initial_window, ecn, ..Route::to(Network::ALL) }));
        }
        for sender in senders {
            if let Some(route) = self.route_back(host, sender) {
                add(Operation::Route(route));
            }
        }
    }

    /// How a host reaches a sender to its left that is not its neighbour.
    fn route_back(&self, host: &Host, sender: &str) -> Option<Route> {
        let home = self.right_of(sender);
        let toward =
            host.lefts.iter().map(|wire| &self.wires[*wire]).find(|wire| self.leads_to(&wire.left_host, sender))?;
        let is_receiver = host.rights.is_empty();
        let quickack = is_receiver && self.host(sender).quickack;
        if toward.number != home.number {
            let to = Network { address: home.address(0), prefix: 24 };
            return Some(Route { via: Some(toward.left_address()), quickack, ..Route::to(to) });
        }
        let to = Network { address: home.left_address(), prefix: 32 };
        let device = Some(home.right_device.clone());
        quickack.then(|| Route { replaces: true, device, quickack, ..Route::to(to) })
    }

    fn leads_to(&self, host: &str, sender: &str) -> bool {
        host == sender || self.lefts_of(host).any(|wire| self.leads_to(&wire.left_host, sender))
    }
}

fn numbered(name: &str, taken: usize) -> String {
    if taken == 0 { name.into() } else { format!("{name}{}", taken + 1) }
}

fn veth(wire: &Link, mtu: u32) -> Step {
    let [end, peer] = wire.devices().map(|device| VethEnd {
        device: device.name,
        hardware: None,
        mtu: (mtu != DEFAULT_MTU).then_some(mtu),
        host: Some(device.host),
    });
    let (end, peer) =
        (VethEnd { hardware: Some(wire.hardware(1)), ..end }, VethEnd { hardware: Some(wire.hardware(2)), ..peer });
    Step::new("", Operation::AddVeth { end, peer })
}

/// Address, state and neighbour of a link's end; side 1 is left.
fn end(wire: &Link, side: u8, add: &mut impl FnMut(Operation)) {
    let device = if side == 1 { &wire.left_device } else { &wire.right_device };
    let other = 3 - side;
    add(Operation::AddAddress { address: Network { address: wire.address(side), prefix: 24 }, device: device.clone() });
    add(Operation::Up { device: device.clone() });
    let (address, hardware) = (wire.address(other), wire.hardware(other));
    add(Operation::AddNeighbour { address, hardware, device: device.clone() });
}

/// Turns a device's offloads on or off.
pub(super) fn offload(host: &str, device: &str, on: bool) -> Step {
    Step::new(host, Operation::Offloads { device: device.into(), on })
}
