//! Documents as trees: values of TOML, each with its place in the text where there is one.

use core::ops::Range;

/// Bytes of the text that a value was read from.
pub type Span = Range<usize>;

/// A value, and where it was written.
#[derive(Clone, Debug, Default)]
pub struct Value {
    /// The value itself.
    pub node: Node,
    /// None: it comes from a setting, from Python or from a default.
    pub span: Option<Span>,
}

/// A value of TOML; `Null` exists in documents from other languages only.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Node {
    /// No value.
    #[default]
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// At most 64 bits, as in TOML.
    Integer(i64),
    /// Any float, infinite ones and NaN too.
    Float(f64),
    /// A text.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// A table.
    Table(Table),
}

/// Keys with their values, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(Key, Value)>);

/// A key, and where it was written.
#[derive(Clone, Debug)]
pub struct Key {
    /// As TOML reads it: without quotes.
    pub text: String,
    /// As that of a value.
    pub span: Option<Span>,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T: Into<String>> From<T> for Key {
    fn from(text: T) -> Self {
        Self { text: text.into(), span: None }
    }
}

impl Value {
    /// A value without a place.
    #[must_use]
    pub const fn plain(node: Node) -> Self {
        Self { node, span: None }
    }

    /// Whether there is no value.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.node, Node::Null)
    }

    /// A list of texts.
    #[must_use]
    pub fn texts(texts: &[&str]) -> Self {
        texts.iter().map(|text| Self::from(*text)).collect::<Vec<_>>().into()
    }

    /// The value's text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let Node::Text(text) = &self.node { Some(text) } else { None }
    }

    /// The value's table, if it is one.
    #[must_use]
    pub const fn table(&self) -> Option<&Table> {
        if let Node::Table(table) = &self.node { Some(table) } else { None }
    }

    /// The value's list, if it is one.
    #[must_use]
    pub fn list(&self) -> Option<&[Self]> {
        if let Node::List(list) = &self.node { Some(list) } else { None }
    }

    /// How many values are in it that are no tables and no lists.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.node {
            Node::List(list) => list.iter().map(Self::count).sum(),
            Node::Table(table) => table.count(),
            _ => 1,
        }
    }

    /// Whether tables and lists are nested in at most `depth` levels.
    #[must_use]
    pub fn is_within(&self, depth: usize) -> bool {
        match &self.node {
            Node::List(list) => depth > 0 && list.iter().all(|value| value.is_within(depth - 1)),
            Node::Table(table) => depth > 0 && table.0.iter().all(|(_, value)| value.is_within(depth - 1)),
            _ => true,
        }
    }
}

impl Table {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(each, _)| each.text == key).map(|(_, value)| value)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(each, _)| each.text == key).map(|(_, value)| value)
    }

    /// Whether there is such a key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a key; a new one goes to the end.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// Takes a key out.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let position = self.0.iter().position(|(each, _)| each.text == key)?;
        Some(self.0.remove(position).1)
    }

    /// The same with a key, unless it has it.
    #[must_use]
    pub fn or(mut self, key: &str, value: impl FnOnce() -> Value) -> Self {
        if !self.has(key) {
            self.set(key, value());
        }
        self
    }

    /// As [`Value::count`].
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|(_, value)| value.count()).sum()
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Table {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

macro_rules! from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::plain($make(value))
            }
        })+
    };
}

from! {
    bool => Node::Boolean,
    i64 => Node::Integer,
    i32 => |value| Node::Integer(i64::from(value)),
    u8 => |value| Node::Integer(i64::from(value)),
    u16 => |value| Node::Integer(i64::from(value)),
    u32 => |value| Node::Integer(i64::from(value)),
    // No key holds more than 63 bits.
    u64 => |value| Node::Integer(i64::try_from(value).unwrap_or(i64::MAX)),
    f64 => Node::Float,
    &str => |value: &str| Node::Text(value.to_owned()),
    String => Node::Text,
    Vec<Value> => Node::List,
    Table => Node::Table,
}
