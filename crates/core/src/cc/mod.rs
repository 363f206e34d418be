//! Congestion control: how large the window is and how fast to send.
//!
//! A controller reads and writes the sender's [`Vitals`] and hears what happens through the verbs of
//! [`Control`], in the order in which Linux's `tcp_ack` calls a `tcp_congestion_ops`. It does not detect
//! loss, pace or retransmit: that is [`crate::transport`]. One controller a file; BBR's phases a file each.
//!
//! | here | what it is |
//! | --- | --- |
//! | [`Controller`] | the closed set of controllers |
//! | [`Parameters`] | what an experiment sets of one |
//! | [`Reno`] | one packet more a round trip, half on loss |
//! | [`Cubic`] | a cubic curve back to the last maximum, and HyStart |
//! | [`Bbr`] | BBR version 1: a model of the path's bandwidth and propagation delay |
//! | [`Dctcp`] | Reno that answers each mark in proportion to how many there are |
//! | [`Prague`] | the same for the Internet: L4S |
//! | [`HyStartPp`] | another slow start, in front of Reno or CUBIC |
//! | [`Bbr3`] | BBR versions 2 and 3: the same, and how much the path holds before it loses |
//! | [`Bic`] | a binary search for the last maximum; CUBIC's predecessor |
//! | [`Cdg`] | backs off when the delay grows |
//! | [`HighSpeed`] | Reno whose growth and decrease depend on the window |
//! | [`Htcp`] | growth by the time since the last loss |
//! | [`Hybla`] | long round trips grow as if they were short |
//! | [`Illinois`] | delay sets how fast to grow and how much to give up |
//! | [`Lp`] | yields to everybody else |
//! | [`Nv`] | Vegas for datacentres |
//! | [`Scalable`] | a fixed fraction of the window more each round trip |
//! | [`Vegas`] | a few packets in the queue, no more and no less |
//! | [`Veno`] | asks the delay whether a loss was congestion |
//! | [`Westwood`] | after a loss, what the path carried |
//! | [`Yeah`] | fast while the queue is short, Reno while it is long |
//! | [`Copa`] | about two packets in the queue, whatever the rate |
//! | [`Fixed`] | a window or a rate that stands |
//! | [`Hpcc`] | what the links themselves say of their load |
//! | [`LedbatPp`] | LEDBAT++: a background transfer that yields |

mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod controller;
mod copa;
mod cubic;
mod dctcp;
mod delay;
mod fixed;
mod growth;
mod highspeed;
mod hpcc;
mod htcp;
mod hybla;
mod hystart_pp;
mod illinois;
mod ledbatpp;
mod lp;
mod model;
mod nv;
mod parameters;
mod prague;
mod reno;
mod samples;
mod scalable;
#[cfg(test)]
mod testing;
mod vegas;
mod veno;
mod westwood;
mod yeah;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use cdg::Cdg;
pub use controller::Controller;
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use fixed::Fixed;
pub use highspeed::HighSpeed;
pub use hpcc::Hpcc;
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use hystart_pp::HyStartPp;
pub use illinois::Illinois;
pub use ledbatpp::LedbatPp;
pub use lp::Lp;
pub use nv::Nv;
pub use parameters::{Known, Parameters, Setting};
pub use prague::Prague;
pub use reno::Reno;
pub use samples::{AckSample, CaState, EcnUse, Event, LostPacket, RateSample, Stamps};
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use yeah::Yeah;

use crate::rate::Rate;
use crate::telemetry::Stack;
use crate::time::{Span, Time};

/// Linux's "infinite" slow start threshold (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Initial window in packets (RFC 6928; `TCP_INIT_CWND`).
pub const INITIAL_WINDOW: u32 = 10;
/// Payload of the largest super-packet that a host builds, offloads or not (`sk_gso_max_size`): 64 KiB
/// less one and the 192 bytes that the `kernel` engine's Linux keeps free for headers (`MAX_TCP_HEADER`).
pub const GSO_MAX_BYTES: u32 = 65_536 - 1 - 192;

/// What the sender knows that a controller reads, and what the controller decides. Counts are packets.
#[derive(Clone, Debug)]
pub struct Vitals {
    /// The time of the event being handled.
    pub now: Time,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Fractional growth of the window, in packets acknowledged (`snd_cwnd_cnt`).
    pub cwnd_count: u32,
    /// No window grows beyond this.
    pub cwnd_clamp: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// The window before the last reduction (`prior_cwnd`); a controller with [`Control::controls`] keeps its own.
    pub prior_cwnd: u32,
    /// Did the window limit what was sent in the last round (`tp->is_cwnd_limited`, the bare flag)?
    pub cwnd_limited: bool,
    /// Most packets outstanding in the last round (`max_packets_out`); [`Vitals::is_cwnd_limited`] reads it.
    pub max_packets_out: u32,
    /// State.
    pub state: CaState,
    /// Was ECN negotiated?
    pub ecn: bool,
    /// Smoothed round-trip time, in eighths of a microsecond (`srtt_us`); 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum of the round-trip time (`tcp_min_rtt`), in microseconds; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Packets sent and not yet cumulatively acknowledged (`packets_out`).
    pub packets_out: u32,
    /// Of those: SACKed.
    pub sacked_out: u32,
    /// Of those: thought lost.
    pub lost_out: u32,
    /// Of those: retransmitted and still out.
    pub retrans_out: u32,
    /// Packets delivered so far, SACKed ones included.
    pub delivered: u64,
    /// Packets of those that were CE marked.
    pub delivered_ce: u64,
    /// When the last of them was delivered (`delivered_mstamp`).
    pub delivered_at: Time,
    /// Packets ever marked lost.
    pub lost: u64,
    /// `delivered` at which the application-limited stretch ends; 0 when not limited.
    pub app_limited: u64,
    /// When data was last sent (`lsndtime`).
    pub last_sent_at: Time,
    /// Next sequence number and first unacknowledged one, in bytes: rounds are told by them.
    pub snd_nxt: u64,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// Send no faster than this.
    pub pacing_rate: Rate,
    /// The application's limit (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Rate,
    /// Is sending paced (`sk_pacing_status`)? A controller that needs it sets it in `start`.
    pub paced: bool,
    /// Payload of the largest super-packet that the device takes (`sk_gso_max_size`): [`GSO_MAX_BYTES`], with offloads off too.
    pub gso_max_bytes: u32,
    /// When the next packet may leave by pacing (EDT; `tcp_wstamp_ns`).
    pub next_send_at: Time,
}

impl Vitals {
    /// Packets in the network as far as is known (RFC 6675's pipe; `tcp_packets_in_flight`).
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// Below the slow start threshold?
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// May the window grow? Only when it was the limit; in slow start half of it used is enough (`tcp_is_cwnd_limited`).
    #[must_use]
    pub const fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited || (self.in_slow_start() && self.cwnd < self.max_packets_out.saturating_mul(2))
    }

    /// The threshold that a reduction leaves behind: three quarters of the window at least (`tcp_current_ssthresh`).
    #[must_use]
    pub fn current_ssthresh(&self) -> u32 {
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        if matches!(self.state, CaState::Cwr | CaState::Recovery) {
            ssthresh
        } else {
            ssthresh.max((cwnd >> 1) + (cwnd >> 2))
        }
    }

    /// Smoothed round-trip time; None before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt_us8 > 0).then(|| Span::from_nanos(u64::from(self.srtt_us8) * 125))
    }
}

/// What a controller shows of itself; what it has not stays empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Insight {
    /// The phase that it is in, such as `slow_start` or `probe_bw`.
    pub phase: &'static str,
    /// BBR's bandwidth estimate.
    pub bandwidth: Option<Rate>,
    /// BBR's `min_rtt` in microseconds.
    pub min_rtt_us: Option<u32>,
    /// BBR's pacing gain in 1/256.
    pub pacing_gain: Option<u32>,
    /// BBR's window gain in 1/256.
    pub cwnd_gain: Option<u32>,
    /// DCTCP's and Prague's running share of marked packets (alpha), in 2⁻²⁰.
    pub marked_share: Option<u32>,
}

/// A congestion controller, as Linux's `tcp_congestion_ops` has it.
pub trait Control {
    /// Linux's name for it.
    fn name(&self) -> &'static str;

    /// The connection is established (`init`).
    fn start(&mut self, vitals: &mut Vitals);

    /// The threshold for a reduction that begins now (`ssthresh`).
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32;

    /// The window to go back to when a reduction was in error (`undo_cwnd`).
    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32;

    /// What it wants of ECN, asked before the connection is made.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }

    /// An ACK is about to be handled that carries these timestamps.
    fn on_stamps(&mut self, _stamps: Stamps) {}

    /// Packets were acknowledged (`pkts_acked`); called before [`Control::avoid`] or [`Control::control`].
    fn on_acked(&mut self, _vitals: &mut Vitals, _sample: &AckSample) {}

    /// An ACK was taken in, before losses are looked for (`in_ack_event`). A plain one says nothing but how
    /// far: no SACK, no echo, no other window (Linux's fast path).
    fn on_ack(&mut self, _vitals: &mut Vitals, _is_plain: bool) {}

    /// Grow the window for `acked` packets (`cong_avoid`).
    fn avoid(&mut self, _vitals: &mut Vitals, _acked: u32) {}

    /// Did [`Control::avoid`] ask for a reduction (`tcp_enter_cwr`)? Asked after it; the sender reduces then.
    fn takes_reduction(&mut self) -> bool {
        false
    }

    /// Does it set window and pacing rate itself on every ACK (`cong_control`)? Then neither [`Control::avoid`] nor PRR is used.
    fn controls(&self) -> bool {
        false
    }

    /// A packet was marked lost; an ACK that marked it is heard of later.
    fn on_lost(&mut self, _vitals: &mut Vitals, _packet: &LostPacket) {}

    /// Set window and pacing rate (`cong_control`).
    fn control(&mut self, _vitals: &mut Vitals, _sample: &RateSample) {}

    /// The sender is about to enter `new`; `vitals.state` is still the old one (`set_state`).
    fn on_state(&mut self, _vitals: &mut Vitals, _new: CaState) {}

    /// Does it live on what the links of the path say? Then [`Control::on_telemetry`] comes before its ACK is handled.
    fn wants_telemetry(&self) -> bool {
        false
    }

    /// The ACK that comes next has brought the stamps of its packet's links.
    fn on_telemetry(&mut self, _stack: &Stack) {}

    /// Most segments in a super-packet, where that is not the device's affair; asked once.
    fn most_segments(&self) -> Option<u32> {
        None
    }

    /// Something else happened (`cwnd_event`).
    fn on_event(&mut self, _vitals: &mut Vitals, _event: Event) {}

    /// Fewest segments in a super-packet (`min_tso_segs`), where that is not the host's setting.
    fn min_tso_segments(&self, _vitals: &Vitals) -> Option<u32> {
        None
    }

    /// Segments in a super-packet, where it decides that by itself (L4S's `tso_segs`).
    fn tso_segments(&self) -> Option<u32> {
        None
    }

    /// How far the send buffer may exceed the window (`sndbuf_expand`).
    fn sndbuf_expand(&self) -> u32 {
        2
    }

    /// What it shows of itself.
    fn insight(&self, vitals: &Vitals) -> Insight;
}
