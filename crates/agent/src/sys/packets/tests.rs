//! A ring on the loopback device of a private network namespace, which other processes' packets do not reach; needs
//! root.

use super::*;
use nix::sched::{CloneFlags, unshare};
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

/// Moves this thread to a new network namespace and opens a ring there; `None` without the privilege.
fn ring_in_new_namespace(only: Only, snap_bytes: usize, frames: usize) -> Option<PacketRing> {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        return None;
    }
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip runs");
    assert!(up.success());
    Some(PacketRing::open("lo", only, snap_bytes, frames).expect("a ring opens"))
}

fn sender() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let here = socket.local_addr().expect("it has an address");
    (socket, here)
}

/// Waits until `count` packets have arrived: under load the kernel handles received packets in a thread.
fn wait_for(ring: &PacketRing, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while ring.waiting().count() < count {
        assert!(Instant::now() < deadline, "{} of {count} packets after a minute", ring.waiting().count());
        std::thread::yield_now();
    }
}

#[test]
fn packets_are_captured_and_their_frames_are_reused() {
    let Some(mut ring) = ring_in_new_namespace(Only::Any, 96, 700) else { return };
    let (socket, here) = sender();
    for round in 0..40_u8 {
        for number in 0..50 {
            let mut bytes = [round; 300];
            bytes[0] = number;
            socket.send_to(&bytes, here).expect("sent");
        }
        // Each packet is captured when it is sent and when it is received.
        wait_for(&ring, 100);
        let waiting: Vec<_> = ring.waiting().collect();
        assert_eq!(waiting.len(), 100);
        for packet in &waiting {
            assert_eq!((packet.length, packet.bytes.len().min(110)), (342, packet.bytes.len()));
            assert_eq!(packet.bytes[36..38], here.port().to_be_bytes());
            assert_eq!(packet.bytes[43..96], [round; 53]);
        }
        for outgoing in [true, false] {
            let one_way: Vec<_> = waiting.iter().filter(|packet| packet.outgoing == outgoing).collect();
            assert!(one_way.iter().map(|packet| packet.bytes[42]).eq(0..50), "in the order of sending");
        }
        ring.give_back(100);
    }
    assert_eq!(ring.missed().expect("statistics"), 0);
}

#[test]
fn a_full_ring_counts_missed_packets() {
    let Some(ring) = ring_in_new_namespace(Only::Any, 96, 1) else { return };
    let (socket, here) = sender();
    for _ in 0..ring.frames {
        socket.send_to(&[1; 300], here).expect("sent");
    }
    wait_for(&ring, ring.frames);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut missed = 0;
    while missed < ring.frames as u64 {
        assert!(Instant::now() < deadline, "{missed} missed after a minute");
        missed += ring.missed().expect("statistics");
    }
    assert_eq!((ring.waiting().count(), missed), (ring.frames, ring.frames as u64));
}
