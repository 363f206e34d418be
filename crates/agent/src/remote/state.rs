//! What an experiment may change on a host: qdiscs and features of its devices, and sysctls.
//!
//! The state is read before the first change and after the last. Default qdiscs can be restored: when a device's root
//! qdisc is deleted, Linux creates the default one again (`qdisc_graft` and `dev_activate`, net/sched). A root qdisc
//! that a user configured can't be recreated exactly, so such a device is refused.

use crate::error::{Attempt, Error, Result};
use crate::sample::netlink::Netlink;
use crate::sample::qdisc::{self, QdiscDump};
use crate::sys::features::{self, Features};
use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

const DEFAULT_DISCIPLINE: &str = "/proc/sys/net/core/default_qdisc";

/// The state of a host.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct State {
    /// Devices by name.
    pub devices: BTreeMap<String, Device>,
    /// Sysctls by file.
    pub settings: BTreeMap<String, String>,
}

/// One device.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Device {
    #[serde(rename = "disciplines")]
    qdiscs: Vec<QdiscDump>,
    features: Features,
}

impl State {
    /// Reads the current state.
    pub fn read(devices: &[String], settings: &[String]) -> Result<Self> {
        let device = |name: &String| {
            let netlink = Netlink::open("", SockProtocol::NetlinkRoute)?;
            let features = features::get(name).attempt(|| format!("reading the features of device '{name}'"))?;
            Ok((name.clone(), Device { qdiscs: qdisc::tree(&netlink, name)?, features }))
        };
        let setting = |file: &String| {
            let text = fs::read_to_string(file).attempt(|| format!("reading {file}"))?;
            Ok((file.clone(), text))
        };
        Ok(Self {
            devices: devices.iter().map(device).collect::<Result<_>>()?,
            settings: settings.iter().map(setting).collect::<Result<_>>()?,
        })
    }

    /// Fails if the state could not be restored.
    pub fn refuse_unrestorable(&self) -> Result<()> {
        let default = fs::read_to_string(DEFAULT_DISCIPLINE).ok();
        self.devices.iter().try_for_each(|(name, device)| device.refuse_unrestorable(name, default.as_deref()))
    }

    /// Restores the state; continues after failures and returns them.
    pub fn restore(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (file, text) in &self.settings {
            // Written only if it differs: a write may have side effects.
            if fs::read_to_string(file).ok().as_deref() != Some(text)
                && let Err(error) = fs::write(file, text)
            {
                failures.push(format!("{file} could not be set to {}: {error}", text.trim()));
            }
        }
        for (name, device) in &self.devices {
            failures.extend(device.restore(name).err().map(|error| error.to_string()));
        }
        failures
    }

    /// Differences from the current state, one sentence each.
    pub fn differences(&self) -> Vec<String> {
        let names: Vec<_> = self.devices.keys().cloned().collect();
        let files: Vec<_> = self.settings.keys().cloned().collect();
        let now = match Self::read(&names, &files) {
            Ok(now) => now,
            Err(error) => return vec![format!("the current state can't be read: {error}")],
        };
        let mut found = Vec::new();
        for (name, before) in &self.devices {
            found.extend(before.differences(name, &now.devices[name]));
        }
        for (file, before) in self.settings.iter().filter(|(file, before)| now.settings[*file] != **before) {
            found.push(format!("{file} is {}; it was {}", now.settings[file].trim(), before.trim()));
        }
        found
    }

    /// Commands that restore the state by hand.
    pub fn by_hand(&self) -> Vec<String> {
        let settings = self.settings.iter().map(|(file, text)| format!("echo '{}' > {file}", text.trim()));
        let devices = self.devices.iter().flat_map(|(name, before)| {
            let words = features::restoring_words(name, &before.features).unwrap_or_default();
            let offloads = (!words.is_empty()).then(|| format!("ethtool -K {name} {}", words.join(" ")));
            [Some(format!("tc qdisc del dev {name} root")), offloads].into_iter().flatten()
        });
        settings.chain(devices).collect()
    }
}

impl Device {
    fn refuse_unrestorable(&self, name: &str, default: Option<&str>) -> Result<()> {
        let refuse = |why: String| Err(Error::Unfit(format!("device '{name}' {why}")));
        let Some(root) = self.qdiscs.iter().find(|each| each.parent == "root") else {
            return Ok(());
        };
        if root.handle != "0:" {
            return refuse(format!(
                "has a configured root qdisc ({} {}), which can't be restored exactly: remove it \
                 (tc qdisc del dev {name} root) and configure it again afterwards",
                root.kind, root.handle
            ));
        }
        let Some(default) = default.map(str::trim) else { return Ok(()) };
        for each in self.qdiscs.iter().filter(|each| each.handle == "0:") {
            let is_default = matches!(each.kind.as_str(), "noqueue" | "mq" | "noop") || each.kind == default;
            if !is_default {
                return refuse(format!(
                    "has the default qdisc {}, but the default is {default} now (net.core.default_qdisc), so it \
                     can't be restored; make both equal, for example: sysctl -w net.core.default_qdisc={}",
                    each.kind, each.kind
                ));
            }
        }
        Ok(())
    }

    fn restore(&self, name: &str) -> Result<()> {
        let netlink = Netlink::open("", SockProtocol::NetlinkRoute)?;
        if qdisc::tree(&netlink, name)? != self.qdiscs {
            qdisc::delete_root(&netlink, name)?;
        }
        if features::get(name).attempt(|| format!("reading the features of device '{name}'"))? != self.features {
            features::restore(name, &self.features).attempt(|| format!("restoring the features of device '{name}'"))?;
        }
        Ok(())
    }

    fn differences(&self, name: &str, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if now.qdiscs != self.qdiscs {
            let list = |all: &[QdiscDump]| {
                all.iter().map(|each| format!("{} {} at {}", each.kind, each.handle, each.parent)).collect::<Vec<_>>()
            };
            found.push(format!(
                "device '{name}' has the qdiscs {:?}; it had {:?}",
                list(&now.qdiscs),
                list(&self.qdiscs)
            ));
        }
        if now.features != self.features {
            found.push(format!("device '{name}' has changed features (ethtool -k {name})"));
        }
        found
    }
}
