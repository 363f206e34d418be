//! Our tables as Arrow's: their memory changes hands, it is not copied (booleans are packed, names' codes become views of their texts).

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt8Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringViewArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use dumbbell_sim::table::{Bits, Cells};
use dumbbell_sim::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table for whoever speaks Arrow's `PyCapsule` protocol, such as `polars.DataFrame(table)`.
#[pyclass(frozen, module = "dumbbell._sim")]
pub struct Arrow(RecordBatch);

#[pymethods]
impl Arrow {
    /// Rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The table as a stream of one batch. No other schema than its own is offered.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = [Ok::<_, ArrowError>(self.0.clone())];
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, self.0.schema())));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl From<Table> for Arrow {
    fn from(table: Table) -> Self {
        let rows = RecordBatchOptions::new().with_row_count(Some(table.rows()));
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = table
            .columns
            .into_iter()
            .map(|(name, column)| {
                let array = array(column);
                (Field::new(name, array.data_type().clone(), true), array)
            })
            .unzip();
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &rows);
        Self(batch.expect("a table's columns are of one length"))
    }
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::I64(cells) => numbers::<Int64Type>(cells),
        Column::U32(cells) => numbers::<UInt32Type>(cells),
        Column::U8(cells) => numbers::<UInt8Type>(cells),
        Column::F64(cells) => numbers::<Float64Type>(cells),
        Column::Bool(cells) => {
            let (values, known) = cells.into_parts();
            Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls(known)))
        }
        Column::Name(cells, names) => {
            let (codes, known) = cells.into_parts();
            let names = StringViewArray::from_iter_values(names.iter());
            // A null has the code 0, of which there may be no name.
            let view = |&code: &u32| names.views().get(code as usize).copied().unwrap_or_default();
            let views = codes.iter().map(view).collect::<ScalarBuffer<u128>>();
            Arc::new(StringViewArray::new(views, names.data_buffers().to_vec(), nulls(known)))
        }
    }
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
