//! What a part of an experiment may change on a machine: disciplines and features of its devices, settings.
//!
//! It is read before the first change and after the last. Putting back is possible where Linux itself put the disciplines
//! there: when a device's root discipline is deleted, Linux makes the default one anew (`qdisc_graft` and `dev_activate`,
//! net/sched). A root discipline of somebody's own is refused by name: nothing can make it again exactly.

use crate::error::{Attempt, Error, Result};
use crate::sample::netlink::Netlink;
use crate::sample::qdisc::{self, Told};
use crate::sys::features::{self, Features};
use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

const DEFAULT_DISCIPLINE: &str = "/proc/sys/net/core/default_qdisc";

/// What there is.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct State {
    /// By name.
    pub devices: BTreeMap<String, Device>,
    /// Settings, by file.
    pub settings: BTreeMap<String, String>,
}

/// One device.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Device {
    disciplines: Vec<Told>,
    features: Features,
}

impl State {
    /// Reads it.
    pub fn read(devices: &[String], settings: &[String]) -> Result<Self> {
        let device = |name: &String| {
            let netlink = Netlink::open("", SockProtocol::NetlinkRoute)?;
            let features = features::get(name).attempt(|| format!("reading the features of device '{name}'"))?;
            Ok((name.clone(), Device { disciplines: qdisc::tree(&netlink, name)?, features }))
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

    /// Why it could not be put back, if so.
    pub fn refuse_what_stays(&self) -> Result<()> {
        let default = fs::read_to_string(DEFAULT_DISCIPLINE).ok();
        self.devices.iter().try_for_each(|(name, device)| device.refuse_what_stays(name, default.as_deref()))
    }

    /// Puts everything back as it was; tries each thing, and says what could not be done.
    pub fn put_back(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (file, text) in &self.settings {
            // Written only where it differs: a write may do more than set a value.
            if fs::read_to_string(file).ok().as_deref() != Some(text)
                && let Err(error) = fs::write(file, text)
            {
                failures.push(format!("{file} could not be set to {}: {error}", text.trim()));
            }
        }
        for (name, device) in &self.devices {
            failures.extend(device.put_back(name).err().map(|error| error.to_string()));
        }
        failures
    }

    /// What is not as it was before, a sentence each.
    pub fn differences(&self) -> Vec<String> {
        let names: Vec<_> = self.devices.keys().cloned().collect();
        let files: Vec<_> = self.settings.keys().cloned().collect();
        let now = match Self::read(&names, &files) {
            Ok(now) => now,
            Err(error) => return vec![format!("what there is now can't be read: {error}")],
        };
        let mut found = Vec::new();
        for (name, before) in &self.devices {
            found.extend(before.differences(name, &now.devices[name]));
        }
        for (file, before) in self.settings.iter().filter(|(file, before)| now.settings[*file] != **before) {
            found.push(format!("{file} is {}, and was {}", now.settings[file].trim(), before.trim()));
        }
        found
    }

    /// What a person would type to do the same.
    pub fn by_hand(&self) -> Vec<String> {
        let settings = self.settings.iter().map(|(file, text)| format!("echo '{}' > {file}", text.trim()));
        let devices = self.devices.keys().map(|name| format!("tc qdisc del dev {name} root"));
        settings.chain(devices).collect()
    }
}

impl Device {
    fn refuse_what_stays(&self, name: &str, default: Option<&str>) -> Result<()> {
        let refuse = |why: String| Err(Error::Unfit(format!("device '{name}' {why}")));
        let Some(root) = self.disciplines.iter().find(|each| each.parent == "root") else {
            return Ok(());
        };
        if root.handle != "0:" {
            return refuse(format!(
                "has a root discipline that somebody set: {} {}; nothing could make it again exactly: remove it \
                 (tc qdisc del dev {name} root) and set it again afterwards",
                root.kind, root.handle
            ));
        }
        let Some(default) = default.map(str::trim) else { return Ok(()) };
        for each in self.disciplines.iter().filter(|each| each.handle == "0:") {
            let made_by_linux = matches!(each.kind.as_str(), "noqueue" | "mq" | "noop") || each.kind == default;
            if !made_by_linux {
                return refuse(format!(
                    "has a {} that Linux put there, and would put a {default} there now (net.core.default_qdisc): it \
                     could not be left as it was; make both one, such as by: sysctl -w net.core.default_qdisc={}",
                    each.kind, each.kind
                ));
            }
        }
        Ok(())
    }

    fn put_back(&self, name: &str) -> Result<()> {
        let netlink = Netlink::open("", SockProtocol::NetlinkRoute)?;
        if qdisc::tree(&netlink, name)? != self.disciplines {
            qdisc::delete_root(&netlink, name)?;
        }
        if features::get(name).attempt(|| format!("reading the features of device '{name}'"))? != self.features {
            features::restore(name, &self.features).attempt(|| format!("restoring the features of device '{name}'"))?;
        }
        Ok(())
    }

    fn differences(&self, name: &str, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if now.disciplines != self.disciplines {
            let list = |all: &[Told]| {
                all.iter().map(|each| format!("{} {} at {}", each.kind, each.handle, each.parent)).collect::<Vec<_>>()
            };
            found.push(format!(
                "device '{name}' has the disciplines {:?}, and had {:?}",
                list(&now.disciplines),
                list(&self.disciplines)
            ));
        }
        if now.features != self.features {
            found.push(format!("device '{name}' has other features (ethtool -k {name}) than it had"));
        }
        found
    }
}
