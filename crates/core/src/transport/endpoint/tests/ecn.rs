//! What controllers that need ECN change on the wire: every packet's field, and how marks are told.

use super::*;
use crate::packet::{Ace, Flags};

/// All packets of a connection over a wire of 10 ms each way: those with data that `marked` names (by number) get CE.
fn talk(cc: &str, bytes: u64, lost: &[usize], marked: impl Fn(usize) -> bool) -> (Endpoint, Vec<Packet>) {
    let controller = || Controller::named(cc, &mut Parameters::default(), Dice::named(1, "ecn")).unwrap();
    let identity = |direction| Identity { flow: FlowId(1), direction, port: 1, mark: 0 };
    let mut ends = [Direction::Forward, Direction::Backward]
        .map(|direction| Endpoint::new(identity(direction), settings(), controller()));
    let mut now = Time::ZERO;
    ends[0].connect(now);
    ends[0].write(now, bytes);
    let (mut wire, mut seen, mut data) = (VecDeque::new(), Vec::new(), 0);
    for _ in 0..20_000 {
        for side in [0, 1] {
            while let Some(mut packet) = poll(&mut ends[side], now) {
                ends[side].on_departed(now, &packet, 1);
                let Body::Tcp(segment) = packet.body else { unreachable!() };
                if segment.len > 0 {
                    packet.ecn = if marked(data) { Ecn::Ce } else { packet.ecn };
                    data += 1;
                }
                if !lost.contains(&seen.len()) {
                    wire.push_back((now + ONE_WAY, 1 - side, packet));
                }
                seen.push(packet);
            }
        }
        let arrival = wire.front().map_or(Time::NEVER, |(at, ..)| *at);
        now = arrival.min(ends[0].next_timer()).min(ends[1].next_timer()).max(now);
        if !now.is_set() {
            break;
        }
        if arrival <= now {
            let (_, side, packet) = wire.pop_front().unwrap();
            ends[side].on_packet(now, &packet);
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
        let (client, seen) = talk(cc, 30_000, &[], |_| false);
        assert!(client.info(Time::ZERO).ecn);
        assert_eq!(client.controller(), cc);
        assert!(seen.iter().all(|packet| packet.ecn == expected), "{cc}");
    }
}

/// The first SYN dies: the second asks no more, and what needs ECN falls back.
#[test]
fn a_lost_question_is_not_asked_again() {
    for (cc, fallback) in [("dctcp", "dctcp-reno"), ("prague", "prague-reno")] {
        let (client, seen) = talk(cc, 30_000, &[0], |_| false);
        assert!(!client.info(Time::ZERO).ecn);
        assert_eq!(client.controller(), fallback);
        assert!(seen.iter().skip(3).all(|packet| packet.ecn == Ecn::NotEct));
    }
}

#[test]
fn handshakes_say_how_they_were_heard() {
    let (_, seen) = talk("prague", 1_448, &[], |_| false);
    assert_eq!(flags(&seen[0]).ace, Some(Ace::ASKS));
    assert!(flags(&seen[0]).ece && flags(&seen[0]).cwr, "classic ECN's question too");
    assert_eq!(flags(&seen[1]).ace, Some(Ace::heard(Ecn::Ect1)));
    assert_eq!(flags(&seen[2]).ace.map(Ace::bits), Some(5));
}

/// DCTCP's receiver: a change is told at once, and what was delayed before it with the old word.
#[test]
fn marks_are_mirrored_packet_by_packet() {
    let (_, seen) = talk("dctcp", 60 * 1_448, &[], |number| (20..23).contains(&number));
    let acks = seen.iter().filter(|packet| packet.direction == Direction::Backward).skip(1);
    let mut told = [false; 60];
    let mut upto = 0;
    for ack in acks {
        let next = usize::try_from(acknowledges(ack)).unwrap();
        told[upto..next.max(upto)].fill(flags(ack).ece);
        upto = next.max(upto);
    }
    let marked: Vec<usize> = (0..60).filter(|number| told[*number]).collect();
    // Super-packets: the twentieth data packet on the wire is not the twentieth segment; but it is whole runs.
    assert!(!marked.is_empty() && marked.len() == marked[marked.len() - 1] - marked[0] + 1, "{marked:?}");
    let whole: u32 = {
        let data = seen.iter().filter(|packet| matches!(packet.body, Body::Tcp(segment) if segment.len > 0));
        data.skip(20).take(3).map(|packet| u32::from(packet.segments)).sum()
    };
    assert_eq!(marked.len(), whole as usize, "each marked segment, and no other");
}

/// AccECN's receiver counts: at the end the sender knows of every mark, though a field holds three bits.
#[test]
fn every_mark_is_counted() {
    let (client, seen) = talk("prague", 400 * 1_448, &[], |number| number % 3 == 0);
    let data = seen.iter().filter(|packet| matches!(packet.body, Body::Tcp(segment) if segment.len > 0));
    let marked: u32 = data.filter(|packet| packet.ecn == Ecn::Ce).map(|packet| u32::from(packet.segments)).sum();
    assert!(marked > 50);
    assert_eq!(client.info(Time::ZERO).delivered_ce, marked);
}
