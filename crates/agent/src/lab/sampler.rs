//! Takes one picture of all flows and queues and puts it on record.

use super::Traffic;
use crate::error::Result;
use crate::plan::Plan;
use crate::sample::diag::Sockets;
use crate::sample::qdisc::{Found, Queues};
use crate::sample::record::{FlowSample, Records};
use crate::traffic::tcp::{receive_space, received_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Marks a record of a UDP flow, whose `sender` part holds the bytes sent.
const UDP_RECORD: u16 = 0xffff;

/// Who is sampled, and where it is written.
pub struct Sampler {
    senders: BTreeMap<String, Sockets>,
    receivers: BTreeMap<String, Sockets>,
    queues: Vec<Queues>,
    flow_records: Records,
    queue_records: Records,
    /// What each flow's receiver said at this instant: bytes in order, receive space.
    received: Vec<(u64, u32)>,
    stale: bool,
}

impl Sampler {
    /// Finds the queues and opens the files.
    pub fn open(plan: &Plan, folder: &Path) -> Result<Self> {
        let mut queues: Vec<Queues> = Vec::new();
        for host in &plan.hosts {
            let first = queues.iter().map(|queues| queues.found.len()).sum::<usize>();
            queues.push(Queues::discover(host, u32::try_from(first).expect("few queues"))?);
        }
        let sockets = |hosts: BTreeSet<&String>| {
            hosts.into_iter().map(|host| Ok((host.clone(), Sockets::open(host)?))).collect::<Result<BTreeMap<_, _>>>()
        };
        Ok(Self {
            senders: sockets(plan.flows.iter().map(|flow| &flow.sender).collect())?,
            receivers: sockets(plan.flows.iter().map(|flow| &flow.receiver).collect())?,
            queues,
            flow_records: Records::create(folder, "flows.bin")?,
            queue_records: Records::create(folder, "queues.bin")?,
            received: vec![(0, 0); plan.flows.len()],
            stale: true,
        })
    }

    /// Flows have come or gone.
    pub fn changed(&mut self) {
        self.stale = true;
    }

    /// Samples everything.
    pub fn sample(&mut self, now_ns: u64, flows: &[Traffic]) -> Result<()> {
        if std::mem::take(&mut self.stale) {
            self.watch(flows);
        }
        self.sample_receivers()?;
        self.sample_senders(now_ns)?;
        self.sample_udp(now_ns, flows)?;
        let records = &mut self.queue_records;
        for queues in &mut self.queues {
            let mut result = Ok(());
            queues.sample(now_ns, |sample| {
                if result.is_ok() {
                    result = records.queue(sample);
                }
            })?;
            result?;
        }
        Ok(())
    }

    /// Ends the files; says which queues were sampled.
    pub fn finish(self) -> Result<Vec<Found>> {
        self.flow_records.finish()?;
        self.queue_records.finish()?;
        Ok(self.queues.into_iter().flat_map(|queues| queues.found).collect())
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
            let here = flowing().filter(|(_, flow, ..)| flow.sender_host() == host);
            sockets.watch(here.map(|(number, _, local, remote)| (number, local, remote)));
        }
        for (host, sockets) in &mut self.receivers {
            let here = flowing().filter(|(_, flow, ..)| flow.receiver_host() == host);
            sockets.watch(here.map(|(number, _, local, remote)| (number, remote, local)));
        }
    }

    fn sample_receivers(&mut self) -> Result<()> {
        let received = &mut self.received;
        for sockets in self.receivers.values_mut() {
            sockets.sample(|info| {
                received[info.number as usize] = (received_bytes(info.tcp_info), receive_space(info.tcp_info));
            })?;
        }
        Ok(())
    }

    fn sample_senders(&mut self, now_ns: u64) -> Result<()> {
        let (records, received) = (&mut self.flow_records, &self.received);
        for sockets in self.senders.values_mut() {
            let mut result = Ok(());
            sockets.sample(|info| {
                let (bytes_received, rcv_space) = received[info.number as usize];
                let sample = FlowSample {
                    time_ns: now_ns,
                    flow: info.number,
                    sender: info.tcp_info,
                    cc_kind: info.cc_kind,
                    cc_info: info.cc_info,
                    bytes_received,
                    rcv_space,
                };
                if result.is_ok() {
                    result = records.flow(&sample);
                }
            })?;
            result?;
        }
        Ok(())
    }

    fn sample_udp(&mut self, now_ns: u64, flows: &[Traffic]) -> Result<()> {
        for (number, flow) in flows.iter().enumerate() {
            let Traffic::Udp(flow) = flow else { continue };
            if flow.is_flowing() {
                self.flow_records.flow(&FlowSample {
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
