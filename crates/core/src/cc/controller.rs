//! The closed set of controllers: the packet path has no virtual calls.
//!
//! A new controller is a variant here, a line in [`Controller::named`] and one in [`each`]; what it does is its own
//! file's affair.

use super::{
    AckSample, Bbr, CaState, Control, Copa, Cubic, Event, Fixed, Hpcc, Insight, Known, LedbatPp, Parameters,
    RateSample, Reno, Vitals,
};
use crate::dice::Dice;
use crate::telemetry::Stack;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Every controller that the simulator has. The large ones are boxed: an idle flow stays small.
#[derive(Clone, Debug)]
pub enum Controller {
    /// Reno.
    Reno(Reno),
    /// CUBIC.
    Cubic(Box<Cubic>),
    /// BBR, version 1.
    Bbr(Box<Bbr>),
    /// Copa.
    Copa(Box<Copa>),
    /// A window or a rate that stands.
    Fixed(Box<Fixed>),
    /// HPCC.
    Hpcc(Box<Hpcc>),
    /// LEDBAT++.
    LedbatPp(Box<LedbatPp>),
}

impl Controller {
    /// Names that [`Controller::named`] knows, sorted.
    pub const NAMES: &'static [&'static str] = &["bbr", "copa", "cubic", "fixed", "hpcc", "ledbat++", "reno"];

    /// The controller of this name (Linux's), or None. It takes what it has from `parameters`; `dice` are its own.
    #[must_use]
    pub fn named(name: &str, parameters: &mut Parameters, dice: Dice) -> Option<Self> {
        match name {
            "bbr" => Some(Self::Bbr(Box::new(Bbr::new(dice)))),
            "copa" => Some(Self::Copa(Box::new(Copa::new(parameters)))),
            "cubic" => Some(Self::Cubic(Box::new(Cubic::new(parameters)))),
            "fixed" => Some(Self::Fixed(Box::new(Fixed::new(parameters)))),
            "hpcc" => Some(Self::Hpcc(Box::new(Hpcc::new(parameters)))),
            "ledbat++" => Some(Self::LedbatPp(Box::new(LedbatPp::new(parameters)))),
            "reno" => Some(Self::Reno(Reno)),
            _ => None,
        }
    }

    /// What can be set of the controller of this name; empty where there is none of this name.
    #[must_use]
    pub fn parameters(name: &str) -> Vec<Known> {
        let mut parameters = Parameters::default();
        let _ = Self::named(name, &mut parameters, Dice::named(0, name));
        parameters.known().to_vec()
    }
}

/// One call, whichever controller it is.
macro_rules! each {
    ($controller:expr, $one:ident => $call:expr) => {
        match $controller {
            Controller::Reno($one) => $call,
            Controller::Cubic($one) => $call,
            Controller::Bbr($one) => $call,
            Controller::Copa($one) => $call,
            Controller::Fixed($one) => $call,
            Controller::Hpcc($one) => $call,
            Controller::LedbatPp($one) => $call,
        }
    };
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

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        each!(self, one => one.on_acked(vitals, sample));
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        each!(self, one => one.avoid(vitals, acked));
    }

    fn controls(&self) -> bool {
        each!(self, one => one.controls())
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
