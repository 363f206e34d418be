use super::*;
use proptest::prelude::*;

fn seen(key: u64, bytes: u64, segments: u64) -> Seen {
    let end = SocketAddr::from(([10, 0, 1, 1], 4433));
    Seen { source: end, destination: end, bytes, segments, key }
}

fn packet(bytes: &[u8], segment_bytes: Option<u16>) -> Packet<'_> {
    Packet { time_ns: 0, length: 0, outgoing: true, bytes, segment_bytes }
}

/// An Ethernet frame of UDP over IPv4 or IPv6 from port 1 to port 2.
fn frame(six: bool, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend(if six { [0x86, 0xdd] } else { IPV4 });
    let length = u16::try_from(payload.len() + UDP_BYTES).expect("short").to_be_bytes();
    if six {
        bytes.extend([0x60, 0, 0, 0, length[0], length[1], 17, 64]);
        bytes.extend([[0xfd; 16], [0xfc; 16]].concat());
    } else {
        bytes.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 1, 10, 0, 2, 2]);
    }
    bytes.extend([0, 1, 0, 2, length[0], length[1], 0, 0]);
    bytes.extend(payload);
    bytes
}

#[test]
fn a_packet_is_known_by_its_addresses_size_and_beginning() {
    let [four, six] = [false, true].map(|six| frame(six, b"abcdefgh"));
    let found = Seen::of(&packet(&four, None)).expect("a datagram");
    assert_eq!((found.source, found.destination), (([10, 0, 1, 1], 1).into(), ([10, 0, 2, 2], 2).into()));
    assert_eq!((found.bytes, found.segments), (8, 1));
    let other = Seen::of(&packet(&six, None)).expect("a datagram");
    assert_eq!((other.key, other.bytes), (found.key, 8));
    // A super-packet's first segment, cut out of it, is known.
    let whole = Seen::of(&packet(&six, Some(3))).expect("a super-packet");
    let cut = Seen::of(&packet(&frame(true, b"abc"), None)).expect("a datagram");
    assert_eq!((whole.segments, whole.key), (3, cut.key));
    for short in 0..14 + 20 + 8 {
        assert_eq!(Seen::of(&packet(&four[..short], None)), None);
    }
}

#[test]
fn what_arrives_is_matched_with_what_was_sent() {
    let mut flow = Matching::default();
    for (key, time_ns) in [(7, 10), (8, 20), (7, 30)] {
        flow.sent(time_ns, &seen(key, 100, 1));
    }
    flow.arrived(110, &seen(7, 100, 1));
    assert_eq!(flow.datagrams(), Datagrams { sent_bytes: 300, lost: Some(0), jitter_ns: None, delay_ns: Some(100) });
    flow.arrived(150, &seen(7, 100, 1));
    assert_eq!((flow.datagrams().lost, flow.datagrams().delay_ns), (Some(1), Some(120)));
    flow.arrived(151, &seen(7, 100, 1)); // A copy.
    flow.arrived(190, &seen(8, 100, 1)); // Late.
    assert_eq!((flow.datagrams().lost, flow.received_bytes), (Some(0), 300));
}

#[test]
fn segments_of_a_super_packet_are_found_even_without_the_first() {
    let mut flow = Matching::default();
    for (key, segments) in [(1, 3), (2, 3), (3, 1)] {
        flow.sent(0, &seen(key, 100 * segments, segments));
    }
    // The network cut both, and lost the first datagram of the second.
    for (key, time_ns) in [(1, 10), (901, 11), (902, 12), (903, 14), (904, 15), (3, 16)] {
        flow.arrived(time_ns, &seen(key, 100, 1));
    }
    assert_eq!((flow.datagrams().lost, flow.received_bytes), (Some(1), 600));
    assert_eq!(flow.sent_packets, 7);
}

proptest! {
    #[test]
    fn lost_and_arrived_make_all_that_was_sent(
        fates in prop::collection::vec((any::<bool>(), 1..6_u64, any::<bool>(), 0..3_u64), 1..60),
    ) {
        let mut flow = Matching::default();
        let (mut arrived, mut last) = (0, 0);
        for (number, &(comes, segments, _, _)) in (0..).zip(&fates) {
            flow.sent(number, &seen(number, 10 * segments, segments));
            if comes {
                (arrived, last) = (arrived + segments, flow.sent_packets);
            }
        }
        for (number, &(comes, segments, whole, copies)) in (0..).zip(&fates) {
            if !comes {
                continue;
            }
            if whole || segments == 1 {
                flow.arrived(1_000 + number, &seen(number, 10 * segments, segments));
            } else {
                (0..segments).for_each(|each| {
                    let key = if each == 0 { number } else { 1_000_000 + each };
                    flow.arrived(1_000 + number, &seen(key, 10, 1));
                });
            }
            // Copies are only told from segments where nothing is cut.
            if fates.iter().all(|(_, segments, ..)| *segments == 1) {
                (0..copies).for_each(|_| flow.arrived(1_001 + number, &seen(number, 10 * segments, segments)));
            }
        }
        prop_assert_eq!(flow.datagrams().lost, Some(last - arrived));
        prop_assert_eq!(flow.received_bytes, 10 * arrived);
    }
}
