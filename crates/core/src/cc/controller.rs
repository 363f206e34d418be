//! The closed set of controllers: the packet path has no virtual calls.
//!
//! A new controller is an entry of the table in [`Controller`]; what it does is its own file's affair. The large ones
//! are boxed: an idle flow stays small. What is built around another one, and has no name of its own, stands at the end.

use super::{
    AckSample, CaState, Control, EcnUse, Event, Insight, Known, LostPacket, Parameters, RateSample, Stamps, Vitals,
};
use super::{
    Bbr, Bbr3, Bic, Cdg, Copa, Cubic, Dctcp, Fixed, HighSpeed, Hpcc, Htcp, HyStartPp, Hybla, Illinois, LedbatPp, Lp,
    Nv, Prague, Reno, Scalable, Vegas, Veno, Westwood, Yeah,
};
use crate::dice::Dice;
use crate::telemetry::Stack;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// From a table of `"name" => Variant(what it holds) = how it is made;`: the enum, its names, the way from a name to a
/// controller, and `each!`, one call to whichever controller it is. `$` is handed in for that inner macro's sake.
macro_rules! controllers {
    (
        ($dollar:tt)
        $($(#[$doc:meta])* $name:literal => $variant:ident($held:ty) = $make:expr;)*
        $(also $(#[$also_doc:meta])* $also:ident($also_held:ty);)*
    ) => {
        /// Every controller that the simulator has.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $($(#[$doc])* $variant($held),)*
            $($(#[$also_doc])* $also($also_held),)*
        }

        impl Controller {
            /// Names that [`Controller::named`] knows, sorted.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The controller of this name (Linux's), or None. It takes what it has from `parameters`; `dice` are its own.
            #[must_use]
            pub fn named(name: &str, parameters: &mut Parameters, dice: Dice) -> Option<Self> {
                let plain = match name {
                    $($name => {
                        let make: fn(&mut Parameters, Dice) -> $held = $make;
                        Self::$variant(make(parameters, dice))
                    })*
                    _ => return None,
                };
                Some(plain.with_slow_start(parameters))
            }
        }

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
    "bbr" => Bbr(Box<Bbr>) = |_, dice| Box::new(Bbr::new(dice));
    /// BBR, version 2.
    "bbr2" => Bbr2(Box<Bbr3>) = |parameters, dice| Box::new(Bbr3::version_2(parameters, dice));
    /// BBR, version 3.
    "bbr3" => Bbr3(Box<Bbr3>) = |parameters, dice| Box::new(Bbr3::version_3(parameters, dice));
    /// BIC.
    "bic" => Bic(Box<Bic>) = |parameters, _| Box::new(Bic::new(parameters));
    /// CAIA's delay gradient.
    "cdg" => Cdg(Box<Cdg>) = |parameters, dice| Box::new(Cdg::new(parameters, dice));
    /// Copa.
    "copa" => Copa(Box<Copa>) = |parameters, _| Box::new(Copa::new(parameters));
    /// CUBIC.
    "cubic" => Cubic(Box<Cubic>) = |parameters, _| Box::new(Cubic::new(parameters));
    /// DCTCP.
    "dctcp" => Dctcp(Box<Dctcp>) = |parameters, _| Box::new(Dctcp::new(parameters));
    /// A window or a rate that stands.
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
    "lp" => Lp(Box<Lp>) = |_, dice| Box::new(Lp::new(dice));
    /// NV.
    "nv" => Nv(Box<Nv>) = |parameters, dice| Box::new(Nv::new(parameters, dice));
    /// Prague.
    "prague" => Prague(Box<Prague>) = |parameters, _| Box::new(Prague::new(parameters));
    /// Reno.
    "reno" => Reno(Reno) = |_, _| Reno;
    /// Scalable TCP.
    "scalable" => Scalable(Scalable) = |_, _| Scalable;
    /// Vegas.
    "vegas" => Vegas(Box<Vegas>) = |parameters, _| Box::new(Vegas::new(parameters));
    /// Veno.
    "veno" => Veno(Box<Veno>) = |_, _| Box::new(Veno::new());
    /// Westwood+.
    "westwood" => Westwood(Box<Westwood>) = |_, _| Box::default();
    /// `YeAH`.
    "yeah" => Yeah(Box<Yeah>) = |_, _| Box::new(Yeah::new());
    also /// CUBIC behind HyStart++.
    CubicPp(Box<HyStartPp<Cubic>>);
    also /// Reno behind HyStart++.
    RenoPp(Box<HyStartPp<Reno>>);
}

impl Controller {
    /// The same with the slow start that was asked for; CUBIC and Reno have a choice.
    fn with_slow_start(self, parameters: &mut Parameters) -> Self {
        match self {
            Self::Cubic(cubic) => match parameters.choose("slow_start", &["hystart", "hystart++"]) {
                "hystart++" => Self::CubicPp(Box::new(HyStartPp::before(cubic.without_hystart()))),
                _ => Self::Cubic(cubic),
            },
            Self::Reno(reno) => match parameters.choose("slow_start", &["standard", "hystart++"]) {
                "hystart++" => Self::RenoPp(Box::new(HyStartPp::before(reno))),
                _ => Self::Reno(reno),
            },
            other => other,
        }
    }

    /// What can be set of the controller of this name; empty where there is none of this name.
    #[must_use]
    pub fn parameters(name: &str) -> Vec<Known> {
        let mut parameters = Parameters::default();
        let _ = Self::named(name, &mut parameters, Dice::named(0, name));
        parameters.known()
    }
}

impl Control for Controller {
    fn name(&self) -> &'static str {
        each!(self, one => one.name())
    }

    fn start(&mut self, vitals: &mut Vitals) {
        each!(self, one => one.start(vitals));
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        each!(self, one => one.ssthresh(vitals))
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        each!(self, one => one.undo_cwnd(vitals))
    }

    fn ecn_use(&self) -> EcnUse {
        each!(self, one => one.ecn_use())
    }

    fn on_stamps(&mut self, stamps: Stamps) {
        each!(self, one => one.on_stamps(stamps));
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        each!(self, one => one.on_acked(vitals, sample));
    }

    fn on_ack(&mut self, vitals: &mut Vitals, is_plain: bool) {
        each!(self, one => one.on_ack(vitals, is_plain));
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        each!(self, one => one.avoid(vitals, acked));
    }

    fn takes_reduction(&mut self) -> bool {
        each!(self, one => one.takes_reduction())
    }

    fn controls(&self) -> bool {
        each!(self, one => one.controls())
    }

    fn on_lost(&mut self, vitals: &mut Vitals, packet: &LostPacket) {
        each!(self, one => one.on_lost(vitals, packet));
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        each!(self, one => one.control(vitals, sample));
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        each!(self, one => one.on_state(vitals, new));
    }

    fn wants_telemetry(&self) -> bool {
        each!(self, one => one.wants_telemetry())
    }

    fn on_telemetry(&mut self, stack: &Stack) {
        each!(self, one => one.on_telemetry(stack));
    }

    fn most_segments(&self) -> Option<u32> {
        each!(self, one => one.most_segments())
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        each!(self, one => one.on_event(vitals, event));
    }

    fn min_tso_segments(&self, vitals: &Vitals) -> Option<u32> {
        each!(self, one => one.min_tso_segments(vitals))
    }

    fn tso_segments(&self) -> Option<u32> {
        each!(self, one => one.tso_segments())
    }

    fn sndbuf_expand(&self) -> u32 {
        each!(self, one => one.sndbuf_expand())
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        each!(self, one => one.insight(vitals))
    }
}

#[cfg(test)]
mod tests;
