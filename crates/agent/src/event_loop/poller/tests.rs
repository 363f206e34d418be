//! Both pollers report ready descriptors, and nothing for removed ones.

use super::*;
use crate::sys::request_batch::RequestBatch;
use crate::sys::rounds::Times;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

#[test]
fn tokens_survive_packing() {
    let poller = [
        Token::Timer,
        Token::Listener(3),
        Token::Sender(9_999),
        Token::Receiver(0),
        Token::Sink(4),
        Token::Answer(1),
        Token::Arrival(2),
    ];
    for token in poller {
        assert_eq!(Token::unpack(token.pack()), token);
    }
}

/// Both pollers; only epoll where `io_uring` is forbidden.
fn kinds() -> Vec<Poller> {
    let epoll = Waiting::Epoll(epoll::Waiting::open().expect("epoll opens"));
    vec![Poller::open().expect("a poller opens"), Poller { waiting: epoll, timer_ns: None }]
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let sender = TcpStream::connect(listener.local_addr().expect("it has an address")).expect("it listens");
    let (receiver, _) = listener.accept().expect("a connection is pending");
    receiver.set_nonblocking(true).expect("a socket can be non-blocking");
    (sender, receiver)
}

/// Bytes that a receiver got, read by the kernel or here.
fn taken(readiness: &Readiness, receiver: &TcpStream) -> nix::Result<usize> {
    readiness.taken.unwrap_or_else(|| crate::sys::discard(receiver.as_raw_fd(), 1 << 30))
}

fn next(poller: &mut Poller) -> Readiness {
    let mut events_ready = Vec::new();
    while events_ready.is_empty() {
        poller.wait(&mut events_ready).expect("waiting works");
    }
    assert_eq!(events_ready.len(), 1, "one event: {events_ready:?}");
    events_ready[0]
}

#[test]
fn a_receiver_reports_each_segment_and_eof() {
    for mut poller in kinds() {
        let (mut sender, receiver) = connection();
        poller.watch(receiver.as_raw_fd(), Token::Receiver(7)).expect("a socket can be watched");
        for length in [10, 20, 30] {
            sender.write_all(&vec![1; length]).expect("a connection takes bytes");
            let readiness = next(&mut poller);
            assert_eq!((readiness.token, taken(&readiness, &receiver)), (Token::Receiver(7), Ok(length)));
        }
        drop(sender);
        assert_eq!(taken(&next(&mut poller), &receiver), Ok(0));
    }
}

#[test]
fn the_timer_can_be_moved_and_reset() {
    for mut poller in kinds() {
        let clock = crate::sys::Clock::start();
        poller.wake_at(clock.monotonic_ns(3_600_000_000_000)).expect("a timer can be set");
        for at_ns in [20_000_000, 10_000_000, 30_000_000] {
            poller.wake_at(clock.monotonic_ns(at_ns)).expect("a timer can be moved");
            assert_eq!(next(&mut poller).token, Token::Timer);
            assert!(clock.now_ns() >= at_ns);
        }
    }
}

#[test]
fn removed_descriptors_are_closed_and_report_nothing() {
    for mut poller in kinds() {
        let (sender, receiver) = connection();
        poller.watch(sender.as_raw_fd(), Token::Sender(1)).expect("a socket can be watched");
        assert_eq!(next(&mut poller).token, Token::Sender(1));
        poller.watch(receiver.as_raw_fd(), Token::Receiver(2)).expect("a socket can be watched");
        drop(sender);
        poller.remove(Token::Sender(1)).expect("a token can be removed");
        poller.flush_removed().expect("removed descriptors are closed");
        let readiness = next(&mut poller);
        assert_eq!(
            (readiness.token, taken(&readiness, &receiver)),
            (Token::Receiver(2), Ok(0)),
            "the end of the stream"
        );
    }
}

#[test]
fn a_token_removed_before_the_next_wait_is_never_submitted() {
    for mut poller in kinds() {
        let (sender, receiver) = connection();
        poller.watch(sender.as_raw_fd(), Token::Sender(1)).expect("a socket can be watched");
        drop(sender);
        poller.remove(Token::Sender(1)).expect("a token can be removed");
        poller.watch(receiver.as_raw_fd(), Token::Sender(2)).expect("a socket can be watched");
        assert_eq!(next(&mut poller).token, Token::Sender(2));
    }
}

/// `RTM_GETLINK` of the loopback device, with a sequence number.
fn request(sequence: u32) -> Vec<u8> {
    let mut bytes = vec![0u8; 32];
    (bytes[0], bytes[4], bytes[6], bytes[20]) = (32, 18, 1, 1);
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes
}

fn numbers(poller: &Poller, round: usize) -> Vec<(usize, Option<u32>)> {
    let sequence = |answer: &[u8]| Some(u32::from_ne_bytes(answer.get(8..12)?.try_into().expect("four bytes")));
    poller
        .rounds()
        .expect("rounds were started")
        .answers(round)
        .map(|(request_batch, answer)| (request_batch, sequence(answer)))
        .collect()
}

#[test]
fn rounds_run_on_the_timer_and_end_when_cancelled() {
    let mut poller = Poller::open().expect("a poller opens");
    let open_socket =
        || socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let netlinks = [(); 2].map(|()| open_socket().expect("needs no privileges"));
    let [both, one] = [[request(1), request(2)].concat(), request(3)];
    let request_batches = [
        RequestBatch { socket: netlinks[0].as_raw_fd(), bytes: &both, answers: 2 },
        RequestBatch { socket: netlinks[1].as_raw_fd(), bytes: &one, answers: 1 },
    ];
    let clock = crate::sys::Clock::start();
    let every = |period_ns, count| Times { first_ns: clock.monotonic_ns(5_000_000), period_ns, count };
    for _ in 0..2 {
        if !poller.begin(&request_batches, every(1_000_000, 4)).expect("rounds start") {
            return; // No io_uring here.
        }
        let readiness = next(&mut poller);
        if readiness.taken == Some(Err(nix::Error::EAGAIN)) {
            return; // Linux before 6.10.
        }
        assert!(
            readiness.token == Token::Rounds && readiness.taken.is_some_and(|taken| taken.is_ok()),
            "{readiness:?}"
        );
        assert_eq!(poller.rounds().map(Rounds::done), Some(4));
        for round in 0..4 {
            assert_eq!(numbers(&poller, round), [(0, Some(1)), (0, Some(2)), (1, Some(3))]);
        }
    }
    assert!(clock.now_ns() >= 8_000_000);
    poller.begin(&request_batches, every(3_600_000_000_000, 2)).expect("rounds start");
    poller.wake_at(clock.monotonic_ns(clock.now_ns() + 20_000_000)).expect("a timer can be set");
    assert_eq!(next(&mut poller).token, Token::Timer);
    poller.cancel_rounds().expect("rounds can be cancelled");
    let readiness = next(&mut poller);
    assert_eq!((readiness.token, readiness.taken), (Token::Rounds, Some(Err(nix::Error::ECANCELED))));
    assert_eq!(poller.rounds().map(Rounds::done), Some(1));
    assert_eq!(numbers(&poller, 1), [(0, None), (0, None), (1, None)]);
}

#[test]
fn coalesced_reads_report_the_last_result_and_their_number() {
    let mut poller = Poller::open().expect("a poller opens");
    let (mut sender, receiver) = connection();
    poller.watch(receiver.as_raw_fd(), Token::Receiver(7)).expect("a socket can be watched");
    poller.coalesce_reads(Token::Receiver(7), 3);
    for length in [10, 20, 30] {
        sender.write_all(&vec![1; length]).expect("a connection takes bytes");
        poller.wake_at(crate::sys::monotonic_ns() + 5_000_000).expect("a timer can be set");
        let mut events_ready = Vec::new();
        while !events_ready.iter().any(|readiness: &Readiness| readiness.token == Token::Timer) {
            poller.wait(&mut events_ready).expect("waiting works");
        }
        let Some(readiness) = events_ready.iter().find(|readiness| readiness.token == Token::Receiver(7)) else {
            continue;
        };
        if readiness.times == 1 {
            return; // epoll reports each one.
        }
        assert_eq!((length, readiness.taken, readiness.times), (30, Some(Ok(30)), 3));
        return;
    }
    panic!("no event arrived");
}
