//! Connections that programs make: found by looking, since nobody tells of them.
//!
//! At every sample Linux is asked for all TCP connections of the hosts in which programs run; and when a socket
//! is gone, Linux says so, with its last numbers (`SKNLGRP_INET_TCP_DESTROY`, `net/core/sock_diag.c`): so that
//! one that lived between two samples is not missed. Both ends are put on record, each as a flow of its own:
//! `dumbbell.engine.connections` makes one flow of the two.

use crate::error::{Attempt, Result};
use crate::programs::processes;
use crate::sample::diag;
use crate::sample::netlink::Netlink;
use crate::sample::record::{FlowSample, Records};
use crate::traffic::info::{receive_space, received_bytes};
use nix::errno::Errno;
use nix::sys::socket::SockProtocol;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddrV4;
use std::os::fd::RawFd;
use std::path::Path;

/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`, groups 1 and 3.
const GONE: u32 = 0b101;

/// One end of a connection, as `end.json` tells of it.
#[derive(Clone, Debug, Serialize)]
pub struct End {
    /// Where the socket is.
    pub host: String,
    /// Its own address.
    pub local: SocketAddrV4,
    /// The peer's.
    pub remote: SocketAddrV4,
    /// Position of the program whose socket it is, where that could be found.
    pub program: Option<usize>,
    /// Its controller, when it was last looked at.
    pub cc: Option<String>,
    /// When it was first seen.
    pub seen_ns: u64,
    /// When it was gone.
    pub gone_ns: Option<u64>,
    #[serde(skip)]
    inode: u32,
}

/// Who may own sockets: hosts, positions of programs, and their process groups while they run.
pub type Owners = Vec<(String, usize, Option<i32>)>;

/// All that is known of them.
pub struct Connections {
    hosts: Vec<Watched>,
    known: BTreeMap<(usize, u64), usize>,
    ends: Vec<End>,
    records: Records,
    sampled_ns: u64,
}

struct Watched {
    host: String,
    ask: Netlink,
    gone: Netlink,
}

impl Connections {
    /// Begins to listen in the hosts in which programs run.
    pub fn open(hosts: BTreeSet<&String>, folder: &Path) -> Result<Self> {
        let hosts = hosts.into_iter().map(|host| {
            let [ask, gone] = [(); 2].map(|()| Netlink::open(host, SockProtocol::NetlinkSockDiag));
            let gone = gone?;
            gone.join(GONE)?;
            gone.hear_only_the_kernel()?;
            Ok(Watched { host: host.clone(), ask: ask?, gone })
        });
        let hosts = hosts.collect::<Result<_>>()?;
        let records = Records::create(folder, "connections.bin")?;
        Ok(Self { hosts, known: BTreeMap::new(), ends: Vec::new(), records, sampled_ns: 0 })
    }

    /// Where news of sockets that are gone arrive, one for each host.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.hosts.iter().map(|watched| watched.gone.descriptor())
    }

    /// Looks at all connections that are not flows of ours, which `ours` knows by either address.
    pub fn sample(&mut self, now_ns: u64, ours: impl Fn(&SocketAddrV4) -> bool, owners: &Owners) -> Result<()> {
        for place in 0..self.hosts.len() {
            let mut found = Vec::new();
            for family in diag::FAMILIES {
                self.hosts[place].ask.dump(&diag::everything(family), |answer| found.extend(diag::socket(&answer)))?;
            }
            self.hosts[place].ask.hear_only_the_kernel()?;
            found.retain(|socket| !(ours(&socket.local) || ours(&socket.remote)));
            for socket in found {
                let number = self.know(place, &socket, now_ns);
                self.ends[number].cc.clone_from(&socket.cc);
                self.record(now_ns, number, &socket)?;
            }
        }
        self.sampled_ns = now_ns;
        self.find_owners(owners)
    }

    /// Sockets of a host are gone.
    pub fn gone(&mut self, place: usize, now_ns: u64, ours: impl Fn(&SocketAddrV4) -> bool) -> Result<()> {
        let mut found = Vec::new();
        let lost = self.hosts[place].gone.hear_what_is_there(|answer| found.extend(diag::socket(&answer)))?;
        if lost {
            return Err(Errno::ENOBUFS).attempt(|| "reading netlink".into());
        }
        for socket in found {
            let known = self.known.remove(&(place, socket.cookie));
            if known.is_none() && (ours(&socket.remote) || ours(&socket.local)) {
                continue;
            }
            let number = known.unwrap_or_else(|| self.add(place, &socket, self.sampled_ns));
            self.ends[number].gone_ns = Some(now_ns);
            self.record(now_ns, number, &socket)?;
        }
        Ok(())
    }

    /// Ends the file; tells of all.
    pub fn finish(self) -> Result<Vec<End>> {
        self.records.finish()?;
        Ok(self.ends)
    }

    fn know(&mut self, place: usize, socket: &diag::Found, now_ns: u64) -> usize {
        if let Some(&number) = self.known.get(&(place, socket.cookie)) {
            self.ends[number].inode = socket.inode;
            return number;
        }
        let number = self.add(place, socket, now_ns);
        self.known.insert((place, socket.cookie), number);
        number
    }

    fn add(&mut self, place: usize, socket: &diag::Found, seen_ns: u64) -> usize {
        self.ends.push(End {
            host: self.hosts[place].host.clone(),
            local: socket.local,
            remote: socket.remote,
            program: None,
            cc: None,
            seen_ns,
            gone_ns: None,
            inode: socket.inode,
        });
        self.ends.len() - 1
    }

    fn record(&mut self, now_ns: u64, number: usize, socket: &diag::Found) -> Result<()> {
        self.records.flow(&FlowSample {
            time_ns: now_ns,
            flow: u32::try_from(number).expect("connections fit"),
            sender: &socket.tcp_info,
            cc_kind: socket.cc_kind,
            cc_info: &socket.cc_info,
            bytes_received: received_bytes(&socket.tcp_info),
            rcv_space: receive_space(&socket.tcp_info),
        })
    }

    /// Whose are they? In a host with one program, its; else of whom has the socket open.
    fn find_owners(&mut self, owners: &Owners) -> Result<()> {
        for end in self.ends.iter_mut().filter(|end| end.program.is_none() && end.gone_ns.is_none()) {
            let here: Vec<_> = owners.iter().filter(|(host, ..)| *host == end.host).collect();
            end.program = match here.as_slice() {
                [(_, only, _)] => Some(*only),
                _ if end.inode == 0 => None, // Nobody has accepted it yet.
                several => {
                    let groups = several.iter().filter_map(|(_, program, group)| Some((*program, (*group)?)));
                    owner(end.inode, &groups.collect::<Vec<_>>())?
                }
            };
        }
        Ok(())
    }
}

/// The program one of whose processes has the socket open.
fn owner(inode: u32, groups: &[(usize, i32)]) -> Result<Option<usize>> {
    let wanted = format!("socket:[{inode}]");
    for (process, group) in processes::grouped().attempt(|| "listing processes".into())? {
        let Some(program) = groups.iter().find(|(_, each)| *each == group) else { continue };
        // Processes come and go: whoever is gone has nothing open.
        let Ok(open) = fs::read_dir(format!("/proc/{process}/fd")) else { continue };
        if open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == wanted.as_str())) {
            return Ok(Some(program.0));
        }
    }
    Ok(None)
}
