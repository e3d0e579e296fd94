//! Columns by name, and the types to which they are decoded. Text is decoded as bytes, so that text that is not UTF-8 affects only its row.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use gristmill_arrow::LeafContent;
use std::collections::HashSet;
use std::sync::Arc;

/// A schema as stored in the file, and as used for decoding.
#[derive(Debug)]
pub(super) struct ArrowSchema {
    stated: Schema,
    decoded: SchemaRef,
}

/// Reason why a column cannot be read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnProblem {
    Missing,
    /// The column holds other values; their type with its article.
    NotText(&'static str),
}

impl ArrowSchema {
    pub(super) fn new(stated: Schema) -> Self {
        let fields: Vec<Field> = stated.fields().iter().map(|field| decoded_field(field)).collect();
        Self { stated, decoded: Arc::new(Schema::new(fields)) }
    }

    /// Returns names and types of the columns at the top level.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &DataType)> {
        self.stated.fields().iter().map(|field| (field.name().as_str(), field.data_type()))
    }

    /// Returns the schema that is used for decoding record batches.
    pub(super) fn decoded(&self) -> &SchemaRef {
        &self.decoded
    }

    /// Finds a column by name: first a column at the top level with exactly this name, because names may contain dots, otherwise a path
    /// through structs. Returns the index of the field at each level.
    pub(super) fn column(&self, key: &str) -> Result<Vec<usize>, ColumnProblem> {
        let at_top = self.stated.fields().iter().position(|field| field.name() == key);
        let path = match at_top {
            Some(at) => Some((vec![at], self.stated.field(at).data_type())),
            None => find_path(self.stated.fields(), key),
        };
        let (path, data_type) = path.ok_or(ColumnProblem::Missing)?;
        described(data_type).map_or(Ok(path), |described| Err(ColumnProblem::NotText(described)))
    }

    /// Returns the paths of all columns that hold text, for messages.
    pub(super) fn text_columns(&self) -> Vec<String> {
        let mut found = Vec::new();
        add_texts(self.stated.fields(), "", &mut found);
        found
    }

    /// Returns the indexes of the columns at the top level with one of these names; of all columns if there are no names.
    pub(super) fn columns(&self, names: Option<&[String]>) -> Vec<usize> {
        let fields = self.stated.fields().iter().enumerate();
        let is_wanted = |field: &Field| names.is_none_or(|names| names.contains(field.name()));
        fields.filter(|(_, field)| is_wanted(field)).map(|(at, _)| at).collect()
    }

    /// Returns the content of the leaves of some columns, in order.
    pub(super) fn contents(&self, columns: &[usize]) -> Vec<LeafContent> {
        let mut found = Vec::new();
        for field in columns.iter().filter_map(|at| self.stated.fields().get(*at)) {
            add_contents(field.data_type(), &mut found);
        }
        found
    }

    /// Returns the ids of the dictionaries to which some columns refer.
    pub(super) fn dictionaries(&self, columns: &[usize]) -> HashSet<i64> {
        let mut found = HashSet::new();
        for field in columns.iter().filter_map(|at| self.stated.fields().get(*at)) {
            add_dictionaries(field, &mut found);
        }
        found
    }

    /// Returns the type of the entries of a dictionary.
    pub(super) fn dictionary_entries(&self, number: i64) -> Option<DataType> {
        #[expect(deprecated, reason = "the number of a dictionary is a part of the format")]
        let fields = self.decoded.fields_with_dict_id(number);
        match fields.first()?.data_type() {
            DataType::Dictionary(_, entries) => Some(entries.as_ref().clone()),
            _ => None,
        }
    }
}

fn find_path<'a>(fields: &'a arrow_schema::Fields, key: &str) -> Option<(Vec<usize>, &'a DataType)> {
    fields.iter().enumerate().find_map(|(at, field)| {
        if field.name() == key {
            return Some((vec![at], field.data_type()));
        }
        let rest = key.strip_prefix(field.name().as_str())?.strip_prefix('.')?;
        let DataType::Struct(inner) = field.data_type() else { return None };
        let (mut path, data_type) = find_path(inner, rest)?;
        path.insert(0, at);
        Some((path, data_type))
    })
}

fn add_texts(fields: &arrow_schema::Fields, before: &str, found: &mut Vec<String>) {
    for field in fields {
        let path = format!("{before}{}", field.name());
        match field.data_type() {
            DataType::Struct(inner) => add_texts(inner, &format!("{path}."), found),
            data_type if is_text(data_type) => found.push(path),
            _ => {}
        }
    }
}

/// Whether a type is text, or a dictionary of texts.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, entries) => is_text(entries),
        _ => false,
    }
}

/// Describes a type with its article; `None` if its values can be texts.
fn described(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => return None,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Null => return None,
        DataType::Dictionary(_, entries) => return described(entries),
        DataType::Boolean => "a boolean",
        DataType::Date32 | DataType::Date64 => "a date",
        DataType::Time32(_) | DataType::Time64(_) => "a time",
        DataType::Timestamp(..) => "a timestamp",
        DataType::Duration(_) => "a duration",
        DataType::Interval(_) => "an interval",
        DataType::FixedSizeBinary(_) => "binary of fixed size",
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "a list",
        DataType::ListView(_) | DataType::LargeListView(_) => "a list",
        DataType::Struct(_) => "a struct",
        DataType::Map(..) => "a map",
        DataType::Union(..) => "a union",
        DataType::RunEndEncoded(..) => "a column of runs",
        DataType::Decimal32(..) | DataType::Decimal64(..) => "a decimal",
        DataType::Decimal128(..) | DataType::Decimal256(..) => "a decimal",
        _ => "a number",
    })
}

fn decoded_field(field: &Field) -> Field {
    field.clone().with_data_type(decoded_type(field.data_type()))
}

fn decoded_type(data_type: &DataType) -> DataType {
    let inner = |field: &Field| Arc::new(decoded_field(field));
    match data_type {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        DataType::Dictionary(keys, entries) => DataType::Dictionary(keys.clone(), Box::new(decoded_type(entries))),
        DataType::List(field) => DataType::List(inner(field)),
        DataType::LargeList(field) => DataType::LargeList(inner(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(inner(field), *size),
        DataType::Map(field, is_sorted) => DataType::Map(inner(field), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| inner(field)).collect()),
        other => other.clone(),
    }
}

/// Adds the content of leaves in the order in which rows are written.
fn add_contents(data_type: &DataType, found: &mut Vec<LeafContent>) {
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|field| add_contents(field.data_type(), found)),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => add_contents(field.data_type(), found),
        DataType::Dictionary(_, entries) => add_contents(entries, found),
        other if is_text(other) => found.push(LeafContent::Text),
        _ => found.push(LeafContent::AsTyped),
    }
}

fn add_dictionaries(field: &Field, found: &mut HashSet<i64>) {
    #[expect(deprecated, reason = "the number of a dictionary is a part of the format")]
    found.extend(field.dict_id());
    match field.data_type() {
        DataType::Dictionary(_, entries) => add_inner_dictionaries(entries, found),
        other => add_inner_dictionaries(other, found),
    }
}

fn add_inner_dictionaries(data_type: &DataType, found: &mut HashSet<i64>) {
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|field| add_dictionaries(field, found)),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, field)| add_dictionaries(field, found)),
        DataType::RunEndEncoded(_, field)
        | DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => add_dictionaries(field, found),
        _ => {}
    }
}
