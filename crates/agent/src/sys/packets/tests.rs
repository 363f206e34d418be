//! A ring on the machine's loopback hears what a UDP socket sends there; it needs a right that root has.

use super::*;
use std::net::UdpSocket;

#[test]
fn packets_are_heard_and_their_room_is_used_again() {
    let mut ring = match PacketRing::open("lo", 96, 700) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return,
        ring => ring.expect("a ring opens"),
    };
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let here = socket.local_addr().expect("it has an address");
    let mut heard = 0;
    for round in 0..40_u8 {
        for _ in 0..50 {
            socket.send_to(&[round; 300], here).expect("sent");
        }
        let ours = |packet: &Packet<'_>| packet.length == 342 && packet.bytes[36..38] == here.port().to_be_bytes();
        let waiting: Vec<_> = ring.waiting().collect();
        assert!(waiting.is_sorted_by_key(|packet| packet.time_ns));
        // Each is heard as it leaves and as it comes in.
        let now: Vec<_> = waiting.iter().copied().filter(ours).collect();
        assert!(now.iter().all(|packet| packet.bytes.len() <= 110 && packet.bytes[42..96] == [round; 54]));
        assert_eq!(now.iter().filter(|packet| packet.outgoing).count() * 2, now.len());
        heard += now.len();
        let count = waiting.len();
        ring.give_back(count);
    }
    assert_eq!((heard, ring.missed().expect("statistics")), (4_000, 0));
}

#[test]
fn a_full_ring_counts_what_it_missed() {
    let ring = match PacketRing::open("lo", 96, 1) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return,
        ring => ring.expect("a ring opens"),
    };
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let here = socket.local_addr().expect("it has an address");
    let room = ring.frames;
    for _ in 0..room {
        socket.send_to(&[1; 300], here).expect("sent");
    }
    assert_eq!(ring.waiting().count(), room);
    assert!(ring.missed().expect("statistics") >= room as u64);
}
