//! The enum of all controllers: the packet path has no virtual calls.
//!
//! To add a controller, add an entry to the table in [`Controller`] and a file with its code. Large controllers are
//! boxed, so that an idle flow stays small. Controllers without a name of their own come last: a parameter selects them.

use super::{
    AckSample, CaState, CcInfo, CcState, CongestionControl, EcnUse, Event, LostPacket, ParameterInfo, Parameters,
    RateSample, SenderState, Stamps,
};
use super::{
    Bbr, Bbr3, Bic, Cdg, Copa, Cubic, Dctcp, Draft, Fixed, GoogleV3, HighSpeed, Hpcc, Htcp, HyStartPp, Hybla, Illinois,
    LedbatPp, Lp, Nv, Prague, Reno, Scalable, V2Alpha, Vegas, Veno, Westwood, Yeah,
};
use crate::rng::Rng;
use crate::telemetry::Stack;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// From a table of `"name" => Variant(type) = constructor;` makes the enum, its names, the constructor by name, and
/// `each!`, which calls a method of the current variant. `$` is passed in for that inner macro. A constructor returns the
/// variant's type, or a [`Controller`] if a parameter selects the variant.
macro_rules! controllers {
    (
        ($dollar:tt)
        $($(#[$doc:meta])* $name:literal => $variant:ident($held:ty) = $make:expr;)*
        $(also $(#[$also_doc:meta])* $also:ident($also_held:ty);)*
    ) => {
        /// All controllers of the simulator.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $($(#[$doc])* $variant($held),)*
            $($(#[$also_doc])* $also($also_held),)*
        }

        impl Controller {
            /// Names that [`Controller::from_name`] accepts, sorted.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The controller with this name (Linux's), or None. It takes its settings from `parameters` and draws from
            /// `rng`.
            #[must_use]
            pub fn from_name(name: &str, parameters: &mut Parameters, rng: Rng) -> Option<Self> {
                match name {
                    $($name => {
                        let make: fn(&mut Parameters, Rng) -> _ = $make;
                        Some(make(parameters, rng).into())
                    })*
                    _ => None,
                }
            }
        }

        $(impl From<$held> for Controller {
            fn from(controller: $held) -> Self {
                Self::$variant(controller)
            }
        })*

        macro_rules! each {
            ($dollar controller:expr, $dollar one:ident => $dollar call:expr) => {
                match $dollar controller {
                    $(Controller::$variant($dollar one) => $dollar call,)*
                    $(Controller::$also($dollar one) => $dollar call,)*
                }
            };
        }
    };
}

controllers! { ($)
    /// BBR, version 1.
    "bbr" => Bbr(Box<Bbr>) = |_, rng| Box::new(Bbr::new(rng));
    /// BBR, version 2.
    "bbr2" => Bbr2(Box<Bbr3<V2Alpha>>) = |parameters, rng| Box::new(Bbr3::<V2Alpha>::new(parameters, rng));
    /// BBR, version 3 of the IETF's draft.
    "bbr3" => Bbr3(Box<Bbr3<Draft>>) = bbr3;
    /// BIC.
    "bic" => Bic(Box<Bic>) = |parameters, _| Box::new(Bic::new(parameters));
    /// CAIA's delay gradient.
    "cdg" => Cdg(Box<Cdg>) = |parameters, rng| Box::new(Cdg::new(parameters, rng));
    /// Copa.
    "copa" => Copa(Box<Copa>) = |parameters, _| Box::new(Copa::new(parameters));
    /// CUBIC.
    "cubic" => Cubic(Box<Cubic>) = |parameters, _| cubic(parameters);
    /// DCTCP.
    "dctcp" => Dctcp(Box<Dctcp>) = |parameters, _| Box::new(Dctcp::new(parameters));
    /// A constant window or rate.
    "fixed" => Fixed(Box<Fixed>) = |parameters, _| Box::new(Fixed::new(parameters));
    /// `HighSpeed` TCP.
    "highspeed" => HighSpeed(HighSpeed) = |_, _| HighSpeed::default();
    /// HPCC.
    "hpcc" => Hpcc(Box<Hpcc>) = |parameters, _| Box::new(Hpcc::new(parameters));
    /// H-TCP.
    "htcp" => Htcp(Box<Htcp>) = |parameters, _| Box::new(Htcp::new(parameters));
    /// Hybla.
    "hybla" => Hybla(Box<Hybla>) = |parameters, _| Box::new(Hybla::new(parameters));
    /// Illinois.
    "illinois" => Illinois(Box<Illinois>) = |parameters, _| Box::new(Illinois::new(parameters));
    /// LEDBAT++.
    "ledbat++" => LedbatPp(Box<LedbatPp>) = |parameters, _| Box::new(LedbatPp::new(parameters));
    /// TCP-LP.
    "lp" => Lp(Box<Lp>) = |_, rng| Box::new(Lp::new(rng));
    /// NV.
    "nv" => Nv(Box<Nv>) = |parameters, rng| Box::new(Nv::new(parameters, rng));
    /// Prague.
    "prague" => Prague(Box<Prague>) = |parameters, _| Box::new(Prague::new(parameters));
    /// Reno.
    "reno" => Reno(Reno) = |parameters, _| reno(parameters);
    /// Scalable TCP.
    "scalable" => Scalable(Scalable) = |_, _| Scalable;
    /// Vegas.
    "vegas" => Vegas(Box<Vegas>) = |parameters, _| Box::new(Vegas::new(parameters));
    /// Veno.
    "veno" => Veno(Box<Veno>) = |_, _| Box::new(Veno::new());
    /// Westwood+.
    "westwood" => Westwood(Box<Westwood>) = |_, _| Box::<Westwood>::default();
    /// `YeAH`.
    "yeah" => Yeah(Box<Yeah>) = |_, _| Box::new(Yeah::new());
    also /// BBR, version 3 of Google's kernel.
    Bbr3Google(Box<Bbr3<GoogleV3>>);
    also /// CUBIC behind HyStart++.
    CubicPp(Box<HyStartPp<Cubic>>);
    also /// Reno behind HyStart++.
    RenoPp(Box<HyStartPp<Reno>>);
}

impl Controller {
    /// The parameters of the controller with this name; empty if there is no such controller.
    #[must_use]
    pub fn parameters(name: &str) -> Vec<ParameterInfo> {
        let mut parameters = Parameters::default();
        let _ = Self::from_name(name, &mut parameters, Rng::from_name(0, name));
        parameters.known()
    }

    /// Whether the controller with this name asks for ECN by itself (`TCP_CONG_NEEDS_ECN`); false if there is none.
    #[must_use]
    pub fn needs_ecn(name: &str) -> bool {
        let made = Self::from_name(name, &mut Parameters::default(), Rng::from_name(0, name));
        made.is_some_and(|made| made.ecn_use() != EcnUse::Classic)
    }
}

/// Version 3 as in the draft or in Google's kernel.
fn bbr3(parameters: &mut Parameters, rng: Rng) -> Controller {
    match parameters.choose("variant", &["draft", "google"]) {
        "google" => Controller::Bbr3Google(Box::new(Bbr3::new(parameters, rng))),
        _ => Controller::Bbr3(Box::new(Bbr3::new(parameters, rng))),
    }
}

/// CUBIC with the slow start that the parameters select.
fn cubic(parameters: &mut Parameters) -> Controller {
    let cubic = Cubic::new(parameters);
    match parameters.choose("slow_start", &["hystart", "hystart++"]) {
        "hystart++" => Controller::CubicPp(Box::new(HyStartPp::wrap(cubic.without_hystart()))),
        _ => Controller::Cubic(Box::new(cubic)),
    }
}

/// Reno with the slow start that the parameters select.
fn reno(parameters: &mut Parameters) -> Controller {
    match parameters.choose("slow_start", &["standard", "hystart++"]) {
        "hystart++" => Controller::RenoPp(Box::new(HyStartPp::wrap(Reno))),
        _ => Controller::Reno(Reno),
    }
}

impl CongestionControl for Controller {
    fn name(&self) -> &'static str {
        each!(self, one => one.name())
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        each!(self, one => one.init(tp, cc));
    }

    fn ssthresh(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        each!(self, one => one.ssthresh(tp, cc))
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        each!(self, one => one.undo_cwnd(tp, cc))
    }

    fn ecn_use(&self) -> EcnUse {
        each!(self, one => one.ecn_use())
    }

    fn on_timestamps(&mut self, stamps: Stamps) {
        each!(self, one => one.on_timestamps(stamps));
    }

    fn pkts_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        each!(self, one => one.pkts_acked(tp, cc, sample));
    }

    fn syn_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        each!(self, one => one.syn_acked(tp, cc, sample));
    }

    fn in_ack_event(&mut self, tp: &SenderState, cc: &mut CcState, is_plain: bool) {
        each!(self, one => one.in_ack_event(tp, cc, is_plain));
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        each!(self, one => one.cong_avoid(tp, cc, acked));
    }

    fn take_cwr_request(&mut self) -> bool {
        each!(self, one => one.take_cwr_request())
    }

    fn has_cong_control(&self) -> bool {
        each!(self, one => one.has_cong_control())
    }

    fn skb_marked_lost(&mut self, tp: &SenderState, cc: &mut CcState, packet: &LostPacket) {
        each!(self, one => one.skb_marked_lost(tp, cc, packet));
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        each!(self, one => one.cong_control(tp, cc, sample));
    }

    fn set_state(&mut self, tp: &SenderState, cc: &mut CcState, new: CaState) {
        each!(self, one => one.set_state(tp, cc, new));
    }

    fn uses_telemetry(&self) -> bool {
        each!(self, one => one.uses_telemetry())
    }

    fn on_telemetry(&mut self, stack: &Stack) {
        each!(self, one => one.on_telemetry(stack));
    }

    fn max_segments(&self) -> Option<u32> {
        each!(self, one => one.max_segments())
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        each!(self, one => one.cwnd_event(tp, cc, event));
    }

    fn min_tso_segments(&self, tp: &SenderState, cc: &CcState) -> Option<u32> {
        each!(self, one => one.min_tso_segments(tp, cc))
    }

    fn tso_segments(&self) -> Option<u32> {
        each!(self, one => one.tso_segments())
    }

    fn sndbuf_expand(&self) -> u32 {
        each!(self, one => one.sndbuf_expand())
    }

    fn cc_info(&self, tp: &SenderState, cc: &CcState) -> CcInfo {
        each!(self, one => one.cc_info(tp, cc))
    }
}

#[cfg(test)]
mod tests;
