//! Properties of the host, read before anything is changed; `dumbbell.engines.host_group` judges them.

use crate::capability_probe;
use crate::error::{Attempt, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// What Python requests.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct FactsRequest {
    devices: Vec<String>,
    /// Source (optional) and destination of routes to look up.
    routes: Vec<(Option<IpAddr>, IpAddr)>,
    controllers: Vec<String>,
    /// Names of sysctls.
    sysctls: Vec<String>,
}

/// The host's properties. Output of `ip` is passed on as JSON text.
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
    /// Whether it forwards IPv4, and IPv6.
    forwards: [bool; 2],
    missing_tools: Vec<String>,
    /// Those requested that a socket can use.
    controllers: Vec<String>,
    /// Output of `ip addr show` by device; None if the device doesn't exist.
    devices: BTreeMap<String, Option<String>>,
    /// Output of `ip route get` for each request.
    routes: Vec<Option<String>>,
    /// Route to the ssh client.
    control: Option<String>,
    /// Requested sysctls that exist.
    sysctls: BTreeMap<String, String>,
}

/// Reads all properties; `connection` is `SSH_CONNECTION` of sshd.
pub fn read(request: FactsRequest, connection: &str) -> Result<Facts> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let cpus = text("/proc/cpuinfo");
    let line =
        |key: &str| cpus.lines().find_map(|line| line.strip_prefix(key)?.split_once(':').map(|(_, is)| is.trim()));
    let ip_output = |arguments: &[&str]| ip(arguments);
    let device_info = |device: String| {
        let addresses = ip_output(&["-j", "addr", "show", "dev", &device])?;
        Ok((device, addresses))
    };
    let route = |(from, to): (Option<IpAddr>, IpAddr)| {
        let (from, to) = (from.map(|from| from.to_string()), to.to_string());
        let mut arguments = vec!["-j", "route", "get", &to];
        arguments.extend(from.iter().flat_map(|from| ["from", from]));
        ip_output(&arguments)
    };
    let missing_tools: Vec<String> =
        ["ip", "tc"].into_iter().filter(|tool| !is_there(tool)).map(String::from).collect();
    let has_ip = !missing_tools.iter().any(|tool| tool == "ip");
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
        forwards: ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"]
            .map(|file| text(file) == "1"),
        controllers: request.controllers.into_iter().filter(|name| capability_probe::has(name)).collect(),
        devices: if has_ip {
            request.devices.into_iter().map(device_info).collect::<Result<_>>()?
        } else {
            BTreeMap::new()
        },
        routes: if has_ip { request.routes.into_iter().map(route).collect::<Result<_>>()? } else { Vec::new() },
        control: match connection.split_whitespace().next().filter(|_| has_ip) {
            Some(peer) => ip_output(&["-j", "route", "get", peer])?,
            None => None,
        },
        sysctls: request
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

/// Output of ip, if it succeeds.
fn ip(arguments: &[&str]) -> Result<Option<String>> {
    let mut command = Command::new("ip");
    command.env_clear().env("PATH", PATH).args(arguments).stdin(Stdio::null());
    let output = command.output().attempt(|| format!("ip {}", arguments.join(" ")))?;
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
