//! Settings of Linux that an experiment changes: sysctls.
//!
//! Linux has some settings once for the machine and the others once for each network namespace. A plan sets the former
//! first, in the machine's own namespace. Source: `net/core/sysctl_net_core.c` and `net/ipv4/sysctl_net_ipv4.c` of
//! Linux 6.12; a kernel that has one elsewhere refuses it by name.

use crate::model::Tcp;
use dumbbell_plan::Step;

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

/// TCP settings of a host, with these further ones, which win.
pub(super) fn host_settings<'a>(
    tcp: &Tcp,
    further: impl IntoIterator<Item = &'a (String, String)>,
) -> Vec<(String, String)> {
    let mut settings = vec![
        ("net.ipv4.tcp_no_metrics_save".into(), "1".into()),
        ("net.ipv4.tcp_rmem".into(), format!("4096 131072 {}", tcp.rmem_max)),
        ("net.ipv4.tcp_wmem".into(), format!("4096 16384 {}", tcp.wmem_max)),
    ];
    if tcp.ecn {
        settings.push(("net.ipv4.tcp_ecn".into(), "1".into()));
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
