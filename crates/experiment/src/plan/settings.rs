//! Settings of Linux that an experiment changes: sysctls.
//!
//! Linux has some settings once for the machine and the others once for each network namespace. A plan sets the former
//! first, in the machine's own namespace. Source: `net/core/sysctl_net_core.c` and `net/ipv4/sysctl_net_ipv4.c` of
//! Linux 6.12; a kernel that has one elsewhere refuses it by name.

use crate::model::Tcp;
use dumbbell_plan::{Ecn, Step};

/// Of net.core all others are the machine's (`netns_core_table`; a host can only read the buffer limits there).
const CORE_OF_A_HOST: [&str; 4] = ["optmem_max", "rps_default_mask", "somaxconn", "txrehash"];
/// `ipv4_table`.
const IPV4_OF_THE_MACHINE: [&str; 8] = [
    "fib_sync_mem",
    "inet_peer_maxttl",
    "inet_peer_minttl",
    "inet_peer_threshold",
    "tcp_low_latency",
    "tcp_max_orphans",
    "tcp_mem",
    "udp_mem",
];
/// Packets that may wait for a veth's receiver: a guest's virtual CPUs pass on bursts that real ones don't.
const NETDEV_BACKLOG: &str = "1000000";
/// What Linux gives TCP on a server with 64 GB (`tcp_init_mem`): a guest has little memory, and all senders share its
/// pages, so windows would be limited by memory that no packet takes.
const TCP_MEM_PAGES: &str = "786432 1048576 1572864";

/// Whether a setting is the machine's.
#[must_use]
pub fn is_of_the_machine(key: &str) -> bool {
    match key.strip_prefix("net.core.") {
        Some(name) => !CORE_OF_A_HOST.contains(&name),
        None => key.strip_prefix("net.ipv4.").is_some_and(|name| IPV4_OF_THE_MACHINE.contains(&name)),
    }
}

/// Settings of the machine, before there are hosts.
pub(super) fn machine_settings(tcp: &Tcp) -> Vec<Step> {
    let own = tcp.sysctl.iter().filter(|(key, _)| is_of_the_machine(key));
    let own = own.map(|(key, value)| (&key[..], &value[..]));
    [("net.core.netdev_max_backlog", NETDEV_BACKLOG), ("net.ipv4.tcp_mem", TCP_MEM_PAGES)]
        .into_iter()
        .chain(own)
        .map(|(key, value)| Step::sysctl("", key, value))
        .collect()
}

/// What `tcp_ecn` is on a sending host whose groups have this ECN; None: Linux's, 2.
pub(super) fn ecn_of_sender(tcp: Ecn, own: Ecn) -> Option<&'static str> {
    match (own, tcp) {
        // A route's feature asks for it.
        (Ecn::Auto | Ecn::Classic, Ecn::Auto) => None,
        (Ecn::Off, _) | (Ecn::Auto, Ecn::Off) => Some("0"),
        (Ecn::Classic, _) | (Ecn::Auto, Ecn::Classic) => Some("1"),
        (Ecn::AccEcn, _) | (Ecn::Auto, Ecn::AccEcn) => Some("3"),
    }
}

/// What it is on a receiving host; `any_accurate`: a group asks for Accurate ECN.
pub(super) fn ecn_of_receiver(tcp: Ecn, any_accurate: bool) -> Option<&'static str> {
    match (tcp, any_accurate) {
        (Ecn::Auto, false) => None,
        (Ecn::Auto, true) => Some("5"),
        (Ecn::Off, _) => Some("0"),
        (Ecn::Classic, false) => Some("1"),
        (Ecn::Classic, true) => Some("4"),
        (Ecn::AccEcn, _) => Some("3"),
    }
}

/// TCP settings of a host, with this `tcp_ecn` (Linux's `Documentation/networking/ip-sysctl.rst`) and further ones, which
/// win.
pub(super) fn host_settings<'a>(
    tcp: &Tcp,
    ecn: Option<&str>,
    further: impl IntoIterator<Item = &'a (String, String)>,
) -> Vec<(String, String)> {
    let mut settings = vec![
        ("net.ipv4.tcp_no_metrics_save".into(), "1".into()),
        ("net.ipv4.tcp_rmem".into(), format!("4096 131072 {}", tcp.rmem_max)),
        ("net.ipv4.tcp_wmem".into(), format!("4096 16384 {}", tcp.wmem_max)),
    ];
    if let Some(ecn) = ecn {
        settings.push(("net.ipv4.tcp_ecn".into(), ecn.into()));
    }
    if !tcp.slow_start_after_idle {
        settings.push(("net.ipv4.tcp_slow_start_after_idle".into(), "0".into()));
    }
    for (key, value) in further {
        match settings.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => old.clone_from(value),
            None => settings.push((key.clone(), value.clone())),
        }
    }
    settings
}
