//! Laws that hold for every controller under any history.

use super::*;
use crate::cc::testing::vitals;
use crate::rate::Rate;
use crate::time::Span;
use alloc::format;
use proptest::prelude::*;

/// Something that a sender may tell its controller.
#[derive(Clone, Debug)]
enum Verb {
    /// Time passes, packets leave.
    Send { after_us: u64, packets: u32, idle: bool },
    /// An ACK.
    Ack(Ack),
    /// A reduction begins.
    Reduce(CaState),
    /// All is well again, or was in error.
    Open { undo: bool },
    /// Something else.
    Event(Event),
}

/// What an ACK says; `flags` are bits for the rest of a rate sample.
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

fn verb() -> impl Strategy<Value = Verb> {
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
        6 => (after(), 0..100_u32, any::<bool>()).prop_map(|(after_us, packets, idle)| Verb::Send { after_us, packets, idle }),
        12 => (after(), 0..80_u32, rtt, 0..20_u32, any::<bool>(), any::<bool>(), any::<u8>()).prop_map(
            |(after_us, acked, rtt_us, losses, valid, app_limited, flags)| {
                Verb::Ack(Ack { after_us, acked, rtt_us, losses, valid, app_limited, flags })
            }
        ),
        1 => state.prop_map(Verb::Reduce),
        1 => any::<bool>().prop_map(|undo| Verb::Open { undo }),
        1 => event.prop_map(Verb::Event),
    ]
}

/// A sender that does as it is told.
struct Sender {
    controller: Controller,
    vitals: Vitals,
}

impl Sender {
    fn new(name: &str, clamp: u32, mss: u32) -> Self {
        let mut vitals = Vitals { cwnd_clamp: clamp, mss, ecn: mss.is_multiple_of(2), ..vitals() };
        vitals.cwnd = vitals.cwnd.min(clamp);
        let mut controller = Controller::named(name, &mut Parameters::default(), Dice::named(3, name)).unwrap();
        controller.start(&mut vitals);
        Self { controller, vitals }
    }

    fn hear(&mut self, verb: &Verb) {
        let vitals = &mut self.vitals;
        match *verb {
            Verb::Send { after_us, packets, idle } => self.send(after_us, packets, idle),
            Verb::Ack(ref ack) => {
                vitals.now += Span::from_micros(ack.after_us);
                self.ack(ack.acked.min(self.vitals.packets_out), ack);
            }
            Verb::Reduce(state) => self.reduce(state),
            Verb::Open { undo } => {
                if undo {
                    vitals.cwnd = self.controller.undo_cwnd(vitals).min(vitals.cwnd_clamp);
                }
                self.controller.on_state(vitals, CaState::Open);
                vitals.state = CaState::Open;
            }
            Verb::Event(event) => self.controller.on_event(vitals, event),
        }
    }

    fn send(&mut self, after_us: u64, packets: u32, idle: bool) {
        let vitals = &mut self.vitals;
        vitals.now += Span::from_micros(after_us);
        if vitals.in_flight() == 0 {
            self.controller.on_event(vitals, Event::TxStart);
        }
        vitals.packets_out += packets;
        vitals.snd_nxt += u64::from(packets * vitals.mss);
        vitals.last_sent_at = vitals.now;
        vitals.next_send_at = vitals.now + Span::from_micros(after_us / 7);
        vitals.cwnd_limited = vitals.in_flight() >= vitals.cwnd;
        vitals.max_packets_out = vitals.packets_out;
        vitals.app_limited = if idle { vitals.delivered + 1 } else { 0 };
    }

    fn ack(&mut self, acked: u32, ack: &Ack) {
        let prior_in_flight = self.vitals.in_flight();
        let prior_delivered = self.vitals.delivered.saturating_sub(u64::from(ack.flags));
        self.lose(ack);
        self.count(acked, ack);
        let vitals = &mut self.vitals;
        let rtt = ack.rtt_us.map(Span::from_micros);
        let sample = RateSample {
            prior_delivered,
            delivered: ack.valid.then(|| u32::try_from(vitals.delivered - prior_delivered).unwrap()),
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
        self.controller.on_acked(vitals, &AckSample { acked, rtt, in_flight: prior_in_flight });
        self.controller.on_ack(vitals, ack.flags & 4 > 0);
        if self.controller.controls() {
            self.controller.control(vitals, &sample);
        } else if vitals.state < CaState::Cwr {
            self.controller.avoid(vitals, acked);
        }
    }

    /// Each lost packet is told of before the ACK is.
    fn lose(&mut self, ack: &Ack) {
        let tx_in_flight = self.vitals.in_flight();
        for lost in 1..=ack.losses {
            let begins_range = lost % 3 == 1;
            let packet = LostPacket { tx_in_flight, lost, is_app_limited: ack.app_limited, begins_range };
            self.controller.on_lost(&mut self.vitals, &packet);
        }
    }

    fn count(&mut self, acked: u32, ack: &Ack) {
        let vitals = &mut self.vitals;
        vitals.packets_out -= acked;
        vitals.snd_una += u64::from(acked * vitals.mss);
        vitals.lost_out = (vitals.lost_out + ack.losses).min(vitals.packets_out);
        vitals.lost += u64::from(ack.losses);
        vitals.delivered += u64::from(acked);
        vitals.delivered_ce += if ack.flags & 2 > 0 { u64::from(acked) } else { 0 };
        if acked > 0 {
            vitals.delivered_at = vitals.now;
        }
        if let Some(rtt) = ack.rtt_us.and_then(|micros| u32::try_from(micros).ok()) {
            vitals.min_rtt_us = vitals.min_rtt_us.min(rtt);
            vitals.srtt_us8 = rtt * 8;
        }
    }

    fn reduce(&mut self, state: CaState) {
        let vitals = &mut self.vitals;
        if state != CaState::Disorder {
            vitals.prior_cwnd = vitals.cwnd;
            vitals.ssthresh = self.controller.ssthresh(vitals);
        }
        self.controller.on_state(vitals, state);
        vitals.state = state;
        match state {
            CaState::Loss => vitals.cwnd = (vitals.in_flight() + 1).min(vitals.cwnd_clamp),
            CaState::Cwr | CaState::Recovery if !self.controller.controls() => {
                vitals.cwnd = vitals.ssthresh.min(vitals.cwnd); // what PRR comes to
            }
            _ => {}
        }
    }

    fn check(&self) {
        let vitals = &self.vitals;
        assert!(vitals.cwnd >= 1, "cwnd is never 0");
        assert!(vitals.cwnd <= vitals.cwnd_clamp, "cwnd {} exceeds its clamp {}", vitals.cwnd, vitals.cwnd_clamp);
        // A reduction leaves two packets; CDG's `HyStart` takes the window as it is.
        assert!(vitals.ssthresh >= 1, "ssthresh {}", vitals.ssthresh);
        assert!(self.controller.min_tso_segments(vitals).is_none_or(|fewest| (1..=2).contains(&fewest)));
        let insight = self.controller.insight(vitals);
        assert!(!insight.phase.is_empty());
        if self.controller.controls() {
            assert!(vitals.pacing_rate > Rate::ZERO, "nothing would ever leave");
        }
    }
}

fn controllers() -> impl Strategy<Value = &'static str> {
    prop::sample::select(Controller::NAMES)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn windows_and_rates_stay_sane_whatever_happens(
        name in controllers(),
        clamp in prop_oneof![Just(u32::MAX), 4..5_000_u32],
        mss in prop_oneof![Just(1_448_u32), 88..9_000_u32],
        verbs in prop::collection::vec(verb(), 1..300),
    ) {
        let mut sender = Sender::new(name, clamp, mss);
        for verb in &verbs {
            sender.hear(verb);
            sender.check();
        }
    }

    #[test]
    fn equal_histories_give_equal_states(name in controllers(), verbs in prop::collection::vec(verb(), 1..100)) {
        let [one, other] = [(); 2].map(|()| {
            let mut sender = Sender::new(name, u32::MAX, 1_448);
            for verb in &verbs {
                sender.hear(verb);
            }
            format!("{:?} {:?}", sender.controller, sender.vitals)
        });
        prop_assert_eq!(one, other);
    }
}

#[test]
fn every_name_has_its_controller() {
    for name in Controller::NAMES {
        assert_eq!(Controller::named(name, &mut Parameters::default(), Dice::named(1, name)).unwrap().name(), *name);
    }
    assert!(Controller::named("tahoe", &mut Parameters::default(), Dice::named(1, "tahoe")).is_none());
    assert!(Controller::NAMES.is_sorted());
}

#[test]
fn an_idle_flow_stays_small() {
    assert_eq!(size_of::<Controller>(), 16);
}

#[test]
fn a_flow_begins_in_slow_start_or_startup() {
    let phases = Controller::NAMES.iter().map(|name| {
        Controller::named(name, &mut Parameters::default(), Dice::named(1, name)).unwrap().insight(&vitals()).phase
    });
    let own = |name: &str| match name {
        "bbr" | "bbr2" | "bbr3" => "startup",
        "fixed" => "fixed_window",
        "hpcc" => "multiplicative",
        _ => "slow_start",
    };
    assert!(phases.eq(Controller::NAMES.iter().map(|name| own(name))));
}
