//! Netlink messages as tc sends them (`struct tcmsg`, `struct rtattr`; rtnetlink(7)).
//!
//! A message is bytes: this module does no I/O. The sender finds the device's index and adds the netlink header.

use super::disciplines::{self, AnyAttributes};
use super::filters::message as filter_message;
use super::{classes, filters::FilterWords};
use crate::syntax::Wrong;
use crate::syntax::attributes::{AttributeBytes, Structure, unsent};
use crate::syntax::location::{Location, Target, class_id};

const ROOT: u32 = u32::MAX;

const NEW_QDISC: u16 = 36;
const NEW_CLASS: u16 = 40;
const NEW_FILTER: u16 = 44;
/// The message that deletes what a message of one kind adds has the next number (`RTM_DELQDISC` and so on).
const DELETE: u16 = 1;
/// `NLM_F_REPLACE`, `NLM_F_EXCL`, `NLM_F_CREATE`.
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

/// A command as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Name of the device.
    pub device: String,
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_flags` that the command needs.
    pub flags: u16,
    handle: u32,
    parent: u32,
    info: u32,
    attributes: AttributeBytes,
}

impl Message {
    /// Reads a command, given from the word after `tc` on.
    ///
    /// # Errors
    ///
    /// tc refuses the command, or only tc can send it.
    pub fn read(words: &[&str]) -> Result<Self, Wrong> {
        let [subject, verb, rest @ ..] = words else { return Err(unsent("a command of fewer than two words")) };
        if matches!(*verb, "del" | "delete") {
            return Self::deletion(subject, rest);
        }
        let message = match *subject {
            "qdisc" => Self::qdisc(*verb == "add", rest)?,
            "class" => Self::class(rest)?,
            "filter" => Self::filter(rest)?,
            _ => return Err(unsent(subject)),
        };
        let flags = match (*verb, *subject) {
            ("add", _) => CREATE | EXCLUSIVE,
            ("change", "qdisc" | "class") => 0,
            ("replace", "qdisc") => CREATE | REPLACE,
            ("replace", _) => CREATE,
            _ => return Err(unsent(verb)),
        };
        Ok(Self { flags, ..message })
    }

    /// The message behind the netlink header, for the device of this index.
    #[must_use]
    pub fn body(&self, index: u32) -> Vec<u8> {
        let header = Structure::default().u32(0).u32(index).u32(self.handle).u32(self.parent).u32(self.info);
        header.bytes(self.attributes.as_bytes()).finish()
    }

    fn qdisc(is_new: bool, words: &[&str]) -> Result<Self, Wrong> {
        let target = Target::read(words);
        let handle = target.handle.map_or(Ok(0), |word| Location::read(word)?.handle())?;
        Self::new(NEW_QDISC, &target, handle, |attributes| match target.kind {
            "skbprio" => disciplines::skbprio(target.options, attributes),
            kind if is_new => AnyAttributes::parse(kind, target.options)?.send(attributes),
            kind => AnyAttributes::parse(kind, target.options)?.send_change(attributes),
        })
    }

    fn class(words: &[&str]) -> Result<Self, Wrong> {
        let target = Target::read(words);
        let handle = target.classid.map_or(Ok(0), class_id)?;
        Self::new(NEW_CLASS, &target, handle, |attributes| classes::send(target.kind, target.options, attributes))
    }

    fn new(
        kind: u16,
        target: &Target<'_>,
        handle: u32,
        send: impl FnOnce(&mut AttributeBytes) -> Result<(), Wrong>,
    ) -> Result<Self, Wrong> {
        let device = target.device.ok_or_else(|| unsent("a command without a device"))?;
        let parent = match (target.is_root, target.parent) {
            (true, None) => ROOT,
            (false, Some(parent)) => class_id(parent)?,
            _ => return Err(unsent("a command without one parent")),
        };
        let mut options = AttributeBytes::default();
        send(&mut options)?;
        let attributes = AttributeBytes::of_kind(target.kind, &options);
        Ok(Self { device: device.to_string(), kind, flags: 0, handle, parent, info: 0, attributes })
    }

    /// A deletion has no options: the kernel ignores those that tc sends.
    fn deletion(subject: &str, words: &[&str]) -> Result<Self, Wrong> {
        let target = Target::read(words);
        let parent = match (target.is_root, target.parent) {
            (true, _) => ROOT,
            (false, parent) => parent.map_or(Ok(0), class_id)?,
        };
        let named = |kind: u16, device: Option<&str>, of_kind: &str| -> Result<Self, Wrong> {
            let device = device.ok_or_else(|| unsent("a command without a device"))?.to_string();
            let mut attributes = AttributeBytes::default();
            if !of_kind.is_empty() {
                attributes = AttributeBytes::of_kind(of_kind, &attributes);
            }
            Ok(Self { device, kind: kind + DELETE, flags: 0, handle: 0, parent, info: 0, attributes })
        };
        match subject {
            "qdisc" => {
                let handle = target.handle.map_or(Ok(0), |word| Location::read(word)?.handle())?;
                Ok(Self { handle, ..named(NEW_QDISC, target.device, target.kind)? })
            }
            "class" => {
                let handle = target.classid.map_or(Ok(0), class_id)?;
                Ok(Self { handle, ..named(NEW_CLASS, target.device, target.kind)? })
            }
            "filter" => {
                let words = FilterWords::of_deletion(words)?;
                let parent = class_id(words.parent.ok_or_else(|| unsent("a filter without a parent"))?)?;
                let (handle, info) = (filter_message::deleted_handle(&words)?, filter_message::deleted_info(&words)?);
                Ok(Self { handle, parent, info, ..named(NEW_FILTER, words.device, words.kind)? })
            }
            _ => Err(unsent(subject)),
        }
    }

    fn filter(words: &[&str]) -> Result<Self, Wrong> {
        let words = FilterWords::read(words)?;
        let device = words.device.ok_or_else(|| unsent("a command without a device"))?;
        let parent = class_id(words.parent.ok_or_else(|| unsent("a filter without a parent"))?)?;
        let mut options = AttributeBytes::default();
        let handle = filter_message::send(&words, &mut options)?;
        let attributes = AttributeBytes::of_kind(words.kind, &options);
        let info = filter_message::info(&words)?;
        Ok(Self { device: device.to_string(), kind: NEW_FILTER, flags: 0, handle, parent, info, attributes })
    }
}

#[cfg(test)]
mod tests;
