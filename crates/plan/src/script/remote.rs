//! A plan on real hosts as a script that a person can read: every command, and the host that runs it.
//!
//! `dumbbell run` does the same by an agent on each host, which also restores the host; here a trap does, and iperf3
//! and ping make the traffic.

use super::{changes, iperf3_client, ping, wait_for};
use crate::text::{comment, quoted};
use crate::{ProbeKind, RemotePlan, Role, Step};

const SENDER: &str = Role::Sender.word();

impl RemotePlan {
    /// A shell script for the user's own host; title and notes become comments at its top.
    #[must_use]
    pub fn as_script(&self, title: &str, notes: &[String]) -> String {
        lines(self, title, notes).join("\n") + "\n"
    }
}

fn lines(remote: &RemotePlan, title: &str, notes: &[String]) -> Vec<String> {
    let plan = &remote.plan;
    let mut lines = vec!["#!/bin/sh".to_owned(), comment(title)];
    lines.extend(notes.iter().map(|note| comment(note)));
    lines.extend(
        [
            "# Runs on real hosts, which need root, iproute2, ethtool, iperf3 and ping.",
            "# At the end offloads are on, whatever they were, and settings (sysctl) stay; dumbbell run puts all back.",
            "set -e",
        ]
        .map(String::from),
    );
    for host in &remote.hosts {
        lines.push(format!("{}() {{ ssh -n -- {} \"$@\"; }}", host.role.word(), quoted(&host.ssh)));
    }
    lines.push("restore() {".into());
    for host in &remote.hosts {
        for device in &host.devices {
            let undo = undo(remote, host.role.word(), device);
            lines.push(format!("  {} || true", on(host.role.word(), &undo)));
        }
    }
    lines.extend(["}".into(), "trap restore EXIT".into()]);
    for host in &remote.hosts {
        lines.extend([String::new(), format!("# {}: {}", host.role.word(), host.ssh)]);
        lines.extend(plan.setup.iter().filter(|step| step.host == host.role.word()).map(line));
    }
    lines.extend([String::new(), "# receivers".into()]);
    lines.extend(plan.flows.iter().map(|flow| on("receiver", &format!("iperf3 -s -D -1 -p {}", flow.port))));
    lines.extend(["sleep 1".into(), String::new()]);
    lines.extend(changes(&plan.changes, line));
    lines.push("# probes and flows".into());
    let pings = plan.probes.iter().filter(|probe| probe.kind == ProbeKind::Ping);
    lines.extend(pings.map(|probe| on(SENDER, &ping(probe, plan.duration_ns)) + " &"));
    lines.extend(plan.flows.iter().map(|flow| {
        let client = on(SENDER, &iperf3_client(flow, flow.port.into(), plan.duration_ns));
        format!("({}{client}) &", wait_for(flow))
    }));
    lines.extend(["wait".into(), String::new(), "# What the queues did".into()]);
    let shown: std::collections::BTreeSet<_> = plan.queues.iter().map(|queue| (&queue.host, &queue.device)).collect();
    lines.extend(shown.into_iter().map(|(host, device)| on(host, &format!("tc -s qdisc show dev {device}"))));
    lines
}

fn undo(remote: &RemotePlan, role: &str, device: &str) -> String {
    let is_shaped = remote.plan.queues.iter().any(|queue| queue.host == role && queue.device == device);
    let queue = if is_shaped { format!("tc qdisc del dev {device} root; ") } else { String::new() };
    format!("{queue}ethtool -K {device} tso on gso on gro on")
}

fn line(step: &Step) -> String {
    // A plan has no quotes; a setting of several numbers has spaces.
    let word = |word: &String| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() };
    on(&step.host, &step.operation.words().iter().map(word).collect::<Vec<_>>().join(" "))
}

fn on(role: &str, line: &str) -> String {
    format!("{role} {}", quoted(line))
}
