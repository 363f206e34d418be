//! Shared by the tests of all parts: the settings of an unconfigured host, and polling without softirqs.

use super::{Sender, Settings, Transmission, Tunables};
use crate::cc::CongestionControl;
use crate::time::Time;

/// Default sysctls, no offloads, segments of `mss` bytes.
pub(crate) fn settings(mss: u32) -> Settings {
    Settings {
        mss,
        initial_window: 10,
        ecn: false,
        gso_max_bytes: None,
        min_tso_segments: 2,
        quickack: false,
        slow_start_after_idle: true,
        rmem_max: 64 << 20,
        rcvbuf: None,
        wmem_max: 64 << 20,
        sndbuf: None,
        max_pacing_rate: None,
        prompt_reads: false,
        tunables: Tunables::default(),
        queue_paces: false,
    }
}

/// The next packet of a sender whose program continues writing as soon as it is woken.
pub(crate) fn poll<C: CongestionControl>(sender: &mut Sender<C>, now: Time) -> Option<Transmission> {
    loop {
        if let Some(packet) = sender.poll(now) {
            return Some(packet);
        }
        if sender.is_in_call() {
            sender.continue_call(now);
        } else if sender.wants_to_write() {
            sender.continue_writing(now);
        } else {
            return None;
        }
    }
}
