//! Netlink messages as tc sends them (`struct tcmsg`, `struct rtattr`; rtnetlink(7)).
//!
//! A message is bytes: this module does no I/O. The sender finds the device's index and adds the netlink header.

use super::disciplines::{self, AnyAttributes};
use super::filters::message as filter_message;
use super::{Command, Object, SizeTable, Target, Verb, classes, filters::FilterWords};
use crate::syntax::Wrong;
use crate::syntax::attributes::{AttributeBytes, Structure, unsent};
use crate::syntax::location::{Location, class_id};

const ROOT: u32 = u32::MAX;
/// `TC_H_INGRESS`, `TC_H_CLSACT`.
const ARRIVALS: u32 = 0xFFFF_FFF1;

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
    /// The device that its action gives packets to, and where in the attributes that device's index is.
    mirror: Option<(String, usize)>,
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

    /// The second device that the message names: the one that the action `mirred` gives packets to.
    #[must_use]
    pub fn mirrors_to(&self) -> Option<&str> {
        self.mirror.as_ref().map(|(device, _)| &device[..])
    }

    /// The same as [`Self::body`] with the index of the second device.
    #[must_use]
    pub fn body_to(&self, index: u32, second: u32) -> Vec<u8> {
        let mut body = self.body(index);
        if let Some((_, at)) = &self.mirror {
            let at = body.len() - self.attributes.as_bytes().len() + at;
            body[at..at + 4].copy_from_slice(&second.to_ne_bytes());
        }
        body
    }

    fn qdisc(command: &Command) -> Result<Self, Wrong> {
        let (target, options) = (command.target(), command.options());
        let handle = handle(target)?;
        let mut message = Self::new(NEW_QDISC, target, handle, |attributes| {
            let kind = &target.kind[..];
            if let Some(sent) = disciplines::send_kernel_only(kind, &options, attributes) {
                return sent;
            }
            let read = AnyAttributes::parse(kind, &options)?;
            if command.verb() == Verb::Add { read.send(attributes) } else { read.send_change(attributes) }
        })?;
        if let Some(sizes) = SizeTable::read(&target.stab)? {
            sizes.send(&mut message.attributes);
        }
        Ok(message)
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
            (false, None) if target.is_of_arrivals() => ARRIVALS,
            (true, None) => ROOT,
            (false, Some(parent)) => class_id(parent)?,
            _ => return Err(unsent("a command without one parent")),
        };
        let mut options = AttributeBytes::default();
        send(&mut options)?;
        let attributes = AttributeBytes::of_kind(&target.kind, &options);
        Ok(Self { device, kind, flags: 0, handle, parent, info: 0, attributes, mirror: None })
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
        Ok(Self { device, kind: kind + DELETE, flags: 0, handle, parent, info, attributes, mirror: None })
    }

    fn filter(command: &Command) -> Result<Self, Wrong> {
        let words = FilterWords::of_new(command)?;
        let target = command.target();
        let (device, parent) = (device(target)?, filter_parent(target)?);
        let mut options = AttributeBytes::default();
        let handle = filter_message::send(&words, &mut options)?;
        let attributes = AttributeBytes::of_kind(words.kind, &options);
        let info = filter_message::info(&words)?;
        let mirror = command.mirrors_to().map(str::to_owned).zip(attributes.position_of(&filter_message::MIRROR_INDEX));
        Ok(Self { device, kind: NEW_FILTER, flags: 0, handle, parent, info, attributes, mirror })
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
    if target.is_of_arrivals() {
        return Ok(ARRIVALS);
    }
    if target.is_root { Ok(ROOT) } else { target.parent.as_deref().map_or(Ok(0), class_id) }
}

fn filter_parent(target: &Target) -> Result<u32, Wrong> {
    class_id(target.parent.as_deref().ok_or_else(|| unsent("a filter without a parent"))?)
}

#[cfg(test)]
mod tests;
