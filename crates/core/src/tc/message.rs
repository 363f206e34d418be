//! Netlink messages as tc sends them (`struct tcmsg`, `struct rtattr`; rtnetlink(7)).
//!
//! A message is bytes: this module does no I/O. The sender finds the device's index and adds the netlink header.

use super::Wrong;
use super::disciplines::{self, AnyAttributes};
use super::filters::message as filter_message;
use super::location::{Location, Target};
use super::{classes, filters::FilterWords};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Bits of an attribute's type that say that its value is attributes (`NLA_F_NESTED`).
pub const NESTED: u16 = 0x8000;
const KIND: u16 = 1;
/// Of a qdisc, class or filter.
pub(crate) const OPTIONS: u16 = 2;
const ROOT: u32 = u32::MAX;
const ALIGNMENT: usize = 4;
/// Length and type of an attribute.
const HEADER_BYTES: usize = 4;

const NEW_QDISC: u16 = 36;
const NEW_CLASS: u16 = 40;
const NEW_FILTER: u16 = 44;
/// `NLM_F_REPLACE`, `NLM_F_EXCL`, `NLM_F_CREATE`.
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

/// Netlink attributes, in the byte order of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeBytes(Vec<u8>);

impl AttributeBytes {
    /// Appends an attribute.
    ///
    /// # Panics
    ///
    /// It is longer than 64 KiB, which no attribute of tc is.
    pub fn bytes(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(HEADER_BYTES + value.len()).expect("an attribute of tc is shorter than 64 KiB");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// Appends a number of 8 bits.
    pub fn u8(&mut self, kind: u16, value: u8) {
        self.bytes(kind, &[value]);
    }

    /// Appends a number of 16 bits.
    pub fn u16(&mut self, kind: u16, value: u16) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends a number of 32 bits.
    pub fn u32(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends a number of 64 bits.
    pub fn u64(&mut self, kind: u16, value: u64) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends a number of 32 bits if there is one.
    pub fn some_u32(&mut self, kind: u16, value: Option<u32>) {
        if let Some(value) = value {
            self.u32(kind, value);
        }
    }

    /// The same, for a number whose 0 tc does not send.
    pub fn above_zero(&mut self, kind: u16, value: Option<u32>) {
        self.some_u32(kind, value.filter(|value| *value > 0));
    }

    /// Appends a switch as a number of 32 bits if it was written.
    pub fn switch(&mut self, kind: u16, value: Option<bool>) {
        self.some_u32(kind, value.map(u32::from));
    }

    /// Appends an attribute whose value is attributes, which `add` appends.
    pub fn nested(&mut self, kind: u16, add: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        add(&mut inner);
        self.bytes(kind, &inner.0);
    }

    /// Appends an attribute whose value is a structure and attributes behind it.
    pub fn structure(&mut self, kind: u16, structure: &[u8], add: impl FnOnce(&mut Self)) {
        let mut inner = Self(structure.to_vec());
        add(&mut inner);
        self.bytes(kind, &inner.0);
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The kind of a known qdisc, class or filter, zero-terminated, and its options.
    fn of_kind(kind: &str, options: &Self) -> Self {
        let mut all = Self::default();
        all.bytes(KIND, &[kind.as_bytes(), &[0]].concat());
        all.0.extend(&options.0);
        all
    }
}

/// A structure of numbers, as C lays it out without padding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure(Vec<u8>);

impl Structure {
    pub fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub fn i32(self, value: i32) -> Self {
        self.u32(value.cast_unsigned())
    }

    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub fn bytes(mut self, value: &[u8]) -> Self {
        self.0.extend(value);
        self
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

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

/// The refusal of words that have no message here; the machine's tc may know them.
pub(crate) fn unsent(what: &str) -> Wrong {
    Wrong::lacking(format!("{what} is not sent by Dumbbell itself"), "")
}

impl Message {
    /// Reads a command, given from the word after `tc` on.
    ///
    /// # Errors
    ///
    /// tc refuses the command, or only tc can send it.
    pub fn read(words: &[&str]) -> Result<Self, Wrong> {
        let [subject, verb, rest @ ..] = words else { return Err(unsent("a command of fewer than two words")) };
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

/// A class id of two numbers, as tc reads it (`get_tc_classid`).
pub(crate) fn class_id(word: &str) -> Result<u32, Wrong> {
    if !word.contains(':') {
        return Err(unsent("a class id without a colon"));
    }
    Location::read(word)?.id()
}

#[cfg(test)]
mod tests;
