//! cake's ACK filter: drops an ACK that later ACKs supersede (`cake_ack_filter`).
//!
//! It only drops pure ACKs of the same flow that add nothing to the newest packet: no data, no flag except ECE and CWR,
//! no SACK block that the newest one lacks, no later timestamp.

use crate::packet::{Body, Flags, Packet, Sack, Segment};
use crate::time::Time;
use alloc::collections::VecDeque;

/// Removes the ACK that the packet at the tail supersedes, if any. Without `aggressive`, two ACKs must be superseded
/// before one is removed.
pub(super) fn filter(packets: &mut VecDeque<Packet>, aggressive: bool) -> Option<Packet> {
    let newest = packets.back()?;
    let Body::Tcp(tail) = &newest.body else { return None };
    if !tail.flags.ack || tail.flags.syn {
        return None;
    }
    let last = packets.len() - 1;
    let (mut candidate, mut found): (Option<(usize, [bool; 2])>, i32) = (None, 0);
    for (index, packet) in packets.iter().take(last).enumerate() {
        let Body::Tcp(segment) = &packet.body else { continue };
        if (packet.flow, packet.direction) != (newest.flow, newest.direction) {
            continue;
        }
        if candidate.is_some_and(|(_, echoes)| echoes != echoes_of(segment.flags)) {
            candidate = None;
            found -= 1;
        }
        if !is_useless(segment, tail) {
            continue;
        }
        candidate = candidate.or(Some((index, echoes_of(segment.flags))));
        found += 1;
        if found > 1 {
            break;
        }
    }
    let (index, echoes) = candidate?;
    let is_next_to_last = index + 1 == last && echoes == echoes_of(tail.flags);
    if found > 1 || (aggressive && is_next_to_last) { packets.remove(index) } else { None }
}

/// Whether an older segment adds nothing to the newest one.
fn is_useless(older: &Segment, newest: &Segment) -> bool {
    let Flags { syn, ack, fin, psh, .. } = older.flags;
    let is_bare = ack && !syn && !fin && !psh && older.len == 0;
    let is_older = millis(older.sent_at) <= millis(newest.sent_at) && millis(older.echo) <= millis(newest.echo);
    if !is_bare || !is_older || older.ack > newest.ack {
        return false;
    }
    match compare(&older.sack, older.ack, &newest.sack) {
        Coverage::Lacks => false,
        Coverage::Same => older.ack != newest.ack,
        Coverage::More => true,
    }
}

/// How the newest SACK blocks compare with the older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coverage {
    /// Fewer blocks, or the older ones hold a DSACK.
    Lacks,
    Same,
    More,
}

fn compare(older: &Sack, ack: u64, newest: &Sack) -> Coverage {
    let (older, newest) = (older.blocks(), newest.blocks());
    let is_covered = |block: &(u64, u64)| newest.iter().any(|other| other.0 <= block.0 && block.1 <= other.1);
    let is_duplicate = |block: &(u64, u64)| block.0 < ack;
    match (older.is_empty(), newest.is_empty()) {
        (true, false) => Coverage::More,
        (false, true) => Coverage::Lacks,
        (false, false) if older.iter().any(|block| is_duplicate(block) || !is_covered(block)) => Coverage::Lacks,
        (false, false) if bytes(&newest) > bytes(&older) => Coverage::More,
        (true, true) | (false, false) => Coverage::Same,
    }
}

fn bytes(blocks: &[(u64, u64)]) -> u64 {
    blocks.iter().map(|(start, end)| end.saturating_sub(*start)).sum()
}

const fn echoes_of(flags: Flags) -> [bool; 2] {
    [flags.ece, flags.cwr]
}

/// Timestamps are in milliseconds (`tcp_clock_ms`).
const fn millis(time: Time) -> u64 {
    time.as_micros() / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::queue::tests::tcp;

    fn ack(number: u64) -> Packet {
        let flags = Flags { ack: true, ..Flags::default() };
        Packet { body: Body::Tcp(Segment { ack: number, flags, ..Segment::default() }), ..tcp(1, 66, 1, 0) }
    }

    fn with(mut packet: Packet, change: impl Fn(&mut Segment)) -> Packet {
        if let Body::Tcp(segment) = &mut packet.body {
            change(segment);
        }
        packet
    }

    fn taken(packets: impl IntoIterator<Item = Packet>, aggressive: bool) -> Option<u64> {
        let mut packets: VecDeque<Packet> = packets.into_iter().collect();
        let before = packets.len();
        let taken = filter(&mut packets, aggressive);
        assert_eq!(packets.len() + usize::from(taken.is_some()), before);
        taken.map(|packet| if let Body::Tcp(segment) = packet.body { segment.ack } else { 0 })
    }

    #[test]
    fn one_superseded_ack_is_dropped_only_if_aggressive() {
        assert_eq!(taken([ack(1), ack(2), ack(3)], false), Some(1));
        assert_eq!(taken([ack(1), ack(2)], false), None);
        assert_eq!(taken([ack(1), ack(2)], true), Some(1));
        assert_eq!(taken([ack(1)], true), None);
    }

    #[test]
    fn acks_that_carry_more_than_progress_stay() {
        let spoil: [&dyn Fn(&mut Segment); 6] = [
            &|segment| segment.len = 1,
            &|segment| segment.flags.fin = true,
            &|segment| segment.flags.psh = true,
            &|segment| segment.sent_at = Time::from_nanos(9_000_000_000),
            &|segment| segment.echo = Time::from_nanos(9_000_000_000),
            &|segment| {
                segment.sack.push(100, 200);
            },
        ];
        for change in spoil {
            assert_eq!(taken([with(ack(1), change), ack(3)], true), None);
        }
        assert_eq!(taken([ack(3), ack(3)], true), None, "a duplicate ACK adds information");
        let other = Packet { flow: FlowId(2), ..ack(1) };
        assert_eq!(taken([other, ack(3)], true), None);
    }

    #[test]
    fn a_sack_replaces_one_with_fewer_blocks_but_no_dsack() {
        let sacking = |from: u64, to: u64| {
            with(ack(10), |segment| {
                segment.sack.push(from, to);
            })
        };
        assert_eq!(taken([sacking(20, 30), sacking(20, 40)], true), Some(10));
        assert_eq!(taken([sacking(20, 30), sacking(25, 40)], true), None);
        assert_eq!(taken([sacking(5, 8), sacking(5, 40)], true), None);
    }

    #[test]
    fn an_ack_that_changes_the_ecn_echo_stays() {
        let echoing = with(ack(2), |segment| segment.flags.ece = true);
        assert_eq!(taken([ack(1), echoing, ack(3)], false), None);
        assert_eq!(taken([ack(1), echoing], true), None);
    }
}
