//! Hosts, links, addresses.
//!
//! A path runs from left (senders) to right (receivers), and devices have these names: `right` of a host is towards
//! the receivers, `left` towards the senders. A link is a veth pair with a /24 of its own; neighbours are permanent, so
//! that no queue ever contains ARP packets.

use super::types::{Command, Link};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

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
    /// Whether this sender negotiates ECN, by its route.
    pub ecn: bool,
    /// Whether data of this sender is acknowledged at once.
    pub quickack: bool,
}

impl Host {
    /// Options of a sender's default route.
    fn route_options(&self) -> String {
        let window = self.initial_window.map(|window| format!(" initcwnd {window}")).unwrap_or_default();
        window + if self.ecn { " features ecn" } else { "" }
    }
}

impl Link {
    /// An address of its net.
    fn address(&self, last: u8) -> Ipv4Addr {
        let [high, middle, low] = self.number_bytes();
        Ipv4Addr::new(10_u8.saturating_add(high), middle, low, last)
    }

    /// Its number, which its addresses hold.
    fn number_bytes(&self) -> [u8; 3] {
        let [_, bytes @ ..] = u32::try_from(self.number).unwrap_or(u32::MAX).to_be_bytes();
        bytes
    }

    /// Address of the left host.
    #[must_use]
    pub fn left_address(&self) -> Ipv4Addr {
        self.address(1)
    }

    /// Address of the right host.
    #[must_use]
    pub fn right_address(&self) -> Ipv4Addr {
        self.address(2)
    }

    /// Hardware address; side 1 is left.
    fn mac(&self, side: u8) -> String {
        let [high, middle, low] = self.number_bytes();
        format!("02:00:{high:02x}:{middle:02x}:{low:02x}:{side:02x}")
    }
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
        self.hosts.push(Host { name, routes, lefts, rights, initial_window: None, ecn: false, quickack: false });
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

    /// Namespaces, links, addresses, neighbours, routes, in an order that ip accepts.
    pub fn commands(&self, senders: &[String], mtu: u32, offloads: bool) -> Vec<Command> {
        let mut commands: Vec<_> =
            self.hosts.iter().map(|host| Command::of("", &format!("ip netns add {}", host.name))).collect();
        commands.extend(self.wires.iter().map(|wire| veth(wire, mtu)));
        for host in &self.hosts {
            self.host_commands(host, senders, &mut commands);
        }
        let state = if offloads { "on" } else { "off" };
        for wire in &self.wires {
            for (host, device) in [(&wire.left_host, &wire.left_device), (&wire.right_host, &wire.right_device)] {
                commands.push(offload(host, device, state));
            }
        }
        commands
    }

    fn host_commands(&self, host: &Host, senders: &[String], commands: &mut Vec<Command>) {
        let mut add = |line: &str| commands.push(Command::of(&host.name, line));
        add("sysctl -w net.ipv6.conf.all.disable_ipv6=1");
        add("sysctl -w net.ipv6.conf.default.disable_ipv6=1");
        if host.routes {
            add("sysctl -w net.ipv4.ip_forward=1");
        }
        add("ip link set lo up");
        for wire in host.rights.iter().map(|wire| &self.wires[*wire]) {
            end(&wire.left_device, wire.left_address(), wire.right_address(), &wire.mac(2), &mut add);
        }
        for wire in host.lefts.iter().map(|wire| &self.wires[*wire]) {
            end(&wire.right_device, wire.right_address(), wire.left_address(), &wire.mac(1), &mut add);
        }
        if let Some(wire) = host.rights.first() {
            let via = self.wires[*wire].right_address();
            add(&format!("ip route add default via {via}{}", host.route_options()));
        }
        for sender in senders {
            if let Some(line) = self.route_back(host, sender) {
                add(&line);
            }
        }
    }

    /// How a host reaches a sender to its left that is not its neighbour.
    fn route_back(&self, host: &Host, sender: &str) -> Option<String> {
        let home = self.right_of(sender);
        let toward =
            host.lefts.iter().map(|wire| &self.wires[*wire]).find(|wire| self.leads_to(&wire.left_host, sender))?;
        let is_receiver = host.rights.is_empty();
        let options = if is_receiver && self.host(sender).quickack { " quickack 1" } else { "" };
        if toward.number != home.number {
            return Some(format!("ip route add {}/24 via {}{options}", home.address(0), toward.left_address()));
        }
        let to = home.left_address();
        (!options.is_empty()).then(|| format!("ip route replace {to}/32 dev {}{options}", home.right_device))
    }

    fn leads_to(&self, host: &str, sender: &str) -> bool {
        host == sender || self.lefts_of(host).any(|wire| self.leads_to(&wire.left_host, sender))
    }
}

fn numbered(name: &str, taken: usize) -> String {
    if taken == 0 { name.into() } else { format!("{name}{}", taken + 1) }
}

fn veth(wire: &Link, mtu: u32) -> Command {
    let size = if mtu == 1500 { String::new() } else { format!(" mtu {mtu}") };
    let Link { left_host, left_device, right_host, right_device, .. } = wire;
    let (left_mac, right_mac) = (wire.mac(1), wire.mac(2));
    Command::of(
        "",
        &format!(
            "ip link add {left_device} address {left_mac}{size} netns {left_host} type veth \
             peer name {right_device} address {right_mac}{size} netns {right_host}"
        ),
    )
}

fn end(device: &str, address: Ipv4Addr, peer: Ipv4Addr, peer_mac: &str, add: &mut impl FnMut(&str)) {
    add(&format!("ip addr add {address}/24 dev {device}"));
    add(&format!("ip link set {device} up"));
    add(&format!("ip neigh add {peer} lladdr {peer_mac} dev {device} nud permanent"));
}

/// Turns a device's offloads on or off.
pub(super) fn offload(host: &str, device: &str, state: &str) -> Command {
    Command::of(host, &format!("ethtool -K {device} tso {state} gso {state} gro {state}"))
}
