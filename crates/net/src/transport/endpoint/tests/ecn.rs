//! Controllers that need ECN: every packet's ECN field, and feedback of marks.

use super::*;
use crate::packet::{Ace, Flags};

/// All packets of a connection over a link of 10 ms each way. Data packets selected by `marked` (by number) get CE.
fn transfer(cc: &str, bytes: u64, lost: &[usize], marked: impl Fn(usize) -> bool) -> (Endpoint, Vec<Packet>) {
    let controller = || Controller::from_name(cc, &mut Parameters::default(), Rng::from_name(1, "ecn")).unwrap();
    let identity = |direction| Identity { flow: FlowId(1), direction, port: 1, mark: 0 };
    let mut ends = [Direction::Forward, Direction::Backward]
        .map(|direction| Endpoint::new(identity(direction), settings(), controller()));
    let mut now = Time::ZERO;
    ends[0].connect(now);
    ends[0].write(now, bytes);
    let (mut link, mut seen, mut data) = (VecDeque::new(), Vec::new(), 0);
    for _ in 0..20_000 {
        for index in [0, 1] {
            while let Some(mut packet) = poll(&mut ends[index], now) {
                if ends[index].on_departed(&packet, 1) {
                    ends[index].on_resumed(now);
                }
                let Body::Tcp(segment) = packet.body else { unreachable!() };
                if segment.len > 0 {
                    packet.ecn = if marked(data) { Ecn::Ce } else { packet.ecn };
                    data += 1;
                }
                if !lost.contains(&seen.len()) {
                    link.push_back((now + ONE_WAY, 1 - index, packet));
                }
                seen.push(packet);
            }
        }
        let arrival = link.front().map_or(Time::NEVER, |(at, ..)| *at);
        now = arrival.min(ends[0].next_timer()).min(ends[1].next_timer()).max(now);
        if !now.is_set() {
            break;
        }
        if arrival <= now {
            let (_, index, packet) = link.pop_front().unwrap();
            ends[index].on_packet(now, &packet);
        } else {
            for end in &mut ends {
                end.on_timer(now);
            }
        }
    }
    let [client, _] = ends;
    (client, seen)
}

fn flags(packet: &Packet) -> Flags {
    if let Body::Tcp(segment) = &packet.body { segment.flags } else { Flags::default() }
}

fn acknowledges(packet: &Packet) -> u64 {
    if let Body::Tcp(segment) = &packet.body { (segment.ack - 1) / 1_448 } else { 0 }
}

#[test]
fn all_packets_of_dctcp_are_ect0_and_of_prague_ect1() {
    for (cc, expected) in [("dctcp", Ecn::Ect0), ("prague", Ecn::Ect1)] {
        let (client, seen) = transfer(cc, 30_000, &[], |_| false);
        assert!(client.info(Time::ZERO).ecn);
        assert_eq!(client.controller(), cc);
        assert!(seen.iter().all(|packet| packet.ecn == expected), "{cc}");
    }
}

/// The first SYN is dropped: the second does not request ECN, and controllers that need ECN fall back.
#[test]
fn a_retransmitted_syn_does_not_request_ecn() {
    for (cc, fallback) in [("dctcp", "dctcp-reno"), ("prague", "prague-reno")] {
        let (client, seen) = transfer(cc, 30_000, &[0], |_| false);
        assert!(!client.info(Time::ZERO).ecn);
        assert_eq!(client.controller(), fallback);
        assert!(seen.iter().skip(3).all(|packet| packet.ecn == Ecn::NotEct));
    }
}

#[test]
fn handshakes_report_the_received_ecn_field() {
    let (_, seen) = transfer("prague", 1_448, &[], |_| false);
    assert_eq!(flags(&seen[0]).ace, Some(Ace::ASKS));
    assert!(flags(&seen[0]).ece && flags(&seen[0]).cwr, "also a request for classic ECN");
    assert_eq!(flags(&seen[1]).ace, Some(Ace::received(Ecn::Ect1)));
    assert_eq!(flags(&seen[2]).ace.map(Ace::bits), Some(5));
}

/// DCTCP's receiver: a change of marking is acknowledged at once, after an ACK of what was delayed before it.
#[test]
fn marks_are_mirrored_packet_by_packet() {
    let (_, seen) = transfer("dctcp", 60 * 1_448, &[], |number| (20..23).contains(&number));
    let acks = seen.iter().filter(|packet| packet.direction == Direction::Backward).skip(1);
    let mut reported = [false; 60];
    let mut upto = 0;
    for ack in acks {
        let next = usize::try_from(acknowledges(ack)).unwrap();
        reported[upto..next.max(upto)].fill(flags(ack).ece);
        upto = next.max(upto);
    }
    let marked: Vec<usize> = (0..60).filter(|number| reported[*number]).collect();
    // Super-packets: the twentieth data packet on the link is not the twentieth segment, but they are contiguous runs.
    assert!(!marked.is_empty() && marked.len() == marked[marked.len() - 1] - marked[0] + 1, "{marked:?}");
    let marked_segments: u32 = {
        let data = seen.iter().filter(|packet| matches!(packet.body, Body::Tcp(segment) if segment.len > 0));
        data.skip(20).take(3).map(|packet| u32::from(packet.segments)).sum()
    };
    assert_eq!(marked.len(), marked_segments as usize, "each marked segment, and no other");
}

/// AccECN's receiver counts: in the end the sender has counted every mark, although the field has only three bits.
#[test]
fn every_mark_is_counted() {
    let (client, seen) = transfer("prague", 400 * 1_448, &[], |number| number % 3 == 0);
    let data = seen.iter().filter(|packet| matches!(packet.body, Body::Tcp(segment) if segment.len > 0));
    let marked: u32 = data.filter(|packet| packet.ecn == Ecn::Ce).map(|packet| u32::from(packet.segments)).sum();
    assert!(marked > 50);
    assert_eq!(client.info(Time::ZERO).delivered_ce, marked);
}
