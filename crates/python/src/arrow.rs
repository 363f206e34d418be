//! Result tables as Arrow data, and columns as numpy arrays. Memory is shared, not copied (except: booleans are
//! packed for Arrow and unpacked for numpy; name codes become string views on demand).

mod parquet;

use crate::numbers::Numbers;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringViewArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use dumbbell_metrics::{Known, Values};
use dumbbell_sim::{Column, Table};
use dumbbell_table::{Bits, Cells};
use parquet::Declared;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A result table. It supports Arrow's `PyCapsule` protocol, such as `polars.DataFrame(table)`, and returns single
/// columns as arrays.
#[pyclass(frozen, module = "dumbbell._sim")]
pub struct Arrow {
    rows: usize,
    columns: Vec<(&'static str, Held)>,
}

/// Memory of a column.
pub enum Held {
    /// Numbers or booleans.
    Cells(ArrayRef),
    /// Names: indices into a list.
    Names { codes: PrimitiveArray<UInt32Type>, list: Arc<[String]> },
}

/// Values of one column, and which are valid (None: all).
type Cut = (Numbers, Option<Numbers>);

#[pymethods]
impl Arrow {
    /// Number of rows.
    fn __len__(&self) -> usize {
        self.rows
    }

    /// The table as a stream of one batch, in its own schema only.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batch = self.batch();
        let schema = batch.schema();
        let stream =
            FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok::<_, ArrowError>(batch)], schema)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Writes these columns, by name and type, as Parquet; a column that the table lacks is null. Raises `OSError`.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn write_parquet(&self, py: Python<'_>, columns: Vec<Declared>, path: PathBuf) -> PyResult<()> {
        py.detach(|| parquet::write(self, &columns, &path)).map_err(|error| os_error(&error))
    }

    /// Column names in order.
    fn columns(&self) -> Vec<&'static str> {
        self.columns.iter().map(|(name, _)| *name).collect()
    }

    /// A numeric column. Raises `KeyError` if there is no such column.
    fn column(&self, name: &str) -> PyResult<Cut> {
        match self.held(name)? {
            Held::Cells(array) => Ok((Numbers::of(array), known(array.as_ref()))),
            Held::Names { .. } => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// One value as a Python object; None if null.
    fn cell<'py>(&self, py: Python<'py>, name: &str, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if row >= self.rows {
            return Err(PyIndexError::new_err(row));
        }
        match self.held(name)? {
            Held::Cells(array) if array.is_valid(row) => crate::numbers::cell(py, array, row),
            Held::Names { codes, list } if codes.is_valid(row) => {
                Ok(list[codes.value(row) as usize].as_str().into_pyobject(py)?.into_any())
            }
            _ => Ok(py.None().into_bound(py)),
        }
    }

    /// The last row of each name in a column of names.
    fn last(&self, name: &str) -> PyResult<HashMap<String, usize>> {
        let Held::Names { codes, list } = self.held(name)? else { return Err(PyKeyError::new_err(name.to_owned())) };
        let mut rows = vec![None; list.len()];
        for (row, code) in codes.iter().enumerate() {
            if let Some(code) = code {
                rows[code as usize] = Some(row);
            }
        }
        Ok(list.iter().zip(rows).filter_map(|(name, row)| Some((name.clone(), row?))).collect())
    }

    /// A column of names: codes, validity, and the list of names.
    fn names(&self, name: &str) -> PyResult<(Numbers, Option<Numbers>, Vec<String>)> {
        match self.held(name)? {
            Held::Names { codes, list } => Ok((Numbers::of(codes), known(codes), list.to_vec())),
            Held::Cells(_) => Err(PyKeyError::new_err(name.to_owned())),
        }
    }
}

impl Arrow {
    /// Number of rows.
    pub fn length(&self) -> usize {
        self.rows
    }

    /// A column by name.
    pub fn of_name(&self, name: &str) -> Option<&Held> {
        self.columns.iter().find(|(own, _)| *own == name).map(|(_, held)| held)
    }

    fn held(&self, name: &str) -> PyResult<&Held> {
        self.of_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn batch(&self) -> RecordBatch {
        let rows = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = self
            .columns
            .iter()
            .map(|(name, held)| {
                let array = held.array();
                (Field::new(*name, array.data_type().clone(), true), array)
            })
            .unzip();
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &rows);
        batch.expect("a table's columns are of one length")
    }
}

impl dumbbell_metrics::Table for Arrow {
    fn rows(&self) -> usize {
        self.rows
    }

    fn numbers(&self, column: &str) -> Option<dumbbell_metrics::Numbers<'_>> {
        let Held::Cells(array) = self.held(column).ok()? else { return None };
        let values = match array.data_type() {
            DataType::Int64 => Values::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt32 => Values::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt8 => Values::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::Float64 => Values::F64(array.as_primitive::<Float64Type>().values()),
            _ => return None,
        };
        Some(dumbbell_metrics::Numbers { values, known: array.nulls().map(bits_of) })
    }

    fn names(&self, column: &str) -> Option<dumbbell_metrics::Names<'_>> {
        let Held::Names { codes, list } = self.held(column).ok()? else { return None };
        Some(dumbbell_metrics::Names { codes: codes.values(), known: codes.nulls().map(bits_of), list })
    }
}

fn bits_of(nulls: &NullBuffer) -> Known<'_> {
    Known { bytes: nulls.validity(), offset: nulls.offset() }
}

impl From<Table> for Arrow {
    fn from(table: Table) -> Self {
        let rows = table.rows();
        Self { rows, columns: table.columns.into_iter().map(|(name, column)| (name, Held::from(column))).collect() }
    }
}

impl Held {
    fn array(&self) -> ArrayRef {
        match self {
            Self::Cells(array) => array.clone(),
            Self::Names { codes, list } => {
                let names = StringViewArray::from_iter_values(list.iter());
                // A null has code 0, which may not be in the list.
                let view = |&code: &u32| names.views().get(code as usize).copied().unwrap_or_default();
                let views = codes.values().iter().map(view).collect::<ScalarBuffer<u128>>();
                Arc::new(StringViewArray::new(views, names.data_buffers().to_vec(), codes.nulls().cloned()))
            }
        }
    }
}

impl From<Column> for Held {
    fn from(column: Column) -> Self {
        match column {
            Column::I64(cells) => Self::Cells(numbers::<Int64Type>(cells)),
            Column::U32(cells) => Self::Cells(numbers::<UInt32Type>(cells)),
            Column::U16(cells) => Self::Cells(numbers::<UInt16Type>(cells)),
            Column::U8(cells) => Self::Cells(numbers::<UInt8Type>(cells)),
            Column::F64(cells) => Self::Cells(numbers::<Float64Type>(cells)),
            Column::Bool(cells) => {
                let (values, known) = cells.into_parts();
                Self::Cells(Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls(known))))
            }
            Column::Name(cells, list) => Self::Names { codes: primitive(cells), list },
        }
    }
}

fn known(array: &dyn Array) -> Option<Numbers> {
    array.nulls().map(|nulls| Numbers::unpacked(nulls.inner()))
}

fn numbers<T: ArrowPrimitiveType>(cells: Cells<T::Native>) -> ArrayRef
where
    T::Native: Copy + Default,
{
    Arc::new(primitive::<T>(cells))
}

fn primitive<T: ArrowPrimitiveType>(cells: Cells<T::Native>) -> PrimitiveArray<T>
where
    T::Native: Copy + Default,
{
    let (values, known) = cells.into_parts();
    PrimitiveArray::new(ScalarBuffer::from(values), nulls(known))
}

fn nulls(known: Option<Bits>) -> Option<NullBuffer> {
    known.map(|bits| {
        let len = bits.len();
        NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits.into_bytes()), 0, len))
    })
}

/// As Python raises it: with the error's number, which decides its class and what is said about it.
fn os_error(error: &io::Error) -> PyErr {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let plain = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text).to_owned();
            PyOSError::new_err((number, plain))
        }
        None => PyOSError::new_err(text),
    }
}
