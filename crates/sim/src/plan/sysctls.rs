//! Which of an experiment's `net.ipv4.tcp_*` settings the simulator can follow.
//!
//! A setting with Linux's default is accepted, and so is one without an effect on an experiment. Every other one is
//! refused by its name.

use dumbbell_net::transport::Tunables;
use dumbbell_tc::Wrong;

const PREFIX: &str = "net.ipv4.tcp_";

/// The defaults of Linux 6.12, read in a guest.
const LINUX: &[(&str, &str)] = &[
    ("adv_win_scale", "1"),
    ("app_win", "31"),
    ("autocorking", "1"),
    ("backlog_ack_defer", "1"),
    ("base_mss", "1024"),
    ("comp_sack_delay_ns", "1000000"),
    ("comp_sack_nr", "44"),
    ("comp_sack_slack_ns", "100000"),
    ("dsack", "1"),
    ("early_retrans", "3"),
    ("ecn_fallback", "1"),
    ("fack", "0"),
    ("fastopen", "1"),
    ("frto", "2"),
    ("fwmark_accept", "0"),
    ("limit_output_bytes", "1048576"),
    ("max_reordering", "300"),
    ("migrate_req", "0"),
    ("min_rtt_wlen", "300"),
    ("min_snd_mss", "48"),
    ("min_tso_segs", "2"),
    ("moderate_rcvbuf", "1"),
    ("mtu_probing", "0"),
    ("notsent_lowat", "4294967295"),
    ("pacing_ca_ratio", "120"),
    ("pacing_ss_ratio", "200"),
    ("pingpong_thresh", "1"),
    ("plb_enabled", "0"),
    ("recovery", "1"),
    ("reordering", "3"),
    ("retrans_collapse", "1"),
    ("retries1", "3"),
    ("retries2", "15"),
    ("rto_min_us", "200000"),
    ("sack", "1"),
    ("shrink_window", "0"),
    ("syn_linear_timeouts", "4"),
    ("syn_retries", "6"),
    ("synack_retries", "5"),
    ("thin_linear_timeouts", "0"),
    ("timestamps", "1"),
    ("tso_rtt_log", "9"),
    ("tso_win_divisor", "3"),
    ("window_scaling", "1"),
    ("workaround_signed_windows", "0"),
];

/// Settings of other connections, of closed ones, or of what every flow sets itself.
const WITHOUT_EFFECT: &[&str] = &[
    "abort_on_overflow",
    "challenge_ack_limit",
    "congestion_control",
    "early_demux",
    "fastopen_blackhole_timeout_sec",
    "fin_timeout",
    "invalid_ratelimit",
    "keepalive_intvl",
    "keepalive_probes",
    "keepalive_time",
    "low_latency",
    "max_orphans",
    "max_syn_backlog",
    "max_tw_buckets",
    "no_metrics_save",
    "no_ssthresh_metrics_save",
    "orphan_retries",
    "reflect_tos",
    "rfc1337",
    "stdurg",
    "syncookies",
    "tw_reuse",
];

/// Settings that the simulator has; None: not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sysctls {
    /// True requests it, false refuses it even if requested.
    pub ecn: Option<bool>,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: Option<bool>,
    /// `tcp_min_tso_segs`.
    pub min_tso_segments: Option<u8>,
    /// `tcp_tso_win_divisor`.
    pub tso_win_divisor: Option<u8>,
}

impl Sysctls {
    /// Reads settings.
    ///
    /// # Errors
    ///
    /// The first that the simulator can't follow.
    pub fn read(settings: &[(String, String)]) -> Result<Self, Wrong> {
        let mut found = Self::default();
        for (key, value) in settings {
            let name = key.strip_prefix(PREFIX).unwrap_or(key);
            let default = LINUX.iter().find(|(known, _)| *known == name).map(|(_, default)| *default);
            match (name, &value[..]) {
                ("ecn", "0" | "1") => found.ecn = Some(value == "1"),
                ("ecn", "2") => found.ecn = None,
                ("slow_start_after_idle", "0" | "1") => found.slow_start_after_idle = Some(value == "1"),
                ("min_tso_segs", _) if segments(value).is_some() => found.min_tso_segments = segments(value),
                ("tso_win_divisor", _) if segments(value).is_some() => found.tso_win_divisor = segments(value),
                ("early_retrans", "4") => {} // As 3 (`tcp_schedule_loss_probe`).
                _ if WITHOUT_EFFECT.contains(&name) || default == Some(value) => {}
                _ => {
                    let has = default.map_or_else(String::new, |has| format!("it has {has}, as Linux does"));
                    return Err(Wrong::lacking(format!("the simulator has no {key} = {value}"), has));
                }
            }
        }
        Ok(found)
    }

    /// Those of a host's settings that hardly any host changes.
    #[must_use]
    pub fn tunables(&self) -> Tunables {
        let linux = Tunables::default();
        Tunables { tso_win_divisor: self.tso_win_divisor.map_or(linux.tso_win_divisor, u32::from), ..linux }
    }
}

fn segments(value: &str) -> Option<u8> {
    value.parse().ok().filter(|segments| *segments > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Sysctls, Wrong> {
        let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Sysctls::read(&settings)
    }

    #[test]
    fn known_settings_are_followed_and_defaults_accepted() {
        let found = read(&[
            ("net.ipv4.tcp_ecn", "1"),
            ("net.ipv4.tcp_sack", "1"),
            ("net.ipv4.tcp_fin_timeout", "5"),
            ("net.ipv4.tcp_min_tso_segs", "4"),
            ("net.ipv4.tcp_tso_win_divisor", "100"),
        ]);
        let expected =
            Sysctls { ecn: Some(true), min_tso_segments: Some(4), tso_win_divisor: Some(100), ..Sysctls::default() };
        assert_eq!(found, Ok(expected));
        assert_eq!(expected.tunables().tso_win_divisor, 100);
    }

    #[test]
    fn others_are_refused_by_name_with_the_default() {
        let refused = read(&[("net.ipv4.tcp_sack", "0")]).unwrap_err();
        assert_eq!(refused.problem, "the simulator has no net.ipv4.tcp_sack = 0");
        assert_eq!(refused.hint, "it has 1, as Linux does");
        assert!(read(&[("net.core.somaxconn", "1")]).is_err());
        assert!(read(&[("net.ipv4.tcp_min_tso_segs", "256")]).is_err());
    }
}
