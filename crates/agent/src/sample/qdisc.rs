//! Statistics of every qdisc, by rtnetlink.
//!
//! A dump after setup finds the qdiscs; each sample then requests them by device and handle
//! (Linux `net/sched/sch_api.c`; the answer to a single request needs
//! the echo flag).

use super::marks::Own;
use super::netlink::{Answer, Netlink, Query, attributes, number};
use crate::error::{Attempt, Error, Result};
use crate::sys;
use dumbbell_records::end::FoundQueue;
use dumbbell_records::{NEVER, QueueRecord};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_ECHO, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcHandle, TcHeader, TcMessage};
use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};

/// Length of `struct tcmsg`, before the attributes.
pub const MESSAGE_BYTES: usize = 20;
/// A qdisc in an answer or a request.
pub const RTM_NEWQDISC: u16 = 36;

const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_APP: u16 = 4;
const STATS_PACKETS64: u16 = 8;

/// All qdiscs of one host.
pub struct Queues {
    host: String,
    netlink: Netlink,
    requests: Vec<u8>,
    /// The qdiscs found; samples refer to their positions.
    pub found: Vec<FoundQueue>,
}

impl Queues {
    /// Finds every qdisc of the host that can queue packets; only on these devices, if any are given.
    pub fn discover(host: &str, number_of_first: u32, devices: &[String]) -> Result<Self> {
        let netlink = Netlink::open(host, SockProtocol::NetlinkRoute)?;
        let mut dumps = all(host, &netlink)?;
        dumps.retain(|(queue, _)| devices.is_empty() || devices.contains(&queue.device));
        let requests = (number_of_first..)
            .zip(&dumps)
            .flat_map(|(number, (_, dump))| request(number, index(dump), handle(dump), NLM_F_REQUEST | NLM_F_ECHO))
            .collect();
        let found = dumps.into_iter().map(|(queue, _)| queue).collect();
        Ok(Self { host: host.into(), netlink, requests, found })
    }

    /// The host, and the port that sends the requests.
    pub fn port(&self) -> Result<(&str, u32)> {
        Ok((&self.host, self.netlink.port()?))
    }

    /// The requests of a sample.
    pub fn queries(&self) -> Query<'_> {
        Query { netlink: &self.netlink, requests: &self.requests, count: self.found.len() }
    }
}

/// Every qdisc of a host that can queue packets, with its dump.
pub fn all(host: &str, netlink: &Netlink) -> Result<Vec<(FoundQueue, Vec<u8>)>> {
    let mut all = Vec::new();
    netlink.dump(&request(0, 0, 0, NLM_F_REQUEST | NLM_F_DUMP), |answer| {
        if answer.kind == RTM_NEWQDISC {
            all.push((qdisc(host, answer.payload), answer.payload.to_vec()));
        }
    })?;
    all.retain(|(queue, dump)| queue.kind != "noqueue" && handle(dump) != 0);
    for (queue, dump) in &mut all {
        queue.device = device_name(host, index(dump))?;
    }
    Ok(all)
}

/// A qdisc's dump without its counters.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct QdiscDump {
    /// `fq_codel`, `htb`, …
    pub kind: String,
    /// As tc writes it; `0:` for a default qdisc.
    pub handle: String,
    /// As tc writes it: `1:1`, or `root`.
    pub parent: String,
    /// Its options in binary form.
    options: Vec<u8>,
}

/// Every qdisc of a device in the current namespace, including default ones.
pub fn tree(netlink: &Netlink, device: &str) -> Result<Vec<QdiscDump>> {
    let index = nix::net::if_::if_nametoindex(device).attempt(|| format!("finding device '{device}'"))?;
    let mut found = Vec::new();
    netlink.dump(&request(0, index, 0, NLM_F_REQUEST | NLM_F_DUMP), |answer| {
        // Older kernels dump all devices.
        if answer.kind == RTM_NEWQDISC && number(answer.payload, 4) == index {
            let FoundQueue { kind, handle, parent, .. } = qdisc("", answer.payload);
            let options = attributes(&answer.payload[MESSAGE_BYTES..]).find(|(kind, _)| *kind == OPTIONS);
            let options = options.map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
            found.push(QdiscDump { kind, handle, parent, options });
        }
    })?;
    found.sort_by(|a, b| (&a.parent, &a.handle).cmp(&(&b.parent, &b.handle)));
    Ok(found)
}

/// Deletes a device's root qdisc: Linux restores the default.
pub fn delete_root(netlink: &Netlink, device: &str) -> Result<()> {
    let index = nix::net::if_::if_nametoindex(device).attempt(|| format!("finding device '{device}'"))?;
    let mut message = TcMessage::default();
    message.header = TcHeader { index: index.cast_signed(), parent: TcHandle::ROOT, ..TcHeader::default() };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK;
    let payload = NetlinkPayload::from(RouteNetlinkMessage::DelQueueDiscipline(message));
    let mut message = NetlinkMessage::new(header, payload);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    netlink.order(&bytes).map_err(|error| match error {
        Error::System { source, .. } => Error::System { attempt: format!("tc qdisc del dev {device} root"), source },
        other => other,
    })
}

/// Parses an answer; None if the qdisc no longer exists.
pub fn read(time_ns: u64, answer: &Answer) -> Option<QueueRecord> {
    let is_qdisc = answer.kind == RTM_NEWQDISC;
    is_qdisc.then(|| statistics(time_ns, answer.sequence, &answer.payload[MESSAGE_BYTES..]))
}

fn request(sequence: u32, index: u32, handle: u32, flags: u16) -> Vec<u8> {
    let mut message = TcMessage::default();
    message.header = TcHeader { index: index.cast_signed(), handle: TcHandle::from(handle), ..TcHeader::default() };
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let payload = NetlinkPayload::from(RouteNetlinkMessage::GetQueueDiscipline(message));
    let mut message = NetlinkMessage::new(header, payload);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

fn qdisc(host: &str, payload: &[u8]) -> FoundQueue {
    let parent = number(payload, 12);
    let kind = attributes(&payload[MESSAGE_BYTES..])
        .find(|(kind, _)| *kind == KIND)
        .map(|(_, name)| String::from_utf8_lossy(name).trim_end_matches('\0').to_string())
        .unwrap_or_default();
    FoundQueue {
        host: host.into(),
        device: String::new(),
        kind,
        handle: format!("{:x}:", handle(payload) >> 16),
        parent: if parent == u32::MAX { "root".into() } else { format!("{:x}:{:x}", parent >> 16, parent & 0xffff) },
    }
}

/// The device's number.
fn index(dump: &[u8]) -> u32 {
    number(dump, 4)
}

fn handle(dump: &[u8]) -> u32 {
    number(dump, 8)
}

fn device_name(host: &str, index: u32) -> Result<String> {
    let name = sys::within(host, || Ok(nix::net::if_::if_indextoname(index)?))
        .attempt(|| format!("reading the name of device {index} of host '{host}'"))?;
    Ok(name.to_string_lossy().into_owned())
}

fn statistics(time_ns: u64, queue: u32, bytes: &[u8]) -> QueueRecord {
    let mut sample = QueueRecord {
        time_ns,
        queue,
        qlen: 0,
        backlog: 0,
        drops: 0,
        requeues: 0,
        overlimits: 0,
        sent_bytes: 0,
        sent_packets: 0,
        marks: NEVER,
    };
    let mut own = Own::default();
    for (kind, value) in attributes(bytes) {
        match kind {
            KIND => own.kind = value,
            OPTIONS => own.options = value,
            STATS2 => own.statistics = shared_statistics(&mut sample, value),
            _ => {}
        }
    }
    sample.marks = own.marks().unwrap_or(NEVER);
    sample
}

/// Stores what every kind counts; returns the kind's own statistics.
fn shared_statistics<'a>(sample: &mut QueueRecord, bytes: &'a [u8]) -> &'a [u8] {
    let mut own: &[u8] = &[];
    for (kind, value) in attributes(bytes) {
        match kind {
            STATS_BASIC => {
                sample.sent_bytes = wide(value, 0);
                sample.sent_packets = sample.sent_packets.max(number(value, 8).into());
            }
            STATS_PACKETS64 => sample.sent_packets = wide(value, 0),
            STATS_QUEUE => {
                let QueueRecord { qlen, backlog, drops, requeues, overlimits, .. } = sample;
                for (position, count) in [qlen, backlog, drops, requeues, overlimits].into_iter().enumerate() {
                    *count = number(value, 4 * position);
                }
            }
            STATS_APP => own = value,
            _ => {}
        }
    }
    own
}

fn wide(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
