//! The closed set of controllers: the packet path has no virtual calls.
//!
//! A new controller is a variant here, a line in [`Controller::named`] and one in [`each`]; what it does is its own
//! file's affair.

use super::{AckSample, CaState, Control, EcnUse, Event, Insight, Known, Parameters, RateSample, Stamps, Vitals};
use super::{
    Bbr, Bic, Cdg, Cubic, Dctcp, HighSpeed, Htcp, HyStartPp, Hybla, Illinois, Lp, Nv, Prague, Reno, Scalable, Vegas,
    Veno, Westwood, Yeah,
};
use crate::dice::Dice;
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
    /// DCTCP.
    Dctcp(Box<Dctcp>),
    /// Prague.
    Prague(Box<Prague>),
    /// Reno behind HyStart++.
    RenoPp(Box<HyStartPp<Reno>>),
    /// CUBIC behind HyStart++.
    CubicPp(Box<HyStartPp<Cubic>>),
    /// BIC.
    Bic(Box<Bic>),
    /// CAIA's delay gradient.
    Cdg(Box<Cdg>),
    /// `HighSpeed` TCP.
    HighSpeed(HighSpeed),
    /// H-TCP.
    Htcp(Box<Htcp>),
    /// Hybla.
    Hybla(Box<Hybla>),
    /// Illinois.
    Illinois(Box<Illinois>),
    /// TCP-LP.
    Lp(Box<Lp>),
    /// NV.
    Nv(Box<Nv>),
    /// Scalable TCP.
    Scalable(Scalable),
    /// Vegas.
    Vegas(Box<Vegas>),
    /// Veno.
    Veno(Box<Veno>),
    /// Westwood+.
    Westwood(Box<Westwood>),
    /// `YeAH`.
    Yeah(Box<Yeah>),
}

impl Controller {
    /// Names that [`Controller::named`] knows, sorted.
    pub const NAMES: &'static [&'static str] = &[
        "bbr",
        "bic",
        "cdg",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "prague",
        "reno",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah",
    ];

    /// The controller of this name (Linux's), or None. It takes what it has from `parameters`; `dice` are its own.
    #[must_use]
    pub fn named(name: &str, parameters: &mut Parameters, dice: Dice) -> Option<Self> {
        match name {
            "bbr" => Some(Self::Bbr(Box::new(Bbr::new(dice)))),
            "bic" => Some(Self::Bic(Box::new(Bic::new(parameters)))),
            "cdg" => Some(Self::Cdg(Box::new(Cdg::new(parameters, dice)))),
            "cubic" => Some(Self::cubic(parameters)),
            "dctcp" => Some(Self::Dctcp(Box::new(Dctcp::new(parameters)))),
            "prague" => Some(Self::Prague(Box::new(Prague::new(parameters)))),
            "highspeed" => Some(Self::HighSpeed(HighSpeed::default())),
            "htcp" => Some(Self::Htcp(Box::new(Htcp::new(parameters)))),
            "hybla" => Some(Self::Hybla(Box::new(Hybla::new(parameters)))),
            "illinois" => Some(Self::Illinois(Box::new(Illinois::new(parameters)))),
            "lp" => Some(Self::Lp(Box::new(Lp::new(dice)))),
            "nv" => Some(Self::Nv(Box::new(Nv::new(parameters, dice)))),
            "reno" => Some(Self::reno(parameters)),
            "scalable" => Some(Self::Scalable(Scalable)),
            "vegas" => Some(Self::Vegas(Box::new(Vegas::new(parameters)))),
            "veno" => Some(Self::Veno(Box::new(Veno::new()))),
            "westwood" => Some(Self::Westwood(Box::default())),
            "yeah" => Some(Self::Yeah(Box::new(Yeah::new()))),
            _ => None,
        }
    }

    fn cubic(parameters: &mut Parameters) -> Self {
        let cubic = Cubic::new(parameters);
        match parameters.choose("slow_start", &["hystart", "hystart++"]) {
            "hystart++" => Self::CubicPp(Box::new(HyStartPp::before(cubic.without_hystart()))),
            _ => Self::Cubic(Box::new(cubic)),
        }
    }

    fn reno(parameters: &mut Parameters) -> Self {
        match parameters.choose("slow_start", &["standard", "hystart++"]) {
            "hystart++" => Self::RenoPp(Box::new(HyStartPp::before(Reno))),
            _ => Self::Reno(Reno),
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
            Controller::Dctcp($one) => $call,
            Controller::Prague($one) => $call,
            Controller::RenoPp($one) => $call,
            Controller::CubicPp($one) => $call,
            Controller::Bic($one) => $call,
            Controller::Cdg($one) => $call,
            Controller::HighSpeed($one) => $call,
            Controller::Htcp($one) => $call,
            Controller::Hybla($one) => $call,
            Controller::Illinois($one) => $call,
            Controller::Lp($one) => $call,
            Controller::Nv($one) => $call,
            Controller::Scalable($one) => $call,
            Controller::Vegas($one) => $call,
            Controller::Veno($one) => $call,
            Controller::Westwood($one) => $call,
            Controller::Yeah($one) => $call,
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
