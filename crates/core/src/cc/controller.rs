//! The closed set of controllers: the packet path has no virtual calls.
//!
//! A new controller is an entry of the table in [`Controller`]; what it does is its own file's affair. The large ones
//! are boxed: an idle flow stays small.

use super::{AckSample, CaState, Control, Event, Insight, Known, LostPacket, Parameters, RateSample, Stamps, Vitals};
use super::{
    Bbr, Bbr3, Bic, Cdg, Cubic, HighSpeed, Htcp, Hybla, Illinois, Lp, Nv, Reno, Scalable, Vegas, Veno, Westwood, Yeah,
};
use crate::dice::Dice;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// From a table of `"name" => Variant(what it holds) = how it is made;`: the enum, its names, the way from a name to a
/// controller, and `each!`, one call to whichever controller it is. `$` is handed in for that inner macro's sake.
macro_rules! controllers {
    (($dollar:tt) $($(#[$doc:meta])* $name:literal => $variant:ident($held:ty) = $make:expr;)*) => {
        /// Every controller that the simulator has.
        #[derive(Clone, Debug)]
        pub enum Controller {
            $($(#[$doc])* $variant($held),)*
        }

        impl Controller {
            /// Names that [`Controller::named`] knows, sorted.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The controller of this name (Linux's), or None. It takes what it has from `parameters`; `dice` are its own.
            #[must_use]
            pub fn named(name: &str, parameters: &mut Parameters, dice: Dice) -> Option<Self> {
                match name {
                    $($name => {
                        let make: fn(&mut Parameters, Dice) -> $held = $make;
                        Some(Self::$variant(make(parameters, dice)))
                    })*
                    _ => None,
                }
            }
        }

        macro_rules! each {
            ($dollar controller:expr, $dollar one:ident => $dollar call:expr) => {
                match $dollar controller {
                    $(Controller::$variant($dollar one) => $dollar call,)*
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
    /// CUBIC.
    "cubic" => Cubic(Box<Cubic>) = |parameters, _| Box::new(Cubic::new(parameters));
    /// `HighSpeed` TCP.
    "highspeed" => HighSpeed(HighSpeed) = |_, _| HighSpeed::default();
    /// H-TCP.
    "htcp" => Htcp(Box<Htcp>) = |parameters, _| Box::new(Htcp::new(parameters));
    /// Hybla.
    "hybla" => Hybla(Box<Hybla>) = |parameters, _| Box::new(Hybla::new(parameters));
    /// Illinois.
    "illinois" => Illinois(Box<Illinois>) = |parameters, _| Box::new(Illinois::new(parameters));
    /// TCP-LP.
    "lp" => Lp(Box<Lp>) = |_, dice| Box::new(Lp::new(dice));
    /// NV.
    "nv" => Nv(Box<Nv>) = |parameters, dice| Box::new(Nv::new(parameters, dice));
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
}

impl Controller {
    /// What can be set of the controller of this name; empty where there is none of this name.
    #[must_use]
    pub fn parameters(name: &str) -> Vec<Known> {
        let mut parameters = Parameters::default();
        let _ = Self::named(name, &mut parameters, Dice::named(0, name));
        parameters.known().to_vec()
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

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        each!(self, one => one.on_event(vitals, event));
    }

    fn min_tso_segments(&self, vitals: &Vitals) -> u32 {
        each!(self, one => one.min_tso_segments(vitals))
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
