//! A table as a Parquet file: one row group, all columns optional, as `docs/result.md` lists them.

use crate::arrow::{Arrow, Held};
use ::parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType as ParquetType};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use dumbbell_metrics::columns::FORMAT;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

/// A column: its name, and its type as polars calls it.
pub type Declared = (String, String);

/// Writes a table's columns in this order and of these types; a column that it lacks is null.
pub fn write(table: &Arrow, columns: &[Declared], path: &Path) -> io::Result<()> {
    write_file(table, columns, path).map_err(|error| match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    })
}

fn write_file(table: &Arrow, columns: &[Declared], path: &Path) -> Result<()> {
    let fields = columns.iter().map(|(name, kind)| field(name, kind).map(Arc::new)).collect::<Result<_>>()?;
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let format = KeyValue::new("dumbbell.format".into(), FORMAT.to_owned());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let mut properties = properties.set_key_value_metadata(Some(vec![format]));
    for (name, kind) in columns {
        // Samples change little from one to the next.
        if matches!(&kind[..], "Int64" | "UInt32") {
            let path = name.as_str().into();
            properties = properties.set_column_dictionary_enabled(path, false);
            properties = properties.set_column_encoding(name.as_str().into(), Encoding::DELTA_BINARY_PACKED);
        }
    }
    let file = BufWriter::new(File::create(path)?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    for (name, _) in columns {
        let mut column = group.next_column()?.expect("a writer for each field");
        write_column(column.untyped(), table.of_name(name), table.length())?;
        column.close()?;
    }
    group.close()?;
    writer.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

fn field(name: &str, kind: &str) -> Result<Type> {
    let (physical, logical) = match kind {
        "Int64" => (Physical::INT64, None),
        "Float64" => (Physical::DOUBLE, None),
        "Boolean" => (Physical::BOOLEAN, None),
        "String" => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        unsigned => {
            let bit_width = unsigned.strip_prefix("UInt").and_then(|bits| bits.parse().ok());
            let bit_width = bit_width.ok_or_else(|| ParquetError::General(format!("no type '{kind}'")))?;
            (Physical::INT32, Some(LogicalType::integer(bit_width, false)))
        }
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    builder.with_logical_type(logical).build()
}

fn write_column(writer: &mut ColumnWriter<'_>, held: Option<&Held>, rows: usize) -> Result<()> {
    match (writer, held) {
        (writer, None) => nulls(writer, rows),
        (ColumnWriter::Int64ColumnWriter(writer), Some(Held::Cells(array))) => {
            numbers::<_, Int64Type>(writer, array.as_primitive(), |value| value)
        }
        (ColumnWriter::DoubleColumnWriter(writer), Some(Held::Cells(array))) => {
            numbers::<_, Float64Type>(writer, array.as_primitive(), |value| value)
        }
        (ColumnWriter::Int32ColumnWriter(writer), Some(Held::Cells(array))) => match array.data_type() {
            DataType::UInt32 => numbers::<_, UInt32Type>(writer, array.as_primitive(), u32::cast_signed),
            DataType::UInt16 => numbers::<_, UInt16Type>(writer, array.as_primitive(), i32::from),
            _ => numbers::<_, UInt8Type>(writer, array.as_primitive(), i32::from),
        },
        (ColumnWriter::BoolColumnWriter(writer), Some(Held::Cells(array))) => {
            let array = array.as_boolean();
            batch(writer, (0..rows).map(|row| array.is_valid(row).then(|| array.value(row))))
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Some(Held::Names { codes, list })) => {
            let texts: Vec<_> = list.iter().map(|name| ByteArray::from(name.as_str())).collect();
            batch::<ByteArrayType>(writer, codes.iter().map(|code| code.map(|code| texts[code as usize].clone())))
        }
        _ => Err(ParquetError::General("a column differs from its declared type".into())),
    }
}

fn numbers<T: ParquetType, A: ArrowPrimitiveType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    array: &PrimitiveArray<A>,
    convert: impl Fn(A::Native) -> T::T,
) -> Result<()> {
    batch(writer, array.iter().map(|value| value.map(&convert)))
}

fn nulls(writer: &mut ColumnWriter<'_>, rows: usize) -> Result<()> {
    match writer {
        ColumnWriter::BoolColumnWriter(writer) => batch(writer, (0..rows).map(|_| None)),
        ColumnWriter::Int32ColumnWriter(writer) => batch(writer, (0..rows).map(|_| None)),
        ColumnWriter::Int64ColumnWriter(writer) => batch(writer, (0..rows).map(|_| None)),
        ColumnWriter::DoubleColumnWriter(writer) => batch(writer, (0..rows).map(|_| None)),
        ColumnWriter::ByteArrayColumnWriter(writer) => batch(writer, (0..rows).map(|_| None)),
        _ => Err(ParquetError::General("a column of another type".into())),
    }
}

fn batch<T: ParquetType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    cells: impl ExactSizeIterator<Item = Option<T::T>>,
) -> Result<()> {
    let mut levels = Vec::with_capacity(cells.len());
    let mut values = Vec::with_capacity(cells.len());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    writer.write_batch(&values, Some(&levels), None).map(drop)
}
