//! A netlink socket that asks many questions with one `sendmsg` and reads the answers with few `recvmmsg`.

use crate::error::{Attempt, Result};
use crate::sys;
use netlink_packet_core::NlasIterator;
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, recvmmsg, send, setsockopt, socket,
    sockopt,
};
use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

/// Answers read by one system call.
const BATCH: usize = 64;
/// Room for one answer; the longest seen (a controller with all attributes) has 900 bytes.
const ANSWER_BYTES: usize = 8192;
/// Requests sent by one system call, so that the answers fit into the socket's buffer.
const REQUESTS: usize = 1024;
/// Room for the answers of one `sendmsg`: a reply is accounted with about 2 KiB.
const RECEIVE_BUFFER: usize = 16 << 20;

const HEADER_BYTES: usize = 16;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const DONE: u16 = 3;

/// One conversation partner in one host.
pub struct Netlink {
    socket: OwnedFd,
    headers: MultiHeaders<()>,
    buffers: Vec<Vec<u8>>,
}

/// One answer: the request's number, the message type, and what follows the header.
pub struct Answer<'a> {
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
        let socket = sys::within(host, || {
            let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
            setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER)?;
            Ok(socket)
        })
        .attempt(|| format!("opening netlink in host '{host}'"))?;
        let buffers = (0..BATCH).map(|_| vec![0; ANSWER_BYTES]).collect();
        Ok(Self { socket, headers: MultiHeaders::preallocate(BATCH, None), buffers })
    }

    /// Sends requests of equal length and hands each answer to `hear`. One answer comes for each request.
    pub fn ask(&mut self, requests: &[u8], count: usize, mut hear: impl FnMut(Answer<'_>)) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let size = requests.len() / count;
        for chunk in requests.chunks(size * REQUESTS) {
            self.say(chunk)?;
            let mut missing = chunk.len() / size;
            while missing > 0 {
                missing -= self.hear(missing, &mut hear)?;
            }
        }
        Ok(())
    }

    /// Sends a dump request and hands each answer to `hear` until the kernel says "done".
    pub fn dump(&mut self, request: &[u8], mut hear: impl FnMut(Answer<'_>)) -> Result<()> {
        self.say(request)?;
        let mut done = false;
        while !done {
            self.hear(1, &mut |answer: Answer<'_>| {
                done |= answer.kind == DONE;
                if answer.kind != DONE {
                    hear(answer);
                }
            })?;
        }
        Ok(())
    }

    fn say(&self, bytes: &[u8]) -> Result<()> {
        send(self.socket.as_raw_fd(), bytes, MsgFlags::empty()).map(drop).attempt(|| "asking by netlink".into())
    }

    /// Reads up to `most` datagrams with one call; each may hold several messages.
    fn hear(&mut self, most: usize, hear: &mut impl FnMut(Answer<'_>)) -> Result<usize> {
        let most = most.min(BATCH);
        let mut slices: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers[..most].iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let lengths: Vec<usize> = recvmmsg(
            self.socket.as_raw_fd(),
            &mut self.headers,
            slices.iter_mut(),
            MsgFlags::MSG_WAITFORONE,
            None,
        )
        .attempt(|| "reading netlink".into())?
        .map(|message| message.bytes)
        .collect();
        for (buffer, length) in self.buffers.iter().zip(&lengths) {
            messages(&buffer[..*length], hear);
        }
        Ok(lengths.len())
    }
}

fn messages(mut datagram: &[u8], hear: &mut impl FnMut(Answer<'_>)) {
    while datagram.len() >= HEADER_BYTES {
        let length = number(datagram, 0) as usize;
        let kind = (number(datagram, 4) & 0xffff) as u16;
        let payload = &datagram[HEADER_BYTES..length];
        hear(Answer { sequence: number(datagram, 8), kind, payload });
        datagram = &datagram[length.next_multiple_of(4).min(datagram.len())..];
    }
}

/// Kinds and values of the attributes that follow a message's fixed part.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).flatten().map(|attribute| {
        let (kind, length) = (attribute.kind(), attribute.value_length());
        (kind, &attribute.into_inner()[ATTRIBUTE_HEADER_BYTES..][..length])
    })
}

/// A 32-bit number in the machine's order.
pub fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
