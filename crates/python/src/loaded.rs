//! A result's table in Python: a column is copied when it is first read.

use dumbbell_metrics::columns::TABLES;
use dumbbell_metrics::{Known, Names, Numbers, Table, Values};
use dumbbell_table::Bits;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A table of another result than the simulator's (`dumbbell.results.columns.Table`).
pub struct Loaded {
    table: Py<PyAny>,
    columns: HashMap<&'static str, Columns>,
    /// The first exception of a read.
    error: Mutex<Option<PyErr>>,
}

/// Numbers, NaN for null, and which are known.
type Floats = (Vec<f64>, Bits);

/// Indices into a list of names, and which are known.
type Indices = (Vec<u32>, Bits, Vec<String>);

/// A column as numbers or as names; None: it could not be read.
#[derive(Default)]
struct Columns {
    numbers: OnceLock<Option<Floats>>,
    names: OnceLock<Option<Indices>>,
}

impl Loaded {
    /// A table of the declared columns of that name.
    pub fn of(name: &str, table: Py<PyAny>) -> Self {
        let declared = TABLES.iter().filter(|table| table.name == name).flat_map(|table| table.columns);
        let columns = declared.map(|column| (column.name, Columns::default())).collect();
        Self { table, columns, error: Mutex::default() }
    }

    /// The first exception since the last call.
    pub fn take_error(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn read<T>(&self, find: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        match Python::attach(|py| find(self.table.bind(py))) {
            Ok(found) => Some(found),
            Err(error) => {
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    }
}

impl Table for Loaded {
    fn rows(&self) -> usize {
        self.numbers("time_ns").map_or(0, |times| match times.values {
            Values::F64(values) => values.len(),
            Values::I64(_) | Values::U32(_) | Values::U8(_) => unreachable!("numbers are floats"),
        })
    }

    fn numbers(&self, column: &str) -> Option<Numbers<'_>> {
        let load = || {
            self.read(|table| {
                let floats = table.call_method1("column", (column,))?.call_method0("floats")?;
                let values = floats.extract::<PyBuffer<f64>>()?.to_vec(table.py())?;
                let known = bits(values.iter().map(|value| !value.is_nan()));
                Ok((values, known))
            })
        };
        let (values, known) = self.columns.get(column)?.numbers.get_or_init(load).as_ref()?;
        Some(Numbers { values: Values::F64(values), known: Some(known_of(known)) })
    }

    fn names(&self, column: &str) -> Option<Names<'_>> {
        let load = || {
            self.read(|table| {
                let names = table.call_method1("names", (column,))?;
                let list: Vec<String> = names.getattr("texts")?.extract()?;
                let codes = names.call_method0("codes_or_end")?.extract::<PyBuffer<u32>>()?.to_vec(table.py())?;
                let known = bits(codes.iter().map(|code| (*code as usize) < list.len()));
                Ok((codes, known, list))
            })
        };
        let (codes, known, list) = self.columns.get(column)?.names.get_or_init(load).as_ref()?;
        Some(Names { codes, known: Some(known_of(known)), list })
    }
}

fn known_of(bits: &Bits) -> Known<'_> {
    Known { bytes: bits.as_bytes(), offset: 0 }
}

fn bits(each: impl Iterator<Item = bool>) -> Bits {
    each.fold(Bits::default(), |mut bits, bit| {
        bits.push(bit);
        bits
    })
}
