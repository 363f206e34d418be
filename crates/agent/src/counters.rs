//! Kernel counters that reveal drops outside the queues under test.
//!
//! Stored as text; `crates/dumbbell/src/validity/kernel.rs` judges them.

use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_records::end::Counters;
use std::collections::BTreeMap;
use std::fs;

/// Reads every host's counters.
pub fn read(hosts: &[String]) -> Result<BTreeMap<String, Counters>> {
    hosts.iter().map(|host| Ok((host.clone(), read_host(host)?))).collect()
}

fn read_host(host: &str) -> Result<Counters> {
    let read = |file: &str| {
        sys::within(host, || fs::read_to_string(format!("/proc/net/{file}")))
            .attempt(|| format!("reading /proc/net/{file} of host '{host}'"))
    };
    Ok(Counters {
        dev: read("dev")?,
        snmp: read("snmp")?,
        netstat: read("netstat")?,
        softnet_stat: read("softnet_stat")?,
    })
}
