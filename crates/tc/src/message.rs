//! Netlink messages as tc sends them (`struct tcmsg`, `struct rtattr`; rtnetlink(7)).
//!
//! A message is bytes: this module does no I/O. The sender finds the device's index and adds the netlink header.

use super::disciplines::{self, AnyAttributes};
use super::filters::message as filter_message;
use super::{Command, Object, Target, Verb, classes, filters::FilterWords};
use crate::syntax::Wrong;
use crate::syntax::attributes::{AttributeBytes, Structure, unsent};
use crate::syntax::location::{Location, class_id};

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
    /// The message of a command.
    ///
    /// # Errors
    ///
    /// tc refuses the command, or only tc can send it.
    pub fn of(command: &Command) -> Result<Self, Wrong> {
        if command.verb() == Verb::Delete {
            return Self::deletion(command);
        }
        let message = match command.object() {
            Object::Qdisc => Self::qdisc(command)?,
            Object::Class => Self::class(command)?,
            Object::Filter => Self::filter(command)?,
        };
        let flags = match (command.verb(), command.object()) {
            (Verb::Add, _) => CREATE | EXCLUSIVE,
            (Verb::Change, Object::Qdisc | Object::Class) => 0,
            (Verb::Replace, Object::Qdisc) => CREATE | REPLACE,
            (Verb::Replace, _) => CREATE,
            _ => return Err(unsent("a change of a filter")),
        };
        Ok(Self { flags, ..message })
    }

    /// The message behind the netlink header, for the device of this index.
    #[must_use]
    pub fn body(&self, index: u32) -> Vec<u8> {
        let header = Structure::default().u32(0).u32(index).u32(self.handle).u32(self.parent).u32(self.info);
        header.bytes(self.attributes.as_bytes()).finish()
    }

    fn qdisc(command: &Command) -> Result<Self, Wrong> {
        let (target, options) = (command.target(), command.options());
        let handle = handle(target)?;
        Self::new(NEW_QDISC, target, handle, |attributes| match &target.kind[..] {
            "skbprio" => disciplines::skbprio(&options, attributes),
            kind if command.verb() == Verb::Add => AnyAttributes::parse(kind, &options)?.send(attributes),
            kind => AnyAttributes::parse(kind, &options)?.send_change(attributes),
        })
    }

    fn class(command: &Command) -> Result<Self, Wrong> {
        let target = command.target();
        let id = id(target)?;
        Self::new(NEW_CLASS, target, id, |attributes| classes::send(&target.kind, &command.options(), attributes))
    }

    fn new(
        kind: u16,
        target: &Target,
        handle: u32,
        send: impl FnOnce(&mut AttributeBytes) -> Result<(), Wrong>,
    ) -> Result<Self, Wrong> {
        let device = device(target)?;
        let parent = match (target.is_root, &target.parent) {
            (true, None) => ROOT,
            (false, Some(parent)) => class_id(parent)?,
            _ => return Err(unsent("a command without one parent")),
        };
        let mut options = AttributeBytes::default();
        send(&mut options)?;
        let attributes = AttributeBytes::of_kind(&target.kind, &options);
        Ok(Self { device, kind, flags: 0, handle, parent, info: 0, attributes })
    }

    /// A deletion has no options: the kernel ignores those that tc sends.
    fn deletion(command: &Command) -> Result<Self, Wrong> {
        let target = command.target();
        let device = device(target)?;
        let mut attributes = AttributeBytes::default();
        if !target.kind.is_empty() {
            attributes = AttributeBytes::of_kind(&target.kind, &attributes);
        }
        let (kind, handle, parent, info) = match command.object() {
            Object::Qdisc => (NEW_QDISC, handle(target)?, above(target)?, 0),
            Object::Class => (NEW_CLASS, id(target)?, above(target)?, 0),
            Object::Filter => {
                let words = FilterWords::of(command)?;
                let (handle, info) = (filter_message::deleted_handle(&words)?, filter_message::deleted_info(&words)?);
                (NEW_FILTER, handle, filter_parent(target)?, info)
            }
        };
        Ok(Self { device, kind: kind + DELETE, flags: 0, handle, parent, info, attributes })
    }

    fn filter(command: &Command) -> Result<Self, Wrong> {
        let words = FilterWords::of_new(command)?;
        let target = command.target();
        let (device, parent) = (device(target)?, filter_parent(target)?);
        let mut options = AttributeBytes::default();
        let handle = filter_message::send(&words, &mut options)?;
        let attributes = AttributeBytes::of_kind(words.kind, &options);
        let info = filter_message::info(&words)?;
        Ok(Self { device, kind: NEW_FILTER, flags: 0, handle, parent, info, attributes })
    }
}

fn device(target: &Target) -> Result<String, Wrong> {
    target.device.clone().ok_or_else(|| unsent("a command without a device"))
}

fn handle(target: &Target) -> Result<u32, Wrong> {
    target.handle.as_deref().map_or(Ok(0), |word| Location::read(word)?.handle())
}

fn id(target: &Target) -> Result<u32, Wrong> {
    target.classid.as_deref().map_or(Ok(0), class_id)
}

/// The place of what is deleted; 0: any.
fn above(target: &Target) -> Result<u32, Wrong> {
    if target.is_root { Ok(ROOT) } else { target.parent.as_deref().map_or(Ok(0), class_id) }
}

fn filter_parent(target: &Target) -> Result<u32, Wrong> {
    class_id(target.parent.as_deref().ok_or_else(|| unsent("a filter without a parent"))?)
}

#[cfg(test)]
mod tests;
