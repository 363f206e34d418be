//! A plan as a script that a person can read and run on a Linux host.

mod remote;

use crate::hidden::is_hidden_between;
use crate::text::{comment, joined, quoted, seconds};
use crate::{Change, Conflict, Content, Flow, Members, Operation, Plan, Probe, ProbeKind, Program, Step, Transport};
use std::collections::{BTreeMap, BTreeSet};

/// Ports of flows that share one: iperf3 needs a port for each.
const FIRST_SPARE_PORT: usize = 20_000;

impl Plan {
    /// A shell script with the commands that the engines run, and iperf3 and ping for the traffic.
    ///
    /// Title and notes become comments at its top, one line each.
    ///
    /// # Errors
    ///
    /// Two groups set the same kernel module differently.
    pub fn as_script(&self, title: &str, notes: &[String]) -> Result<String, Conflict> {
        let mut lines = vec!["#!/bin/sh".to_owned(), comment(title)];
        lines.extend(notes.iter().map(|note| comment(note)));
        lines.push("# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.".into());
        lines.push("set -e".into());
        lines.push(format!("trap 'for n in {}; do ip netns del $n; done' EXIT", self.hosts.join(" ")));
        lines.push(String::new());
        setup(self, &mut lines)?;
        marks(self, &mut lines);
        lines.push(String::new());
        traffic(self, &mut lines);
        programs(self, &mut lines);
        lines.extend(["wait".into(), String::new(), "# What the queues did".into()]);
        let mut shown = Vec::new();
        for queue in &self.queues {
            if !shown.contains(&&queue.host) {
                shown.push(&queue.host);
                lines.push(format!("tc -n {} -s qdisc show", queue.host));
            }
        }
        Ok(lines.join("\n") + "\n")
    }
}

/// The command of a flow's sender.
fn iperf3_client(flow: &Flow, port: usize, duration_ns: u64) -> String {
    let time = || {
        let end = flow.stop_ns.unwrap_or(duration_ns);
        if end >= flow.start_ns { seconds(end - flow.start_ns) } else { format!("-{}", seconds(flow.start_ns - end)) }
    };
    let amount = flow.bytes.map_or_else(|| format!("-t {}", time()), |bytes| format!("-n {bytes}"));
    let how = match (flow.packet, flow.interval_ns) {
        (Some(packet), Some(interval)) => {
            format!("-u -b {} -l {packet}", u64::from(packet) * 8_000_000_000 / interval)
        }
        _ => format!("-C {}", flow.cc.as_deref().unwrap_or("None")),
    };
    format!("iperf3 -c {} -p {port} {how} {amount}", flow.address)
}

/// Waits until a flow starts.
fn wait_for(flow: &Flow) -> String {
    let sleep = if flow.start_ns > 0 { format!("sleep {}; ", seconds(flow.start_ns)) } else { String::new() };
    let Some(members) = flow.wait.after else { return sleep };
    let others: Vec<_> = members.positions().map(|each| format!("$flow{}", each + 1)).collect();
    format!("for flow in {}; do tail --pid=$flow -f /dev/null; done; {sleep}", others.join(" "))
}

fn setup(plan: &Plan, lines: &mut Vec<String>) -> Result<(), Conflict> {
    let parameters = plan.module_parameters()?;
    let mut host = None;
    // Only a guest needs settings of the machine, with its virtual CPU and its small memory.
    for step in parameters.iter().chain(&plan.setup).filter(|step| !step.is_of_the_machine()) {
        if host != Some(&step.host) {
            host = Some(&step.host);
            let heading = if step.host.is_empty() { "namespaces and wires" } else { &step.host };
            lines.push(format!("\n# {heading}"));
        }
        lines.push(line(step));
    }
    Ok(())
}

fn line(step: &Step) -> String {
    let all = step.operation.words();
    let words: Vec<_> = all.iter().map(|word| &word[..]).collect();
    match (&step.operation, &step.host[..]) {
        (Operation::ModuleParameter { value, .. }, _) => format!("echo {} > {}", quoted(value), words[1]),
        (_, "") => joined(words),
        (_, host) if matches!(words[0], "ip" | "tc") => joined([&[words[0], "-n", host], &words[1..]].concat()),
        (_, host) => joined([&["ip", "netns", "exec", host], &words[..]].concat()),
    }
}

/// Receivers, changes, probes and senders.
fn traffic(plan: &Plan, lines: &mut Vec<String>) {
    let ports = ports(plan);
    // A server for each flow: an iperf3 server serves one client at a time.
    lines.push("# receivers".into());
    for (flow, port) in plan.flows.iter().zip(&ports).filter(|(flow, _)| flow.transport != Transport::Quic) {
        lines.push(format!("ip netns exec {} iperf3 -s -D -1 -p {port}", flow.receiver));
    }
    lines.extend(["sleep 1".into(), String::new()]);
    lines.extend(changes(&plan.changes, line));
    let pings: Vec<_> = plan.probes.iter().filter(|probe| probe.kind == ProbeKind::Ping).collect();
    if !pings.is_empty() {
        lines.push("# probes".into());
        for probe in pings {
            let ping = ping(probe, plan.duration_ns);
            lines.push(format!("ip netns exec {} {ping} &", probe.sender));
        }
        lines.push(String::new());
    }
    lines.push("# flows".into());
    let awaited: BTreeSet<_> =
        plan.flows.iter().filter_map(|flow| flow.wait.after).flat_map(Members::positions).collect();
    for number in followers_last(plan) {
        let flow = &plan.flows[number];
        if flow.transport == Transport::Quic {
            continue;
        }
        let client = iperf3_client(flow, ports[number], plan.duration_ns);
        lines.push(format!("({}exec ip netns exec {} {client}) &", wait_for(flow), flow.sender));
        if awaited.contains(&number) {
            lines.push(format!("flow{}=$!", number + 1));
        }
    }
}

/// The flows in their order, but each behind those that it waits for.
fn followers_last(plan: &Plan) -> Vec<usize> {
    let mut made = Vec::new();
    while made.len() < plan.flows.len() {
        let before = made.len();
        for (number, flow) in plan.flows.iter().enumerate() {
            let is_free = flow.wait.after.is_none_or(|members| members.positions().all(|each| made.contains(&each)));
            if is_free && !made.contains(&number) {
                made.push(number);
            }
        }
        if made.len() == before {
            break; // A circle, which an experiment cannot have.
        }
    }
    made
}

/// The ping of a series of probes.
fn ping(probe: &Probe, duration_ns: u64) -> String {
    let time = (duration_ns / 1_000_000_000).max(1);
    format!("ping -q -i {} -s {} -w {time} {}", seconds(probe.interval_ns), probe.payload, probe.address)
}

/// Changes at their times; `line` writes a step.
fn changes(changes: &[Change], line: impl Fn(&Step) -> String) -> Vec<String> {
    if changes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["# changes, at their times".to_owned(), "(".into()];
    let mut now_ns = 0;
    for change in changes {
        if change.at_ns > now_ns {
            lines.push(format!("  sleep {}", seconds(change.at_ns - now_ns)));
            now_ns = change.at_ns;
        }
        lines.push(format!("  {}", line(&change.step)));
    }
    lines.extend([") &".into(), String::new()]);
    lines
}

/// Ports for iperf3: a flow keeps its own if no other has it.
fn ports(plan: &Plan) -> Vec<usize> {
    let mut users = BTreeMap::<u16, usize>::new();
    for flow in &plan.flows {
        *users.entry(flow.port).or_default() += 1;
    }
    let port = |(number, flow): (usize, &Flow)| {
        if users[&flow.port] == 1 { flow.port.into() } else { FIRST_SPARE_PORT + number }
    };
    plan.flows.iter().enumerate().map(port).collect()
}

/// A tc script's marks by port, as iptables rules.
fn marks(plan: &Plan, lines: &mut Vec<String>) {
    let mut marked = Vec::new();
    for flow in &plan.flows {
        let Some(mark) = flow.mark else { continue };
        let rule = (&flow.sender, flow.port, mark);
        if !marked.contains(&rule) {
            marked.push(rule);
            let (sender, port) = (&flow.sender, flow.port);
            lines.push(format!(
                "ip netns exec {sender} iptables -A OUTPUT -t mangle -p tcp --dport {port} -j MARK --set-mark {mark}"
            ));
        }
    }
}

/// Each program in a folder of its own with its files; they are not sandboxed as in a guest.
fn programs(plan: &Plan, lines: &mut Vec<String>) {
    if plan.programs.is_empty() {
        return;
    }
    lines.push(String::new());
    lines.push("# programs: here they run as root of this machine, so read what they do".into());
    lines.push("# their /etc/hosts:".into());
    lines.extend(plan.hosts_file.lines().map(|line| format!("#   {line}")));
    let stacks: BTreeSet<_> = plan.flows.iter().filter_map(|flow| flow.stack.as_deref()).collect();
    for stack in stacks {
        let variable = driver_variable(stack);
        lines.push(format!("# the driver of {stack}, which `dumbbell stack build {stack}` builds"));
        lines.push(format!("{variable}=${{{variable}:?the driver of {stack}}}"));
    }
    for each in &plan.programs {
        let driver = each.quic.and_then(|end| plan.flows[end.flow].stack.as_deref()).map(driver_variable);
        program(each, driver.as_deref(), plan.duration_ns, lines);
    }
}

/// A shell variable with the path of a stack's driver.
fn driver_variable(stack: &str) -> String {
    stack.replace('-', "_")
}

fn program(program: &Program, driver: Option<&str>, duration_ns: u64, lines: &mut Vec<String>) {
    lines.push(format!("folder=\"$(mktemp -d)/{}\"; mkdir -p \"$folder\"; cd \"$folder\"", program.name));
    for Content { path, text, bytes, .. } in &program.files {
        let write = text.as_ref().map(|text| format!("{} > {}", printed(text), quoted(path)));
        let fill = bytes.map(|bytes| format!("truncate -s {bytes} {}", quoted(path)));
        write.into_iter().chain(fill).for_each(|command| make(path, command, lines));
    }
    let waits = program.serves.is_none() && program.start_ns > 0;
    let wait = if waits { format!("sleep {}; ", seconds(program.start_ns)) } else { String::new() };
    let variables: Vec<_> = program.env.iter().map(|(key, text)| format!("{key}={text}")).collect();
    let env = if variables.is_empty() {
        String::new()
    } else {
        joined(["env"].into_iter().chain(variables.iter().map(String::as_str))) + " "
    };
    let driver = driver.map(|variable| format!("${variable} ")).unwrap_or_default();
    let command = driver + &joined(program.argv.iter().map(String::as_str));
    lines.push(format!("({wait}exec ip netns exec {} {env}{command}) &", program.host));
    if program.stays || program.stop_ns.is_some() {
        let until = seconds(program.stop_ns.unwrap_or(duration_ns));
        lines.push(format!("(p=$!; sleep {until}; kill $p) &"));
    }
    if program.serves.is_some() {
        lines.push("sleep 1".into());
    }
}

/// A command that writes a file, after one for its folder.
fn make(path: &str, command: String, lines: &mut Vec<String>) {
    if let Some((folder, _)) = path.rsplit_once('/') {
        lines.push(format!("mkdir -p {}", quoted(folder)));
    }
    lines.push(command);
}

/// A command that prints a text; characters that a reader would not see are in octal.
fn printed(text: &str) -> String {
    let characters: Vec<_> = text.chars().collect();
    let hidden = hidden(&characters);
    if !hidden.contains(&true) {
        return format!("printf %s {}", quoted(text));
    }
    let mut octal = String::new();
    for (character, is_hidden) in characters.iter().zip(hidden) {
        let mut buffer = [0; 4];
        match character {
            '\\' => octal += "\\\\",
            _ if is_hidden => {
                octal.extend(character.encode_utf8(&mut buffer).bytes().map(|byte| format!("\\0{byte:03o}")));
            }
            _ => octal.push(*character),
        }
    }
    format!("printf %b {}", quoted(&octal))
}

/// Which characters a reader would not see.
fn hidden(characters: &[char]) -> Vec<bool> {
    let at = |position: Option<usize>| position.and_then(|position| characters.get(position)).copied();
    let is_hidden = |(position, character): (usize, &char)| {
        is_hidden_between(at(position.checked_sub(1)), *character, at(Some(position + 1)))
    };
    characters.iter().enumerate().map(is_hidden).collect()
}
