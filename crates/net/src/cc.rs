//! Congestion control: how large the window is and how fast to send.
//!
//! A controller reads the sender's [`SenderState`] and sets the seven values of [`CcState`]. The sender calls the
//! methods of [`CongestionControl`] in the order in which Linux's `tcp_ack` calls `tcp_congestion_ops`. Loss detection,
//! pacing and retransmission are in [`crate::transport`]. Each controller has its own file; BBR has one file per phase.
//!
//! | type | description |
//! | --- | --- |
//! | [`Controller`] | enum of all controllers |
//! | [`Parameters`] | a controller's settings in an experiment |
//! | [`Reno`] | adds one packet per round trip, halves on loss |
//! | [`Cubic`] | cubic growth back to the last maximum, with HyStart |
//! | [`Bbr`] | BBR version 1: a model of the path's bandwidth and propagation delay |
//! | [`Dctcp`] | Reno with a decrease in proportion to the share of marked packets |
//! | [`Prague`] | DCTCP for the Internet (L4S) |
//! | [`HyStartPp`] | HyStart++ slow start in front of Reno or CUBIC |
//! | [`Bbr3`] | BBR versions 2 and 3: adds a model of how much the path holds before it loses packets |
//! | [`Bic`] | a binary search for the last maximum; CUBIC's predecessor |
//! | [`Cdg`] | backs off when the delay grows |
//! | [`HighSpeed`] | Reno with increase and decrease depending on the window |
//! | [`Htcp`] | growth by the time since the last loss |
//! | [`Hybla`] | grows as fast at long round-trip times as at short ones |
//! | [`Illinois`] | increase and decrease depend on the delay |
//! | [`Lp`] | background transfer that yields to other traffic |
//! | [`Nv`] | Vegas for data centres |
//! | [`Scalable`] | grows by a fixed fraction of the window per round trip |
//! | [`Vegas`] | keeps a few packets in the queue |
//! | [`Veno`] | uses the delay to judge whether a loss was congestion |
//! | [`Westwood`] | after a loss, sets the window to the measured bandwidth |
//! | [`Yeah`] | grows fast while the queue is short, as Reno while it is long |
//! | [`Copa`] | keeps about two packets in the queue at any rate |
//! | [`Fixed`] | a constant window or rate |
//! | [`Hpcc`] | reads the load from the links' telemetry |
//! | [`LedbatPp`] | LEDBAT++: background transfer that yields to other traffic |

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
pub use bbr3::{Bbr3, Draft, GoogleV3, V2Alpha};
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
pub use parameters::{ParameterInfo, Parameters, Setting};
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
/// The bytes of about a millisecond: a rate in bytes per second, shifted right by this (`sk_pacing_shift`).
pub(crate) const PACING_SHIFT: u32 = 10;

/// What a controller sets, as a BPF controller may in Linux (`bpf_tcp_ca_btf_struct_access`), and the clamp that modules
/// lower. The sender changes it too: the window in recovery, the rate of a controller that sets none.
#[derive(Clone, Debug)]
pub struct CcState {
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Fractional growth of the window, in packets acknowledged (`snd_cwnd_cnt`).
    pub cwnd_count: u32,
    /// Upper limit of the window (`snd_cwnd_clamp`).
    pub cwnd_clamp: u32,
    /// Slow start threshold in packets.
    pub ssthresh: u32,
    /// Pacing rate (`sk_pacing_rate`).
    pub pacing_rate: Rate,
    /// Is sending paced (`sk_pacing_status`)? A controller that needs it sets it in `init`.
    pub paced: bool,
    /// Value of [`SenderState::delivered`] at which the application-limited phase ends; 0 when not limited.
    pub app_limited: u64,
}

impl CcState {
    /// Below the slow start threshold?
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The threshold after a reduction: at least three quarters of the window (`tcp_current_ssthresh`).
    #[must_use]
    pub fn current_ssthresh(&self, state: CaState) -> u32 {
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        if matches!(state, CaState::Cwr | CaState::Recovery) {
            ssthresh
        } else {
            ssthresh.max((cwnd >> 1) + (cwnd >> 2))
        }
    }
}

/// The sender's state that a controller reads. Counts are packets.
#[derive(Clone, Debug)]
pub struct SenderState {
    /// The time of the event being handled.
    pub now: Time,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// The window before the last reduction (`prior_cwnd`); a controller with [`CongestionControl::has_cong_control`]
    /// keeps its own.
    pub prior_cwnd: u32,
    /// Did the window limit what was sent in the last round (`tp->is_cwnd_limited`, the bare flag)?
    pub cwnd_limited: bool,
    /// Most packets outstanding in the last round (`max_packets_out`); [`SenderState::is_cwnd_limited`] reads it.
    pub max_packets_out: u32,
    /// Congestion state.
    pub state: CaState,
    /// Was ECN negotiated?
    pub ecn: bool,
    /// Smoothed round-trip time in eighths of a microsecond (`srtt_us`); 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum of the round-trip time (`tcp_min_rtt`), in microseconds; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Packets sent and not yet cumulatively acknowledged (`packets_out`).
    pub packets_out: u32,
    /// Of those: SACKed.
    pub sacked_out: u32,
    /// Of those: marked lost.
    pub lost_out: u32,
    /// Of those: retransmitted and still in flight.
    pub retrans_out: u32,
    /// Packets delivered so far, SACKed ones included.
    pub delivered: u64,
    /// Delivered packets that were CE marked.
    pub delivered_ce: u64,
    /// When the last packet was delivered (`delivered_mstamp`).
    pub delivered_at: Time,
    /// Packets marked lost so far.
    pub lost: u64,
    /// When data was last sent (`lsndtime`).
    pub last_sent_at: Time,
    /// Next sequence number, in bytes. Rounds are delimited by it and by `snd_una`.
    pub snd_nxt: u64,
    /// First unacknowledged byte.
    pub snd_una: u64,
    /// The application's limit (`SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Rate,
    /// Payload of the largest super-packet that the device takes (`sk_gso_max_size`): [`GSO_MAX_BYTES`], with offloads
    /// off too.
    pub gso_max_bytes: u32,
    /// Earliest departure of the next packet (EDT; `tcp_wstamp_ns`).
    pub next_send_at: Time,
}

impl SenderState {
    /// Estimated packets in the network (RFC 6675's pipe; `tcp_packets_in_flight`).
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        (self.packets_out + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// May the window grow? Only if it was the limit; in slow start it is enough that half of it was used
    /// (`tcp_is_cwnd_limited`).
    #[must_use]
    pub const fn is_cwnd_limited(&self, cc: &CcState) -> bool {
        self.cwnd_limited || (cc.in_slow_start() && cc.cwnd < self.max_packets_out.saturating_mul(2))
    }

    /// Smoothed round-trip time; None before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt_us8 > 0).then(|| Span::from_nanos(u64::from(self.srtt_us8) * 125))
    }
}

/// A controller's state as the sampler records it. Fields that a controller does not have stay empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcInfo {
    /// The phase, such as `slow_start` or `probe_bw`.
    pub phase: &'static str,
    /// BBR's bandwidth estimate.
    pub bandwidth: Option<Rate>,
    /// BBR's `min_rtt` in microseconds.
    pub min_rtt_us: Option<u32>,
    /// BBR's pacing gain in 1/256.
    pub pacing_gain: Option<u32>,
    /// BBR's window gain in 1/256.
    pub cwnd_gain: Option<u32>,
    /// DCTCP's and Prague's moving average of the share of marked packets (alpha), in 2⁻²⁰.
    pub marked_share: Option<u32>,
}

/// A congestion controller, with the methods of Linux's `tcp_congestion_ops`.
pub trait CongestionControl {
    /// Linux's name of the controller.
    fn name(&self) -> &'static str;

    /// The connection is established (`init`).
    fn init(&mut self, tp: &SenderState, cc: &mut CcState);

    /// The threshold for a reduction that begins now (`ssthresh`).
    fn ssthresh(&mut self, tp: &SenderState, cc: &mut CcState) -> u32;

    /// The window to restore after a spurious reduction (`undo_cwnd`).
    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32;

    /// The controller's use of ECN, read before the connection is established.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }

    /// An ACK with these timestamps is about to be processed.
    fn on_timestamps(&mut self, _stamps: Stamps) {}

    /// Packets were acknowledged (`pkts_acked`); called before [`CongestionControl::cong_avoid`] or
    /// [`CongestionControl::cong_control`].
    fn pkts_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, _sample: &AckSample) {}

    /// The SYN was acknowledged. Linux calls `pkts_acked` for it before `init`, which clears the sample in all controllers
    /// but two: `tcp_cdg_init` keeps it, and `tcp_veno_init` the number of samples.
    fn syn_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, _sample: &AckSample) {}

    /// An ACK was processed, losses are not detected yet (`in_ack_event`). A plain ACK only advances: no SACK, no ECN
    /// echo, no window change (Linux's fast path).
    fn in_ack_event(&mut self, _tp: &SenderState, _cc: &mut CcState, _is_plain: bool) {}

    /// Grow the window for `acked` packets (`cong_avoid`).
    fn cong_avoid(&mut self, _tp: &SenderState, _cc: &mut CcState, _acked: u32) {}

    /// Takes the reduction that [`CongestionControl::cong_avoid`] requested (`tcp_enter_cwr`), if any. The sender calls
    /// this after `cong_avoid` and then reduces.
    fn take_cwr_request(&mut self) -> bool {
        false
    }

    /// Does the controller set window and pacing rate on every ACK (`cong_control`)? Then the sender uses neither
    /// [`CongestionControl::cong_avoid`] nor PRR.
    fn has_cong_control(&self) -> bool {
        false
    }

    /// A packet was marked lost (`skb_marked_lost` of BBR's own kernels). Called before the ACK that marked it is
    /// processed.
    fn skb_marked_lost(&mut self, _tp: &SenderState, _cc: &mut CcState, _packet: &LostPacket) {}

    /// Set window and pacing rate (`cong_control`).
    fn cong_control(&mut self, _tp: &SenderState, _cc: &mut CcState, _sample: &RateSample) {}

    /// The sender is about to enter `new`; `tp.state` still has the old state (`set_state`).
    fn set_state(&mut self, _tp: &SenderState, _cc: &mut CcState, _new: CaState) {}

    /// Does the controller need the links' telemetry? Then [`CongestionControl::on_telemetry`] is called before its ACK
    /// is processed.
    fn uses_telemetry(&self) -> bool {
        false
    }

    /// The telemetry that the next ACK carries.
    fn on_telemetry(&mut self, _stack: &Stack) {}

    /// Maximum segments in a super-packet, if the controller limits them; read once.
    fn max_segments(&self) -> Option<u32> {
        None
    }

    /// Another event occurred (`cwnd_event`).
    fn cwnd_event(&mut self, _tp: &SenderState, _cc: &mut CcState, _event: Event) {}

    /// Minimum segments in a super-packet (`min_tso_segs`); None: the host's setting.
    fn min_tso_segments(&self, _tp: &SenderState, _cc: &CcState) -> Option<u32> {
        None
    }

    /// Segments in a super-packet, if the controller chooses them (L4S's `tso_segs`).
    fn tso_segments(&self) -> Option<u32> {
        None
    }

    /// How far the send buffer may exceed the window (`sndbuf_expand`).
    fn sndbuf_expand(&self) -> u32 {
        2
    }

    /// The controller's state for the sampler.
    fn cc_info(&self, tp: &SenderState, cc: &CcState) -> CcInfo;
}
