//! Columns of a record batch as JSON. Types are resolved once per batch, and values are then appended row by row.

use crate::format::{
    append, append_date, append_duration, append_float, append_interval, append_text, append_time, append_timestamp,
    BadText,
};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, Decimal32Type, Decimal64Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, Int8Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, PrimitiveArray, RecordBatch,
};
use arrow_schema::{DataType, TimeUnit};
use base64::Engine as _;
use std::ops::Range;

/// Maximum size of a list as JSON, in bytes.
const MAX_LIST_BYTES: usize = 256 << 20;
/// Number of milliseconds in a day.
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Meaning of the values of a leaf, if it differs from the type of its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafContent {
    /// Text, in an array of binary values.
    Text,
    /// An interval of months, days and milliseconds, in 12 bytes.
    Interval,
    /// The meaning is that of the array's type.
    AsTyped,
}

/// A column.
pub struct Cell<'a> {
    /// Array with the nulls of the column; `None` for the batch itself.
    array: Option<&'a dyn Array>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Boolean(&'a arrow_array::BooleanArray),
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float16(&'a PrimitiveArray<Float16Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Decimal32(&'a PrimitiveArray<Decimal32Type>),
    Decimal64(&'a PrimitiveArray<Decimal64Type>),
    Decimal128(&'a PrimitiveArray<Decimal128Type>),
    Decimal256(&'a PrimitiveArray<Decimal256Type>),
    Date(&'a PrimitiveArray<Date32Type>),
    /// Milliseconds since 1970.
    DateMillis(&'a [i64]),
    /// Values, and the number of units in a second.
    ShortTime(&'a [i32], i64),
    /// Values, and the number of units in a second.
    Time(&'a [i64], i64),
    /// Values, the number of units in a second, and whether they are in UTC.
    Timestamp(&'a [i64], i64, bool),
    /// Values, and the number of units in a second.
    Duration(&'a [i64], i64),
    Text(ByteValues<'a>),
    Binary(ByteValues<'a>),
    Interval(&'a FixedSizeBinaryArray),
    /// Names of the fields as JSON with a colon, and the fields.
    Struct(Vec<(Vec<u8>, Cell<'a>)>),
    List(Items<'a>, Box<Cell<'a>>),
    Map(Items<'a>, Box<[Cell<'a>; 2]>),
    /// For each row, the index of its entry; then the entries.
    Dictionary(Vec<usize>, Box<Cell<'a>>),
}

/// The values of an array of byte strings.
#[derive(Clone, Copy, Debug)]
pub enum ByteValues<'a> {
    /// Array with offsets of 32 bits.
    Binary(&'a BinaryArray),
    /// Array with offsets of 64 bits.
    Large(&'a LargeBinaryArray),
    /// Array of views.
    View(&'a BinaryViewArray),
    /// Array of values of the same size.
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> ByteValues<'a> {
    /// Returns the values of an array; `None` if it has another type.
    pub fn of(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::Large(array.as_binary()),
            DataType::BinaryView => Self::View(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary()),
            _ => return None,
        })
    }

    /// Returns the value of a row of the array.
    pub fn value(self, row: usize) -> &'a [u8] {
        match self {
            Self::Binary(array) => array.value(row),
            Self::Large(array) => array.value(row),
            Self::View(array) => array.value(row),
            Self::Fixed(array) => array.value(row),
        }
    }
}

/// The ranges of the items of lists.
enum Items<'a> {
    Offsets(&'a [i32]),
    LargeOffsets(&'a [i64]),
    /// Number of items of each list.
    Fixed(usize),
}

impl Items<'_> {
    fn range(&self, row: usize) -> Option<Range<usize>> {
        Some(match self {
            Self::Offsets(offsets) => {
                usize::try_from(*offsets.get(row)?).ok()?..usize::try_from(*offsets.get(row + 1)?).ok()?
            }
            Self::LargeOffsets(offsets) => {
                usize::try_from(*offsets.get(row)?).ok()?..usize::try_from(*offsets.get(row + 1)?).ok()?
            }
            Self::Fixed(size) => row.checked_mul(*size)?..row.checked_add(1)?.checked_mul(*size)?,
        })
    }
}

impl<'a> Cell<'a> {
    /// Resolves the columns of a batch. `leaves` yields, for each leaf of the batch in order, its index in `contents`.
    pub fn of_batch(
        batch: &'a RecordBatch,
        leaves: &mut dyn Iterator<Item = usize>,
        contents: &[LeafContent],
    ) -> Result<Self, String> {
        let schema = batch.schema_ref();
        let mut fields = Vec::with_capacity(batch.num_columns());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            fields.push((name_of(field.name()), Self::of_array(array, leaves, contents)?));
        }
        Ok(Self { array: None, values: Values::Struct(fields) })
    }

    fn of_array(
        array: &'a ArrayRef,
        leaves: &mut dyn Iterator<Item = usize>,
        contents: &[LeafContent],
    ) -> Result<Self, String> {
        let values = match array.data_type() {
            DataType::Struct(fields) => {
                let mut inner = Vec::with_capacity(fields.len());
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    inner.push((name_of(field.name()), Self::of_array(column, leaves, contents)?));
                }
                Values::Struct(inner)
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let items = Self::of_array(list.values(), leaves, contents)?;
                Values::List(Items::Offsets(list.value_offsets()), Box::new(items))
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let items = Self::of_array(list.values(), leaves, contents)?;
                Values::List(Items::LargeOffsets(list.value_offsets()), Box::new(items))
            }
            DataType::FixedSizeList(_, size) => {
                let items = Self::of_array(array.as_fixed_size_list().values(), leaves, contents)?;
                Values::List(Items::Fixed(usize::try_from(*size).unwrap_or_default()), Box::new(items))
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let entries = Self::of_array(dictionary.values(), leaves, contents)?;
                Values::Dictionary(dictionary_keys(array), Box::new(entries))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let keys = Self::of_array(map.keys(), leaves, contents)?;
                let values = Self::of_array(map.values(), leaves, contents)?;
                Values::Map(Items::Offsets(map.value_offsets()), Box::new([keys, values]))
            }
            _ => {
                let content = leaves.next().and_then(|leaf| contents.get(leaf)).copied();
                Values::of_leaf(array, content.unwrap_or(LeafContent::AsTyped))?
            }
        };
        Ok(Self { array: Some(array.as_ref()), values })
    }

    /// Appends a row of a batch as an object. Returns the index of the first column with a text that cannot be read, and the reason, if
    /// there is such a column.
    pub fn append_row(&self, row: usize, out: &mut Vec<u8>) -> Result<Option<(usize, BadText)>, String> {
        match &self.values {
            Values::Struct(columns) => append_fields(columns, row, out),
            _ => Err("it is no batch".to_owned()),
        }
    }

    /// Appends the value of a row. Returns the reason why one of its texts cannot be read, if there is such a text.
    fn append(&self, row: usize, out: &mut Vec<u8>) -> Result<Option<BadText>, String> {
        if self.array.is_some_and(|array| array.is_null(row)) {
            out.extend_from_slice(b"null");
            return Ok(None);
        }
        match &self.values {
            Values::Struct(fields) => Ok(append_fields(fields, row, out)?.map(|(_, bad)| bad)),
            Values::List(lists, items) => append_items(lists, row, out, |item, out| items.append(item, out)),
            Values::Map(lists, entries) => append_items(lists, row, out, |item, out| {
                let [keys, values] = entries.as_ref();
                out.extend_from_slice(b"{\"key\":");
                let bad_key = keys.append(item, out)?;
                out.extend_from_slice(b",\"value\":");
                let bad_value = values.append(item, out)?;
                out.push(b'}');
                Ok(bad_key.or(bad_value))
            }),
            Values::Dictionary(keys, entries) => match keys.get(row) {
                Some(key) => entries.append(*key, out),
                None => Err("a dictionary is damaged".to_owned()),
            },
            Values::Text(texts) => Ok(append_text(texts.value(row), out)),
            other => {
                other.append_leaf(row, out);
                Ok(None)
            }
        }
    }
}

/// Appends fields as an object. Returns the index of the first one with a text that cannot be read, and the reason.
fn append_fields(
    fields: &[(Vec<u8>, Cell<'_>)],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<Option<(usize, BadText)>, String> {
    let mut bad_text = None;
    out.push(b'{');
    for (index, (name, cell)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name);
        let bad = cell.append(row, out)?;
        bad_text = bad_text.or(bad.map(|bad| (index, bad)));
    }
    out.push(b'}');
    Ok(bad_text)
}

/// Appends the items of a list, in brackets.
fn append_items(
    lists: &Items<'_>,
    row: usize,
    out: &mut Vec<u8>,
    mut each: impl FnMut(usize, &mut Vec<u8>) -> Result<Option<BadText>, String>,
) -> Result<Option<BadText>, String> {
    let Some(Range { start: begin, end }) = lists.range(row) else {
        return Err("a list is damaged".to_owned());
    };
    let (mut bad_text, before) = (None, out.len());
    out.push(b'[');
    for item in begin..end {
        // Every item may be the same long entry of a dictionary, so the size is limited.
        if out.len() - before > MAX_LIST_BYTES {
            return Err("a list is longer than 256 MiB".to_owned());
        }
        if item > begin {
            out.push(b',');
        }
        bad_text = each(item, out)?.or(bad_text);
    }
    out.push(b']');
    Ok(bad_text)
}

/// Returns the name of a field as JSON, with its colon.
fn name_of(name: &str) -> Vec<u8> {
    let mut json = Vec::with_capacity(name.len() + 3);
    append_text(name.as_bytes(), &mut json);
    json.push(b':');
    json
}

impl<'a> Values<'a> {
    fn of_leaf(array: &'a ArrayRef, content: LeafContent) -> Result<Self, String> {
        Ok(match (array.data_type(), content) {
            (DataType::Null, _) => Self::Null,
            (DataType::Boolean, _) => Self::Boolean(array.as_boolean()),
            (DataType::Int8, _) => Self::Int8(array.as_primitive()),
            (DataType::Int16, _) => Self::Int16(array.as_primitive()),
            (DataType::Int32, _) => Self::Int32(array.as_primitive()),
            (DataType::Int64, _) => Self::Int64(array.as_primitive()),
            (DataType::UInt8, _) => Self::UInt8(array.as_primitive()),
            (DataType::UInt16, _) => Self::UInt16(array.as_primitive()),
            (DataType::UInt32, _) => Self::UInt32(array.as_primitive()),
            (DataType::UInt64, _) => Self::UInt64(array.as_primitive()),
            (DataType::Float16, _) => Self::Float16(array.as_primitive()),
            (DataType::Float32, _) => Self::Float32(array.as_primitive()),
            (DataType::Float64, _) => Self::Float64(array.as_primitive()),
            (DataType::Decimal32(..), _) => Self::Decimal32(array.as_primitive()),
            (DataType::Decimal64(..), _) => Self::Decimal64(array.as_primitive()),
            (DataType::Decimal128(..), _) => Self::Decimal128(array.as_primitive()),
            (DataType::Decimal256(..), _) => Self::Decimal256(array.as_primitive()),
            (DataType::Date32, _) => Self::Date(array.as_primitive()),
            (DataType::Date64, _) => Self::DateMillis(array.as_primitive::<Date64Type>().values()),
            (DataType::Time32(TimeUnit::Second), _) => {
                Self::ShortTime(array.as_primitive::<Time32SecondType>().values(), 1)
            }
            (DataType::Time32(TimeUnit::Millisecond), _) => {
                Self::ShortTime(array.as_primitive::<Time32MillisecondType>().values(), 1000)
            }
            (DataType::Time64(TimeUnit::Microsecond), _) => {
                Self::Time(array.as_primitive::<Time64MicrosecondType>().values(), 1_000_000)
            }
            (DataType::Time64(TimeUnit::Nanosecond), _) => {
                Self::Time(array.as_primitive::<Time64NanosecondType>().values(), 1_000_000_000)
            }
            (DataType::Timestamp(unit, zone), _) => {
                let (values, per_second) = timestamps(array, *unit);
                Self::Timestamp(values, per_second, zone.is_some())
            }
            (DataType::Duration(unit), _) => {
                let (values, per_second) = durations(array, *unit);
                Self::Duration(values, per_second)
            }
            (DataType::FixedSizeBinary(_), LeafContent::Interval) => Self::Interval(array.as_fixed_size_binary()),
            (other, content) => match (ByteValues::of(array), content) {
                (Some(values), LeafContent::Text) => Self::Text(values),
                (Some(values), _) => Self::Binary(values),
                (None, _) => return Err(format!("columns of type {other} are not read")),
            },
        })
    }

    /// Appends a value that is not null and not nested.
    fn append_leaf(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(values) => append(out, format_args!("{}", values.value(row))),
            Self::Int8(values) => append(out, format_args!("{}", values.value(row))),
            Self::Int16(values) => append(out, format_args!("{}", values.value(row))),
            Self::Int32(values) => append(out, format_args!("{}", values.value(row))),
            Self::Int64(values) => append(out, format_args!("{}", values.value(row))),
            Self::UInt8(values) => append(out, format_args!("{}", values.value(row))),
            Self::UInt16(values) => append(out, format_args!("{}", values.value(row))),
            Self::UInt32(values) => append(out, format_args!("{}", values.value(row))),
            Self::UInt64(values) => append(out, format_args!("{}", values.value(row))),
            Self::Float16(values) => {
                let value = values.value(row).to_f32();
                append_float(value.is_finite(), format_args!("{value:?}"), out);
            }
            Self::Float32(values) => {
                let value = values.value(row);
                append_float(value.is_finite(), format_args!("{value:?}"), out);
            }
            Self::Float64(values) => {
                let value = values.value(row);
                append_float(value.is_finite(), format_args!("{value:?}"), out);
            }
            Self::Decimal32(values) => append(out, format_args!("\"{}\"", values.value_as_string(row))),
            Self::Decimal64(values) => append(out, format_args!("\"{}\"", values.value_as_string(row))),
            Self::Decimal128(values) => append(out, format_args!("\"{}\"", values.value_as_string(row))),
            Self::Decimal256(values) => append(out, format_args!("\"{}\"", values.value_as_string(row))),
            Self::Date(values) => append_date(i64::from(values.value(row)), out),
            Self::DateMillis(values) => append_date(at(values, row).div_euclid(MILLIS_PER_DAY), out),
            Self::ShortTime(values, per_second) => append_time(i64::from(at(values, row)), *per_second, out),
            Self::Duration(values, per_second) => append_duration(at(values, row), *per_second, out),
            Self::Time(values, per_second) => append_time(at(values, row), *per_second, out),
            Self::Timestamp(values, per_second, is_utc) => append_timestamp(at(values, row), *per_second, *is_utc, out),
            Self::Binary(values) => append_base64(values.value(row), out),
            Self::Interval(values) => append_interval(values.value(row), out),
            Self::Null | Self::Text(_) | Self::Struct(_) | Self::List(..) | Self::Map(..) | Self::Dictionary(..) => {
                out.extend_from_slice(b"null");
            }
        }
    }
}

/// Returns, for each row of a dictionary column, the index of its entry; the index of a null is arbitrary.
pub fn dictionary_keys(array: &dyn Array) -> Vec<usize> {
    let dictionary = array.as_any_dictionary();
    match dictionary.values().is_empty() {
        true => Vec::new(),
        false => dictionary.normalized_keys(),
    }
}

fn at<T: Copy + Default>(values: &[T], row: usize) -> T {
    values.get(row).copied().unwrap_or_default()
}

/// Returns the values of timestamps, and the number of units in a second.
fn timestamps(array: &ArrayRef, unit: TimeUnit) -> (&[i64], i64) {
    match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values(), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().values(), 1000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().values(), 1_000_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().values(), 1_000_000_000),
    }
}

/// Returns the values of durations, and the number of units in a second.
fn durations(array: &ArrayRef, unit: TimeUnit) -> (&[i64], i64) {
    match unit {
        TimeUnit::Second => (array.as_primitive::<DurationSecondType>().values(), 1),
        TimeUnit::Millisecond => (array.as_primitive::<DurationMillisecondType>().values(), 1000),
        TimeUnit::Microsecond => (array.as_primitive::<DurationMicrosecondType>().values(), 1_000_000),
        TimeUnit::Nanosecond => (array.as_primitive::<DurationNanosecondType>().values(), 1_000_000_000),
    }
}

fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(base64::engine::general_purpose::STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}
