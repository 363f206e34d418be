//! Captures are read back by independent parsers.

use super::*;
use dumbbell_net::packet::{
    Body, Damage, Direction, Ecn, Flags, FlowId, Fragment, Sack, Segment, TCP_HEADERS_BYTES, UDP_HEADERS_BYTES,
    fragments,
};
use etherparse::{
    Ipv4HeaderSlice, NetHeaders, NetSlice, PacketHeaders, SlicedPacket, TcpOptionElement, TransportSlice,
};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use std::sync::{Arc, Mutex};

fn senders() -> Senders {
    Senders { hosts: vec![[0, 2], [1, 2]], mss: vec![1_448, 0], scales: vec![[10, 10], [0, 0]] }
}

fn packet(body: Body, bytes: u32) -> Packet {
    Packet {
        flow: FlowId(0),
        direction: Direction::Forward,
        ecn: Ecn::Ect0,
        segments: 1,
        bytes,
        port: 5_201,
        mark: 0,
        rehashes: 0,
        damage: Damage::None,
        queued_at: Time::ZERO,
        body,
    }
}

fn segment(len: u32) -> Segment {
    Segment {
        seq: (1 << 32) + 7,
        len,
        ack: 1,
        window: 65_536 << 10,
        flags: Flags { ack: true, psh: true, ..Flags::default() },
        sent_at: Time::from_nanos(1_234_567_890),
        echo: Time::from_nanos(1_200_000_000),
        ..Segment::default()
    }
}

/// The file parsed by pcap-file: time, original length and stored bytes of each record.
fn written(packets: &[(u64, Packet)]) -> Vec<(u128, u32, Vec<u8>)> {
    let mut tap = Tap::new(senders());
    for (at, packet) in packets {
        tap.write(Time::from_nanos(*at), packet);
    }
    let bytes = tap.into_bytes().expect("kept in memory");
    let mut reader = PcapReader::new(bytes.as_slice()).expect("a header");
    assert_eq!(reader.header().datalink, DataLink::ETHERNET);
    let mut records = Vec::new();
    while let Some(record) = reader.next_packet() {
        let record = record.expect("a record");
        records.push((record.timestamp.as_nanos(), record.orig_len, record.data.into_owned()));
    }
    records
}

fn frame_of(packet: Packet) -> Vec<u8> {
    written(&[(0, packet)]).remove(0).2
}

/// The full frame, with its payload of zeros.
fn full_frame(packet: Packet) -> Vec<u8> {
    let (_, length, mut frame) = written(&[(0, packet)]).remove(0);
    frame.resize(length as usize, 0);
    frame
}

#[test]
fn records_have_time_and_both_lengths() {
    let data = packet(Body::Tcp(segment(1_448)), 1_448 + TCP_HEADERS_BYTES);
    let records = written(&[(0, data), (3_000_000_007, data)]);
    assert_eq!(records[0].0, 0);
    assert_eq!(records[1].0, 3_000_000_007);
    assert!(records.iter().all(|(_, original, kept)| (*original, kept.len()) == (1_514, 66)));
}

#[test]
fn a_data_segment_reads_back() {
    let frame = full_frame(packet(Body::Tcp(segment(1_448)), 1_448 + TCP_HEADERS_BYTES));
    let read = SlicedPacket::from_ethernet(&frame).expect("a frame");
    let Some(NetSlice::Ipv4(ip)) = &read.net else { panic!("not IPv4") };
    let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!("not TCP") };
    assert_eq!((ip.header().source(), ip.header().destination()), ([10, 0, 0, 1], [10, 0, 0, 3]));
    assert_eq!(ip.header().ecn().value(), 2);
    assert_eq!((tcp.source_port(), tcp.destination_port()), (32_768, 5_201));
    assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number(), tcp.window_size()), (7, 1, 65_535));
    assert!(tcp.ack() && tcp.psh() && !tcp.syn() && !tcp.fin() && !tcp.rst());
    let options: Vec<_> = tcp.options_iterator().map(|option| option.expect("an option")).collect();
    assert!(options.contains(&TcpOptionElement::Timestamp(1_234, 1_200)), "{options:?}");
}

#[test]
fn checksums_are_right() {
    let mut with_sack = segment(0);
    assert!(with_sack.sack.push(10, 20) && with_sack.sack.push(30, 40));
    let syn = Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() };
    for (segment, bytes) in [(segment(1_447), 1_447 + 66), (with_sack, 66 + 20), (syn, 74), (segment(43_440), 45_000)] {
        let frame = full_frame(packet(Body::Tcp(segment), bytes));
        let headers = PacketHeaders::from_ethernet_slice(&frame).expect("a frame");
        let Some(NetHeaders::Ipv4(ip, _)) = headers.net else { panic!("not IPv4") };
        let tcp = headers.transport.expect("a transport").tcp().expect("TCP");
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let sum = tcp.calc_checksum_ipv4(&ip, headers.payload.slice()).expect("a length that fits");
        assert_eq!(tcp.checksum, sum);
    }
    let datagram = Body::Udp { sent_at: Time::ZERO, seq: 3, payload: 1_001, fragment: Fragment::WHOLE };
    let frame = full_frame(Packet { flow: FlowId(1), ..packet(datagram, 1_001 + UDP_HEADERS_BYTES) });
    let headers = PacketHeaders::from_ethernet_slice(&frame).expect("a frame");
    let Some(NetHeaders::Ipv4(ip, _)) = headers.net else { panic!("not IPv4") };
    let udp = headers.transport.expect("a transport").udp().expect("UDP");
    assert_eq!(udp.length, 1_009);
    assert_eq!(udp.checksum, udp.calc_checksum_ipv4(&ip, headers.payload.slice()).expect("fits"));
}

#[test]
fn fragments_have_their_offsets_and_only_the_first_a_udp_header() {
    let datagram = Body::Udp { sent_at: Time::ZERO, seq: 3, payload: 4_000, fragment: Fragment::WHOLE };
    let datagram = Packet { flow: FlowId(1), ..packet(datagram, 4_000 + UDP_HEADERS_BYTES) };
    let mut offsets = Vec::new();
    for part in fragments(datagram, 1_500) {
        let frame = frame_of(part);
        let ip = Ipv4HeaderSlice::from_slice(&frame[14..]).expect("IPv4").to_header();
        offsets.push((ip.fragment_offset.byte_offset(), ip.more_fragments, ip.dont_fragment, ip.total_len));
        assert_eq!((ip.identification, frame.len()), (4, if part.port == 0 { 34 } else { 42 }));
    }
    assert_eq!(offsets, [(0, true, false, 1_500), (1_480, true, false, 1_500), (2_960, false, false, 1_068)]);
}

#[test]
fn a_syn_has_the_options_of_linux() {
    let syn = Segment { window: 64_240, flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() };
    let frame = frame_of(packet(Body::Tcp(syn), 74));
    assert_eq!(frame.len(), 74);
    let read = SlicedPacket::from_ethernet(&frame).expect("a frame");
    let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!("not TCP") };
    let options: Vec<_> = tcp.options_iterator().map(|option| option.expect("an option")).collect();
    assert_eq!(
        options,
        [
            TcpOptionElement::MaximumSegmentSize(1_460),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOptionElement::Timestamp(0, 0),
            TcpOptionElement::Noop,
            TcpOptionElement::WindowScale(10),
        ]
    );
    assert_eq!(tcp.window_size(), 64_240);
}

#[test]
fn sack_blocks_read_back() {
    let mut sack = Sack::default();
    assert!(sack.push((1 << 32) + 5, (1 << 32) + 9) && sack.push(100, 200) && sack.push(300, 400));
    let mut answer = packet(Body::Tcp(Segment { sack, ..segment(0) }), 66 + 28);
    answer.direction = Direction::Backward;
    let frame = frame_of(answer);
    let read = SlicedPacket::from_ethernet(&frame).expect("a frame");
    let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!("not TCP") };
    assert_eq!((tcp.source_port(), tcp.destination_port()), (5_201, 32_768));
    let blocks = tcp.options_iterator().find_map(|option| match option.expect("an option") {
        TcpOptionElement::SelectiveAcknowledgement(first, rest) => Some((first, rest)),
        _ => None,
    });
    assert_eq!(blocks, Some(((5, 9), [Some((100, 200)), Some((300, 400)), None])));
}

#[test]
fn a_reset_reads_as_one() {
    let frame = frame_of(packet(Body::Tcp(Segment { seq: 9, ..Segment::default() }), 54));
    let read = SlicedPacket::from_ethernet(&frame).expect("a frame");
    let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!("not TCP") };
    assert!(tcp.rst() && !tcp.ack());
    assert_eq!(frame.len(), 54);
}

/// A writer whose bytes can be inspected, and that can be made to fail.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>, bool);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1 {
            return Err(io::Error::other("the disk is full"));
        }
        self.0.lock().expect("the lock is not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn bytes_go_to_the_given_writer() {
    let shared = Shared::default();
    let mut tap = Tap::new(senders());
    tap.redirect(Box::new(shared.clone())).expect("memory");
    tap.write(Time::ZERO, &packet(Body::Tcp(segment(0)), 66));
    tap.flush().expect("memory");
    assert_eq!(shared.0.lock().expect("the lock is not poisoned").len(), 24 + 16 + 66);
    assert!(tap.into_bytes().is_none());
}

#[test]
fn a_failing_writer_is_reported_once() {
    let mut tap = Tap::new(senders());
    let error = tap.redirect(Box::new(Shared(Arc::default(), true))).expect_err("it fails");
    assert_eq!(error.to_string(), "the disk is full");
}
