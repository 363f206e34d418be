//! Doors of both kinds: what was watched knocks, what was forgotten does not.

use super::*;
use crate::sys::letter::Letter;
use crate::sys::rounds::Times;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

#[test]
fn doors_survive_packing() {
    let doors = [
        Door::Timer,
        Door::Listener(3),
        Door::Sender(9_999),
        Door::Receiver(0),
        Door::Sink(4),
        Door::Answer(1),
        Door::Arrival(2),
    ];
    for door in doors {
        assert_eq!(Door::unpack(door.pack()), door);
    }
}

/// Both kinds of doors; only epoll where `io_uring` is forbidden.
fn kinds() -> Vec<Doors> {
    let epoll = Waiting::Epoll(epoll::Waiting::open().expect("epoll opens"));
    vec![Doors::open().expect("doors open"), Doors { waiting: epoll, armed_ns: None }]
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let sender = TcpStream::connect(listener.local_addr().expect("it has an address")).expect("it listens");
    let (receiver, _) = listener.accept().expect("a connection waits");
    receiver.set_nonblocking(true).expect("a socket can be non-blocking");
    (sender, receiver)
}

/// Bytes that a receiver got, whoever throws them away.
fn taken(knock: &Knock, receiver: &TcpStream) -> nix::Result<usize> {
    knock.taken.unwrap_or_else(|| crate::sys::discard(receiver.as_raw_fd(), 1 << 30))
}

fn next(doors: &mut Doors) -> Knock {
    let mut knocks = Vec::new();
    while knocks.is_empty() {
        doors.wait(&mut knocks).expect("waiting works");
    }
    assert_eq!(knocks.len(), 1, "one thing happened: {knocks:?}");
    knocks[0]
}

#[test]
fn a_receiver_is_heard_again_and_again_and_at_its_end() {
    for mut doors in kinds() {
        let (mut sender, receiver) = connection();
        doors.watch(receiver.as_raw_fd(), Door::Receiver(7)).expect("a socket can be watched");
        for length in [10, 20, 30] {
            sender.write_all(&vec![1; length]).expect("a connection takes bytes");
            let knock = next(&mut doors);
            assert_eq!((knock.door, taken(&knock, &receiver)), (Door::Receiver(7), Ok(length)));
        }
        drop(sender);
        assert_eq!(taken(&next(&mut doors), &receiver), Ok(0));
    }
}

#[test]
fn the_timer_can_be_moved_and_set_again() {
    for mut doors in kinds() {
        let clock = crate::sys::Clock::start();
        doors.wake_at(clock.monotonic_ns(3_600_000_000_000)).expect("a timer can be set");
        for at_ns in [20_000_000, 10_000_000, 30_000_000] {
            doors.wake_at(clock.monotonic_ns(at_ns)).expect("a timer can be moved");
            assert_eq!(next(&mut doors).door, Door::Timer);
            assert!(clock.now_ns() >= at_ns);
        }
    }
}

#[test]
fn what_is_forgotten_is_closed_and_silent() {
    for mut doors in kinds() {
        let (sender, receiver) = connection();
        doors.watch(sender.as_raw_fd(), Door::Sender(1)).expect("a socket can be watched");
        assert_eq!(next(&mut doors).door, Door::Sender(1));
        doors.watch(receiver.as_raw_fd(), Door::Receiver(2)).expect("a socket can be watched");
        drop(sender);
        doors.forget(Door::Sender(1)).expect("a door can be forgotten");
        doors.settle().expect("what is forgotten is closed");
        let knock = next(&mut doors);
        assert_eq!((knock.door, taken(&knock, &receiver)), (Door::Receiver(2), Ok(0)), "the end of the stream");
    }
}

#[test]
fn a_door_forgotten_before_the_next_wait_is_never_asked_for() {
    for mut doors in kinds() {
        let (sender, receiver) = connection();
        doors.watch(sender.as_raw_fd(), Door::Sender(1)).expect("a socket can be watched");
        drop(sender);
        doors.forget(Door::Sender(1)).expect("a door can be forgotten");
        doors.watch(receiver.as_raw_fd(), Door::Sender(2)).expect("a socket can be watched");
        assert_eq!(next(&mut doors).door, Door::Sender(2));
    }
}

/// `RTM_GETLINK` of the loopback, with a number.
fn question(sequence: u32) -> Vec<u8> {
    let mut bytes = vec![0u8; 32];
    (bytes[0], bytes[4], bytes[6], bytes[20]) = (32, 18, 1, 1);
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes
}

fn numbers(doors: &Doors, round: usize) -> Vec<(usize, Option<u32>)> {
    let sequence = |answer: &[u8]| Some(u32::from_ne_bytes(answer.get(8..12)?.try_into().expect("four bytes")));
    doors.rounds().expect("some were begun").answers(round).map(|(letter, answer)| (letter, sequence(answer))).collect()
}

#[test]
fn rounds_are_asked_by_the_clock_and_end_when_they_are_called_back() {
    let mut doors = Doors::open().expect("doors open");
    let ask = || socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let partners = [(); 2].map(|()| ask().expect("anybody may ask"));
    let [both, one] = [[question(1), question(2)].concat(), question(3)];
    let letters = [
        Letter { socket: partners[0].as_raw_fd(), bytes: &both, answers: 2 },
        Letter { socket: partners[1].as_raw_fd(), bytes: &one, answers: 1 },
    ];
    let clock = crate::sys::Clock::start();
    let every = |period_ns, count| Times { first_ns: clock.monotonic_ns(5_000_000), period_ns, count };
    for _ in 0..2 {
        if !doors.begin(&letters, every(1_000_000, 4)).expect("rounds begin") {
            return; // No io_uring here.
        }
        let knock = next(&mut doors);
        if knock.taken == Some(Err(nix::Error::EAGAIN)) {
            return; // Linux before 6.10.
        }
        assert!(knock.door == Door::Rounds && knock.taken.is_some_and(|taken| taken.is_ok()), "{knock:?}");
        assert_eq!(doors.rounds().map(Rounds::done), Some(4));
        for round in 0..4 {
            assert_eq!(numbers(&doors, round), [(0, Some(1)), (0, Some(2)), (1, Some(3))]);
        }
    }
    assert!(clock.now_ns() >= 8_000_000);
    doors.begin(&letters, every(3_600_000_000_000, 2)).expect("rounds begin");
    doors.wake_at(clock.monotonic_ns(clock.now_ns() + 20_000_000)).expect("a timer can be set");
    assert_eq!(next(&mut doors).door, Door::Timer);
    doors.recall().expect("rounds can be called back");
    let knock = next(&mut doors);
    assert_eq!((knock.door, knock.taken), (Door::Rounds, Some(Err(nix::Error::ECANCELED))));
    assert_eq!(doors.rounds().map(Rounds::done), Some(1));
    assert_eq!(numbers(&doors, 1), [(0, None), (0, None), (1, None)]);
}

#[test]
fn a_receiver_that_may_knock_later_tells_of_the_last_time_and_how_often() {
    let mut doors = Doors::open().expect("doors open");
    let (mut sender, receiver) = connection();
    doors.watch(receiver.as_raw_fd(), Door::Receiver(7)).expect("a socket can be watched");
    doors.knock_after(Door::Receiver(7), 3);
    for length in [10, 20, 30] {
        sender.write_all(&vec![1; length]).expect("a connection takes bytes");
        doors.wake_at(crate::sys::monotonic_ns() + 5_000_000).expect("a timer can be set");
        let mut knocks = Vec::new();
        while !knocks.iter().any(|knock: &Knock| knock.door == Door::Timer) {
            doors.wait(&mut knocks).expect("waiting works");
        }
        let Some(knock) = knocks.iter().find(|knock| knock.door == Door::Receiver(7)) else { continue };
        if knock.times == 1 {
            return; // By epoll each time is told.
        }
        assert_eq!((length, knock.taken, knock.times), (30, Some(Ok(30)), 3));
        return;
    }
    panic!("it never knocked");
}
