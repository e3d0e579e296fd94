//! Lookup of text columns by name.

use crate::file::ParquetFile;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::Type;

/// A column that holds text: at the top level or inside structs, never in a list or map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextColumn {
    path: String,
    leaf: usize,
    max_definition: u32,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Text,
    /// Text that is JSON.
    Json,
    Binary,
    /// The type of columns in which every value is null.
    Null,
}

/// Reason why a column cannot be read as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnProblem {
    /// There is no such column.
    Missing,
    /// The column holds values of another type.
    NotText {
        /// The type in plain words, with its article.
        described: String,
    },
}

impl TextColumn {
    /// Returns the path of the column: its names joined by dots.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the column holds bytes without a declaration that they are text.
    pub fn is_binary(&self) -> bool {
        self.content == Content::Binary
    }

    /// Whether the column holds JSON.
    pub fn is_json(&self) -> bool {
        self.content == Content::Json
    }

    /// Whether the type of the column allows nothing but null.
    pub fn is_null(&self) -> bool {
        self.content == Content::Null
    }

    /// Returns a leaf column of byte strings that is not inside a list or map, regardless of its declared type.
    pub(crate) fn of_leaf(file: &ParquetFile, leaf: usize) -> Option<Self> {
        let column = file.metadata().file_metadata().schema_descr().columns().get(leaf)?;
        let is_fit = column.physical_type() == Physical::BYTE_ARRAY && column.max_rep_level() == 0;
        let max_definition = u32::try_from(column.max_def_level()).ok().filter(|_| is_fit)?;
        Some(Self { path: column.path().string(), leaf, max_definition, content: Content::Binary })
    }

    /// Returns the number of the leaf in the schema.
    pub(crate) fn leaf(&self) -> usize {
        self.leaf
    }

    /// Returns the definition level of a value that is not null.
    pub(crate) fn max_definition(&self) -> u32 {
        self.max_definition
    }
}

impl ParquetFile {
    /// Returns the paths of all columns that hold text, for messages.
    pub fn text_columns(&self) -> Vec<String> {
        let mut walk = SchemaWalk { leaf: 0, key: None, path: Vec::new(), texts: Vec::new(), result: None };
        walk.visit_fields(self.metadata().file_metadata().schema(), 0);
        walk.texts
    }

    /// Finds a column by name: a column at the top level of exactly that name first, because a name may hold dots; otherwise a path through
    /// structs.
    pub fn column(&self, key: &str) -> Result<TextColumn, ColumnProblem> {
        let schema = self.metadata().file_metadata().schema();
        let key = Some((key, self.has_top_column(key)));
        let mut walk = SchemaWalk { leaf: 0, key, path: Vec::new(), texts: Vec::new(), result: None };
        walk.visit_fields(schema, 0);
        walk.result.unwrap_or(Err(ColumnProblem::Missing))
    }

    /// Whether a column at the top level has exactly this name.
    pub fn has_top_column(&self, name: &str) -> bool {
        let schema = self.metadata().file_metadata().schema();
        schema.is_group() && schema.get_fields().iter().any(|field| field.name() == name)
    }

    /// Returns the size of a column in the file in bytes, over all row groups.
    pub fn column_bytes(&self, column: &TextColumn) -> u64 {
        self.leaf_bytes(column.leaf)
    }
}

/// A walk over the schema that counts leaves.
struct SchemaWalk<'a> {
    leaf: usize,
    /// The name to find, and whether it is a name at the top level.
    key: Option<(&'a str, bool)>,
    path: Vec<&'a str>,
    texts: Vec<String>,
    result: Option<Result<TextColumn, ColumnProblem>>,
}

impl<'a> SchemaWalk<'a> {
    /// Visits the fields of a struct, or of the root.
    fn visit_fields(&mut self, group: &'a Type, definition: u32) {
        if group.is_group() {
            for field in group.get_fields() {
                self.visit(field, definition);
            }
        }
    }

    fn visit(&mut self, field: &'a Type, definition: u32) {
        let definition = definition + u32::from(repetition(field) != Some(Repetition::REQUIRED));
        self.path.push(field.name());
        let is_match = self.key.is_some_and(|(key, is_at_top)| match is_at_top {
            true => self.path == [key],
            false => self.path.join(".") == key,
        });
        let first = self.leaf;
        let content = content_of(field);
        if is_struct(field) {
            self.visit_fields(field, definition);
        } else {
            self.leaf += count_leaves(field);
        }
        if matches!(content, Ok(Content::Text | Content::Json)) {
            self.texts.push(self.path.join("."));
        }
        if is_match && self.result.is_none() {
            self.result = Some(match content {
                Ok(content) => {
                    Ok(TextColumn { path: self.path.join("."), leaf: first, max_definition: definition, content })
                }
                Err(described) => Err(ColumnProblem::NotText { described }),
            });
        }
        self.path.pop();
    }
}

fn repetition(field: &Type) -> Option<Repetition> {
    let info = field.get_basic_info();
    info.has_repetition().then(|| info.repetition())
}

/// Whether the field is a struct that occurs once in a row.
fn is_struct(field: &Type) -> bool {
    let info = field.get_basic_info();
    let is_plain = matches!(info.logical_type_ref(), None | Some(LogicalType::_Unknown { .. }));
    field.is_group()
        && is_plain
        && info.converted_type() == ConvertedType::NONE
        && repetition(field) != Some(Repetition::REPEATED)
}

/// Returns the number of leaf columns in a field.
pub(crate) fn count_leaves(field: &Type) -> usize {
    match field.is_group() {
        true => field.get_fields().iter().map(|field| count_leaves(field)).sum(),
        false => 1,
    }
}

/// Returns the content of a text field, or the description of the type of another field.
fn content_of(field: &Type) -> Result<Content, String> {
    let info = field.get_basic_info();
    let (logical, converted) = (info.logical_type_ref(), info.converted_type());
    if repetition(field) == Some(Repetition::REPEATED) {
        return Err("a list".to_owned());
    }
    if field.is_group() {
        return Err(describe_group(logical, converted).to_owned());
    }
    let physical = field.get_physical_type();
    match (physical, logical, converted) {
        (_, Some(LogicalType::Unknown), _) => Ok(Content::Null),
        (Physical::BYTE_ARRAY, Some(LogicalType::Json), _) | (Physical::BYTE_ARRAY, None, ConvertedType::JSON) => {
            Ok(Content::Json)
        }
        (Physical::BYTE_ARRAY, Some(LogicalType::String | LogicalType::Enum), _)
        | (Physical::BYTE_ARRAY, None, ConvertedType::UTF8 | ConvertedType::ENUM) => Ok(Content::Text),
        (Physical::BYTE_ARRAY, None | Some(LogicalType::_Unknown { .. }), ConvertedType::NONE) => Ok(Content::Binary),
        _ => Err(describe_value(physical, logical, converted).to_owned()),
    }
}

fn describe_group(logical: Option<&LogicalType>, converted: ConvertedType) -> &'static str {
    match (logical, converted) {
        (Some(LogicalType::List), _) | (None, ConvertedType::LIST) => "a list",
        (Some(LogicalType::Map), _) | (None, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => "a map",
        (Some(LogicalType::Variant(_)), _) => "a variant",
        _ => "a struct",
    }
}

fn describe_value(physical: Physical, logical: Option<&LogicalType>, converted: ConvertedType) -> &'static str {
    match logical {
        Some(LogicalType::Decimal(_)) => return "a decimal",
        Some(LogicalType::Date) => return "a date",
        Some(LogicalType::Time(_)) => return "a time",
        Some(LogicalType::Timestamp(_)) => return "a timestamp",
        Some(LogicalType::Uuid) => return "a UUID",
        Some(LogicalType::Float16) => return "a number",
        Some(LogicalType::Bson) => return "BSON",
        Some(LogicalType::Geometry(_) | LogicalType::Geography(_)) => return "a geometry",
        _ => {}
    }
    match (physical, converted) {
        (_, ConvertedType::DECIMAL) => "a decimal",
        (_, ConvertedType::DATE) => "a date",
        (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => "a time",
        (_, ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS) => "a timestamp",
        (_, ConvertedType::INTERVAL) => "an interval",
        (_, ConvertedType::BSON) => "BSON",
        (Physical::BOOLEAN, _) => "a boolean",
        (Physical::INT96, _) => "a timestamp",
        (Physical::FIXED_LEN_BYTE_ARRAY, _) => "binary of fixed size",
        (Physical::BYTE_ARRAY, _) => "binary",
        (Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE, _) => "a number",
    }
}
