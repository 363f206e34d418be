//! Takes one picture of all flows and queues and puts it on record.

use super::Traffic;
use crate::error::Result;
use crate::plan::{Ends, Plan};
use crate::sample::diag::{self, SocketInfo, Sockets};
use crate::sample::netlink::{Answer, Post, Questions, letters};
use crate::sample::qdisc::{self, Found, Queues};
use crate::sample::record::{FlowSample, Records};
use crate::sys::letter::Letter;
use crate::traffic::info::{receive_space, received_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Marks a record of a UDP flow, whose `sender` part holds the bytes sent.
const UDP_RECORD: u16 = 0xffff;

/// Who is sampled, and where it is written.
pub struct Sampler {
    senders: BTreeMap<String, Sockets>,
    receivers: BTreeMap<String, Sockets>,
    queues: Vec<Queues>,
    post: Post,
    book: Book,
    stale: bool,
    /// Could somebody else answer?
    among_programs: bool,
}

/// Where answers become records.
struct Book {
    /// Positions in the list of questions: before it are receivers, before the next are senders.
    first_sender: usize,
    first_queues: usize,
    flow_records: Records,
    queue_records: Records,
    /// What each flow's receiver said at this instant: bytes in order, receive space.
    received: Vec<(u64, u32)>,
    /// Flows whose sender is on another machine: a receiver's answer is a record of its own.
    alone: Vec<bool>,
}

impl Sampler {
    /// Finds the queues and opens the files.
    pub fn open(plan: &Plan, folder: &Path) -> Result<Self> {
        let mut queues: Vec<Queues> = Vec::new();
        for host in &plan.hosts {
            let first = queues.iter().map(|queues| queues.found.len()).sum::<usize>();
            queues.push(Queues::discover(host, u32::try_from(first).expect("few queues"), &plan.devices)?);
        }
        let sockets = |hosts: BTreeSet<&String>| {
            hosts.into_iter().map(|host| Ok((host.clone(), Sockets::open(host)?))).collect::<Result<BTreeMap<_, _>>>()
        };
        let senders = sockets(plan.flows.iter().filter(|flow| flow.ends.sends()).map(|flow| &flow.sender).collect())?;
        let receivers =
            sockets(plan.flows.iter().filter(|flow| flow.ends.receives()).map(|flow| &flow.receiver).collect())?;
        let book = Book {
            first_sender: receivers.len(),
            first_queues: receivers.len() + senders.len(),
            flow_records: Records::create(folder, "flows.bin")?,
            queue_records: Records::create(folder, "queues.bin")?,
            received: vec![(0, 0); plan.flows.len()],
            alone: plan.flows.iter().map(|flow| flow.ends == Ends::Receiver).collect(),
        };
        Ok(Self {
            senders,
            receivers,
            queues,
            post: Post::open()?,
            book,
            stale: true,
            among_programs: !plan.programs.all.is_empty(),
        })
    }

    /// The port in each host from which disciplines are asked for.
    pub fn ports(&self) -> Result<Vec<(&str, u32)>> {
        self.queues.iter().map(Queues::port).collect()
    }

    /// Flows have come or gone.
    pub fn changed(&mut self) {
        self.stale = true;
    }

    /// Have they, since the last sample?
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Samples everything.
    pub fn sample(&mut self, now_ns: u64, flows: &[Traffic]) -> Result<()> {
        self.refresh(flows);
        let (post, book) = (&mut self.post, &mut self.book);
        let questions = questions(&self.receivers, &self.senders, &self.queues);
        post.ask(&questions, |position, answer| book.enter(now_ns, position, answer))?;
        if self.among_programs {
            questions.iter().try_for_each(|questions| questions.partner.hear_only_the_kernel())?;
        }
        self.sample_udp(now_ns, flows)
    }

    /// What a sample asks Linux, where one call can ask it all: each letter with its position for [`Self::hear`].
    pub fn letters(&mut self, flows: &[Traffic]) -> Option<Vec<(usize, Letter<'_>)>> {
        self.refresh(flows);
        letters(&questions(&self.receivers, &self.senders, &self.queues))
    }

    /// An answer that came by another way.
    pub fn hear(&mut self, time_ns: u64, position: usize, answer: &Answer<'_>) -> Result<()> {
        self.book.enter(time_ns, position, answer)
    }

    /// Ends the files; says which queues were sampled.
    pub fn finish(self) -> Result<Vec<Found>> {
        self.book.flow_records.finish()?;
        self.book.queue_records.finish()?;
        Ok(self.queues.into_iter().flat_map(|queues| queues.found).collect())
    }

    fn refresh(&mut self, flows: &[Traffic]) {
        if std::mem::take(&mut self.stale) {
            self.watch(flows);
        }
    }

    fn watch(&mut self, flows: &[Traffic]) {
        let flowing = || {
            flows.iter().enumerate().filter_map(|(number, flow)| match flow {
                Traffic::Tcp(flow) if flow.is_flowing() => {
                    let (local, remote) = flow.addresses()?;
                    Some((u32::try_from(number).expect("flows fit"), flow, local, remote))
                }
                _ => None,
            })
        };
        for (host, sockets) in &mut self.senders {
            let here = flowing().filter(|(_, flow, ..)| flow.ends().sends() && flow.sender_host() == host);
            sockets.watch(here.map(|(number, _, local, remote)| (number, local, remote)));
        }
        for (host, sockets) in &mut self.receivers {
            let here = flowing().filter(|(_, flow, ..)| flow.ends().receives() && flow.receiver_host() == host);
            sockets.watch(here.map(|(number, _, local, remote)| (number, remote, local)));
        }
    }

    fn sample_udp(&mut self, now_ns: u64, flows: &[Traffic]) -> Result<()> {
        for (number, flow) in flows.iter().enumerate() {
            let Traffic::Udp(flow) = flow else { continue };
            if flow.is_flowing() {
                self.book.flow_records.flow(&FlowSample {
                    time_ns: now_ns,
                    flow: u32::try_from(number).expect("flows fit"),
                    sender: &flow.sent_bytes.to_le_bytes(),
                    cc_kind: UDP_RECORD,
                    cc_info: &[],
                    bytes_received: flow.received_bytes,
                    rcv_space: 0,
                })?;
            }
        }
        Ok(())
    }
}

impl Book {
    /// Receivers come first: what they say is part of the records that the senders' answers become.
    fn enter(&mut self, time_ns: u64, position: usize, answer: &Answer<'_>) -> Result<()> {
        if position >= self.first_queues {
            return qdisc::read(time_ns, answer).map_or(Ok(()), |sample| self.queue_records.queue(&sample));
        }
        let Some(info) = diag::read(answer) else { return Ok(()) };
        let number = info.number as usize;
        if position < self.first_sender {
            self.received[number] = (received_bytes(info.tcp_info), receive_space(info.tcp_info));
            if !self.alone[number] {
                return Ok(());
            }
        }
        self.flow_records.flow(&flow_sample(time_ns, &info, self.received[number]))
    }
}

/// All that a sample asks, in an order that [`Book`] knows.
fn questions<'a>(
    receivers: &'a BTreeMap<String, Sockets>,
    senders: &'a BTreeMap<String, Sockets>,
    queues: &'a [Queues],
) -> Vec<Questions<'a>> {
    let sockets = receivers.values().chain(senders.values()).map(Sockets::questions);
    sockets.chain(queues.iter().map(Queues::questions)).collect()
}

fn flow_sample<'a>(time_ns: u64, sender: &SocketInfo<'a>, (bytes_received, rcv_space): (u64, u32)) -> FlowSample<'a> {
    FlowSample {
        time_ns,
        flow: sender.number,
        sender: sender.tcp_info,
        cc_kind: sender.cc_kind,
        cc_info: sender.cc_info,
        bytes_received,
        rcv_space,
    }
}
