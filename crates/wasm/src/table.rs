//! A table for JavaScript: each column as a typed array, with its validity.

use dumbbell::Column;
use wasm_bindgen::prelude::*;

/// Columns of equal length.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Table(pub(crate) dumbbell::Table);

#[wasm_bindgen]
impl Table {
    /// Names of the columns.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        self.0.columns.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// Number of rows.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.0.rows()
    }

    /// The type of a column: `i64`, `u32`, `u8`, `bool`, `f64`, `name`; empty: there is none.
    #[must_use]
    pub fn kind(&self, column: &str) -> String {
        let kind = match self.0.column(column) {
            Some(Column::I64(_)) => "i64",
            Some(Column::U32(_)) => "u32",
            Some(Column::U16(_)) => "u16",
            Some(Column::U8(_)) => "u8",
            Some(Column::Bool(_)) => "bool",
            Some(Column::F64(_)) => "f64",
            Some(Column::Name(..)) => "name",
            None => "",
        };
        kind.to_owned()
    }

    /// Values of an `i64` column.
    #[must_use]
    pub fn i64(&self, column: &str) -> Option<Vec<i64>> {
        let Some(Column::I64(cells)) = self.0.column(column) else { return None };
        Some(cells.values().to_vec())
    }

    /// Values of a `u32` column, or indices of a `name` column into [`Table::names`].
    #[must_use]
    pub fn u32(&self, column: &str) -> Option<Vec<u32>> {
        let (Column::U32(cells) | Column::Name(cells, _)) = self.0.column(column)? else { return None };
        Some(cells.values().to_vec())
    }

    /// Values of a `u8` or `bool` column.
    #[must_use]
    pub fn u8(&self, column: &str) -> Option<Vec<u8>> {
        match self.0.column(column)? {
            Column::U8(cells) => Some(cells.values().to_vec()),
            Column::Bool(cells) => Some(cells.values().iter().map(|value| u8::from(*value)).collect()),
            _ => None,
        }
    }

    /// Values of an `f64` column.
    #[must_use]
    pub fn f64(&self, column: &str) -> Option<Vec<f64>> {
        let Some(Column::F64(cells)) = self.0.column(column) else { return None };
        Some(cells.values().to_vec())
    }

    /// The names of a `name` column.
    #[must_use]
    pub fn names(&self, column: &str) -> Option<Vec<String>> {
        let Some(Column::Name(_, names)) = self.0.column(column) else { return None };
        Some(names.to_vec())
    }

    /// Validity, a bit per row, least significant first; None: all values are known.
    #[must_use]
    pub fn known(&self, column: &str) -> Option<Vec<u8>> {
        let known = match self.0.column(column)? {
            Column::I64(cells) => cells.known(),
            Column::U32(cells) | Column::Name(cells, _) => cells.known(),
            Column::U16(cells) => cells.known(),
            Column::U8(cells) => cells.known(),
            Column::Bool(cells) => cells.known(),
            Column::F64(cells) => cells.known(),
        };
        known.map(|bits| bits.as_bytes().to_vec())
    }

    /// The table as tab-separated text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }
}

impl Table {
    /// The mean of a column's known values in the rows of a name; 0 without any.
    pub(crate) fn mean_of(&self, column: &str, of: &str, name: &str) -> f64 {
        let (Some(Column::I64(values)), Some(Column::Name(codes, names))) = (self.0.column(column), self.0.column(of))
        else {
            return 0.0;
        };
        #[expect(clippy::cast_precision_loss, reason = "bytes of a packet")]
        let bytes = |value: i64| value as f64;
        let Some(code) = names.iter().position(|known| known == name) else { return 0.0 };
        let rows = (0..self.0.rows()).filter(|row| codes.get(*row).is_some_and(|each| each as usize == code));
        let (sum, count) = rows
            .filter_map(|row| values.get(row))
            .fold((0.0, 0.0), |(sum, count), value| (sum + bytes(value), count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}
