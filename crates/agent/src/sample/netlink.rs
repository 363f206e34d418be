//! Netlink conversations: a dump at set-up, and the questions of every sample, asked together. What the kernel says
//! unasked is heard by `news`.

mod news;

use crate::error::{Attempt, Result};
use crate::sys;
use crate::sys::letter::Letter;
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
/// The same where a socket has only the room that everybody may have: 208 KiB by default, twice that in fact.
const SMALL_BATCH: usize = 64;
/// Room for one answer; the longest seen (a controller with all attributes) has 900 bytes.
const ANSWER_BYTES: usize = 8192;
/// Room for one datagram of a dump.
const DUMP_BYTES: usize = 64 << 10;
/// Room for the answers to one letter: a reply is accounted with about 2 KiB.
const RECEIVE_BUFFER: usize = 16 << 20;

const HEADER_BYTES: usize = 16;
const ATTRIBUTE_HEADER_BYTES: usize = 4;
const DONE: u16 = 3;
/// An error, or with status 0 an acknowledgement.
const ERROR: u16 = 2;

/// One conversation partner in one host.
pub struct Netlink {
    socket: OwnedFd,
    /// Has it got `RECEIVE_BUFFER`?
    is_roomy: bool,
    /// Does it hear only the kernel?
    is_guarded: Cell<bool>,
}

/// Requests of equal length; one answer comes for each.
#[derive(Clone, Copy)]
pub struct Questions<'a> {
    /// Whom to ask.
    pub partner: &'a Netlink,
    /// The requests, one behind the other.
    pub requests: &'a [u8],
    /// How many they are.
    pub count: usize,
}

/// One answer: the request's number, the message type, and what follows the header.
pub struct Answer<'a> {
    /// Port of whoever asked: of news, of whoever made the change.
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
                // Who is root of his own users only has to do with what everybody may have.
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

    /// The same, at a port of the caller's choice.
    ///
    /// A second socket of a process in one host would get a port from the kernel's dice when it first asks
    /// (`netlink_autobind`), and whoever throws them next would throw otherwise.
    pub fn open_at(host: &str, protocol: SockProtocol, port: u32) -> Result<Self> {
        let netlink = Self::open(host, protocol)?;
        bind(netlink.socket.as_raw_fd(), &NetlinkAddr::new(port, 0))
            .attempt(|| format!("binding netlink in host '{host}'"))?;
        Ok(netlink)
    }

    /// One for anybody: a dump waits for its reader, so the room that the kernel gives will do.
    pub fn open_unprivileged(protocol: SockProtocol) -> Result<Self> {
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol);
        Ok(Self { socket: socket.attempt(|| "opening netlink".into())?, is_roomy: false, is_guarded: Cell::new(false) })
    }

    /// Sends a dump request and hands each answer to `hear` until the kernel says "done"; a refusal is an empty dump.
    pub fn dump(&self, request: &[u8], hear: impl FnMut(Answer<'_>)) -> Result<()> {
        self.dump_unless_refused(request, hear).map(drop)
    }

    /// The same; a refusal is told.
    pub fn dump_unless_refused(&self, request: &[u8], mut hear: impl FnMut(Answer<'_>)) -> Result<Option<Errno>> {
        let socket = self.socket.as_raw_fd();
        send(socket, request, MsgFlags::empty()).attempt(|| "asking by netlink".into())?;
        let mut datagram = vec![0; DUMP_BYTES];
        loop {
            let length = recv(socket, &mut datagram, MsgFlags::empty()).attempt(|| "reading netlink".into())?;
            for answer in messages(&datagram[..length]) {
                match answer.kind {
                    DONE => return Ok(None),
                    // An error is an answer too, and the only one.
                    ERROR => return Ok(Some(Errno::from_raw(-number(answer.payload, 0).cast_signed()))),
                    _ => hear(answer),
                }
            }
        }
    }

    /// Orders something, and waits until it is done; the request asks for an acknowledgement.
    pub fn order(&self, request: &[u8]) -> Result<()> {
        let socket = self.socket.as_raw_fd();
        send(socket, request, MsgFlags::empty()).attempt(|| "ordering by netlink".into())?;
        let mut datagram = vec![0; ANSWER_BYTES];
        let length = recv(socket, &mut datagram, MsgFlags::empty()).attempt(|| "reading netlink".into())?;
        for answer in messages(&datagram[..length]) {
            let status = number(answer.payload, 0).cast_signed();
            if answer.kind == ERROR && status != 0 {
                return Err(Errno::from_raw(-status)).attempt(|| "ordering by netlink".into());
            }
        }
        Ok(())
    }
}

/// Asks many partners at once: with one system call for all of them, where there is `io_uring`.
pub struct Post {
    ring: Option<Ring>,
    headers: MultiHeaders<()>,
    room: Vec<u8>,
    lengths: Vec<i32>,
}

impl Post {
    /// Makes room for the answers.
    pub fn open() -> Result<Self> {
        let requests = u32::try_from(2 * BATCH).expect("a batch is small");
        let ring = match Ring::open(requests, 2 * requests) {
            Err(error) if refused(&error) => None,
            ring => Some(ring.attempt(|| "making an io_uring".into())?),
        };
        Ok(Self {
            ring,
            headers: MultiHeaders::preallocate(BATCH, None),
            room: vec![0; BATCH * ANSWER_BYTES],
            lengths: Vec::new(),
        })
    }

    /// Asks everything; `hear` gets each answer in the order of the requests, with the position of
    /// its questions in the list.
    pub fn ask(
        &mut self,
        questions: &[Questions<'_>],
        mut hear: impl FnMut(usize, &Answer<'_>) -> Result<()>,
    ) -> Result<()> {
        let all_roomy = questions.iter().all(|questions| questions.partner.is_roomy);
        for batch in batches(questions, if all_roomy { BATCH } else { SMALL_BATCH }) {
            let letters: Vec<_> = batch.iter().map(|(_, letter)| *letter).collect();
            self.carry(&letters)?;
            let positions = batch.iter().flat_map(|(position, letter)| std::iter::repeat_n(*position, letter.answers));
            for ((position, place), &length) in positions.zip(self.room.chunks(ANSWER_BYTES)).zip(&self.lengths) {
                let length = usize::try_from(length).map_err(|_| Errno::from_raw(-length));
                let length = length.attempt(|| "reading netlink".into())?;
                let datagram = place.get(..length).ok_or(Errno::EMSGSIZE).attempt(|| "reading netlink".into())?;
                messages(datagram).try_for_each(|answer| hear(position, &answer))?;
            }
        }
        Ok(())
    }

    fn carry(&mut self, letters: &[Letter<'_>]) -> Result<()> {
        if let Some(ring) = &mut self.ring {
            ring.exchange(letters, &mut self.room, ANSWER_BYTES, &mut self.lengths);
            return Ok(());
        }
        self.lengths.clear();
        for letter in letters {
            send(letter.socket, letter.bytes, MsgFlags::empty()).attempt(|| "asking by netlink".into())?;
            let end = self.lengths.len() + letter.answers;
            while self.lengths.len() < end {
                let places = ANSWER_BYTES * self.lengths.len()..ANSWER_BYTES * end;
                receive(letter.socket, &mut self.headers, &mut self.room[places], &mut self.lengths)?;
            }
        }
        Ok(())
    }
}

/// All questions as letters, each with the position of its own, where they fit into one call.
pub fn letters<'a>(questions: &[Questions<'a>]) -> Option<Vec<(usize, Letter<'a>)>> {
    let [letters] = <[_; 1]>::try_from(batches(questions, SMALL_BATCH)).ok()?;
    Some(letters)
}

/// Reads what is there with one call, a datagram to a place.
fn receive(socket: RawFd, headers: &mut MultiHeaders<()>, room: &mut [u8], lengths: &mut Vec<i32>) -> Result<()> {
    let mut places: Vec<_> = room.chunks_mut(ANSWER_BYTES).map(|place| [IoSliceMut::new(place)]).collect();
    let flags = MsgFlags::MSG_WAITFORONE | MsgFlags::MSG_TRUNC;
    let heard = recvmmsg(socket, headers, places.iter_mut(), flags, None).attempt(|| "reading netlink".into())?;
    lengths.extend(heard.map(|message| i32::try_from(message.bytes).expect("a datagram is short")));
    Ok(())
}

/// Letters of at most `most` answers together, each with the position of its questions.
fn batches<'a>(questions: &[Questions<'a>], most: usize) -> Vec<Vec<(usize, Letter<'a>)>> {
    let mut batches = vec![Vec::new()];
    let mut free = most;
    for (position, questions) in questions.iter().enumerate() {
        let size = questions.requests.len() / questions.count.max(1);
        let mut requests = questions.requests;
        while !requests.is_empty() {
            if free == 0 {
                batches.push(Vec::new());
                free = most;
            }
            let answers = free.min(requests.len() / size);
            let (bytes, later) = requests.split_at(answers * size);
            let letter = Letter { socket: questions.partner.socket.as_raw_fd(), bytes, answers };
            batches.last_mut().expect("there is one").push((position, letter));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_lose_nothing_and_keep_the_order() {
        let partner = Netlink {
            socket: std::fs::File::open("/dev/null").expect("there is /dev/null").into(),
            is_roomy: true,
            is_guarded: Cell::new(false),
        };
        let requests: Vec<u8> = (0..50).collect();
        let ask = |count: usize| Questions { partner: &partner, requests: &requests[..2 * count], count };
        let questions = [ask(3), ask(0), ask(25), ask(1)];
        let batches = batches(&questions, 10);
        for batch in &batches {
            assert!(batch.iter().map(|(_, letter)| letter.answers).sum::<usize>() <= 10);
        }
        for (position, questions) in questions.iter().enumerate() {
            let letters = || batches.iter().flatten().filter(|(of, _)| *of == position).map(|(_, letter)| letter);
            let bytes: Vec<u8> = letters().flat_map(|letter| letter.bytes).copied().collect();
            assert_eq!(bytes, questions.requests);
            assert_eq!(letters().map(|letter| letter.answers).sum::<usize>(), questions.count);
        }
        assert!(batches.iter().flatten().is_sorted_by_key(|(position, _)| *position));
    }

    #[test]
    fn a_dump_and_a_datagram_hold_several_messages() {
        let mut datagram = Vec::new();
        for (length, sequence) in [(17u32, 5u32), (16, 6)] {
            let mut message = vec![0; (length as usize).next_multiple_of(4)];
            message[..4].copy_from_slice(&length.to_ne_bytes());
            message[8..12].copy_from_slice(&sequence.to_ne_bytes());
            datagram.extend(message);
        }
        let heard: Vec<_> = messages(&datagram).map(|answer| (answer.sequence, answer.payload.len())).collect();
        assert_eq!(heard, [(5, 1), (6, 0)]);
    }

    /// With and without a ring, the kernel's routing tables answer the same.
    #[test]
    fn answers_come_in_the_order_of_the_requests() {
        let partners =
            [(); 2].map(|()| Netlink { socket: plain_socket(), is_roomy: true, is_guarded: Cell::new(false) });
        // RTM_GETLINK of device 1, the loopback, asked for many times.
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
        let questions = [
            Questions { partner: &partners[0], requests: &first, count: 300 },
            Questions { partner: &partners[1], requests: &second, count: 10 },
        ];
        for with_ring in [true, false] {
            let mut post = Post::open().expect("a post opens");
            if !with_ring {
                post.ring = None;
            }
            let mut heard = Vec::new();
            post.ask(&questions, |position, answer| {
                assert_eq!(answer.kind, 16, "RTM_NEWLINK");
                heard.push((position, answer.sequence));
                Ok(())
            })
            .expect("netlink answers");
            let wanted: Vec<_> = (0..310).map(|sequence| (usize::from(sequence >= 300), sequence)).collect();
            assert_eq!(heard, wanted, "with a ring: {with_ring}");
        }
    }

    fn plain_socket() -> OwnedFd {
        let protocol = SockProtocol::NetlinkRoute;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol);
        let socket = socket.expect("netlink opens");
        // As much as anybody may ask for.
        let _ = setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER);
        socket
    }
}
