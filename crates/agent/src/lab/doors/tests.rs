//! Doors of both kinds: what was watched knocks, what was forgotten does not.

use super::*;
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
