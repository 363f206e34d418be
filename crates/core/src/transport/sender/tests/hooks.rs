//! What a sender tells its controller beside growth and loss, and what it does when a controller asks for a reduction.

use super::dialogue::{Dialogue, settings};
use crate::cc::{CaState, Control, Insight, Stamps, Vitals};
use crate::packet::Flags;
use crate::time::Span;
use alloc::vec::Vec;

/// Writes down what it hears; asks for a reduction once when its window has reached `reduces_at`.
#[derive(Clone, Debug, Default)]
struct Listener {
    heard: Vec<(Stamps, bool)>,
    stamps: Stamps,
    reduces_at: u32,
    asks: bool,
}

impl Control for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn start(&mut self, _vitals: &mut Vitals) {}

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.cwnd / 2
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.cwnd
    }

    fn on_stamps(&mut self, stamps: Stamps) {
        self.stamps = stamps;
    }

    fn on_ack(&mut self, _vitals: &mut Vitals, is_plain: bool) {
        self.heard.push((self.stamps, is_plain));
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        vitals.cwnd += acked;
        self.asks = vitals.cwnd == self.reduces_at;
    }

    fn takes_reduction(&mut self) -> bool {
        core::mem::take(&mut self.asks)
    }

    fn insight(&self, _vitals: &Vitals) -> Insight {
        Insight::default()
    }
}

/// A plain one says nothing but how far.
#[test]
fn an_ack_with_sacks_is_not_plain() {
    let mut d = Dialogue::of(&settings(), Listener::default(), 40, u64::MAX);
    d.sends();
    d.wait_ms(40);
    d.echo = Some(d.now - Span::from_millis(40));
    d.acks(2, &[]);
    d.acks(2, &[(3, 4)]);
    d.acks(4, &[]);
    let heard = &d.sender.controller.heard;
    assert_eq!(heard.iter().map(|(_, is_plain)| *is_plain).collect::<Vec<_>>(), [true, false, true]);
    assert!(heard.iter().all(|(stamps, _)| *stamps == Stamps { sent_ms: 0, echo_ms: 1_000 }));
}

/// CWR: half, by proportional rate reduction, and Open again when what was out is acknowledged. It can't be undone.
#[test]
fn a_controller_that_asks_for_it_is_reduced_without_loss() {
    let mut d = Dialogue::of(&settings(), Listener { reduces_at: 12, ..Listener::default() }, 40, u64::MAX);
    d.sends();
    d.wait_ms(40);
    d.ack(2, &[], Flags::default());
    assert_eq!(d.state(), (CaState::Cwr, 12, 6));
    d.sends();
    d.wait_ms(40);
    let out = u64::from(d.sender.vitals().packets_out);
    d.ack(2 + out / 2, &[], Flags::default());
    assert!((6..=9).contains(&d.state().1), "on the way down: {}", d.state().1);
    d.ack(2 + out, &[], Flags::default());
    assert_eq!(d.state().0, CaState::Cwr, "the last packet may not have told the receiver");
    d.sends();
    d.wait_ms(40);
    d.ack(3 + out, &[], Flags::default());
    assert_eq!((d.state().0, d.state().2), (CaState::Open, 6));
}
