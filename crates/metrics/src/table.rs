//! Columns as slices, and which of their rows have a value.

/// Which rows have a value: one bit each, the lowest of a byte first, as Arrow has it.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The bits.
    pub bytes: &'a [u8],
    /// Position of the first row's bit.
    pub offset: usize,
}

impl Known<'_> {
    /// Whether a row has a value.
    #[must_use]
    pub fn get(self, row: usize) -> bool {
        let bit = self.offset + row;
        self.bytes[bit / 8] >> (bit % 8) & 1 == 1
    }
}

/// Numbers of one type; undefined in rows without a value.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// 64-bit signed.
    I64(&'a [i64]),
    /// 32-bit unsigned.
    U32(&'a [u32]),
    /// 8-bit unsigned.
    U8(&'a [u8]),
    /// Double precision.
    F64(&'a [f64]),
}

/// A column of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// Its numbers.
    pub values: Values<'a>,
    /// Which rows have one; None: all.
    pub known: Option<Known<'a>>,
}

impl Numbers<'_> {
    /// The number of a row, if it has one.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<f64> {
        self.known.is_none_or(|known| known.get(row)).then(|| match self.values {
            Values::I64(values) => crate::signed_float(values[row]),
            Values::U32(values) => f64::from(values[row]),
            Values::U8(values) => f64::from(values[row]),
            Values::F64(values) => values[row],
        })
    }
}

/// A column of names: indices into a list without duplicates.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Index of each row's name; undefined in rows without a name.
    pub codes: &'a [u32],
    /// Which rows have one; None: all.
    pub known: Option<Known<'a>>,
    /// The names.
    pub list: &'a [String],
}

impl<'a> Names<'a> {
    /// The code of a row's name, if it has one.
    #[must_use]
    pub fn code(&self, row: usize) -> Option<usize> {
        self.known.is_none_or(|known| known.get(row)).then(|| self.codes[row] as usize)
    }

    /// The name of a row, if it has one.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&'a str> {
        self.code(row).map(|code| self.list[code].as_str())
    }

    /// The rows with this name, in order.
    pub fn rows_of(&self, name: &str) -> impl Iterator<Item = usize> {
        let code = self.list.iter().position(|known| known == name);
        (0..self.codes.len()).filter(move |row| code.is_some() && self.code(*row) == code)
    }
}

/// A table of a result, by column.
pub trait Table {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// A column of numbers; None if there is none of this name.
    fn numbers(&self, column: &str) -> Option<Numbers<'_>>;
    /// A column of names; None if there is none of this name.
    fn names(&self, column: &str) -> Option<Names<'_>>;
}
