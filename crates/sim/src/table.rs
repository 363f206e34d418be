//! Tables: named columns of plain numbers, as Arrow lays them out, so that they leave without being copied.
//!
//! Which columns there are is `sampler`'s and `docs/result.md`'s affair.

mod bits;

pub use bits::Bits;

use std::borrow::Cow;
use std::sync::Arc;

/// Numbers of one type; what isn't known is null.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells<T> {
    values: Vec<T>,
    /// Which of them are known; None while all are.
    known: Option<Bits>,
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self { values: Vec::new(), known: None }
    }
}

impl<T: Copy + Default> Cells<T> {
    /// Appends a value, or null.
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

    /// The values, with zero in the place of a null.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Which are known; None means all.
    #[must_use]
    pub fn known(&self) -> Option<&Bits> {
        self.known.as_ref()
    }

    /// One of them; None when null.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<T> {
        let known = self.known.as_ref().is_none_or(|known| known.get(row));
        known.then(|| self.values[row])
    }

    /// Values and validity, to be handed on.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Option<Bits>) {
        (self.values, self.known)
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>() + self.known.as_ref().map_or(0, Bits::capacity_bytes)
    }

    /// Bytes of it that are written: memory beyond them costs nothing until then.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.values.len() * size_of::<T>() + self.known.as_ref().map_or(0, |known| known.as_bytes().len())
    }
}

/// A column's numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// 64 bits, signed.
    I64(Cells<i64>),
    /// 32 bits.
    U32(Cells<u32>),
    /// 8 bits.
    U8(Cells<u8>),
    /// True or false, a byte each.
    Bool(Cells<bool>),
    /// Double precision.
    F64(Cells<f64>),
    /// Names, by their place in a list.
    Name(Cells<u32>, Arc<[String]>),
}

impl Column {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I64(cells) => cells.values.len(),
            Self::U32(cells) | Self::Name(cells, _) => cells.values.len(),
            Self::U8(cells) => cells.values.len(),
            Self::Bool(cells) => cells.values.len(),
            Self::F64(cells) => cells.values.len(),
        }
    }

    /// Has it no rows?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One cell as a person reads it; an empty text for null.
    #[must_use]
    pub fn text(&self, row: usize) -> String {
        let show = |value: Option<&dyn ToString>| value.map(ToString::to_string).unwrap_or_default();
        match self {
            Self::I64(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::U32(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::U8(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::Bool(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::F64(cells) => show(cells.get(row).as_ref().map(|value| value as _)),
            Self::Name(cells, names) => cells.get(row).map_or_else(String::new, |code| names[code as usize].clone()),
        }
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        match self {
            Self::I64(cells) => cells.capacity_bytes(),
            Self::U32(cells) | Self::Name(cells, _) => cells.capacity_bytes(),
            Self::U8(cells) => cells.capacity_bytes(),
            Self::Bool(cells) => cells.capacity_bytes(),
            Self::F64(cells) => cells.capacity_bytes(),
        }
    }
}

/// Columns of one length, in order, with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// From columns.
    ///
    /// # Panics
    ///
    /// When their lengths differ: then a row was written in part.
    #[must_use]
    pub fn new(columns: Vec<(&'static str, Column)>) -> Self {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        if let Some((name, column)) = columns.iter().find(|(_, column)| column.len() != rows) {
            panic!("column '{name}' has {} rows, the table {rows}", column.len());
        }
        Self { columns }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(own, _)| *own == name).map(|(_, column)| column)
    }

    /// All of it as tab-separated text, for people and tests.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |row| self.columns.iter().map(|(_, column)| column.text(row)).collect::<Vec<_>>().join("\t");
        let head = self.columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("\t");
        std::iter::once(head).chain((0..self.rows()).map(line)).collect::<Vec<_>>().join("\n")
    }
}

/// A column of names: codes, and the list that they point into.
#[derive(Clone, Debug, Default)]
pub struct Names {
    codes: Cells<u32>,
    list: Vec<Cow<'static, str>>,
}

impl Names {
    /// With these names to begin with: their places are their codes.
    #[must_use]
    pub fn of(list: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        Self { codes: Cells::default(), list: list.into_iter().map(Into::into).collect() }
    }

    /// Appends the name with this code, or null.
    #[inline]
    pub fn push_code(&mut self, code: impl Into<Option<u32>>) {
        self.codes.push(code);
    }

    /// Bytes that it holds, names not counted.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.codes.capacity_bytes()
    }

    /// As [`Cells::used_bytes`].
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.codes.used_bytes()
    }

    /// Appends a name; it joins the list when it is new.
    ///
    /// # Panics
    ///
    /// When there are 2³² names.
    pub fn push(&mut self, name: &'static str) {
        let place = self.list.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.list.push(name.into());
            self.list.len() - 1
        });
        self.codes.push(u32::try_from(place).expect("few names"));
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

from_cells!(i64 => I64, u32 => U32, u8 => U8, bool => Bool, f64 => F64);

/// A struct of columns that becomes a [`Table`]; the columns keep their order and names.
macro_rules! columns {
    ($(#[$about:meta])* $name:ident { $($column:ident: $cells:ty),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $(pub $column: $cells),*
        }

        impl $name {
            /// Bytes that it holds.
            pub fn capacity_bytes(&self) -> usize {
                0 $(+ self.$column.capacity_bytes())*
            }

            /// Bytes of them that are written.
            pub fn used_bytes(&self) -> usize {
                0 $(+ self.$column.used_bytes())*
            }
        }

        impl From<$name> for $crate::table::Table {
            fn from(rows: $name) -> Self {
                Self::new(vec![$((stringify!($column), rows.$column.into())),*])
            }
        }
    };
}

pub(crate) use columns;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_null_marks_all_before_it_as_known() {
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
    fn a_row_written_in_part_is_an_error() {
        let mut one = Cells::default();
        one.push(1i64);
        let _ = Table::new(vec![("a", Column::I64(one)), ("b", Column::I64(Cells::default()))]);
    }
}
