//! What the tests of all halves share: the settings of a host on which nothing was set.

use super::Settings;

/// Default sysctls, no offloads, segments of so many bytes.
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
        queue_paces: false,
    }
}
