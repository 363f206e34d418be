//! Invariants of all controllers under random histories.

use super::*;
use crate::cc::testing::{cc, tp};
use crate::rate::Rate;
use crate::rng::Rng;
use crate::time::Span;
use alloc::format;
use proptest::prelude::*;

/// An event that a sender reports to its controller.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes, packets leave.
    Send { after_us: u64, packets: u32, idle: bool },
    /// An ACK.
    Ack(Ack),
    /// A reduction begins.
    Reduce(CaState),
    /// The reduction ended, or is undone.
    Open { undo: bool },
    /// Another event.
    Event(Event),
}

/// An ACK; `flags` has the boolean fields of its rate sample.
#[derive(Clone, Debug)]
struct Ack {
    after_us: u64,
    acked: u32,
    rtt_us: Option<u64>,
    losses: u32,
    valid: bool,
    app_limited: bool,
    flags: u8,
}

fn any_step() -> impl Strategy<Value = Step> {
    let state = prop_oneof![Just(CaState::Recovery), Just(CaState::Cwr), Just(CaState::Loss), Just(CaState::Disorder)];
    let event = prop_oneof![
        Just(Event::TxStart),
        Just(Event::CwndRestart),
        Just(Event::CompleteCwr),
        Just(Event::Loss),
        Just(Event::EcnIsCe),
        Just(Event::EcnNoCe),
        Just(Event::LossProbeRecovery)
    ];
    let after = || prop_oneof![4 => 0..5_000_u64, 2 => 0..200_000_u64, 1 => 0..30_000_000_u64];
    let rtt = prop_oneof![6 => (0..300_000_u64).prop_map(Some), 1 => Just(None)];
    prop_oneof![
        6 => (after(), 0..100_u32, any::<bool>()).prop_map(|(after_us, packets, idle)| Step::Send { after_us, packets, idle }),
        12 => (after(), 0..80_u32, rtt, 0..20_u32, any::<bool>(), any::<bool>(), any::<u8>()).prop_map(
            |(after_us, acked, rtt_us, losses, valid, app_limited, flags)| {
                Step::Ack(Ack { after_us, acked, rtt_us, losses, valid, app_limited, flags })
            }
        ),
        1 => state.prop_map(Step::Reduce),
        1 => any::<bool>().prop_map(|undo| Step::Open { undo }),
        1 => event.prop_map(Step::Event),
    ]
}

/// A sender that follows its controller.
struct Sender {
    controller: Controller,
    tp: SenderState,
    cc: CcState,
}

impl Sender {
    fn new(name: &str, clamp: u32, mss: u32) -> Self {
        let (tp, mut cc) =
            (SenderState { mss, ecn: mss.is_multiple_of(2), ..tp() }, CcState { cwnd_clamp: clamp, ..cc() });
        cc.cwnd = cc.cwnd.min(clamp);
        let mut controller = Controller::from_name(name, &mut Parameters::default(), Rng::from_name(3, name)).unwrap();
        controller.init(&tp, &mut cc);
        Self { controller, tp, cc }
    }

    fn apply(&mut self, step: &Step) {
        let (tp, cc) = (&mut self.tp, &mut self.cc);
        match *step {
            Step::Send { after_us, packets, idle } => self.send(after_us, packets, idle),
            Step::Ack(ref ack) => {
                tp.now += Span::from_micros(ack.after_us);
                self.ack(ack.acked.min(self.tp.packets_out), ack);
            }
            Step::Reduce(state) => self.reduce(state),
            Step::Open { undo } => {
                if undo {
                    cc.cwnd = self.controller.undo_cwnd(tp, cc).min(cc.cwnd_clamp);
                }
                self.controller.set_state(tp, cc, CaState::Open);
                tp.state = CaState::Open;
            }
            Step::Event(event) => self.controller.cwnd_event(tp, cc, event),
        }
    }

    fn send(&mut self, after_us: u64, packets: u32, idle: bool) {
        let (tp, cc) = (&mut self.tp, &mut self.cc);
        tp.now += Span::from_micros(after_us);
        if tp.in_flight() == 0 {
            self.controller.cwnd_event(tp, cc, Event::TxStart);
        }
        tp.packets_out += packets;
        tp.snd_nxt += u64::from(packets * tp.mss);
        tp.last_sent_at = tp.now;
        tp.next_send_at = tp.now + Span::from_micros(after_us / 7);
        tp.cwnd_limited = tp.in_flight() >= cc.cwnd;
        tp.max_packets_out = tp.packets_out;
        cc.app_limited = if idle { tp.delivered + 1 } else { 0 };
    }

    fn ack(&mut self, acked: u32, ack: &Ack) {
        let prior_in_flight = self.tp.in_flight();
        let prior_delivered = self.tp.delivered.saturating_sub(u64::from(ack.flags));
        self.lose(ack);
        self.count(acked, ack);
        let (tp, cc) = (&mut self.tp, &mut self.cc);
        let rtt = ack.rtt_us.map(Span::from_micros);
        let sample = RateSample {
            prior_delivered,
            delivered: ack.valid.then(|| u32::try_from(tp.delivered - prior_delivered).unwrap()),
            interval: Span::from_micros(u64::from(ack.flags) * 100 + ack.rtt_us.unwrap_or(0)),
            rtt,
            losses: ack.losses,
            acked_sacked: acked,
            prior_in_flight,
            is_app_limited: ack.app_limited,
            is_ack_delayed: ack.flags & 1 == 1,
            tx_in_flight: prior_in_flight,
            lost: ack.losses,
            delivered_ce: u32::from(ack.flags >> 6),
            answers_probe: ack.flags & 2 == 2,
            is_ece: ack.flags & 128 == 128,
            ..RateSample::default()
        };
        self.controller.pkts_acked(tp, cc, &AckSample { acked, rtt, in_flight: prior_in_flight });
        self.controller.in_ack_event(tp, cc, ack.flags & 4 > 0);
        if self.controller.has_cong_control() {
            self.controller.cong_control(tp, cc, &sample);
        } else if tp.state < CaState::Cwr {
            self.controller.cong_avoid(tp, cc, acked);
        }
    }

    /// Reports each lost packet before the ACK.
    fn lose(&mut self, ack: &Ack) {
        let tx_in_flight = self.tp.in_flight();
        for lost in 1..=ack.losses {
            let begins_range = lost % 3 == 1;
            let packet = LostPacket { tx_in_flight, lost, is_app_limited: ack.app_limited, begins_range };
            self.controller.skb_marked_lost(&self.tp, &mut self.cc, &packet);
        }
    }

    fn count(&mut self, acked: u32, ack: &Ack) {
        let (tp, _cc) = (&mut self.tp, &mut self.cc);
        tp.packets_out -= acked;
        tp.snd_una += u64::from(acked * tp.mss);
        tp.lost_out = (tp.lost_out + ack.losses).min(tp.packets_out);
        tp.lost += u64::from(ack.losses);
        tp.delivered += u64::from(acked);
        tp.delivered_ce += if ack.flags & 2 > 0 { u64::from(acked) } else { 0 };
        if acked > 0 {
            tp.delivered_at = tp.now;
        }
        if let Some(rtt) = ack.rtt_us.and_then(|micros| u32::try_from(micros).ok()) {
            tp.min_rtt_us = tp.min_rtt_us.min(rtt);
            tp.srtt_us8 = rtt * 8;
        }
    }

    fn reduce(&mut self, state: CaState) {
        let (tp, cc) = (&mut self.tp, &mut self.cc);
        if state != CaState::Disorder {
            tp.prior_cwnd = cc.cwnd;
            cc.ssthresh = self.controller.ssthresh(tp, cc);
        }
        self.controller.set_state(tp, cc, state);
        tp.state = state;
        match state {
            CaState::Loss => cc.cwnd = (tp.in_flight() + 1).min(cc.cwnd_clamp),
            CaState::Cwr | CaState::Recovery if !self.controller.has_cong_control() => {
                cc.cwnd = cc.ssthresh.min(cc.cwnd); // the window after PRR
            }
            _ => {}
        }
    }

    fn check(&self) {
        let (tp, cc) = (&self.tp, &self.cc);
        assert!(cc.cwnd >= 1, "cwnd is never 0");
        // Westwood sets its estimate of the BDP as the window, which Linux doesn't clamp (`tcp_westwood_event`).
        let is_clamped = self.controller.name() != "westwood";
        assert!(!is_clamped || cc.cwnd <= cc.cwnd_clamp, "cwnd {} exceeds its clamp {}", cc.cwnd, cc.cwnd_clamp);
        // A reduction leaves two packets; CDG's `HyStart` takes the window as it is.
        assert!(cc.ssthresh >= 1, "ssthresh {}", cc.ssthresh);
        assert!(self.controller.min_tso_segments(tp, cc).is_none_or(|fewest| (1..=2).contains(&fewest)));
        let cc_info = self.controller.cc_info(tp, cc);
        assert!(!cc_info.phase.is_empty());
        if self.controller.has_cong_control() {
            assert!(cc.pacing_rate > Rate::ZERO, "the pacing rate is zero");
        }
    }
}

fn controllers() -> impl Strategy<Value = &'static str> {
    prop::sample::select(Controller::NAMES)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn windows_and_rates_stay_in_range(
        name in controllers(),
        clamp in prop_oneof![Just(u32::MAX), 4..5_000_u32],
        mss in prop_oneof![Just(1_448_u32), 88..9_000_u32],
        steps in prop::collection::vec(any_step(), 1..300),
    ) {
        let mut sender = Sender::new(name, clamp, mss);
        for step in &steps {
            sender.apply(step);
            sender.check();
        }
    }

    #[test]
    fn equal_histories_give_equal_states(name in controllers(), steps in prop::collection::vec(any_step(), 1..100)) {
        let [one, other] = [(); 2].map(|()| {
            let mut sender = Sender::new(name, u32::MAX, 1_448);
            for step in &steps {
                sender.apply(step);
            }
            format!("{:?} {:?}", sender.controller, sender.tp)
        });
        prop_assert_eq!(one, other);
    }
}

#[test]
fn every_name_has_its_controller() {
    for name in Controller::NAMES {
        assert_eq!(
            Controller::from_name(name, &mut Parameters::default(), Rng::from_name(1, name)).unwrap().name(),
            *name
        );
    }
    assert!(Controller::from_name("tahoe", &mut Parameters::default(), Rng::from_name(1, "tahoe")).is_none());
    assert!(Controller::NAMES.is_sorted());
}

#[test]
fn an_idle_flow_stays_small() {
    assert_eq!(size_of::<Controller>(), 16);
}

#[test]
fn a_flow_begins_in_slow_start_or_startup() {
    let phases = Controller::NAMES.iter().map(|name| {
        Controller::from_name(name, &mut Parameters::default(), Rng::from_name(1, name))
            .unwrap()
            .cc_info(&tp(), &cc())
            .phase
    });
    let own = |name: &str| match name {
        "bbr" | "bbr2" | "bbr3" => "startup",
        "fixed" => "fixed_window",
        "hpcc" => "multiplicative",
        _ => "slow_start",
    };
    assert!(phases.eq(Controller::NAMES.iter().map(|name| own(name))));
}
