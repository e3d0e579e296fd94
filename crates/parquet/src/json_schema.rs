//! The schema with which rows are decoded as JSON. Texts and intervals have no annotations, so that invalid UTF-8 and months are preserved.

use gristmill_arrow::LeafContent;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::sync::Arc;

/// Schema for decoding rows as JSON.
#[derive(Debug)]
pub(crate) struct JsonSchema {
    pub(crate) metadata: Arc<ParquetMetaData>,
    /// Content of each leaf.
    pub(crate) contents: Vec<LeafContent>,
}

/// Parses the metadata again with the changed schema.
pub(crate) fn parse_for_json(bytes: &[u8], original: &ParquetMetaData) -> ParquetResult<JsonSchema> {
    let schema = original.file_metadata().schema_descr();
    let contents = schema.columns().iter().map(|column| content_of(column.self_type())).collect();
    let root = without_annotations(&schema.root_schema_ptr())?;
    let options = ParquetMetaDataOptions::new().with_schema(Arc::new(SchemaDescriptor::new(root)));
    let metadata = ParquetMetaDataReader::decode_metadata_with_options(bytes, Some(&options))?;
    Ok(JsonSchema { metadata: Arc::new(metadata), contents })
}

fn content_of(leaf: &Type) -> LeafContent {
    let info = leaf.get_basic_info();
    let converted = info.converted_type();
    match (leaf.get_physical_type(), info.logical_type_ref()) {
        (Physical::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Json | LogicalType::Enum)) => LeafContent::Text,
        (Physical::BYTE_ARRAY, None)
            if matches!(converted, ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM) =>
        {
            LeafContent::Text
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, None) if converted == ConvertedType::INTERVAL => LeafContent::Interval,
        _ => LeafContent::AsTyped,
    }
}

fn without_annotations(node: &TypePtr) -> ParquetResult<TypePtr> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if !node.is_group() {
        if content_of(node) == LeafContent::AsTyped || !info.has_repetition() {
            return Ok(Arc::clone(node));
        }
        let length = match node.as_ref() {
            Type::PrimitiveType { type_length, .. } => *type_length,
            Type::GroupType { .. } => -1,
        };
        let builder = Type::primitive_type_builder(node.name(), node.get_physical_type());
        return Ok(Arc::new(builder.with_repetition(info.repetition()).with_length(length).with_id(id).build()?));
    }
    let fields = node.get_fields().iter().map(without_annotations).collect::<ParquetResult<Vec<_>>>()?;
    // Other annotations only restrict the fields and do not affect decoding.
    let logical = info.logical_type_ref().filter(|logical| matches!(logical, LogicalType::List | LogicalType::Map));
    let mut builder = Type::group_type_builder(node.name()).with_fields(fields).with_id(id);
    if logical.is_some() {
        builder = builder.with_logical_type(logical.cloned());
    }
    builder = builder.with_converted_type(info.converted_type());
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    Ok(Arc::new(builder.build()?))
}
