//! Netlink attributes as tc sends them (`struct rtattr`; rtnetlink(7)).

use super::Wrong;

/// Bits of an attribute's type that say that its value is attributes (`NLA_F_NESTED`).
pub const NESTED: u16 = 0x8000;
const KIND: u16 = 1;
/// Of a qdisc, class or filter.
pub(crate) const OPTIONS: u16 = 2;
const ALIGNMENT: usize = 4;
/// Length and type of an attribute.
const HEADER_BYTES: usize = 4;

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

    /// Where these bytes are; None: nowhere, or at more than one place.
    pub(crate) fn position_of(&self, bytes: &[u8]) -> Option<usize> {
        let mut found = (0..self.0.len().saturating_sub(bytes.len() - 1)).filter(|at| self.0[*at..].starts_with(bytes));
        found.next().filter(|_| found.next().is_none())
    }

    /// The kind of a known qdisc, class or filter, zero-terminated, and its options.
    pub(crate) fn of_kind(kind: &str, options: &Self) -> Self {
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

/// The refusal of words that have no message here; the machine's tc may know them.
pub(crate) fn unsent(what: &str) -> Wrong {
    Wrong::lacking(format!("{what} is not sent by Dumbbell itself"), "")
}
