//! One column as numpy reads it: shared memory by the array interface.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A column of one numeric type. `numpy.asarray(numbers)` shares its memory and keeps it alive.
#[pyclass(frozen, module = "dumbbell._sim")]
pub struct Numbers {
    /// numpy's type string.
    kind: &'static str,
    count: usize,
    memory: Buffer,
}

#[pymethods]
impl Numbers {
    /// numpy's array interface, version 3; read-only.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        about.set_item("version", 3)?;
        about.set_item("shape", (self.count,))?;
        about.set_item("typestr", self.kind)?;
        about.set_item("data", (self.memory.as_ptr().addr(), true))?;
        Ok(about)
    }
}

impl Numbers {
    /// Values of a column; nulls are zero or false.
    pub fn of(array: &dyn Array) -> Self {
        match array.data_type() {
            DataType::Int64 => Self::shared::<Int64Type>("=i8", array),
            DataType::UInt32 => Self::shared::<UInt32Type>("=u4", array),
            DataType::UInt16 => Self::shared::<UInt16Type>("=u2", array),
            DataType::UInt8 => Self::shared::<UInt8Type>("|u1", array),
            DataType::Float64 => Self::shared::<Float64Type>("=f8", array),
            DataType::Boolean => Self::unpacked(array.as_boolean().values()),
            other => unreachable!("result tables have no column of type {other}"),
        }
    }

    /// Bits as one byte each.
    pub fn unpacked(bits: &BooleanBuffer) -> Self {
        let bytes: Vec<u8> = bits.iter().map(u8::from).collect();
        Self { kind: "|b1", count: bytes.len(), memory: Buffer::from_vec(bytes) }
    }

    fn shared<T: ArrowPrimitiveType>(kind: &'static str, array: &dyn Array) -> Self {
        let values = array.as_primitive::<T>().values();
        Self { kind, count: values.len(), memory: values.inner().clone() }
    }
}

macro_rules! of_vec {
    ($($number:ty => $kind:literal),*) => {$(
        impl From<Vec<$number>> for Numbers {
            fn from(values: Vec<$number>) -> Self {
                Self { kind: $kind, count: values.len(), memory: Buffer::from_vec(values) }
            }
        }
    )*};
}

of_vec!(f64 => "=f8", i64 => "=i8");

/// One value of a column as a Python object.
pub fn cell<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    Ok(match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Boolean => array.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        other => unreachable!("result tables have no column of type {other}"),
    })
}
