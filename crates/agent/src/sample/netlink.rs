//! Netlink sockets: dumps at setup, and batched requests for every sample. `notifications` handles unsolicited
//! messages.

mod notifications;

use crate::error::{Attempt, Result};
use crate::sys;
use crate::sys::request_batch::RequestBatch;
use crate::sys::ring::{Ring, refused};
use netlink_packet_core::NlasIterator;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, recvmmsg, send,
    setsockopt, socket, sockopt,
};
use std::cell::Cell;
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Answers read by one system call.
const BATCH: usize = 256;
/// The same for a socket with the default buffer limit: 208 KiB, of which Linux allows twice as much.
const SMALL_BATCH: usize = 64;
/// Buffer size of one answer; the longest seen (congestion control info with all attributes) has 900 bytes.
const ANSWER_BYTES: usize = 8192;
/// Buffer size of one datagram of a dump.
const DUMP_BYTES: usize = 64 << 10;
/// Receive buffer for the answers to one batch: Linux accounts about 2 KiB per reply.
const RECEIVE_BUFFER: usize = 16 << 20;

const HEADER_BYTES: usize = 16;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const DONE: u16 = 3;
/// An error, or an acknowledgement with status 0.
const ERROR: u16 = 2;

/// A netlink socket in one host.
pub struct Netlink {
    socket: OwnedFd,
    /// Does it have `RECEIVE_BUFFER`?
    is_roomy: bool,
    /// Does it accept only messages from the kernel?
    is_guarded: Cell<bool>,
}

/// Requests of equal length; each gets one answer.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The socket to use.
    pub netlink: &'a Netlink,
    /// The requests, concatenated.
    pub requests: &'a [u8],
    /// Number of requests.
    pub count: usize,
}

/// An answer: the request's number, message type and payload.
pub struct Answer<'a> {
    /// Port of the requester; in a notification, of the process that made the change.
    pub port: u32,
    /// Number given with the request.
    pub sequence: u32,
    /// `nlmsg_type`; 2 is an error.
    pub kind: u16,
    /// Bytes after the netlink header.
    pub payload: &'a [u8],
}

impl Netlink {
    /// Opens a socket of `protocol` in a host.
    pub fn open(host: &str, protocol: SockProtocol) -> Result<Self> {
        let opened = sys::within(host, || {
            let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
            let is_roomy = match setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER) {
                // Root in a user namespace only has the default limit.
                Err(Errno::EPERM) => false,
                done => done.map(|()| true)?,
            };
            if !is_roomy {
                setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
            }
            Ok((socket, is_roomy))
        });
        let (socket, is_roomy) = opened.attempt(|| format!("opening netlink in host '{host}'"))?;
        Ok(Self { socket, is_roomy, is_guarded: Cell::new(false) })
    }

    /// The same, at a given port.
    ///
    /// For a second socket of a process in one host the kernel would draw a random port at its first request
    /// (`netlink_autobind`), which would change all later random numbers.
    pub fn open_at(host: &str, protocol: SockProtocol, port: u32) -> Result<Self> {
        let netlink = Self::open(host, protocol)?;
        bind(netlink.socket.as_raw_fd(), &NetlinkAddr::new(port, 0))
            .attempt(|| format!("binding netlink in host '{host}'"))?;
        Ok(netlink)
    }

    /// Without privileges: a dump waits for its reader, so the default buffer is large enough.
    pub fn open_unprivileged(protocol: SockProtocol) -> Result<Self> {
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol);
        Ok(Self { socket: socket.attempt(|| "opening netlink".into())?, is_roomy: false, is_guarded: Cell::new(false) })
    }

    /// Sends a dump request and passes each answer to `on_answer`; a refused request gives no answers.
    pub fn dump(&self, request: &[u8], on_answer: impl FnMut(Answer<'_>)) -> Result<()> {
        self.dump_unless_refused(request, on_answer).map(drop)
    }

    /// The same, but returns the error of a refused request.
    pub fn dump_unless_refused(&self, request: &[u8], mut on_answer: impl FnMut(Answer<'_>)) -> Result<Option<Errno>> {
        let socket = self.socket.as_raw_fd();
        send(socket, request, MsgFlags::empty()).attempt(|| "sending a netlink request".into())?;
        let mut datagram = vec![0; DUMP_BYTES];
        loop {
            let length = recv(socket, &mut datagram, MsgFlags::empty()).attempt(|| "reading netlink".into())?;
            for answer in messages(&datagram[..length]) {
                match answer.kind {
                    DONE => return Ok(None),
                    // An error is the only answer.
                    ERROR => return Ok(Some(Errno::from_raw(-number(answer.payload, 0).cast_signed()))),
                    _ => on_answer(answer),
                }
            }
        }
    }

    /// Sends a request and waits for its acknowledgement; the request must have `NLM_F_ACK`.
    pub fn order(&self, request: &[u8]) -> Result<()> {
        let socket = self.socket.as_raw_fd();
        send(socket, request, MsgFlags::empty()).attempt(|| "sending a netlink request".into())?;
        let mut datagram = vec![0; ANSWER_BYTES];
        let length = recv(socket, &mut datagram, MsgFlags::empty()).attempt(|| "reading netlink".into())?;
        for answer in messages(&datagram[..length]) {
            let status = number(answer.payload, 0).cast_signed();
            if answer.kind == ERROR && status != 0 {
                return Err(Errno::from_raw(-status)).attempt(|| "sending a netlink request".into());
            }
        }
        Ok(())
    }
}

/// Sends requests on many sockets: with one system call if `io_uring` is available.
pub struct BatchSender {
    ring: Option<Ring>,
    headers: MultiHeaders<()>,
    buffer: Vec<u8>,
    lengths: Vec<i32>,
}

impl BatchSender {
    /// Allocates the buffers.
    pub fn open() -> Result<Self> {
        let requests = u32::try_from(2 * BATCH).expect("a batch is small");
        let ring = match Ring::open(requests, 2 * requests) {
            Err(error) if refused(&error) => None,
            ring => Some(ring.attempt(|| "creating an io_uring".into())?),
        };
        Ok(Self {
            ring,
            headers: MultiHeaders::preallocate(BATCH, None),
            buffer: vec![0; BATCH * ANSWER_BYTES],
            lengths: Vec::new(),
        })
    }

    /// Sends all requests; `on_answer` gets each answer in the order of the requests, with its position in
    /// the list.
    pub fn send_all(
        &mut self,
        queries: &[Query<'_>],
        mut on_answer: impl FnMut(usize, &Answer<'_>) -> Result<()>,
    ) -> Result<()> {
        let all_roomy = queries.iter().all(|queries| queries.netlink.is_roomy);
        for batch in batches(queries, if all_roomy { BATCH } else { SMALL_BATCH }) {
            let request_batches: Vec<_> = batch.iter().map(|(_, request_batch)| *request_batch).collect();
            self.exchange(&request_batches)?;
            let positions = batch
                .iter()
                .flat_map(|(position, request_batch)| std::iter::repeat_n(*position, request_batch.answers));
            for ((position, slot), &length) in positions.zip(self.buffer.chunks(ANSWER_BYTES)).zip(&self.lengths) {
                let length = usize::try_from(length).map_err(|_| Errno::from_raw(-length));
                let length = length.attempt(|| "reading netlink".into())?;
                let datagram = slot.get(..length).ok_or(Errno::EMSGSIZE).attempt(|| "reading netlink".into())?;
                messages(datagram).try_for_each(|answer| on_answer(position, &answer))?;
            }
        }
        Ok(())
    }

    fn exchange(&mut self, request_batches: &[RequestBatch<'_>]) -> Result<()> {
        if let Some(ring) = &mut self.ring {
            ring.exchange(request_batches, &mut self.buffer, ANSWER_BYTES, &mut self.lengths);
            return Ok(());
        }
        self.lengths.clear();
        for request_batch in request_batches {
            send(request_batch.socket, request_batch.bytes, MsgFlags::empty())
                .attempt(|| "sending netlink requests".into())?;
            let end = self.lengths.len() + request_batch.answers;
            while self.lengths.len() < end {
                let slots = ANSWER_BYTES * self.lengths.len()..ANSWER_BYTES * end;
                receive(request_batch.socket, &mut self.headers, &mut self.buffer[slots], &mut self.lengths)?;
            }
        }
        Ok(())
    }
}

/// All requests as batches, each with its position, if one call can send them.
pub fn request_batches<'a>(queries: &[Query<'a>]) -> Option<Vec<(usize, RequestBatch<'a>)>> {
    let [request_batches] = <[_; 1]>::try_from(batches(queries, SMALL_BATCH)).ok()?;
    Some(request_batches)
}

/// Reads the available datagrams with one call, each into a slot.
fn receive(socket: RawFd, headers: &mut MultiHeaders<()>, buffer: &mut [u8], lengths: &mut Vec<i32>) -> Result<()> {
    let mut slots: Vec<_> = buffer.chunks_mut(ANSWER_BYTES).map(|slot| [IoSliceMut::new(slot)]).collect();
    let flags = MsgFlags::MSG_WAITFORONE | MsgFlags::MSG_TRUNC;
    let received = recvmmsg(socket, headers, slots.iter_mut(), flags, None).attempt(|| "reading netlink".into())?;
    lengths.extend(received.map(|message| i32::try_from(message.bytes).expect("a datagram is short")));
    Ok(())
}

/// Batches with at most `most` answers in total per group, each with its position.
fn batches<'a>(queries: &[Query<'a>], most: usize) -> Vec<Vec<(usize, RequestBatch<'a>)>> {
    let mut batches = vec![Vec::new()];
    let mut free = most;
    for (position, queries) in queries.iter().enumerate() {
        let size = queries.requests.len() / queries.count.max(1);
        let mut requests = queries.requests;
        while !requests.is_empty() {
            if free == 0 {
                batches.push(Vec::new());
                free = most;
            }
            let answers = free.min(requests.len() / size);
            let (bytes, later) = requests.split_at(answers * size);
            let request_batch = RequestBatch { socket: queries.netlink.socket.as_raw_fd(), bytes, answers };
            batches.last_mut().expect("there is one").push((position, request_batch));
            (requests, free) = (later, free - answers);
        }
    }
    batches
}

/// The messages of a datagram.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Answer<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.len() < HEADER_BYTES {
            return None;
        }
        let length = number(rest, 0) as usize;
        let kind = (number(rest, 4) & 0xffff) as u16;
        let answer =
            Answer { port: number(rest, 12), sequence: number(rest, 8), kind, payload: &rest[HEADER_BYTES..length] };
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
        Some(answer)
    })
}

/// Type and value of the attributes after a message's fixed part.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).flatten().map(|attribute| {
        let (kind, length) = (attribute.kind(), attribute.value_length());
        (kind, &attribute.into_inner()[ATTRIBUTE_HEADER_BYTES..][..length])
    })
}

/// A 32-bit number in host byte order.
pub fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_all_requests_in_order() {
        let netlink = Netlink {
            socket: std::fs::File::open("/dev/null").expect("/dev/null exists").into(),
            is_roomy: true,
            is_guarded: Cell::new(false),
        };
        let requests: Vec<u8> = (0..50).collect();
        let send_all = |count: usize| Query { netlink: &netlink, requests: &requests[..2 * count], count };
        let queries = [send_all(3), send_all(0), send_all(25), send_all(1)];
        let batches = batches(&queries, 10);
        for batch in &batches {
            assert!(batch.iter().map(|(_, request_batch)| request_batch.answers).sum::<usize>() <= 10);
        }
        for (position, queries) in queries.iter().enumerate() {
            let request_batches =
                || batches.iter().flatten().filter(|(of, _)| *of == position).map(|(_, request_batch)| request_batch);
            let bytes: Vec<u8> = request_batches().flat_map(|request_batch| request_batch.bytes).copied().collect();
            assert_eq!(bytes, queries.requests);
            assert_eq!(request_batches().map(|request_batch| request_batch.answers).sum::<usize>(), queries.count);
        }
        assert!(batches.iter().flatten().is_sorted_by_key(|(position, _)| *position));
    }

    #[test]
    fn a_dump_and_a_datagram_contain_several_messages() {
        let mut datagram = Vec::new();
        for (length, sequence) in [(17u32, 5u32), (16, 6)] {
            let mut message = vec![0; (length as usize).next_multiple_of(4)];
            message[..4].copy_from_slice(&length.to_ne_bytes());
            message[8..12].copy_from_slice(&sequence.to_ne_bytes());
            datagram.extend(message);
        }
        let received: Vec<_> = messages(&datagram).map(|answer| (answer.sequence, answer.payload.len())).collect();
        assert_eq!(received, [(5, 1), (6, 0)]);
    }

    /// The kernel's answers are the same with and without a ring.
    #[test]
    fn answers_are_in_the_order_of_the_requests() {
        let netlinks =
            [(); 2].map(|()| Netlink { socket: plain_socket(), is_roomy: true, is_guarded: Cell::new(false) });
        // RTM_GETLINK of device 1, the loopback, requested many times.
        let request = |sequence: u32| {
            let mut bytes = vec![0u8; 32];
            bytes[0] = 32;
            bytes[4] = 18;
            bytes[6] = 1;
            bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
            bytes[20] = 1;
            bytes
        };
        let first: Vec<u8> = (0..300).flat_map(request).collect();
        let second: Vec<u8> = (300..310).flat_map(request).collect();
        let queries = [
            Query { netlink: &netlinks[0], requests: &first, count: 300 },
            Query { netlink: &netlinks[1], requests: &second, count: 10 },
        ];
        for with_ring in [true, false] {
            let mut batch_sender = BatchSender::open().expect("a batch sender opens");
            if !with_ring {
                batch_sender.ring = None;
            }
            let mut received = Vec::new();
            batch_sender
                .send_all(&queries, |position, answer| {
                    assert_eq!(answer.kind, 16, "RTM_NEWLINK");
                    received.push((position, answer.sequence));
                    Ok(())
                })
                .expect("netlink answers");
            let expected: Vec<_> = (0..310).map(|sequence| (usize::from(sequence >= 300), sequence)).collect();
            assert_eq!(received, expected, "with a ring: {with_ring}");
        }
    }

    fn plain_socket() -> OwnedFd {
        let protocol = SockProtocol::NetlinkRoute;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol);
        let socket = socket.expect("netlink opens");
        // The limit without privileges.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER);
        socket
    }
}
