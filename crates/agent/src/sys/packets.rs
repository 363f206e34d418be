//! A packet socket with a ring in memory shared with the kernel (packet(7), `TPACKET_V2`).
//!
//! The kernel copies each packet's beginning and keeps no reference to it, wakes no process, and reading takes no
//! system call: a capture costs only wall time. Linux `net/packet/af_packet.c`, `tpacket_rcv`.

use nix::errno::Errno;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// Minimum length of a block; frames don't cross blocks.
const BLOCK_BYTES: usize = 128 << 10;
const ALIGNMENT: usize = 16;
/// Bytes before a packet: `struct tpacket2_hdr` and `struct sockaddr_ll`, 16 bytes for a link-layer header, all
/// aligned, less Ethernet's 14 (`tpacket_rcv`).
const BEFORE_PACKET_BYTES: usize = 80 - 14;
/// Offset of `sll_pkttype`, after `struct tpacket2_hdr`.
const DIRECTION_AT: usize = 32 + 10;
/// `PACKET_OUTGOING`.
const OUTGOING: u8 = 4;
/// Bytes of `struct virtio_net_hdr`, right before a packet; the payload's bytes in each segment of a super-packet stand
/// at `GSO_SIZE_AT`, if the type is not `VIRTIO_NET_HDR_GSO_NONE`.
const SEGMENTATION_BYTES: usize = 10;
const GSO_TYPE_AT: usize = 1;
const GSO_SIZE_AT: usize = 4;
/// Bytes of a captured packet of which [`Only::Udp`] looks at the first: Ethernet and IPv6.
const ETHERNET_BYTES: u32 = 14;

/// `struct tpacket_req`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Layout {
    block_bytes: u32,
    blocks: u32,
    frame_bytes: u32,
    frames: u32,
}

/// `struct tpacket_stats`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Stats {
    packets: u32,
    drops: u32,
}

/// An open socket and its ring.
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    bytes: usize,
    block_bytes: usize,
    frame_bytes: usize,
    frames: usize,
    next: usize,
    /// Does each packet have a `struct virtio_net_hdr`?
    tells_segments: bool,
}

/// A packet in the ring, valid until its frame is released.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    /// Wall-clock time since 1970.
    pub time_ns: u64,
    /// Length on the link.
    pub length: u32,
    /// Sent or received by the device?
    pub outgoing: bool,
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Payload bytes of each of its segments, if it is a super-packet.
    pub segment_bytes: Option<u16>,
}

/// Which packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// All.
    Any,
    /// UDP over IPv4 or IPv6 without extension headers; fragments other than the first are left out.
    Udp,
}

impl PacketRing {
    /// Opens a ring of `frames` packets for a device of the current network namespace.
    pub fn open(device: &str, only: Only, snap_bytes: usize, frames: usize) -> io::Result<Self> {
        let tells_segments = only == Only::Udp;
        let before_bytes = BEFORE_PACKET_BYTES + if tells_segments { SEGMENTATION_BYTES } else { 0 };
        let frame_bytes = (before_bytes + snap_bytes).next_multiple_of(ALIGNMENT);
        let block_bytes = BLOCK_BYTES.max(frame_bytes.next_power_of_two());
        let in_block = block_bytes / frame_bytes;
        let blocks = frames.div_ceil(in_block).max(1);
        let index = nix::net::if_::if_nametoindex(device)?;
        let socket = packet_socket()?;
        super::set_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, 1_i32)?;
        if tells_segments {
            super::set_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1_i32)?;
            only_udp(socket.as_raw_fd())?;
        }
        let number = |size: usize| u32::try_from(size).map_err(|_| io::Error::from(Errno::EINVAL));
        let layout = Layout {
            block_bytes: number(block_bytes)?,
            blocks: number(blocks)?,
            frame_bytes: number(frame_bytes)?,
            frames: number(blocks * in_block)?,
        };
        super::set_option(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, layout)?;
        let bytes = blocks * block_bytes;
        let memory = share(socket.as_raw_fd(), bytes)?;
        let ring = Self {
            socket,
            memory,
            bytes,
            block_bytes,
            frame_bytes,
            frames: blocks * in_block,
            next: 0,
            tells_segments,
        };
        // Last: an unbound socket receives no packets, so the kernel need not wait for any in progress.
        bind(ring.socket.as_raw_fd(), index)?;
        Ok(ring)
    }

    /// The captured packets, in the order in which the kernel stored them; with several CPUs, timestamps may deviate
    /// slightly from it. They stay until they are released.
    pub fn waiting(&self) -> impl Iterator<Item = Packet<'_>> {
        (0..self.frames).map(|step| (self.next + step) % self.frames).map_while(|frame| self.packet(frame))
    }

    /// Releases the frames of the first `count` packets.
    pub fn give_back(&mut self, count: usize) {
        for _ in 0..count {
            self.status(self.next).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.frames;
        }
    }

    /// Packets that did not fit since the ring was opened, or since the last call.
    pub fn missed(&self) -> io::Result<u64> {
        let mut stats = Stats::default();
        let mut length = libc::socklen_t::try_from(size_of::<Stats>()).expect("eight bytes");
        // SAFETY: the kernel writes at most `length` bytes to `stats`, which has that many.
        let answer = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        Errno::result(answer)?;
        Ok(stats.drops.into())
    }

    fn packet(&self, frame: usize) -> Option<Packet<'_>> {
        if self.status(frame).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the frame lies within the mapping, and while its status is "user" the kernel doesn't write to it.
        let bytes = unsafe { std::slice::from_raw_parts(self.at(frame).as_ptr(), self.frame_bytes) };
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let start = usize::from(u16::from_ne_bytes([bytes[12], bytes[13]]));
        let segmentation = self.tells_segments.then(|| &bytes[start - SEGMENTATION_BYTES..start]);
        let segment_bytes = |head: &[u8]| {
            (head[GSO_TYPE_AT] != 0).then(|| u16::from_ne_bytes([head[GSO_SIZE_AT], head[GSO_SIZE_AT + 1]]))
        };
        Some(Packet {
            segment_bytes: segmentation.and_then(segment_bytes),
            time_ns: u64::from(word(16)) * 1_000_000_000 + u64::from(word(20)),
            length: word(4),
            outgoing: bytes[DIRECTION_AT] == OUTGOING,
            bytes: &bytes[start..(start + word(8) as usize).min(self.frame_bytes)],
        })
    }

    #[expect(clippy::cast_ptr_alignment, reason = "frames are aligned to 16 bytes")]
    fn status(&self, frame: usize) -> &AtomicU32 {
        // SAFETY: a frame begins with its status, aligned to 16 bytes, which the kernel and this code change
        // atomically.
        unsafe { &*self.at(frame).as_ptr().cast::<AtomicU32>() }
    }

    fn at(&self, frame: usize) -> NonNull<u8> {
        let in_block = self.block_bytes / self.frame_bytes;
        let offset = frame / in_block * self.block_bytes + frame % in_block * self.frame_bytes;
        // SAFETY: `frame` is less than `frames`, so the offset lies within the mapping.
        unsafe { self.memory.add(offset) }
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no packet of it outlives the ring.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

/// Makes a socket take UDP packets only, by a filter of classic BPF (`Documentation/networking/filter.rst`).
fn only_udp(socket: RawFd) -> nix::Result<()> {
    let [byte, half] = [libc::BPF_B, libc::BPF_H].map(|size| libc::BPF_LD | size | libc::BPF_ABS);
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let any_bit = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let udp = libc::IPPROTO_UDP.unsigned_abs();
    let [ip, ipv6] = [libc::ETH_P_IP, libc::ETH_P_IPV6].map(i32::unsigned_abs);
    // Operation, instructions to skip if it holds and if not, operand.
    let program = [
        (half, 0, 0, ETHERNET_BYTES - 2),
        (equal, 0, 4, ip),
        (half, 0, 0, ETHERNET_BYTES + 6),
        (any_bit, 6, 0, 0x1fff), // An offset: not the first fragment.
        (byte, 0, 0, ETHERNET_BYTES + 9),
        (equal, 3, 4, udp),
        (equal, 0, 3, ipv6),
        (byte, 0, 0, ETHERNET_BYTES + 6),
        (equal, 0, 1, udp),
        (answer, 0, 0, u32::MAX),
        (answer, 0, 0, 0),
    ];
    let mut program = program.map(|(code, jt, jf, k)| {
        let code = u16::try_from(code).expect("an operation has 16 bits");
        libc::sock_filter { code, jt, jf, k }
    });
    let len = u16::try_from(program.len()).expect("a short program");
    let filter = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    super::set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, filter)
}

/// A packet socket that receives nothing yet.
fn packet_socket() -> nix::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: the descriptor has just been made for us.
    Errno::result(socket).map(|socket| unsafe { OwnedFd::from_raw_fd(socket) })
}

fn share(socket: RawFd, bytes: usize) -> nix::Result<NonNull<u8>> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address; the length is that of the ring just configured.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, rights, libc::MAP_SHARED, socket, 0) };
    if memory == libc::MAP_FAILED {
        return Err(Errno::last());
    }
    NonNull::new(memory.cast()).ok_or(Errno::ENOMEM)
}

/// Starts receiving every packet of the device, in both directions.
fn bind(socket: RawFd, index: u32) -> nix::Result<()> {
    let every = u16::try_from(libc::ETH_P_ALL).expect("a protocol has 16 bits").to_be();
    let address = libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).expect("a family has 16 bits"),
        sll_protocol: every,
        sll_ifindex: index.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).expect("twenty bytes");
    // SAFETY: `address` lives until the call returns and has `length` bytes.
    Errno::result(unsafe { libc::bind(socket, (&raw const address).cast(), length) }).map(drop)
}

#[cfg(test)]
mod tests;
