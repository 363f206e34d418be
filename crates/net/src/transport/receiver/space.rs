//! A socket's receive buffer, and the window that it can offer.
//!
//! Linux counts a buffer in memory (`sk_rcvbuf` against each packet's `truesize`) and a window in payload; one measured
//! ratio converts between them (`scaling_ratio`). Three numbers limit the window: the free buffer, the `clamp`, which
//! follows the buffer, and `ssthresh`, which grows with each arriving packet. `tuning` grows the buffer itself.

use crate::transport::Settings;

/// Memory of a packet besides its payload: `sk_buff`, header block and its shared information.
///
/// Measured: with a fixed buffer of 131072 bytes the kernel engine's window is 81502, which is (131072 − 2280) × 162 /
/// 256; the packet of 1448 bytes takes 2280 and the ratio is 1448 × 256 / 2280.
pub(in crate::transport) const OVERHEAD: u32 = 832;

/// Receive buffer and window.
#[derive(Debug)]
pub(super) struct Space {
    /// Buffer (`sk_rcvbuf`).
    rcvbuf: u32,
    /// Autotuning's limit (`tcp_rmem[2]`).
    maximum: u32,
    /// Memory of held packets (`sk_rmem_alloc`).
    pub held: u32,
    /// Memory of the socket's backlog, from the first packet until all are processed (`sk_backlog.len`).
    pub backlog: u32,
    /// Upper limit of the window (`window_clamp`).
    pub clamp: u32,
    /// A second upper limit, which grows as packets arrive (`rcv_ssthresh`).
    ssthresh: u32,
    /// Last offered window (`rcv_wnd`).
    pub offered: u32,
    /// Last acknowledged sequence number, where that window begins (`rcv_wup`).
    pub acked: u64,
    mss: u32,
    /// Ratio of payload to memory, in 1/256.
    ratio: u8,
    /// Window scale (RFC 7323 section 2).
    scale: u8,
    /// Set by the application: no autotuning.
    pub fixed: bool,
}

/// A window that could be offered now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub window: u32,
    /// Half of the buffer is in use: no more quick ACKs.
    pub half_used: bool,
}

impl Space {
    /// State before the handshake (`tcp_select_initial_window`). The passive end has already negotiated timestamps.
    pub fn new(settings: &Settings, passive: bool) -> Self {
        let fixed = settings.rcvbuf.is_some();
        let rcvbuf = memory(settings.rcvbuf.unwrap_or(settings.tunables.first_rcvbuf));
        let maximum = memory(settings.rmem_max);
        let full = rcvbuf / 2; // The ratio is one half until it is measured.
        let clamp = if fixed { full } else { u32::from(u16::MAX) << MAX_SCALE };
        let mss = if passive { settings.mss } else { settings.mss + TIMESTAMPS_BYTES };
        let space = full.min(clamp);
        let space = if space > mss { space - space % mss } else { space };
        let scaled = space.max(maximum).max(CORE_RMEM_MAX).min(clamp).max(1);
        let scale = u8::try_from(scaled.ilog2().saturating_sub(15).min(MAX_SCALE)).unwrap_or(0);
        Self {
            rcvbuf,
            maximum,
            held: 0,
            backlog: 0,
            clamp: clamp.min(u32::from(u16::MAX) << scale),
            ssthresh: space,
            offered: space,
            acked: 0,
            mss: settings.mss,
            ratio: 128,
            scale,
            fixed,
        }
    }

    /// The connection is established (`tcp_init_buffer_space`): reserves room for one segment.
    pub fn establish(&mut self, rcv_nxt: u64) {
        let full = small(self.full());
        self.clamp = self.clamp.min(full);
        if self.clamp > 2 * self.mss && self.clamp + self.mss > full {
            self.clamp = (2 * self.mss).max(full - self.mss);
        }
        self.ssthresh = self.ssthresh.min(self.clamp);
        self.acked = rcv_nxt;
    }

    /// The window of a SYN or SYN-ACK: never scaled (RFC 7323 section 2.2).
    pub fn unscaled(&self) -> u32 {
        self.offered.min(u32::from(u16::MAX))
    }

    /// What the peer may still send of the offered window (`tcp_receive_window`).
    pub fn open(&self, rcv_nxt: u64) -> u32 {
        small_unsigned((self.acked + u64::from(self.offered)).saturating_sub(rcv_nxt))
    }

    /// Has the peer used up the window?
    pub fn is_shut(&self, rcv_nxt: u64) -> bool {
        self.acked + u64::from(self.offered) <= rcv_nxt
    }

    /// The window that would be offered now (`__tcp_select_window`); `rcv_mss` is the estimated size of the peer's
    /// segments.
    pub fn choose(&self, rcv_mss: u32) -> Choice {
        let allowed = self.full();
        let full = i64::from(self.clamp).min(allowed);
        let mss = i64::from(rcv_mss).min(full);
        if mss <= 0 {
            return Choice { window: 0, half_used: false };
        }
        let mut free = self.free();
        let half_used = free < full >> 1;
        if half_used {
            free &= !self.grain();
            if free < allowed >> 4 || free < mss {
                return Choice { window: 0, half_used };
            }
        }
        free = free.min(i64::from(self.ssthresh));
        let window = if self.scale > 0 { self.rounded_up(free) } else { self.unscaled_choice(free, mss, full) };
        Choice { window: small(window), half_used }
    }

    /// Without a scale, windows are whole segments, and small changes are not offered.
    fn unscaled_choice(&self, free: i64, mss: i64, full: i64) -> i64 {
        let offered = i64::from(self.offered);
        if offered <= free - mss || offered > free {
            free - free % mss
        } else if mss == full && free > offered + (full >> 1) {
            free
        } else {
            offered
        }
    }

    /// Offers a window with an ACK of `rcv_nxt`; an offer is never taken back (`tcp_select_window`).
    pub fn offer(&mut self, rcv_nxt: u64, rcv_mss: u32) -> Choice {
        let open = self.open(rcv_nxt);
        let mut choice = self.choose(rcv_mss);
        if choice.window < open {
            choice.window = small(self.rounded_up(i64::from(open)));
        }
        self.offered = choice.window;
        self.acked = rcv_nxt;
        choice.window = (choice.window.min(u32::from(u16::MAX) << self.scale) >> self.scale) << self.scale;
        choice
    }

    /// Offers a zero window: a packet found no memory (`ICSK_ACK_NOMEM`).
    pub fn offer_nothing(&mut self, rcv_nxt: u64) {
        self.offered = 0;
        self.acked = rcv_nxt;
    }

    /// Updates the ratio from a packet of this payload and memory. Returns whether it changed.
    pub fn measure(&mut self, payload: u32, memory: u32) -> bool {
        let ratio = u8::try_from((u64::from(payload) << 8) / u64::from(memory)).unwrap_or(u8::MAX).max(1);
        let changed = ratio != self.ratio;
        if changed {
            self.ratio = ratio;
            self.clamp = small(self.full());
        }
        changed
    }

    /// Grows the window by up to twice an arriving packet's size (`tcp_grow_window`). Returns whether it grew.
    ///
    /// `weight` is the memory that the packet adds permanently: a packet in order frees its header block.
    pub fn grow(&mut self, payload: u32, weight: u32, rcv_mss: u32) -> bool {
        let room = i64::from(self.clamp).min(self.free()) - i64::from(self.ssthresh);
        if room <= 0 {
            return false;
        }
        let step = if self.of_memory(i64::from(weight)) <= i64::from(payload) {
            2 * self.mss
        } else {
            self.cautious_step(payload, weight, rcv_mss)
        };
        if step == 0 {
            return false;
        }
        self.ssthresh += small(room.min(i64::from(step.max(2 * payload))));
        true
    }

    /// Small packets with much memory: grows while they would still fit later (`__tcp_grow_window`).
    fn cautious_step(&self, payload: u32, weight: u32, rcv_mss: u32) -> u32 {
        let mut weight = self.of_memory(i64::from(weight)) >> 1;
        let mut window = self.of_memory(i64::from(self.maximum)) >> 1;
        while i64::from(self.ssthresh) <= window {
            if weight <= i64::from(payload) {
                return 2 * rcv_mss;
            }
            weight >>= 1;
            window >>= 1;
        }
        0
    }

    /// Grows the buffer to hold a window of `window`, within autotuning's limits.
    pub fn enlarge(&mut self, window: u64) {
        let new_size = as_int((as_int(window) << 8) / u64::from(self.ratio)).min(u64::from(self.maximum));
        if !self.fixed && new_size > u64::from(self.rcvbuf) {
            self.rcvbuf = small_unsigned(new_size);
            self.clamp = small(self.full());
        }
    }

    /// Is more held than the buffer allows?
    pub fn is_overfull(&self) -> bool {
        self.held > self.rcvbuf
    }

    /// Are seven eighths in use? Then readers are woken in any case (`tcp_rmem_pressure`).
    pub fn is_pressed(&self) -> bool {
        self.held > self.rcvbuf - (self.rcvbuf >> 3)
    }

    /// More is held than the buffer allows: grows the buffer, or offers less (`tcp_clamp_window`).
    pub fn clamp_window(&mut self) {
        if !self.fixed && self.rcvbuf < self.maximum {
            self.rcvbuf = self.held.min(self.maximum);
        }
        if self.is_overfull() {
            self.ssthresh = self.clamp.min(2 * self.mss);
        }
    }

    /// Buffer (`sk_rcvbuf`).
    pub fn rcvbuf(&self) -> u32 {
        self.rcvbuf
    }

    /// The smaller of an established connection's initial limits.
    pub fn first_window(&self) -> u32 {
        self.ssthresh.min(self.offered)
    }

    /// The scale of the windows that it offers.
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Are windows scaled? Then a repeated offer stays the same.
    pub fn is_scaled(&self) -> bool {
        self.scale > 0
    }

    fn free(&self) -> i64 {
        self.of_memory(i64::from(self.rcvbuf) - i64::from(self.held) - i64::from(self.backlog))
    }

    fn full(&self) -> i64 {
        self.of_memory(i64::from(self.rcvbuf))
    }

    fn of_memory(&self, memory: i64) -> i64 {
        (memory * i64::from(self.ratio)) >> 8
    }

    fn grain(&self) -> i64 {
        (1 << self.scale) - 1
    }

    fn rounded_up(&self, window: i64) -> i64 {
        (window + self.grain()) & !self.grain()
    }
}

/// Memory sizes fit in 31 bits, as in Linux.
fn memory(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(u32::MAX >> 1)
}

/// A number after Linux has passed it as an `int` (`tcp_space_from_win`): a jump of the window beyond 2 GiB may become
/// zero or the maximum.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Linux truncates it")]
const fn as_int(bytes: u64) -> u64 {
    bytes as i32 as i64 as u64
}

fn small(bytes: i64) -> u32 {
    u32::try_from(bytes.max(0)).unwrap_or(u32::MAX)
}

fn small_unsigned(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// `net.core.rmem_max`, which affects the choice of the scale.
const CORE_RMEM_MAX: u32 = 212_992;
/// Maximum window scale (RFC 7323 section 2.3).
const MAX_SCALE: u32 = 14;
/// The timestamp option, padded.
const TIMESTAMPS_BYTES: u32 = 12;
