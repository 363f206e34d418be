//! Kernel counters that reveal drops outside the queues under test.
//!
//! Stored as text; `dumbbell.engines.run_manifest` reads and judges them.

use crate::error::{Attempt, Result};
use crate::sys;
use std::collections::BTreeMap;
use std::fs;

/// Files of `/proc/net`, which are also the keys.
const FILES: [&str; 4] = ["dev", "snmp", "netstat", "softnet_stat"];

/// Host to file to text.
pub type Counters = BTreeMap<String, BTreeMap<&'static str, String>>;

/// Reads every host's counters.
pub fn read(hosts: &[String]) -> Result<Counters> {
    hosts.iter().map(|host| Ok((host.clone(), read_host(host)?))).collect()
}

fn read_host(host: &str) -> Result<BTreeMap<&'static str, String>> {
    FILES
        .iter()
        .map(|file| {
            let text = sys::within(host, || fs::read_to_string(format!("/proc/net/{file}")))
                .attempt(|| format!("reading /proc/net/{file} of host '{host}'"))?;
            Ok((*file, text))
        })
        .collect()
}
