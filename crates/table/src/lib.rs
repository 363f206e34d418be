//! Tables: named columns in Arrow's memory layout, so that they are exported without copying.
//!
//! `crates/metrics` declares the columns of results; the simulator and the readers of the agent's records fill them.

mod bits;

pub use bits::Bits;

use std::borrow::Cow;
use std::sync::Arc;

/// Values of one type, with nulls.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells<T> {
    values: Vec<T>,
    /// Validity; None while all values are valid.
    known: Option<Bits>,
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self { values: Vec::new(), known: None }
    }
}

impl<T: Copy + Default> Cells<T> {
    /// No values yet, and memory for this many.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), known: None }
    }

    /// Appends a value or null.
    #[inline]
    pub fn push(&mut self, value: impl Into<Option<T>>) {
        let value = value.into();
        if let Some(known) = &mut self.known {
            known.push(value.is_some());
        } else if value.is_none() {
            let mut known = Bits::repeat(true, self.values.len());
            known.push(false);
            self.known = Some(known);
        }
        self.values.push(value.unwrap_or_default());
    }

    /// The values; nulls are zero.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Validity; None: all are valid.
    #[must_use]
    pub fn known(&self) -> Option<&Bits> {
        self.known.as_ref()
    }

    /// One value; None if null.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<T> {
        let known = self.known.as_ref().is_none_or(|known| known.get(row));
        known.then(|| self.values[row])
    }

    /// Values and validity, moved out.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Option<Bits>) {
        (self.values, self.known)
    }

    /// Allocated bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>() + self.known.as_ref().map_or(0, Bits::capacity_bytes)
    }

    /// Used bytes. Memory beyond them is not resident until it is written.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.values.len() * size_of::<T>() + self.known.as_ref().map_or(0, |known| known.as_bytes().len())
    }
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// 64-bit signed.
    I64(Cells<i64>),
    /// 32-bit unsigned.
    U32(Cells<u32>),
    /// 16-bit unsigned.
    U16(Cells<u16>),
    /// 8-bit unsigned.
    U8(Cells<u8>),
    /// Boolean, one byte each.
    Bool(Cells<bool>),
    /// Double precision.
    F64(Cells<f64>),
    /// Names, as indices into a list.
    Name(Cells<u32>, Arc<[String]>),
}

impl Column {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I64(cells) => cells.values.len(),
            Self::U32(cells) | Self::Name(cells, _) => cells.values.len(),
            Self::U16(cells) => cells.values.len(),
            Self::U8(cells) => cells.values.len(),
            Self::Bool(cells) => cells.values.len(),
            Self::F64(cells) => cells.values.len(),
        }
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One cell as text; empty for null.
    #[must_use]
    pub fn text(&self, row: usize) -> String {
        let show = |value: Option<&dyn ToString>| value.map(ToString::to_string).unwrap_or_default();
        match self {
            Self::I64(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::U32(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::U16(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::U8(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::Bool(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::F64(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::Name(cells, names) => cells.get(row).map_or_else(String::new, |code| names[code as usize].clone()),
        }
    }

    /// Allocated bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        match self {
            Self::I64(cells) => cells.capacity_bytes(),
            Self::U32(cells) | Self::Name(cells, _) => cells.capacity_bytes(),
            Self::U16(cells) => cells.capacity_bytes(),
            Self::U8(cells) => cells.capacity_bytes(),
            Self::Bool(cells) => cells.capacity_bytes(),
            Self::F64(cells) => cells.capacity_bytes(),
        }
    }
}

/// Named columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Columns.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// A table of these columns.
    ///
    /// # Panics
    ///
    /// If their lengths differ, which means that a row is incomplete.
    #[must_use]
    pub fn new(columns: Vec<(&'static str, Column)>) -> Self {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        if let Some((name, column)) = columns.iter().find(|(_, column)| column.len() != rows) {
            panic!("column '{name}' has {} rows, the table {rows}", column.len());
        }
        Self { columns }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(own, _)| *own == name).map(|(_, column)| column)
    }

    /// Inserts a column after another one.
    ///
    /// # Panics
    ///
    /// If that one is missing, or the lengths differ.
    pub fn insert_after(&mut self, before: &str, name: &'static str, column: Column) {
        assert_eq!(column.len(), self.rows(), "column '{name}' and the table differ in length");
        let at = self.columns.iter().position(|(own, _)| *own == before).expect("the column before it");
        self.columns.insert(at + 1, (name, column));
    }

    /// The table as tab-separated text, for display and tests.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |row| self.columns.iter().map(|(_, column)| column.text(row)).collect::<Vec<_>>().join("\t");
        let head = self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("\t");
        std::iter::once(head).chain((0..self.rows()).map(line)).collect::<Vec<_>>().join("\n")
    }
}

/// A column of names: codes into a list.
#[derive(Clone, Debug, Default)]
pub struct Names {
    codes: Cells<u32>,
    list: Vec<Cow<'static, str>>,
}

impl Names {
    /// Starts with these names; their indices are their codes.
    #[must_use]
    pub fn of(list: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        Self { codes: Cells::default(), list: list.into_iter().map(Into::into).collect() }
    }

    /// Appends the name with this code, or null.
    #[inline]
    pub fn push_code(&mut self, code: impl Into<Option<u32>>) {
        self.codes.push(code);
    }

    /// Allocated bytes, names excluded.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.codes.capacity_bytes()
    }

    /// As [`Cells::used_bytes`].
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.codes.used_bytes()
    }

    /// Appends a name; a new name is added to the list.
    ///
    /// # Panics
    ///
    /// If there are more than 2³² names.
    pub fn push(&mut self, name: &'static str) {
        let index = self.list.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.list.push(name.into());
            self.list.len() - 1
        });
        self.codes.push(u32::try_from(index).expect("few names"));
    }
}

impl From<Names> for Column {
    fn from(names: Names) -> Self {
        Self::Name(names.codes, names.list.into_iter().map(Cow::into_owned).collect())
    }
}

macro_rules! from_cells {
    ($($number:ty => $column:ident),*) => {$(
        impl From<Cells<$number>> for Column {
            fn from(cells: Cells<$number>) -> Self {
                Self::$column(cells)
            }
        }
    )*};
}

from_cells!(i64 => I64, u32 => U32, u16 => U16, u8 => U8, bool => Bool, f64 => F64);

/// A struct of columns that converts to a [`Table`]; columns keep order and names.
#[macro_export]
macro_rules! columns {
    ($(#[$about:meta])* $name:ident { $($column:ident: $cells:ty),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $(pub $column: $cells),*
        }

        impl $name {
            /// Allocated bytes.
            pub fn capacity_bytes(&self) -> usize {
                0 $(+ self.$column.capacity_bytes())*
            }

            /// Used bytes.
            pub fn used_bytes(&self) -> usize {
                0 $(+ self.$column.used_bytes())*
            }
        }

        impl From<$name> for $crate::Table {
            fn from(rows: $name) -> Self {
                Self::new(vec![$((stringify!($column), rows.$column.into())),*])
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_values_stay_valid_after_the_first_null() {
        let mut cells = Cells::default();
        cells.push(1i64);
        cells.push(2);
        assert!(cells.known().is_none());
        cells.push(None);
        cells.push(4);
        assert_eq!((0..4).map(|row| cells.get(row)).collect::<Vec<_>>(), [Some(1), Some(2), None, Some(4)]);
        assert_eq!(cells.values(), [1, 2, 0, 4]);
    }

    #[test]
    fn a_table_reads_as_text() {
        let (mut numbers, mut names) = (Cells::default(), Cells::default());
        numbers.push(7i64);
        numbers.push(None);
        names.push(1u32);
        names.push(0);
        let list: Arc<[String]> = Arc::new(["a".into(), "b".into()]);
        let table = Table::new(vec![("n", Column::I64(numbers)), ("s", Column::Name(names, list))]);
        assert_eq!(table.text(), "n\ts\n7\tb\n\ta");
    }

    #[test]
    #[should_panic(expected = "column 'b' has 0 rows, the table 1")]
    fn an_incomplete_row_is_an_error() {
        let mut one = Cells::default();
        one.push(1i64);
        let _ = Table::new(vec![("a", Column::I64(one)), ("b", Column::I64(Cells::default()))]);
    }
}
