//! Facts that the footer states: columns with their types and sizes, codecs, and the writer.

use crate::columns::count_leaves;
use crate::file::ParquetFile;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::Type;
use std::fmt::Write as _;

/// Maximum length in bytes of a type name; nested types may have many fields.
const MAX_TYPE_BYTES: usize = 400;

/// A column at the top level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Name of the column; raw.
    pub name: String,
    /// Type of the column, such as `string`, `int64` or `list<struct<role: string, content: string>>`; names in it are raw.
    pub type_name: String,
    /// Size in the file, in bytes.
    pub bytes: u64,
    /// Size after decompression, in bytes.
    pub unpacked_bytes: u64,
}

impl ParquetFile {
    /// Returns the columns at the top level, in their order.
    pub fn summarize_columns(&self) -> Vec<ColumnSummary> {
        let root = self.metadata().file_metadata().schema();
        if !root.is_group() {
            return Vec::new();
        }
        let (mut columns, mut first) = (Vec::new(), 0);
        for field in root.get_fields() {
            let leaves = first..first + count_leaves(field);
            first = leaves.end;
            let unpacked = |leaf: usize| {
                let groups = 0..self.row_groups();
                groups.map(|row_group| self.unpacked_bytes(row_group, leaf)).fold(0, u64::saturating_add)
            };
            let mut type_name = String::new();
            write_type(field, &mut type_name);
            columns.push(ColumnSummary {
                name: field.name().to_owned(),
                type_name,
                bytes: leaves.clone().map(|leaf| self.leaf_bytes(leaf)).fold(0, u64::saturating_add),
                unpacked_bytes: leaves.map(unpacked).fold(0, u64::saturating_add),
            });
        }
        columns
    }

    /// Returns the names of the codecs of all columns, sorted.
    pub fn codecs(&self) -> Vec<String> {
        let chunks = self.metadata().row_groups().iter().flat_map(|group| group.columns());
        let mut codecs: Vec<String> = Vec::new();
        for chunk in chunks {
            let name = format!("{:?}", chunk.compression_codec()).to_lowercase();
            if !codecs.contains(&name) {
                codecs.push(name);
            }
        }
        codecs.sort();
        codecs
    }

    /// Returns the name of the program that wrote the file, as the footer states it; raw.
    pub fn writer(&self) -> Option<String> {
        self.metadata().file_metadata().created_by().map(str::to_owned)
    }
}

fn write_type(field: &Type, out: &mut String) {
    if out.len() > MAX_TYPE_BYTES {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    let info = field.get_basic_info();
    let is_repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    if is_repeated {
        out.push_str("list<");
    }
    match field.is_group() {
        true => write_group(field, out),
        false => out.push_str(&value_type(field)),
    }
    if is_repeated {
        out.push('>');
    }
}

fn write_group(field: &Type, out: &mut String) {
    let info = field.get_basic_info();
    let is_list =
        matches!(info.logical_type_ref(), Some(LogicalType::List)) || info.converted_type() == ConvertedType::LIST;
    let is_map = matches!(info.logical_type_ref(), Some(LogicalType::Map))
        || matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE);
    let inner = field.get_fields().first().filter(|_| field.get_fields().len() == 1);
    match inner {
        Some(inner) if is_list => {
            out.push_str("list<");
            // A list of three levels has a group with a single field between the list and its items.
            match inner.is_group() && inner.get_fields().len() == 1 {
                true => inner.get_fields().iter().for_each(|item| write_type(item, out)),
                false if inner.is_group() => write_group(inner, out),
                false => out.push_str(&value_type(inner)),
            }
            out.push('>');
        }
        Some(inner) if is_map && inner.is_group() => write_fields("map<", inner, out),
        _ => write_fields("struct<", field, out),
    }
}

fn write_fields(open: &str, group: &Type, out: &mut String) {
    out.push_str(open);
    for (number, field) in group.get_fields().iter().enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        if out.len() > MAX_TYPE_BYTES {
            out.push('…');
            break;
        }
        let _ = write!(out, "{}: ", field.name());
        write_type(field, out);
    }
    out.push('>');
}

fn value_type(field: &Type) -> String {
    let info = field.get_basic_info();
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => "ms",
        TimeUnit::MICROS => "us",
        TimeUnit::NANOS => "ns",
    };
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::String | LogicalType::Enum), _) | (None, ConvertedType::UTF8 | ConvertedType::ENUM) => {
            return "string".to_owned();
        }
        (Some(LogicalType::Json), _) | (None, ConvertedType::JSON) => return "json".to_owned(),
        (Some(LogicalType::Unknown), _) => return "null".to_owned(),
        (Some(LogicalType::Uuid), _) => return "uuid".to_owned(),
        (Some(LogicalType::Float16), _) => return "float16".to_owned(),
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => return "date".to_owned(),
        (Some(LogicalType::Decimal(_)), _) | (None, ConvertedType::DECIMAL) => {
            let (precision, scale) = match field {
                Type::PrimitiveType { precision, scale, .. } => (*precision, *scale),
                Type::GroupType { .. } => (0, 0),
            };
            return format!("decimal({precision}, {scale})");
        }
        (Some(LogicalType::Time(time)), _) => return format!("time[{}]", unit(&time.unit)),
        (Some(LogicalType::Timestamp(time)), _) => {
            let zone = if time.is_adjusted_to_u_t_c { ", UTC" } else { "" };
            return format!("timestamp[{}{zone}]", unit(&time.unit));
        }
        (Some(LogicalType::Integer(integer)), _) => {
            return format!("{}int{}", if integer.is_signed { "" } else { "u" }, integer.bit_width);
        }
        _ => {}
    }
    match field.get_physical_type() {
        Physical::BOOLEAN => "bool",
        Physical::INT32 => "int32",
        Physical::INT64 => "int64",
        Physical::INT96 => "timestamp[ns]",
        Physical::FLOAT => "float",
        Physical::DOUBLE => "double",
        Physical::BYTE_ARRAY => "binary",
        Physical::FIXED_LEN_BYTE_ARRAY => "binary of fixed size",
    }
    .to_owned()
}
