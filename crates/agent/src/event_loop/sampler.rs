//! Samples all flows and queues and writes the records.

use super::Traffic;
use crate::error::Result;
use crate::sample::diag::{self, SocketInfo, Sockets};
use crate::sample::netlink::{Answer, BatchSender, Query, request_batches};
use crate::sample::qdisc::{self, Queues};
use crate::sample::record::Records;
use crate::sys::request_batch::RequestBatch;
use crate::traffic::info::{receive_space, received_bytes};
use dumbbell_plan::{AgentPlan, Ends};
use dumbbell_records::end::FoundQueue;
use dumbbell_records::{self as records, FlowRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The sampled sockets and queues, and the output.
pub struct Sampler {
    senders: BTreeMap<String, Sockets>,
    receivers: BTreeMap<String, Sockets>,
    queues: Vec<Queues>,
    batch_sender: BatchSender,
    writer: SampleWriter,
    stale: bool,
    /// Could a program of the experiment send forged answers?
    among_programs: bool,
}

/// Writes answers as records.
struct SampleWriter {
    /// Positions in the list of queries: receivers come first, then senders, then queues.
    first_sender: usize,
    first_queues: usize,
    flow_records: Records,
    queue_records: Records,
    /// Each flow's receiver statistics at this instant: bytes in order, receive space.
    received: Vec<(u64, u32)>,
    /// Flows whose sender is on another host: the receiver's answer is a record of its own.
    receiver_only: Vec<bool>,
}

impl Sampler {
    /// Finds the queues and creates the files.
    pub fn open(plan: &AgentPlan, folder: &Path) -> Result<Self> {
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
        let writer = SampleWriter {
            first_sender: receivers.len(),
            first_queues: receivers.len() + senders.len(),
            flow_records: Records::create(folder, "flows.bin")?,
            queue_records: Records::create(folder, "queues.bin")?,
            received: vec![(0, 0); plan.flows.len()],
            receiver_only: plan.flows.iter().map(|flow| flow.ends == Ends::Receiver).collect(),
        };
        Ok(Self {
            senders,
            receivers,
            queues,
            batch_sender: BatchSender::open()?,
            writer,
            stale: true,
            among_programs: !plan.programs.all.is_empty(),
        })
    }

    /// The netlink port in each host that queries the qdiscs.
    pub fn ports(&self) -> Result<Vec<(&str, u32)>> {
        self.queues.iter().map(Queues::port).collect()
    }

    /// Flows have started or ended.
    pub fn changed(&mut self) {
        self.stale = true;
    }

    /// Have flows started or ended since the last sample?
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Takes a sample.
    pub fn sample(&mut self, now_ns: u64, flows: &[Traffic]) -> Result<()> {
        self.refresh(flows);
        let (batch_sender, writer) = (&mut self.batch_sender, &mut self.writer);
        let queries = queries(&self.receivers, &self.senders, &self.queues);
        batch_sender.send_all(&queries, |position, answer| writer.write(now_ns, position, answer))?;
        if self.among_programs {
            queries.iter().try_for_each(|queries| queries.netlink.accept_only_kernel())?;
        }
        self.sample_udp(now_ns, flows)
    }

    /// A sample's requests, if one call can send them all; each batch with its position for [`Self::record_answer`].
    pub fn request_batches(&mut self, flows: &[Traffic]) -> Option<Vec<(usize, RequestBatch<'_>)>> {
        self.refresh(flows);
        request_batches(&queries(&self.receivers, &self.senders, &self.queues))
    }

    /// Records the answer to a prefetched request.
    pub fn record_answer(&mut self, time_ns: u64, position: usize, answer: &Answer<'_>) -> Result<()> {
        self.writer.write(time_ns, position, answer)
    }

    /// Writes a flow's record that was made elsewhere.
    pub fn record_flow(&mut self, record: &FlowRecord<'_>) -> Result<()> {
        self.writer.flow_records.flow(record)
    }

    /// Closes the files; returns the queues that were sampled.
    pub fn finish(self) -> Result<Vec<FoundQueue>> {
        self.writer.flow_records.finish()?;
        self.writer.queue_records.finish()?;
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
                let sent = flow.datagrams().bytes();
                self.writer.flow_records.flow(&FlowRecord {
                    bytes_received: flow.received_bytes,
                    ..FlowRecord::sent(now_ns, u32::try_from(number).expect("flows fit"), records::UDP, &[], &sent)
                })?;
            }
        }
        Ok(())
    }
}

impl SampleWriter {
    /// Receivers come first: the records made of the senders' answers include the receivers' statistics.
    fn write(&mut self, time_ns: u64, position: usize, answer: &Answer<'_>) -> Result<()> {
        if position >= self.first_queues {
            return qdisc::read(time_ns, answer).map_or(Ok(()), |sample| self.queue_records.queue(&sample));
        }
        let Some(info) = diag::read(answer) else { return Ok(()) };
        let number = info.number as usize;
        if position < self.first_sender {
            self.received[number] = (received_bytes(info.tcp_info), receive_space(info.tcp_info));
            if !self.receiver_only[number] {
                return Ok(());
            }
        }
        self.flow_records.flow(&flow_sample(time_ns, &info, self.received[number]))
    }
}

/// All queries of a sample, in the order that [`SampleWriter`] expects.
fn queries<'a>(
    receivers: &'a BTreeMap<String, Sockets>,
    senders: &'a BTreeMap<String, Sockets>,
    queues: &'a [Queues],
) -> Vec<Query<'a>> {
    let sockets = receivers.values().chain(senders.values()).map(Sockets::queries);
    sockets.chain(queues.iter().map(Queues::queries)).collect()
}

fn flow_sample<'a>(time_ns: u64, sender: &SocketInfo<'a>, (bytes_received, rcv_space): (u64, u32)) -> FlowRecord<'a> {
    let SocketInfo { number, cc_kind, cc_info, tcp_info, .. } = sender;
    FlowRecord { bytes_received, rcv_space, ..FlowRecord::sent(time_ns, *number, *cc_kind, cc_info, tcp_info) }
}
