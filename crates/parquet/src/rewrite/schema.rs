//! The column of ranges in the schema: `list<struct<start: uint64, end: uint64>>`, after all other columns.

use super::column::chunk_field;
use crate::raw_struct::{struct_list, wire, RawStruct};
use crate::thrift::ThriftResult;
use arrow_schema::{DataType, Field, Schema};
use gristmill_core::catch_panic::catch_panic;
use parquet::arrow::{encode_arrow_schema, parquet_to_arrow_schema, ARROW_SCHEMA_META_KEY};
use parquet::file::metadata::ParquetMetaData;
use std::sync::Arc;

/// Fields of `FileMetaData`.
pub(crate) mod file_field {
    pub(crate) const SCHEMA: i16 = 2;
    pub(crate) const ROWS: i16 = 3;
    pub(crate) const ROW_GROUPS: i16 = 4;
    pub(crate) const KEY_VALUES: i16 = 5;
    pub(crate) const CREATED_BY: i16 = 6;
    pub(crate) const COLUMN_ORDERS: i16 = 7;
    pub(crate) const ENCRYPTION: i16 = 8;
}

/// Fields of `SchemaElement`.
mod element_field {
    pub(super) const TYPE: i16 = 1;
    pub(super) const REPETITION: i16 = 3;
    pub(super) const NAME: i16 = 4;
    pub(super) const CHILDREN: i16 = 5;
    pub(super) const CONVERTED: i16 = 6;
    pub(super) const LOGICAL: i16 = 10;
}

const OPTIONAL: i32 = 1;
const REPEATED: i32 = 2;
const INT64: i32 = 2;
const CONVERTED_LIST: i32 = 3;
const CONVERTED_UINT_64: i32 = 14;
/// Numbers of the members of `LogicalType`.
const LOGICAL_LIST: i16 = 3;
const LOGICAL_INTEGER: i16 = 10;

/// Names of the fields below the column.
pub(crate) const LIST: &str = "list";
pub(crate) const ELEMENT: &str = "element";
pub(crate) const NUMBERS: [&str; 2] = ["start", "end"];

/// Adds the column to the schema, and to the Arrow schema in the metadata, if there is one.
pub(crate) fn add_column(footer: &mut RawStruct, metadata: &ParquetMetaData, name: &str) -> ThriftResult<()> {
    let mut elements = struct_list(footer.get(file_field::SCHEMA).unwrap_or_default())?;
    if let Some(root) = elements.first_mut() {
        let children = root.get_int(element_field::CHILDREN).unwrap_or_default();
        root.set_i32(element_field::CHILDREN, i32::try_from(children.saturating_add(1)).unwrap_or(i32::MAX));
    }
    elements.extend(elements_of(name));
    footer.set_list(file_field::SCHEMA, wire::STRUCT, &elements.iter().map(RawStruct::encode).collect::<Vec<_>>());
    if let Some(orders) = footer.get(file_field::COLUMN_ORDERS) {
        let mut orders = struct_list(orders)?;
        let mut order = RawStruct::default();
        order.set_struct(1, &RawStruct::default());
        orders.extend([order.clone(), order]);
        let orders: Vec<Vec<u8>> = orders.iter().map(RawStruct::encode).collect();
        footer.set_list(file_field::COLUMN_ORDERS, wire::STRUCT, &orders);
    }
    add_to_arrow_schema(footer, metadata, name)
}

fn elements_of(name: &str) -> [RawStruct; 5] {
    use element_field as f;
    let group = |name: &str, repetition: i32, children: i32| {
        let mut element = RawStruct::default();
        element.set_i32(f::REPETITION, repetition).set_binary(f::NAME, name.as_bytes()).set_i32(f::CHILDREN, children);
        element
    };
    let number = |name: &str| {
        let (mut integer, mut logical, mut element) =
            (RawStruct::default(), RawStruct::default(), RawStruct::default());
        integer.set(1, wire::BYTE, vec![64]).set_bool(2, false);
        logical.set_struct(LOGICAL_INTEGER, &integer);
        element.set_i32(f::TYPE, INT64).set_i32(f::REPETITION, OPTIONAL).set_binary(f::NAME, name.as_bytes());
        element.set_i32(f::CONVERTED, CONVERTED_UINT_64).set_struct(f::LOGICAL, &logical);
        element
    };
    let mut logical = RawStruct::default();
    logical.set_struct(LOGICAL_LIST, &RawStruct::default());
    let mut outer = group(name, OPTIONAL, 1);
    outer.set_i32(f::CONVERTED, CONVERTED_LIST).set_struct(f::LOGICAL, &logical);
    let [start, end] = NUMBERS;
    [outer, group(LIST, REPEATED, 1), group(ELEMENT, OPTIONAL, 2), number(start), number(end)]
}

/// Adds the column to the Arrow schema. An Arrow schema that cannot be read is removed; readers then use the Parquet schema.
fn add_to_arrow_schema(footer: &mut RawStruct, metadata: &ParquetMetaData, name: &str) -> ThriftResult<()> {
    let Some(pairs) = footer.get(file_field::KEY_VALUES) else { return Ok(()) };
    let mut pairs = struct_list(pairs)?;
    let is_schema = |pair: &RawStruct| pair.get_binary(1) == Some(ARROW_SCHEMA_META_KEY.as_bytes());
    let file = metadata.file_metadata();
    let read = || parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata());
    match catch_panic(read) {
        Some(Ok(schema)) => {
            let numbers = NUMBERS.map(|name| Field::new(name, DataType::UInt64, true));
            let element = Field::new(ELEMENT, DataType::Struct(numbers.to_vec().into()), true);
            let column = Field::new(name, DataType::List(Arc::new(element)), true);
            let fields: Vec<_> = schema.fields().iter().cloned().chain([Arc::new(column)]).collect();
            // Only the schema's own metadata are encoded: the file has its other metadata in key-value pairs next to the schema.
            let encoded = encode_arrow_schema(&Schema::new_with_metadata(fields, schema.metadata().clone()));
            for pair in pairs.iter_mut().filter(|pair| is_schema(pair)) {
                pair.set_binary(2, encoded.as_bytes());
            }
        }
        _ => pairs.retain(|pair| !is_schema(pair)),
    }
    let pairs: Vec<Vec<u8>> = pairs.iter().map(RawStruct::encode).collect();
    footer.set_list(file_field::KEY_VALUES, wire::STRUCT, &pairs);
    Ok(())
}

/// Returns the columns of a sort order that precede a changed column; the order of the later ones is lost.
pub(crate) fn cut_sort_order(order: &[u8], leaf: usize) -> ThriftResult<Vec<Vec<u8>>> {
    let columns = struct_list(order)?;
    let is_other = |column: &&RawStruct| column.get_int(1).is_none_or(|number| usize::try_from(number) != Ok(leaf));
    Ok(columns.iter().take_while(is_other).map(RawStruct::encode).collect())
}

/// Returns the columns of a row group.
pub(crate) fn columns_of(group: &RawStruct) -> ThriftResult<Vec<RawStruct>> {
    let columns = struct_list(group.get(1).unwrap_or(&[wire::STRUCT]))?;
    match columns.iter().all(|column| column.has(chunk_field::METADATA)) {
        true => Ok(columns),
        false => Err(crate::thrift::ThriftError::Malformed),
    }
}
