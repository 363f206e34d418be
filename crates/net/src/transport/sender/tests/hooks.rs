//! The sender's calls of its controller besides growth and loss, and reductions that a controller requests.

use super::dialogue::{Dialogue, settings};
use crate::cc::{CaState, CcInfo, CcState, CongestionControl, SenderState, Stamps};
use crate::packet::Flags;
use crate::time::Span;
use alloc::vec::Vec;

/// Records its calls; requests a reduction once when its window has reached `reduces_at`.
#[derive(Clone, Debug, Default)]
struct RecordingController {
    calls: Vec<(Stamps, bool)>,
    stamps: Stamps,
    reduces_at: u32,
    cwr_requested: bool,
}

impl CongestionControl for RecordingController {
    fn name(&self) -> &'static str {
        "listener"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {}

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.cwnd / 2
    }

    fn undo_cwnd(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.cwnd
    }

    fn on_timestamps(&mut self, stamps: Stamps) {
        self.stamps = stamps;
    }

    fn in_ack_event(&mut self, _tp: &SenderState, _cc: &mut CcState, is_plain: bool) {
        self.calls.push((self.stamps, is_plain));
    }

    fn cong_avoid(&mut self, _tp: &SenderState, cc: &mut CcState, acked: u32) {
        cc.cwnd += acked;
        self.cwr_requested = cc.cwnd == self.reduces_at;
        if self.cwr_requested {
            self.reduces_at = u32::MAX;
        }
    }

    fn take_cwr_request(&mut self) -> bool {
        core::mem::take(&mut self.cwr_requested)
    }

    fn cc_info(&self, _tp: &SenderState, _cc: &CcState) -> CcInfo {
        CcInfo::default()
    }
}

/// A plain ACK only advances.
#[test]
fn an_ack_with_sacks_is_not_plain() {
    let mut d = Dialogue::of(&settings(), RecordingController::default(), 40, u64::MAX);
    d.sends();
    d.wait_ms(40);
    d.echo = Some(d.now - Span::from_millis(40));
    d.acks(2, &[]);
    d.acks(2, &[(3, 4)]);
    d.acks(4, &[]);
    let calls = &d.sender.controller.calls;
    assert_eq!(calls.iter().map(|(_, is_plain)| *is_plain).collect::<Vec<_>>(), [true, false, true]);
    assert!(calls.iter().all(|(stamps, _)| *stamps == Stamps { sent_ms: 0, echo_ms: 1_000 }));
}

/// CWR: half, by proportional rate reduction, and Open again when everything outstanding is acknowledged. It cannot be
/// undone.
#[test]
fn a_controllers_request_reduces_the_window_without_loss() {
    let mut d = Dialogue::of(
        &settings(),
        RecordingController { reduces_at: 12, ..RecordingController::default() },
        40,
        u64::MAX,
    );
    d.sends();
    d.wait_ms(40);
    d.ack(2, &[], Flags::default());
    assert_eq!(d.state(), (CaState::Cwr, 12, 6));
    d.sends();
    d.wait_ms(40);
    d.ack(6, &[], Flags::default());
    assert!((6..=9).contains(&d.state().1), "during the reduction: {}", d.state().1);
    d.sends();
    d.ack(10, &[], Flags::default());
    assert_eq!(d.state().0, CaState::Cwr, "what carries CWR may not have reached the receiver");
    d.sends();
    d.wait_ms(40);
    d.ack(11, &[], Flags::default());
    assert_eq!((d.state().0, d.state().2), (CaState::Open, 6));
}
