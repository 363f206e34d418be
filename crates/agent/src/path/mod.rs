//! The path under test, and whoever changes it but the plan: read before the first program starts, listened to while
//! the experiment runs, read back at its end.
//!
//! ```text
//! object    what rtnetlink says, as objects that can be compared
//! words     the same in the words of ip and tc
//! settings  sysctls, where a program can write them
//! ```
//!
//! The agent's own changes are known by the netlink port of the tc or ip that makes them. It does all this only where
//! programs run or the machine is somebody's: each call in a guest may move a result. What a change means for the
//! result, `dumbbell.engine.validity` says.

mod object;
mod settings;
mod words;

use crate::error::Result;
use crate::plan::Plan;
use crate::sample::netlink::{Answer, Netlink};
use crate::sys::process;
use nix::sys::socket::SockProtocol;
use object::{GROUPS, Key, Kind, LIST_CLASSES, LISTED, News, Objects, Value};
use serde::Serialize;
use settings::Settings;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::RawFd;
use std::time::Duration;

/// Ports of the two sockets in each host: chosen, for Linux would draw a random number for one.
const ASKING_PORT: u32 = 0x4462_0001;
const HEARING_PORT: u32 = 0x4462_0002;
/// Told; the rest is counted.
const MOST_CHANGES: usize = 16;
/// A change of the plan takes no time in a guest but for some failing system calls of tc.
const PUNCTUAL_NS: u64 = 1_000_000;

/// Something that was changed, and not by the plan.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Change {
    /// When; none: it was found at the end.
    time_ns: Option<u64>,
    host: String,
    /// What was changed, as `qdisc 10: of 'right'`.
    object: String,
    before: String,
    after: String,
    /// Programs that ran in the host then.
    programs: Vec<String>,
}

/// What is told at the end.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    changes: Vec<Change>,
    /// Changes beyond those.
    further: usize,
}

impl Report {
    /// Was nothing changed?
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// When something is seen, and which programs run: their host and name.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub time_ns: Option<u64>,
    pub running: &'a [(String, String)],
}

/// The watch over all hosts.
pub struct Path<'a> {
    plan: &'a Plan,
    hosts: Vec<Watched>,
    settings: Settings,
    priority: process::Priority,
    report: Report,
}

struct Watched {
    host: String,
    ask: Netlink,
    news: Netlink,
    objects: Objects,
    /// What was told of an object that is no longer as planned.
    said: BTreeMap<Key, String>,
    /// Netlink ports of the agent's own tc and ip.
    own: BTreeSet<u32>,
    /// Changes of the plan that are under way, by when they were ordered.
    ordered_ns: Vec<u64>,
}

impl<'a> Path<'a> {
    /// Reads how everything is; nobody else may run yet. `own`: hosts and ports of the agent's own tc and ip;
    /// `sampling`: the port in each host from which disciplines are asked for at every sample.
    pub fn read(plan: &'a Plan, own: &[(&str, u32)], sampling: &[(&str, u32)]) -> Result<Self> {
        let port = |host: &str| sampling.iter().find(|(of, _)| *of == host).map(|(_, port)| *port);
        let hosts = plan.hosts.iter().map(|host| {
            let own = own.iter().filter(|(of, _)| of == host).map(|(_, port)| *port).collect();
            Watched::open(host, own, port(host))
        });
        Ok(Self {
            plan,
            hosts: hosts.collect::<Result<_>>()?,
            settings: Settings::read(plan)?,
            priority: process::priority(),
            report: Report::default(),
        })
    }

    /// Where news of each host arrive.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.hosts.iter().map(|watched| watched.news.descriptor())
    }

    /// A change of the plan was ordered in a host.
    pub fn ordered(&mut self, host: &str, now_ns: u64) {
        if let Some(watched) = self.hosts.iter_mut().find(|watched| watched.host == host) {
            watched.ordered_ns.push(now_ns);
        }
    }

    /// A change of the plan could not be made.
    pub fn failed(&mut self, host: &str, command: String, why: String, moment: Moment<'_>) {
        let place = self.hosts.iter().position(|watched| watched.host == host).unwrap_or(0);
        self.hosts[place].ordered_ns.clear();
        self.tell(place, moment, "a change of the experiment".into(), (command, why));
    }

    /// There are news of a host.
    pub fn hear(&mut self, place: usize, moment: Moment<'_>) -> Result<()> {
        let mut heard = Vec::new();
        let lost =
            self.hosts[place].news.hear_what_is_there(|answer| heard.push((answer.port, object::read(&answer))))?;
        for (port, news) in heard {
            if self.hosts[place].own.contains(&port) {
                self.is_carried_out(place, moment);
                if let Some(news) = news {
                    self.hosts[place].apply(news);
                }
            } else if let Some(news) = news {
                self.take(place, moment, news);
            }
        }
        if lost {
            self.tell(
                place,
                moment,
                "the path".into(),
                ("known".into(), "changed more often than could be read".into()),
            );
        }
        Ok(())
    }

    /// Reads everything back. Programs may still run.
    pub fn read_all_back(&mut self, moment: Moment<'_>) -> Result<()> {
        for place in 0..self.hosts.len() {
            self.hear(place, moment)?;
            self.read_back(place, Moment { time_ns: None, ..moment })?;
            self.is_late(place, moment);
        }
        let moment = Moment { time_ns: None, ..moment };
        for difference in self.settings.differences(self.plan)? {
            let place = self.hosts.iter().position(|watched| watched.host == difference.host);
            self.tell(place.unwrap_or(0), moment, difference.key, (difference.before, difference.after));
        }
        let now = process::priority();
        if now != self.priority {
            let said = |priority: process::Priority| priority.to_string();
            self.tell(0, moment, "the agent's scheduling".into(), (said(self.priority), said(now)));
        }
        Ok(())
    }

    /// What was changed, so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Somebody else's news.
    fn take(&mut self, place: usize, moment: Moment<'_>, news: News) {
        let (key, after) = match news {
            News::Happened(key, what) => {
                let name = words::name(&self.hosts[place].objects, &key, None);
                return self.tell(place, moment, name, (String::new(), what.into()));
            }
            News::Is(key, value) => (key, Some(value)),
            News::Gone(key) => (key, None),
        };
        if self.hosts[place].objects.get(&key) == after.as_ref() {
            return;
        }
        self.differs(place, moment, &key, after.as_ref());
        self.hosts[place].set(key, after);
    }

    fn differs(&mut self, place: usize, moment: Moment<'_>, key: &Key, after: Option<&Value>) {
        if self.report.changes.len() == MOST_CHANGES {
            self.report.further += 1;
            return;
        }
        let Watched { host, objects, .. } = &self.hosts[place];
        let before = objects.get(key);
        let (mut was, mut is) = words::difference(before, after, key.kind);
        if matches!(key.kind, Kind::Qdisc | Kind::Class) {
            let device = words::device(objects, key);
            let now_ns = moment.time_ns.unwrap_or(u64::MAX);
            if before.is_some() {
                let planned = || words::planned(self.plan, host, &device, key, now_ns);
                was = self.hosts[place].said.get(key).cloned().or_else(planned).unwrap_or(was);
            }
            if after.is_some() {
                is = words::shown(host, &device, key).unwrap_or(is);
            }
        }
        let name = words::name(objects, key, before.or(after));
        self.hosts[place].said.insert(key.clone(), is.clone());
        self.tell(place, moment, name, (was, is));
    }

    fn tell(&mut self, place: usize, moment: Moment<'_>, object: String, (before, after): (String, String)) {
        if self.report.changes.len() == MOST_CHANGES {
            self.report.further += 1;
            return;
        }
        let host = self.hosts[place].host.clone();
        let programs = moment.running.iter().filter(|(of, _)| *of == host).map(|(_, name)| name.clone()).collect();
        self.report.changes.push(Change { time_ns: moment.time_ns, host, object, before, after, programs });
    }

    /// News from the agent's own tc: it has carried out what it was ordered.
    fn is_carried_out(&mut self, place: usize, moment: Moment<'_>) {
        self.is_late(place, moment);
        self.hosts[place].ordered_ns.clear();
    }

    /// Was a change of the plan ordered long ago? Somebody must have stopped the tc that makes it.
    fn is_late(&mut self, place: usize, moment: Moment<'_>) {
        let real = self.plan.machine_ns.is_some();
        let (Some(now_ns), Some(&ordered_ns)) = (moment.time_ns, self.hosts[place].ordered_ns.first()) else { return };
        if !real && now_ns > ordered_ns + PUNCTUAL_NS {
            let seconds = |ns: u64| format!("{:?}", Duration::from_nanos(ns));
            let at = (format!("due at {}", seconds(ordered_ns)), format!("not done before {}", seconds(now_ns)));
            self.tell(place, moment, "a change of the experiment".into(), at);
        }
    }

    /// Where somebody's change is known, what else differs follows from it: Linux deletes what hung on it without a word.
    fn read_back(&mut self, place: usize, moment: Moment<'_>) -> Result<()> {
        if !self.hosts[place].said.is_empty() {
            return Ok(());
        }
        let now = self.hosts[place].list()?;
        let before = &self.hosts[place].objects;
        let keys: BTreeSet<Key> = before.keys().chain(now.keys()).cloned().collect();
        for key in keys {
            if self.hosts[place].objects.get(&key) != now.get(&key) {
                self.differs(place, moment, &key, now.get(&key));
            }
        }
        Ok(())
    }
}

impl Watched {
    fn open(host: &str, own: BTreeSet<u32>, sampling: Option<u32>) -> Result<Self> {
        let ask = Netlink::open_at(host, SockProtocol::NetlinkRoute, ASKING_PORT)?;
        let news = Netlink::open_at(host, SockProtocol::NetlinkRoute, HEARING_PORT)?;
        [&ask, &news].into_iter().try_for_each(Netlink::hear_only_the_kernel)?;
        sampling.map_or(Ok(()), |port| news.ignore_answers_to(port))?;
        news.join_at(HEARING_PORT, GROUPS)?;
        let mut watched = Self {
            host: host.into(),
            ask,
            news,
            objects: Objects::new(),
            said: BTreeMap::new(),
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
            self.ask.dump(&listing(request, header_bytes, 0), &mut keep)?;
        }
        let links: Vec<u32> = objects.keys().filter(|key| key.kind == Kind::Link).filter_map(object::index).collect();
        for index in links {
            let (request, header_bytes) = LIST_CLASSES;
            self.ask.dump(&listing(request, header_bytes, index), |answer| {
                if let Some(News::Is(key, value)) = object::read(&answer) {
                    objects.insert(key, value);
                }
            })?;
        }
        Ok(objects)
    }

    fn apply(&mut self, news: News) {
        match news {
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

/// A request for a dump; of classes with their device, which stands second in `struct tcmsg`.
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
