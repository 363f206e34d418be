//! What this machine is and has, read before anything is changed. What it means, `dumbbell.engine.remote.check` says.

use crate::error::{Attempt, Result};
use crate::trial;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

/// What Python wants to know.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    devices: Vec<String>,
    /// From (if it matters) and to: which way do packets take?
    routes: Vec<(Option<Ipv4Addr>, Ipv4Addr)>,
    controllers: Vec<String>,
    /// Settings by their names.
    sysctls: Vec<String>,
}

/// What there is. Answers of `ip` are its own JSON, unread.
#[derive(Debug, Serialize)]
pub struct Facts {
    release: String,
    version: String,
    host: String,
    cpu: String,
    cores: usize,
    clocksource: String,
    governor: String,
    hypervisor: bool,
    memory_available_bytes: u64,
    forwards: bool,
    missing_tools: Vec<String>,
    /// Those that a socket of this machine got.
    controllers: Vec<String>,
    /// Answers of `ip addr show`, by device; none where there is no such device.
    devices: BTreeMap<String, Option<String>>,
    /// Answers of `ip route get`, in the order of the questions.
    routes: Vec<Option<String>>,
    /// The way back to whoever asks by ssh.
    control: Option<String>,
    /// Those that this machine has.
    sysctls: BTreeMap<String, String>,
}

/// Reads all of it; `connection` is what sshd calls `SSH_CONNECTION`.
pub fn read(asked: Asked, connection: &str) -> Result<Facts> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let cpus = text("/proc/cpuinfo");
    let line =
        |key: &str| cpus.lines().find_map(|line| line.strip_prefix(key)?.split_once(':').map(|(_, is)| is.trim()));
    let ask = |words: &[&str]| ip(words);
    let there = |device: String| {
        let told = ask(&["-j", "addr", "show", "dev", &device])?;
        Ok((device, told))
    };
    let route = |(from, to): (Option<Ipv4Addr>, Ipv4Addr)| {
        let (from, to) = (from.map(|from| from.to_string()), to.to_string());
        let mut words = vec!["-j", "route", "get", &to];
        words.extend(from.iter().flat_map(|from| ["from", from]));
        ask(&words)
    };
    let missing_tools: Vec<String> =
        ["ip", "tc"].into_iter().filter(|tool| !is_there(tool)).map(String::from).collect();
    let can_ask = !missing_tools.iter().any(|tool| tool == "ip");
    Ok(Facts {
        release: text("/proc/sys/kernel/osrelease"),
        version: text("/proc/sys/kernel/version"),
        host: text("/proc/sys/kernel/hostname"),
        cpu: line("model name").unwrap_or_default().into(),
        cores: cpus.lines().filter(|line| line.starts_with("processor")).count(),
        clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        hypervisor: line("flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        memory_available_bytes: memory_available_bytes(&text("/proc/meminfo")),
        forwards: text("/proc/sys/net/ipv4/ip_forward") == "1",
        controllers: asked.controllers.into_iter().filter(|name| trial::has(name)).collect(),
        devices: if can_ask { asked.devices.into_iter().map(there).collect::<Result<_>>()? } else { BTreeMap::new() },
        routes: if can_ask { asked.routes.into_iter().map(route).collect::<Result<_>>()? } else { Vec::new() },
        control: match connection.split_whitespace().next().filter(|_| can_ask) {
            Some(peer) => ask(&["-j", "route", "get", peer])?,
            None => None,
        },
        sysctls: asked
            .sysctls
            .into_iter()
            .filter_map(|key| {
                let value = fs::read_to_string(crate::sys::sysctl_file(&key)).ok()?;
                Some((key, value.split_whitespace().collect::<Vec<_>>().join(" ")))
            })
            .collect(),
        missing_tools,
    })
}

/// What ip says, unless it refuses.
fn ip(words: &[&str]) -> Result<Option<String>> {
    let mut command = Command::new("ip");
    command.env_clear().env("PATH", PATH).args(words).stdin(Stdio::null());
    let output = command.output().attempt(|| format!("ip {}", words.join(" ")))?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn is_there(tool: &str) -> bool {
    PATH.split(':').any(|folder| fs::exists(format!("{folder}/{tool}")).unwrap_or(false))
}

fn memory_available_bytes(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(memory_available_bytes("MemTotal: 9 kB\nMemAvailable:   12 kB\n"), 12 * 1024);
        assert_eq!(memory_available_bytes(""), 0);
    }
}
