//! Discovers the connections that programs make.
//!
//! Every sample dumps all TCP connections of the hosts that run programs. When a socket is destroyed, Linux sends a
//! notification with its last statistics (`SKNLGRP_INET_TCP_DESTROY`, `net/core/sock_diag.c`), so connections that
//! live between two samples are not missed. Each end is recorded as a flow;
//! `dumbbell.engines.programs` merges the two.

use crate::error::{Attempt, Result};
use crate::programs::processes::{self, Owners};
use crate::sample::diag;
use crate::sample::netlink::Netlink;
use crate::sample::record::Records;
use crate::traffic::info::{receive_space, received_bytes};
use dumbbell_records::FlowRecord;
use dumbbell_records::end::ConnectionEnd;
use nix::errno::Errno;
use nix::sys::socket::SockProtocol;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::path::Path;

/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, groups 1 and 3.
const DESTROY_GROUPS: u32 = 0b101;

/// One end of a connection.
struct Watched {
    end: ConnectionEnd,
    /// Of its socket; 0: not accepted yet.
    inode: u32,
}

/// All connections found so far.
pub struct Connections {
    hosts: Vec<WatchedHost>,
    known: BTreeMap<(usize, u64), usize>,
    ends: Vec<Watched>,
    records: Records,
    sampled_ns: u64,
}

struct WatchedHost {
    host: String,
    query: Netlink,
    destroyed: Netlink,
}

impl Connections {
    /// Subscribes to notifications in the hosts that run programs.
    pub fn open(hosts: BTreeSet<&String>, folder: &Path) -> Result<Self> {
        let hosts = hosts.into_iter().map(|host| {
            let [query, destroyed] = [(); 2].map(|()| Netlink::open(host, SockProtocol::NetlinkSockDiag));
            let destroyed = destroyed?;
            destroyed.join(DESTROY_GROUPS)?;
            destroyed.accept_only_kernel()?;
            Ok(WatchedHost { host: host.clone(), query: query?, destroyed })
        });
        let hosts = hosts.collect::<Result<_>>()?;
        let records = Records::create(folder, "connections.bin")?;
        Ok(Self { hosts, known: BTreeMap::new(), ends: Vec::new(), records, sampled_ns: 0 })
    }

    /// Descriptors of the destroy notifications, one per host.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.hosts.iter().map(|watched| watched.destroyed.descriptor())
    }

    /// Samples all connections except the experiment's own flows; `ours` recognises those by their addresses, the
    /// sender's first.
    pub fn sample(
        &mut self,
        now_ns: u64,
        ours: impl Fn((SocketAddr, SocketAddr)) -> bool,
        owners: &Owners,
    ) -> Result<()> {
        for host_index in 0..self.hosts.len() {
            let mut found = Vec::new();
            for family in diag::FAMILIES {
                self.hosts[host_index]
                    .query
                    .dump(&diag::everything(family), |answer| found.extend(diag::socket(&answer)))?;
            }
            self.hosts[host_index].query.accept_only_kernel()?;
            found.retain(|socket| !is_either(&ours, socket));
            for socket in found {
                let number = self.find_or_add(host_index, &socket, now_ns);
                self.ends[number].end.cc.clone_from(&socket.cc);
                self.record(now_ns, number, &socket)?;
            }
        }
        self.sampled_ns = now_ns;
        self.find_owners(owners)
    }

    /// Sockets of a host were destroyed.
    pub fn sockets_destroyed(
        &mut self,
        host_index: usize,
        now_ns: u64,
        ours: impl Fn((SocketAddr, SocketAddr)) -> bool,
    ) -> Result<()> {
        let mut found = Vec::new();
        let lost =
            self.hosts[host_index].destroyed.drain_notifications(|answer| found.extend(diag::socket(&answer)))?;
        if lost {
            return Err(Errno::ENOBUFS).attempt(|| "reading netlink".into());
        }
        for socket in found {
            let known = self.known.remove(&(host_index, socket.cookie));
            if known.is_none() && is_either(&ours, &socket) {
                continue;
            }
            let number = known.unwrap_or_else(|| self.add(host_index, &socket, self.sampled_ns));
            self.ends[number].end.gone_ns = Some(now_ns);
            self.record(now_ns, number, &socket)?;
        }
        Ok(())
    }

    /// Closes the file and returns all ends.
    pub fn finish(self) -> Result<Vec<ConnectionEnd>> {
        self.records.finish()?;
        Ok(self.ends.into_iter().map(|watched| watched.end).collect())
    }

    fn find_or_add(&mut self, host_index: usize, socket: &diag::Found, now_ns: u64) -> usize {
        if let Some(&number) = self.known.get(&(host_index, socket.cookie)) {
            self.ends[number].inode = socket.inode;
            return number;
        }
        let number = self.add(host_index, socket, now_ns);
        self.known.insert((host_index, socket.cookie), number);
        number
    }

    fn add(&mut self, host_index: usize, socket: &diag::Found, seen_ns: u64) -> usize {
        let end = ConnectionEnd {
            host: self.hosts[host_index].host.clone(),
            local: socket.local,
            remote: socket.remote,
            program: None,
            cc: None,
            seen_ns,
            gone_ns: None,
        };
        self.ends.push(Watched { end, inode: socket.inode });
        self.ends.len() - 1
    }

    fn record(&mut self, now_ns: u64, number: usize, socket: &diag::Found) -> Result<()> {
        let number = u32::try_from(number).expect("connections fit");
        self.records.flow(&FlowRecord {
            bytes_received: received_bytes(&socket.tcp_info),
            rcv_space: receive_space(&socket.tcp_info),
            ..FlowRecord::sent(now_ns, number, socket.cc_kind, &socket.cc_info, &socket.tcp_info)
        })
    }

    /// Finds each socket's program: the host's only program, or the one with the socket open.
    fn find_owners(&mut self, owners: &Owners) -> Result<()> {
        let is_wanted = |end: &ConnectionEnd| end.program.is_none() && end.gone_ns.is_none();
        for Watched { end, inode } in self.ends.iter_mut().filter(|watched| is_wanted(&watched.end)) {
            end.program = processes::owner(owners, &end.host, *inode)?;
        }
        Ok(())
    }
}

/// Is it one of our sockets, the sender's or the receiver's?
fn is_either(ours: &impl Fn((SocketAddr, SocketAddr)) -> bool, socket: &diag::Found) -> bool {
    ours((socket.local, socket.remote)) || ours((socket.remote, socket.local))
}
