//! Captures packets of devices with timestamps in nanoseconds since the experiment's start.
//!
//! One device gives a pcap file (draft-ietf-opsawg-pcap), like the simulator's; several give a pcapng file
//! (draft-ietf-opsawg-pcapng) with interfaces named `HOST.DEVICE` and packet directions.

use crate::error::{Attempt, Result};
use crate::sample::record::Records;
use crate::sys::packets::{Only, Packet, PacketRing};
use crate::sys::{self, Clock};
use dumbbell_plan::{Device, Recordings};
use std::path::Path;

const ETHERNET: u32 = 1;
const NS_PER_S: u64 = 1_000_000_000;
/// `if_tsresol`: timestamps in units of 10⁻⁹ seconds.
const NANOSECONDS: u8 = 9;
/// Codes of options and types of blocks in pcapng.
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED: u32 = 6;

/// A ring for each device, and the file.
pub struct Captures {
    rings: Vec<PacketRing>,
    out: Records,
    snap_bytes: usize,
    /// Offset of the wall clock from the monotonic clock.
    ahead_ns: u64,
    missed: Vec<u64>,
}

impl Captures {
    /// Opens the rings and writes the file's header.
    pub fn open(recordings: &Recordings, folder: &Path) -> Result<Self> {
        let open = |capture_point: &Device| {
            sys::within(&capture_point.host, || {
                PacketRing::open(&capture_point.name, Only::Any, recordings.snap_bytes, recordings.ring_frames)
            })
            .attempt(|| format!("capturing at device '{}' of host '{}'", capture_point.name, capture_point.host))
        };
        let rings: Vec<_> = recordings.captures.iter().map(open).collect::<Result<_>>()?;
        let mut out = Records::create(folder, "packets")?;
        out.bytes(&header(&recordings.captures, recordings.snap_bytes))?;
        let missed = vec![0; rings.len()];
        Ok(Self { rings, out, snap_bytes: recordings.snap_bytes, ahead_ns: sys::wall_clock_ahead_ns(), missed })
    }

    /// Writes the captured packets in order of time and frees their frames.
    pub fn record(&mut self, clock: Clock) -> Result<()> {
        let start_ns = self.ahead_ns + clock.monotonic_ns(0);
        let mut packets: Vec<(usize, Packet<'_>)> =
            self.rings.iter().enumerate().flat_map(|(number, ring)| ring.waiting().map(move |p| (number, p))).collect();
        let mut counts = vec![0; self.rings.len()];
        for (number, _) in &packets {
            counts[*number] += 1;
        }
        // Stable sort: at equal times, devices keep the file's order.
        packets.sort_by_key(|(_, packet)| packet.time_ns);
        let several = self.rings.len() > 1;
        for (number, packet) in packets {
            // Drop packets from before the experiment.
            let Some(time_ns) = packet.time_ns.checked_sub(start_ns) else { continue };
            let kept = &packet.bytes[..packet.bytes.len().min(self.snap_bytes)];
            self.out.bytes(&if several {
                enhanced(number, time_ns, &packet, kept)
            } else {
                plain(time_ns, &packet, kept)
            })?;
        }
        for ((ring, count), missed) in self.rings.iter_mut().zip(counts).zip(&mut self.missed) {
            ring.give_back(count);
            *missed += ring.missed().attempt(|| "reading a capture's statistics".into())?;
        }
        Ok(())
    }

    /// Writes the remaining packets; returns how many each device's ring missed.
    pub fn finish(self) -> Result<Vec<u64>> {
        self.out.finish()?;
        Ok(self.missed)
    }
}

fn header(places: &[Device], snap_bytes: usize) -> Vec<u8> {
    let snap = word(snap_bytes);
    if places.len() == 1 {
        // Magic number for nanoseconds, version 2.4, two reserved words, maximum record length, link type.
        return [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, snap, ETHERNET].into_iter().flat_map(u32::to_le_bytes).collect();
    }
    // Byte-order magic, version 1.0, unknown section length.
    let mut bytes = block(SECTION, &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], &[]);
    for capture_point in places {
        let name = format!("{}.{}", capture_point.host, capture_point.name);
        let options = [option(NAME, name.as_bytes()), option(RESOLUTION, &[NANOSECONDS])].concat();
        bytes.extend(block(INTERFACE, &[ETHERNET, snap], &[&options[..], &[0; 4]].concat()));
    }
    bytes
}

/// A record of a pcap file.
fn plain(time_ns: u64, packet: &Packet<'_>, kept: &[u8]) -> Vec<u8> {
    let seconds = u32::try_from(time_ns / NS_PER_S).unwrap_or(u32::MAX);
    let nanos = u32::try_from(time_ns % NS_PER_S).expect("less than a second");
    let mut bytes: Vec<u8> =
        [seconds, nanos, word(kept.len()), packet.length].into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.extend_from_slice(kept);
    bytes
}

/// An enhanced packet block of a pcapng file.
fn enhanced(interface: usize, time_ns: u64, packet: &Packet<'_>, kept: &[u8]) -> Vec<u8> {
    let high = u32::try_from(time_ns >> 32).expect("32 bits");
    let low = u32::try_from(time_ns & u64::from(u32::MAX)).expect("32 bits");
    let direction: u32 = if packet.outgoing { 2 } else { 1 };
    let mut rest = padded(kept);
    rest.extend(option(FLAGS, &direction.to_le_bytes()));
    rest.extend([0; 4]);
    block(ENHANCED, &[word(interface), high, low, word(kept.len()), packet.length], &rest)
}

fn block(kind: u32, words: &[u32], rest: &[u8]) -> Vec<u8> {
    let length = word(12 + 4 * words.len() + rest.len());
    let mut bytes: Vec<u8> = [kind, length].iter().chain(words).copied().flat_map(u32::to_le_bytes).collect();
    bytes.extend_from_slice(rest);
    bytes.extend(length.to_le_bytes());
    bytes
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).expect("a short option");
    let mut bytes = [code.to_le_bytes(), length.to_le_bytes()].concat();
    bytes.extend(padded(value));
    bytes
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn word(size: usize) -> u32 {
    u32::try_from(size).expect("a packet is short")
}
