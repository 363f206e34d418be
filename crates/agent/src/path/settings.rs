//! Network sysctls, read before and after: Linux sends no notification when one is written.
//!
//! Programs from an experiment file can't write sysctls (`programs::sandbox`), so no write and revert can be missed.
//! Sysctls are read only where an interactive shell may write them.

use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_plan::AgentPlan;
use dumbbell_plan::Program;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const FOLDERS: [&str; 2] = ["/proc/sys/net/core", "/proc/sys/net/ipv4"];
/// Lists that loading a module changes, and keys that the kernel generates on demand.
const NOT_SETTINGS: [&str; 4] =
    ["tcp_available_congestion_control", "tcp_allowed_congestion_control", "tcp_available_ulp", "tcp_fastopen_key"];

/// By host, then file.
pub struct Settings(BTreeMap<String, BTreeMap<String, String>>);

/// A sysctl that has changed.
pub struct Difference {
    pub host: String,
    pub key: String,
    pub before: String,
    pub after: String,
}

impl Settings {
    /// Reads the sysctls of every host if a program may write them.
    pub fn read(plan: &AgentPlan) -> Result<Self> {
        let programs = &plan.programs.all;
        let writable = programs.is_empty() || programs.iter().any(Program::may_set);
        let hosts: &[String] = if writable { &plan.hosts } else { &[] };
        let all = hosts.iter().map(|host| {
            let values = sys::within(host, || {
                let mut values = BTreeMap::new();
                FOLDERS.iter().try_for_each(|folder| collect(Path::new(folder), &mut values))?;
                Ok(values)
            });
            Ok((host.clone(), values.attempt(|| format!("reading the settings of host '{host}'"))?))
        });
        Ok(Self(all.collect::<Result<_>>()?))
    }

    /// Sysctls that have changed; devices that appeared or disappeared are reported by notifications.
    pub fn differences(&self, plan: &AgentPlan) -> Result<Vec<Difference>> {
        let Self(now) = Self::read(plan)?;
        let mut found = Vec::new();
        for (host, values) in &self.0 {
            for (file, before) in values {
                if let Some(after) = now[host].get(file).filter(|after| *after != before) {
                    let key = file.trim_start_matches("/proc/sys/").replace('/', ".");
                    found.push(Difference { host: host.clone(), key, before: before.clone(), after: after.clone() });
                }
            }
        }
        Ok(found)
    }
}

fn collect(folder: &Path, values: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, metadata) = (entry.path(), entry.metadata()?);
        if metadata.is_dir() {
            collect(&path, values)?;
        // A failing system call takes guest time: skip write-only files.
        } else if metadata.permissions().mode() & 0o400 != 0 && !NOT_SETTINGS.iter().any(|name| path.ends_with(name)) {
            // Unreadable files can't be compared.
            if let Ok(text) = fs::read_to_string(&path) {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                values.insert(path.to_string_lossy().into_owned(), text);
            }
        }
    }
    Ok(())
}
