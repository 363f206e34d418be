//! Effective settings at the end: sysctls of every host that differ from the defaults, those that the plan set,
//! and the parameters of the controllers in use.
//!
//! The agent's own namespace has the defaults: the plan sets no per-host sysctl there.

use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_plan::{AgentPlan, Operation};
use dumbbell_records::end::{Settings, Values};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

const TCP_FOLDER: &str = "/proc/sys/net/ipv4";
/// Not settings: lists of what the kernel offers, random Fast Open keys, and the size of a shared table.
const NOT_SETTINGS: [&str; 4] =
    ["tcp_available_congestion_control", "tcp_available_ulp", "tcp_fastopen_key", "tcp_ehash_entries"];

/// Reads the settings.
pub fn read(plan: &AgentPlan) -> Result<Settings> {
    let plan_keys = plan_keys(plan);
    let names = names().attempt(|| format!("listing {TCP_FOLDER}"))?;
    let defaults = tcp_settings("", &names)?;
    let host_settings = |host: &String| -> Result<(String, Values)> {
        let mut values = tcp_settings(host, &names)?;
        values.retain(|key, value| defaults.get(key) != Some(value));
        values.extend(of_host(&plan_keys, host)?);
        Ok((host.clone(), values))
    };
    Ok(Settings {
        machine: of_host(&plan_keys, "")?,
        hosts: plan.hosts.iter().map(host_settings).collect::<Result<_>>()?,
        parameters: parameters(plan),
    })
}

/// Host and key of every sysctl that the plan sets, except those of the topology (no IPv6, forwarding).
fn plan_keys(plan: &AgentPlan) -> BTreeSet<(&str, &str)> {
    let keys = plan.setup.iter().filter_map(|step| match &step.operation {
        Operation::Sysctl { key, .. } => Some((step.host.as_str(), key.as_str())),
        _ => None,
    });
    keys.filter(|(_, key)| !key.starts_with("net.ipv6.conf.") && *key != "net.ipv4.ip_forward").collect()
}

fn of_host(plan_keys: &BTreeSet<(&str, &str)>, host: &str) -> Result<Values> {
    let keys = plan_keys.iter().filter(|(of, _)| *of == host).map(|(_, key)| *key);
    keys.map(|key| {
        let path = sys::sysctl_file(key);
        let value = sys::within(host, || fs::read_to_string(&path)).attempt(|| format!("reading {path}"))?;
        Ok((key.to_string(), plain(&value)))
    })
    .collect()
}

fn names() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(TCP_FOLDER)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("tcp_") && !NOT_SETTINGS.contains(&name.as_str()) {
            names.push(name);
        }
    }
    Ok(names)
}

/// The per-host `tcp_*` sysctls.
fn tcp_settings(host: &str, names: &[String]) -> Result<Values> {
    let read = |name: &String| match fs::read_to_string(format!("{TCP_FOLDER}/{name}")) {
        Ok(value) => Ok(Some((format!("net.ipv4.{name}"), plain(&value)))),
        // Host-wide or write-only.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => Ok(None),
        Err(error) => Err(error),
    };
    sys::within(host, || names.iter().filter_map(|name| read(name).transpose()).collect())
        .attempt(|| format!("reading the settings of host '{host}'"))
}

fn parameters(plan: &AgentPlan) -> BTreeMap<String, Values> {
    let controllers: BTreeSet<&String> = plan.flows.iter().filter_map(|flow| flow.cc.as_ref()).collect();
    let all = controllers.into_iter().map(|controller| (controller.clone(), of_module(controller).unwrap_or_default()));
    all.filter(|(_, values)| !values.is_empty()).collect()
}

/// A controller without parameters has no such folder.
fn of_module(controller: &str) -> io::Result<Values> {
    let mut values = Values::new();
    for entry in fs::read_dir(format!("/sys/module/tcp_{controller}/parameters"))? {
        let entry = entry?;
        // Skip unreadable parameters.
        if let Ok(value) = fs::read_to_string(entry.path()) {
            values.insert(entry.file_name().to_string_lossy().into_owned(), plain(&value));
        }
    }
    Ok(values)
}

/// Replaces tabs, which the kernel writes, by spaces.
fn plain(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}
