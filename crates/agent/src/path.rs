//! Watches the path under test for changes that the plan did not make: reads its state before the first program
//! starts, listens for notifications while the experiment runs, and compares at the end.
//!
//! ```text
//! object    rtnetlink messages as comparable objects
//! describe  objects and differences in the syntax of ip and tc
//! settings  sysctls, where a program can write them
//! ```
//!
//! The agent's own changes are recognised by the netlink port of the tc or ip that makes them. The path is watched
//! only if programs run or the host is real, since every system call in a guest may change the result.
//! `crates/dumbbell/src/validity/kernel.rs` judges the changes.

mod describe;
mod object;
mod settings;

use crate::error::Result;
use crate::sample::netlink::{Answer, Netlink};
use crate::sys::process;
use dumbbell_plan::AgentPlan;
use dumbbell_records::end::{PathChange, PathChanges};
use nix::sys::socket::SockProtocol;
use object::{GROUPS, Key, Kind, LIST_CLASSES, LISTED, News, Objects, Value};
use settings::Settings;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::RawFd;
use std::time::Duration;

/// Netlink ports of the two sockets in each host: fixed, since Linux would draw random ones.
const QUERY_PORT: u32 = 0x4462_0001;
const NOTIFICATION_PORT: u32 = 0x4462_0002;
/// Changes listed; more are counted.
const MAX_CHANGES: usize = 16;
/// In a guest the plan's change takes no time except for a few failing system calls of tc.
const CHANGE_TOLERANCE_NS: u64 = 1_000_000;

/// The time of an observation, and the programs running: host and name.
#[derive(Clone, Copy)]
pub struct Observation<'a> {
    pub time_ns: Option<u64>,
    pub running: &'a [(String, String)],
}

/// Watches all hosts.
pub struct Path<'a> {
    plan: &'a AgentPlan,
    hosts: Vec<WatchedHost>,
    settings: Settings,
    priority: process::Priority,
    report: PathChanges,
}

struct WatchedHost {
    host: String,
    query: Netlink,
    notifications: Netlink,
    objects: Objects,
    /// Last reported state of objects that differ from the plan.
    reported: BTreeMap<Key, String>,
    /// Netlink ports of the agent's own tc and ip.
    own: BTreeSet<u32>,
    /// Start times of the plan's changes in progress.
    ordered_ns: Vec<u64>,
}

impl<'a> Path<'a> {
    /// Reads the initial state; no program may run yet. `own`: hosts and ports of the agent's own tc and ip;
    /// `sampling`: the port in each host that queries qdiscs at every sample.
    pub fn read(plan: &'a AgentPlan, own: &[(&str, u32)], sampling: &[(&str, u32)]) -> Result<Self> {
        let port = |host: &str| sampling.iter().find(|(of, _)| *of == host).map(|(_, port)| *port);
        let hosts = plan.hosts.iter().map(|host| {
            let own = own.iter().filter(|(of, _)| of == host).map(|(_, port)| *port).collect();
            WatchedHost::open(host, own, port(host))
        });
        Ok(Self {
            plan,
            hosts: hosts.collect::<Result<_>>()?,
            settings: Settings::read(plan)?,
            priority: process::priority(),
            report: PathChanges::default(),
        })
    }

    /// Descriptors of the notification sockets, one per host.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.hosts.iter().map(|watched| watched.notifications.descriptor())
    }

    /// The plan starts a change in a host.
    pub fn ordered(&mut self, host: &str, now_ns: u64) {
        if let Some(watched) = self.hosts.iter_mut().find(|watched| watched.host == host) {
            watched.ordered_ns.push(now_ns);
        }
    }

    /// The plan's change failed.
    pub fn failed(&mut self, host: &str, command: String, why: String, observation: Observation<'_>) {
        let host_index = self.hosts.iter().position(|watched| watched.host == host).unwrap_or(0);
        self.hosts[host_index].ordered_ns.clear();
        self.add_change(host_index, observation, "a change of the experiment".into(), (command, why));
    }

    /// Handles a host's notifications.
    pub fn handle_notifications(&mut self, host_index: usize, observation: Observation<'_>) -> Result<()> {
        let mut received = Vec::new();
        let lost = self.hosts[host_index]
            .notifications
            .drain_notifications(|answer| received.push((answer.port, object::read(&answer))))?;
        for (port, notifications) in received {
            if self.hosts[host_index].own.contains(&port) {
                self.change_done(host_index, observation);
                if let Some(notifications) = notifications {
                    self.hosts[host_index].apply(notifications);
                }
            } else if let Some(notifications) = notifications {
                self.handle_foreign_change(host_index, observation, notifications);
            }
        }
        if lost {
            self.add_change(
                host_index,
                observation,
                "the path".into(),
                ("known".into(), "changed more often than could be read".into()),
            );
        }
        Ok(())
    }

    /// Compares everything with its initial state. Programs may still run.
    pub fn read_all_back(&mut self, observation: Observation<'_>) -> Result<()> {
        for host_index in 0..self.hosts.len() {
            self.handle_notifications(host_index, observation)?;
            self.read_back(host_index, Observation { time_ns: None, ..observation })?;
            self.check_lateness(host_index, observation);
        }
        let observation = Observation { time_ns: None, ..observation };
        for difference in self.settings.differences(self.plan)? {
            let host_index = self.hosts.iter().position(|watched| watched.host == difference.host);
            self.add_change(
                host_index.unwrap_or(0),
                observation,
                difference.key,
                (difference.before, difference.after),
            );
        }
        let now = process::priority();
        if now != self.priority {
            let reported = |priority: process::Priority| priority.to_string();
            self.add_change(0, observation, "the agent's scheduling".into(), (reported(self.priority), reported(now)));
        }
        Ok(())
    }

    /// The changes so far.
    pub fn report(&self) -> &PathChanges {
        &self.report
    }

    /// Handles a change by another process.
    fn handle_foreign_change(&mut self, host_index: usize, observation: Observation<'_>, notifications: News) {
        let (key, after) = match notifications {
            News::Happened(key, what) => {
                let name = describe::name(&self.hosts[host_index].objects, &key, None);
                return self.add_change(host_index, observation, name, (String::new(), what.into()));
            }
            News::Is(key, value) => (key, Some(value)),
            News::Gone(key) => (key, None),
        };
        if self.hosts[host_index].objects.get(&key) == after.as_ref() {
            return;
        }
        self.differs(host_index, observation, &key, after.as_ref());
        self.hosts[host_index].set(key, after);
    }

    fn differs(&mut self, host_index: usize, observation: Observation<'_>, key: &Key, after: Option<&Value>) {
        if self.report.changes.len() == MAX_CHANGES {
            self.report.further += 1;
            return;
        }
        let WatchedHost { host, objects, .. } = &self.hosts[host_index];
        let before = objects.get(key);
        let (mut was, mut is) = describe::difference(before, after, key.kind);
        if matches!(key.kind, Kind::Qdisc | Kind::Class) {
            let device = describe::device(objects, key);
            let now_ns = observation.time_ns.unwrap_or(u64::MAX);
            if before.is_some() {
                let planned = || describe::planned(self.plan, host, &device, key, now_ns);
                was = self.hosts[host_index].reported.get(key).cloned().or_else(planned).unwrap_or(was);
            }
            if after.is_some() {
                is = describe::shown(host, &device, key).unwrap_or(is);
            }
        }
        let name = describe::name(objects, key, before.or(after));
        self.hosts[host_index].reported.insert(key.clone(), is.clone());
        self.add_change(host_index, observation, name, (was, is));
    }

    fn add_change(
        &mut self,
        host_index: usize,
        observation: Observation<'_>,
        object: String,
        (before, after): (String, String),
    ) {
        if self.report.changes.len() == MAX_CHANGES {
            self.report.further += 1;
            return;
        }
        let host = self.hosts[host_index].host.clone();
        let programs = observation.running.iter().filter(|(of, _)| *of == host).map(|(_, name)| name.clone()).collect();
        self.report.changes.push(PathChange { time_ns: observation.time_ns, host, object, before, after, programs });
    }

    /// The agent's own tc has made the change.
    fn change_done(&mut self, host_index: usize, observation: Observation<'_>) {
        self.check_lateness(host_index, observation);
        self.hosts[host_index].ordered_ns.clear();
    }

    /// Did the plan's change take too long? Then a program has stopped the tc that makes it.
    fn check_lateness(&mut self, host_index: usize, observation: Observation<'_>) {
        let real = self.plan.machine_ns.is_some();
        let (Some(now_ns), Some(&ordered_ns)) = (observation.time_ns, self.hosts[host_index].ordered_ns.first()) else {
            return;
        };
        if !real && now_ns > ordered_ns + CHANGE_TOLERANCE_NS {
            let seconds = |ns: u64| format!("{:?}", Duration::from_nanos(ns));
            let at = (format!("due at {}", seconds(ordered_ns)), format!("not done before {}", seconds(now_ns)));
            self.add_change(host_index, observation, "a change of the experiment".into(), at);
        }
    }

    /// Skipped after a reported change: Linux deletes dependent objects silently, so other differences follow from it.
    fn read_back(&mut self, host_index: usize, observation: Observation<'_>) -> Result<()> {
        if !self.hosts[host_index].reported.is_empty() {
            return Ok(());
        }
        let now = self.hosts[host_index].list()?;
        let before = &self.hosts[host_index].objects;
        let keys: BTreeSet<Key> = before.keys().chain(now.keys()).cloned().collect();
        for key in keys {
            if self.hosts[host_index].objects.get(&key) != now.get(&key) {
                self.differs(host_index, observation, &key, now.get(&key));
            }
        }
        Ok(())
    }
}

impl WatchedHost {
    fn open(host: &str, own: BTreeSet<u32>, sampling: Option<u32>) -> Result<Self> {
        let query = Netlink::open_at(host, SockProtocol::NetlinkRoute, QUERY_PORT)?;
        let notifications = Netlink::open_at(host, SockProtocol::NetlinkRoute, NOTIFICATION_PORT)?;
        [&query, &notifications].into_iter().try_for_each(Netlink::accept_only_kernel)?;
        sampling.map_or(Ok(()), |port| notifications.ignore_answers_to(port))?;
        notifications.join_at(NOTIFICATION_PORT, GROUPS)?;
        let mut watched = Self {
            host: host.into(),
            query,
            notifications,
            objects: Objects::new(),
            reported: BTreeMap::new(),
            own,
            ordered_ns: Vec::new(),
        };
        watched.objects = watched.list()?;
        Ok(watched)
    }

    /// Everything that the host has.
    fn list(&self) -> Result<Objects> {
        let mut objects = Objects::new();
        let mut keep = |answer: Answer<'_>| {
            if let Some(News::Is(key, value)) = object::read(&answer) {
                objects.insert(key, value);
            }
        };
        for (_, request, header_bytes) in LISTED {
            self.query.dump(&listing(request, header_bytes, 0), &mut keep)?;
        }
        let links: Vec<u32> = objects.keys().filter(|key| key.kind == Kind::Link).filter_map(object::index).collect();
        for index in links {
            let (request, header_bytes) = LIST_CLASSES;
            self.query.dump(&listing(request, header_bytes, index), |answer| {
                if let Some(News::Is(key, value)) = object::read(&answer) {
                    objects.insert(key, value);
                }
            })?;
        }
        Ok(objects)
    }

    fn apply(&mut self, notifications: News) {
        match notifications {
            News::Is(key, value) => self.set(key, Some(value)),
            News::Gone(key) => self.set(key, None),
            News::Happened(..) => {}
        }
    }

    fn set(&mut self, key: Key, value: Option<Value>) {
        match value {
            Some(value) => self.objects.insert(key, value),
            None => self.objects.remove(&key),
        };
    }
}

/// A dump request; for classes with the device, the second field of `struct tcmsg`.
fn listing(kind: u16, header_bytes: usize, index: u32) -> Vec<u8> {
    const REQUEST_DUMP: u16 = 0x301;
    let length = u32::try_from(16 + header_bytes).expect("a request is short");
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.resize(16 + header_bytes, 0);
    if index != 0 {
        bytes[20..24].copy_from_slice(&index.to_ne_bytes());
    }
    bytes
}
