//! The UDP flows that programs make, from the packets at the devices of their hosts.
//!
//! A UDP socket says nothing about what it sent, to whom, and what arrived. So each host that runs programs has a ring for
//! UDP packets at its devices: the sender's numbers each datagram, the receiver's finds it again by its first bytes.
//! Each direction between two addresses is a flow of its own here; `dumbbell.engines.connections` keeps the one that
//! sent more.

mod matching;

use crate::error::{Attempt, Result};
use crate::programs::processes::{self, Owners};
use crate::sample::record::Records;
use crate::sys::packets::{Only, PacketRing};
use crate::sys::{self, Clock};
use dumbbell_plan::{AgentPlan, ProbeKind, Transport};
use dumbbell_records::end::{UdpFlow, UdpFlows};
use dumbbell_records::{self as records, FlowRecord};
use matching::{Matching, Seen};
use nix::ifaddrs::getifaddrs;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Ethernet, IPv6 and UDP, and the beginning of a payload.
const SNAP_BYTES: usize = 14 + 40 + 8 + matching::KEY_BYTES;

/// All UDP flows of programs.
pub struct DatagramFlows {
    hosts: Vec<Host>,
    /// Addresses of the experiment's own UDP flows and probes.
    planned: BTreeSet<SocketAddr>,
    /// QUIC flows of the plan, by host and port of their servers.
    quic: BTreeMap<(String, u16), usize>,
    known: BTreeMap<(SocketAddr, SocketAddr), usize>,
    flows: Vec<Watched>,
    records: Records,
    every_ns: u64,
    missed: u64,
}

struct Host {
    name: String,
    rings: Vec<PacketRing>,
    addresses: BTreeSet<IpAddr>,
}

/// One direction between two addresses.
struct Watched {
    flow: UdpFlow,
    matching: Matching,
}

impl DatagramFlows {
    /// Opens rings at the devices of the hosts that run programs.
    pub fn open(plan: &AgentPlan, folder: &Path) -> Result<Self> {
        let names: BTreeSet<_> = plan.programs.all.iter().map(|program| &program.host).collect();
        let hosts: Vec<_> = names.into_iter().map(|name| Host::open(name, plan)).collect::<Result<_>>()?;
        let flows = plan.flows.iter().filter(|flow| flow.transport == Transport::Udp);
        let probes = plan.probes.iter().filter(|probe| probe.kind == ProbeKind::Udp);
        let planned = flows.map(|flow| SocketAddr::new(flow.address, flow.port));
        let planned = planned.chain(probes.map(|probe| SocketAddr::new(probe.address, probe.port))).collect();
        let quic = plan.flows.iter().enumerate().filter(|(_, flow)| flow.transport == Transport::Quic);
        let quic = quic.map(|(number, flow)| ((flow.sender.clone(), flow.port), number)).collect();
        Ok(Self {
            hosts,
            planned,
            quic,
            known: BTreeMap::new(),
            flows: Vec::new(),
            records: Records::create(folder, "datagrams.bin")?,
            every_ns: plan.programs.ring_ns,
            missed: 0,
        })
    }

    /// How often the rings must be read.
    pub fn every_ns(&self) -> u64 {
        self.every_ns
    }

    /// Counts the packets that wait in the rings.
    pub fn read(&mut self, clock: Clock) -> Result<()> {
        let start_ns = sys::wall_clock_ahead_ns() + clock.monotonic_ns(0);
        let mut packets = Vec::new();
        for (host, Host { rings, addresses, .. }) in self.hosts.iter_mut().enumerate() {
            for ring in rings {
                let mut count = 0;
                for packet in ring.waiting() {
                    count += 1;
                    // Packets from before the experiment are no part of it.
                    let Some(time_ns) = packet.time_ns.checked_sub(start_ns) else { continue };
                    let Some(seen) = Seen::of(&packet) else { continue };
                    let own = if packet.outgoing { seen.source } else { seen.destination };
                    if addresses.contains(&own.ip()) {
                        packets.push((time_ns, !packet.outgoing, host, seen));
                    }
                }
                ring.give_back(count);
                self.missed += ring.missed().attempt(|| "reading the statistics of a ring".into())?;
            }
        }
        // A datagram is sent before it arrives, also where the rings' times are equal.
        packets.sort_by_key(|(time_ns, arrived, ..)| (*time_ns, *arrived));
        for (time_ns, arrived, host, seen) in packets {
            self.count(time_ns, arrived, host, &seen);
        }
        Ok(())
    }

    /// Writes a record of each flow, of a QUIC flow of the plan with `write_planned`; `owners` are the programs that may own
    /// their sockets.
    pub fn sample(
        &mut self,
        clock: Clock,
        now_ns: u64,
        owners: &Owners,
        mut write_planned: impl FnMut(&FlowRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read(clock)?;
        self.find_owners(now_ns, owners)?;
        for (number, watched) in self.flows.iter().enumerate() {
            let counted = watched.matching.datagrams().bytes();
            let planned = watched.flow.flow;
            let number = u32::try_from(planned.unwrap_or(number)).expect("flows fit");
            let record = FlowRecord {
                bytes_received: watched.matching.received_bytes,
                ..FlowRecord::sent(now_ns, number, records::UDP, &[], &counted)
            };
            if planned.is_some() { write_planned(&record)? } else { self.records.flow(&record)? }
        }
        Ok(())
    }

    /// The QUIC flow of the plan with this number, if its server has sent anything.
    pub fn planned(&self, number: usize) -> Option<UdpFlow> {
        self.flows.iter().find(|watched| watched.flow.flow == Some(number)).map(Watched::end)
    }

    /// Closes the file; returns the flows.
    pub fn finish(self) -> Result<UdpFlows> {
        self.records.finish()?;
        Ok(UdpFlows { flows: self.flows.iter().map(Watched::end).collect(), missed_packets: self.missed })
    }

    fn count(&mut self, time_ns: u64, arrived: bool, host: usize, seen: &Seen) {
        if [seen.source, seen.destination].iter().any(|end| self.planned.contains(end)) {
            return;
        }
        let ends = (seen.source, seen.destination);
        if arrived {
            let Some(&number) = self.known.get(&ends) else { return };
            let Watched { flow, matching } = &mut self.flows[number];
            flow.receiver.get_or_insert_with(|| self.hosts[host].name.clone());
            flow.arrived_ns.get_or_insert(time_ns);
            matching.arrived(time_ns, seen);
            return;
        }
        let number = *self.known.entry(ends).or_insert_with(|| {
            let flow = UdpFlow {
                sender: self.hosts[host].name.clone(),
                receiver: None,
                source: seen.source,
                destination: seen.destination,
                program: None,
                flow: self.quic.get(&(self.hosts[host].name.clone(), seen.source.port())).copied(),
                first_ns: time_ns,
                arrived_ns: None,
                last_ns: time_ns,
                gone_ns: None,
                sent_packets: 0,
                bytes_received: 0,
            };
            self.flows.push(Watched { flow, matching: Matching::default() });
            self.flows.len() - 1
        });
        let Watched { flow, matching } = &mut self.flows[number];
        flow.last_ns = time_ns;
        matching.sent(time_ns, seen);
    }

    /// Finds which program has each flow's socket, and whether it is still open.
    fn find_owners(&mut self, now_ns: u64, owners: &Owners) -> Result<()> {
        for host in &self.hosts {
            let open = |flow: &UdpFlow| flow.sender == host.name && flow.gone_ns.is_none();
            if !self.flows.iter().any(|watched| open(&watched.flow)) {
                continue;
            }
            let ports = bound(&host.name)?;
            for flow in self.flows.iter_mut().map(|watched| &mut watched.flow).filter(|flow| open(flow)) {
                match ports.get(&flow.source.port()) {
                    // Its port may have been bound anew: then more datagrams follow.
                    None => flow.gone_ns = Some(now_ns),
                    Some(inode) if flow.program.is_none() => {
                        flow.program = processes::owner(owners, &host.name, *inode)?;
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }
}

impl Watched {
    fn end(&self) -> UdpFlow {
        UdpFlow {
            sent_packets: self.matching.sent_packets,
            bytes_received: self.matching.received_bytes,
            ..self.flow.clone()
        }
    }
}

impl Host {
    fn open(name: &str, plan: &AgentPlan) -> Result<Self> {
        let opening = || format!("capturing UDP packets of host '{name}'");
        let (rings, addresses) = sys::within(name, || {
            let (mut devices, mut addresses) = (BTreeSet::new(), BTreeSet::new());
            for each in getifaddrs()? {
                let address = each.address.as_ref().and_then(ip_address).filter(|address| !address.is_loopback());
                if let Some(address) = address.filter(|address| !is_link_local(*address)) {
                    devices.insert(each.interface_name);
                    addresses.insert(address);
                }
            }
            let frames = plan.programs.ring_frames;
            let rings: io::Result<_> =
                devices.iter().map(|device| PacketRing::open(device, Only::Udp, SNAP_BYTES, frames)).collect();
            Ok((rings?, addresses))
        })
        .attempt(opening)?;
        Ok(Self { name: name.into(), rings, addresses })
    }
}

fn ip_address(address: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
    four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
}

/// Every device has one of IPv6, also those without an address of the experiment.
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.is_unicast_link_local())
}

/// The inode of a socket at each bound UDP port of a host.
fn bound(host: &str) -> Result<BTreeMap<u16, u32>> {
    Ok(sockets(host)?.map(|socket| (socket.port, socket.inode)).collect())
}

/// Ports of a host at which a UDP socket takes datagrams of any sender.
pub fn listening(host: &str) -> Result<BTreeSet<u16>> {
    Ok(sockets(host)?.filter(|socket| !socket.is_connected).map(|socket| socket.port).collect())
}

struct Socket {
    port: u16,
    inode: u32,
    is_connected: bool,
}

fn sockets(host: &str) -> Result<impl Iterator<Item = Socket>> {
    let read = |file: &str| {
        // A kernel may have no IPv6.
        let text = sys::within(host, || Ok(fs::read_to_string(file).unwrap_or_default()));
        text.attempt(|| format!("reading {file}"))
    };
    let text = read("/proc/self/net/udp")? + &read("/proc/self/net/udp6")?;
    Ok(text.lines().filter_map(socket).collect::<Vec<_>>().into_iter())
}

/// `TCP_ESTABLISHED`, which a connected UDP socket has, too.
const CONNECTED: &str = "01";

/// Parses a line such as `7: 00000000:1151 00000000:0000 07 …` (`proc_pid_net(5)`); the inode is the tenth field.
fn socket(line: &str) -> Option<Socket> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    Some(Socket {
        port: u16::from_str_radix(port, 16).ok()?,
        inode: fields.get(9)?.parse().ok()?,
        is_connected: *fields.get(3)? == CONNECTED,
    })
}

#[cfg(test)]
mod tests {
    use super::socket;

    #[test]
    fn a_line_of_proc_is_a_socket() {
        let line =
            "  7: 00000000:1151 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0 0";
        let found = socket(line).expect("a socket");
        assert_eq!((found.port, found.inode, found.is_connected), (4433, 4711, false));
        assert!(socket(&line.replace(" 07 ", " 01 ")).expect("a socket").is_connected);
        assert!(socket("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid").is_none());
    }
}
