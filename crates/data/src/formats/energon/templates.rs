//! Python files that the user completes: `sample_loader.py` and `cooker.py`.
//!
//! Values that can be guessed are written as working code, the others as a comment line that describes the expected value. Names from the
//! data appear only inside string literals, so that a part name can never become code.

use super::dataset_yaml::PythonClass;
use gristmill_core::field_map::{FieldExpression, FieldOption};
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::{Field, FieldType, ENERGON_PACKAGE};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const INDENT: &str = "    ";

/// Python comment that describes the types of the values in a sample.
const DECODED: &str = r#"    The values are decoded already, by the extension of the part:
    pictures (jpg, png, webp ...) are float tensors of shape (3, height, width) from 0 to 1, json is parsed,
    txt is str, cls is int, npy is an array, pth is a tensor, sound and video are decoders that read on demand,
    anything else is bytes. raw["__key__"] is the key of the sample."#;

/// Python function that returns the first option that a sample has, like the alternatives of a field map.
const FIRST_OF: &str = r#"
def first_of(raw: dict, *options: tuple) -> object:
    """Gives the value of the first option that is there: a part, then the steps into its value."""
    for option in options:
        value = raw
        try:
            for step in option:
                value = value[int(step)] if isinstance(value, (list, tuple)) else value[step]
        except (KeyError, IndexError, TypeError, ValueError):
            continue
        return value
    raise KeyError(f"none of {options} is in the sample {raw.get('__key__')!r}")


"#;

/// Returns the text of `sample_loader.py` for a sample type (`Class` or `module:Class`), with the known expressions of its fields and the
/// names of the parts that were found.
pub fn sample_loader_py(sample_type: &str, fields: &[FieldExpr], parts: &[String]) -> String {
    let class = PythonClass::named(sample_type);
    let title = if is_identifier(&class.class) { class.class.as_str() } else { "sample" };
    let mut out = String::new();
    let _ = write!(
        out,
        "\"\"\"Makes the fields of a {title} from the parts of a sample.\n\n\
         This file is yours to edit. dataset.yaml names its two functions; they are imported by the training\n\
         program, so whatever is imported here must be installed there.\n\"\"\"\n"
    );
    push_parts(&mut out, fields, parts);
    if fields.iter().any(|field| needs_first_of(&field.expr)) {
        out.push('\n');
        out.push_str(FIRST_OF);
    } else {
        out.push_str("\n\n");
    }
    let _ = write!(
        out,
        "def sample_loader(raw: dict) -> dict:\n{INDENT}\"\"\"Gives the fields of one {title}; `raw` maps part names to values.\n\n\
         {DECODED}\n{INDENT}\"\"\"\n{INDENT}return {{\n"
    );
    push_fields(&mut out, &class, fields, "raw", UnsetField::DictLine);
    out.push_str("    }\n");
    out
}

/// Returns the text of `cooker.py` for crude samples with these parts; the meaning of the parts is guessed from their names.
pub fn cooker_py(parts: &[String]) -> String {
    let (class, fields) = guess(parts);
    match class {
        Some(class) => cooker_for(class, &fields, parts),
        None => own_class_cooker(parts),
    }
}

/// Returns the text of `cooker.py` that cooks crude samples into a known sample type.
pub fn cooker_for(sample_type: &str, fields: &[FieldExpr], parts: &[String]) -> String {
    let class = PythonClass::named(sample_type);
    let mut imports = vec!["Cooker", "DefaultTaskEncoder", "basic_sample_keys", "stateless"];
    let from_energon = class.module == ENERGON_PACKAGE && is_identifier(&class.class);
    if from_energon {
        imports.push(&class.class);
    }
    let mut out = cooker_head(&imports);
    if !from_energon {
        let is_path = class.module.split('.').all(is_identifier) && is_identifier(&class.class);
        let import = if is_path { format!("from {} import {}\n", class.module, class.class) } else { String::new() };
        out.push_str(&import);
    }
    let name = if is_identifier(&class.class) { class.class.as_str() } else { "dict" };
    if fields.iter().any(|field| needs_first_of(&field.expr)) {
        out.push('\n');
        out.push_str(FIRST_OF);
    } else {
        out.push_str("\n\n");
    }
    push_cook_head(&mut out, name, parts);
    let _ = writeln!(out, "{INDENT}return {name}(\n{INDENT}{INDENT}**basic_sample_keys(raw),");
    push_fields(&mut out, &class, fields, "raw", UnsetField::Argument);
    out.push_str("    )\n");
    out.push_str(COOKER_TAIL);
    out
}

/// Returns a cooker for parts that match no known sample type: it defines a class with one field per part.
fn own_class_cooker(parts: &[String]) -> String {
    let mut imports = vec!["Cooker", "DefaultTaskEncoder", "Sample", "basic_sample_keys", "edataclass", "stateless"];
    imports.sort_unstable();
    let mut out = cooker_head(&imports);
    out.push_str(
        "\n\n@edataclass\nclass CookedSample(Sample):\n    \"\"\"What the model is trained on; None where a sample lacks the part. Name the fields as you need them.\"\"\"\n\n",
    );
    let mut taken = BTreeSet::new();
    let mut assigned = String::new();
    for part in parts {
        let name = field_name(part, &mut taken);
        let _ = writeln!(out, "{INDENT}{name}: object");
        let _ = writeln!(assigned, "{INDENT}{INDENT}{name}=raw.get({}),", literal(part));
    }
    if parts.is_empty() {
        out.push_str("    # One line per field, for example:\n    # text: str\n");
    }
    out.push_str("\n\n");
    push_cook_head(&mut out, "CookedSample", parts);
    let _ =
        write!(out, "{INDENT}return CookedSample(\n{INDENT}{INDENT}**basic_sample_keys(raw),\n{assigned}{INDENT})\n");
    out.push_str(COOKER_TAIL);
    out
}

fn cooker_head(imports: &[&str]) -> String {
    let mut imports = imports.to_vec();
    imports.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    let mut out = format!(
        "\"\"\"Cooks the crude samples of this data set: plain maps of parts become samples a model is trained on.\n\n\
         This file is yours to edit. The training program does not find it by itself: move it into your own package,\n\
         or put its folder on PYTHONPATH, and give the task encoder at the end, or its `cookers` line, to\n\
         `get_train_dataset(..., task_encoder=...)`. With several crude data sets in one run, set `subflavors` in each\n\
         dataset.yaml or in the metadataset and select by them: Cooker(cook, has_subflavors={{\"name\": \"value\"}}).\n\"\"\"\n\n\
         from {ENERGON_PACKAGE} import (\n",
    );
    for name in imports {
        let _ = writeln!(out, "{INDENT}{name},");
    }
    out.push_str(")\n");
    out
}

fn push_cook_head(out: &mut String, returns: &str, parts: &[String]) {
    let _ = write!(
        out,
        "@stateless\ndef cook(raw: dict) -> {returns}:\n{INDENT}\"\"\"Cooks one sample; `raw` maps part names to values.\n\n\
         {DECODED}\n{INDENT}\"\"\"\n"
    );
    if !parts.is_empty() {
        out.push_str("    # Parts that were found in the data set:\n");
        for part in parts {
            let _ = writeln!(out, "{INDENT}#   {}", literal(part));
        }
    }
}

const COOKER_TAIL: &str = r#"

class TaskEncoder(DefaultTaskEncoder):
    """Register the cooker in your own task encoder with this one line."""

    cookers = [Cooker(cook)]
"#;

/// Writes the set of parts and `part_filter`.
fn push_parts(out: &mut String, fields: &[FieldExpr], parts: &[String]) {
    let mut wanted: Vec<&str> = parts.iter().map(String::as_str).collect();
    let expressions: Vec<FieldExpression> = fields.iter().map(|field| FieldExpression::parse(&field.expr)).collect();
    for part in expressions.iter().flat_map(|e| &e.options).map(|o| o.part.as_str()) {
        if !wanted.contains(&part) {
            wanted.push(part);
        }
    }
    if wanted.is_empty() {
        out.push_str("\n\ndef part_filter(part: str) -> bool:\n    \"\"\"Says whether a part is read at all: all of them are.\"\"\"\n    return True\n");
        return;
    }
    out.push_str("\n# Parts that were found in the data set. Remove those that are not needed: what is not read costs no time.\nPARTS = {\n");
    for part in wanted {
        let _ = writeln!(out, "{INDENT}{},", literal(part));
    }
    out.push_str("}\n\n\ndef part_filter(part: str) -> bool:\n    \"\"\"Says whether a part is read at all.\"\"\"\n    return part in PARTS\n");
}

/// How a field without an expression is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnsetField {
    DictLine,
    Argument,
}

/// Writes one line per field of the class, then fields that occur only in the map.
fn push_fields(out: &mut String, class: &PythonClass, fields: &[FieldExpr], raw: &str, style: UnsetField) {
    let known: &[Field] = class.built_in().map_or(&[], |known| known.fields);
    for field in known {
        let note = match field.default {
            None => format!("{}, required", field.field_type.python()),
            Some(default) => format!("{}, default {default}", field.field_type.python()),
        };
        match fields.iter().find(|given| given.field == field.name) {
            Some(given) => push_field(out, field.name, &value(&given.expr, raw), &note, style, ""),
            None if field.default.is_some() => {
                push_field(out, field.name, &example(field.field_type, raw), &note, style, "# ");
            }
            None => {
                let note = format!("{note}: put its value here, for example {}", example(field.field_type, raw));
                push_field(out, field.name, "None", &note, style, "");
            }
        }
    }
    for given in fields.iter().filter(|given| known.iter().all(|field| field.name != given.field)) {
        let disabled = style == UnsetField::Argument && !is_identifier(&given.field);
        push_field(out, &given.field, &value(&given.expr, raw), "", style, if disabled { "# " } else { "" });
    }
    if known.is_empty() && fields.is_empty() {
        let shape = if style == UnsetField::Argument { "text=" } else { "\"text\": " };
        let _ = writeln!(out, "{INDENT}{INDENT}# One line per field of the sample type, for example:\n{INDENT}{INDENT}# {shape}{raw}[\"txt\"],");
    }
}

fn push_field(out: &mut String, name: &str, value: &str, note: &str, style: UnsetField, prefix: &str) {
    let assigned = match style {
        UnsetField::DictLine => format!("{}: {value},", literal(name)),
        UnsetField::Argument if is_identifier(name) => format!("{name}={value},"),
        UnsetField::Argument => format!("{}: {value},", literal(name)),
    };
    if !note.is_empty() {
        let _ = writeln!(out, "{INDENT}{INDENT}# {note}");
    }
    let _ = writeln!(out, "{INDENT}{INDENT}{prefix}{assigned}");
}

fn example(field_type: FieldType, raw: &str) -> String {
    let text = match field_type {
        FieldType::Tensor | FieldType::TensorOrStrList => r#"["jpg"]"#,
        FieldType::Str => r#"["txt"]"#,
        FieldType::Int => r#"["cls"]"#,
        FieldType::StrList | FieldType::IntList => r#"["json"]["list"]"#,
        FieldType::TensorList => return format!("[{raw}[\"1.jpg\"], {raw}[\"2.jpg\"]]"),
        FieldType::TensorOrStrSequence => return format!("[{raw}[\"txt\"], {raw}[\"jpg\"]]"),
        FieldType::Video => r#"["mp4"]"#,
    };
    format!("{raw}{text}")
}

/// Returns Python code that evaluates a field-map expression.
fn value(expr: &str, raw: &str) -> String {
    let expression = FieldExpression::parse(expr);
    if !needs_first_of(expr) {
        let option = expression.options.first();
        let mut out = raw.to_owned();
        for name in option.into_iter().flat_map(names) {
            let _ = write!(out, "[{}]", literal(name));
        }
        return out;
    }
    let mut out = format!("first_of({raw}");
    for option in &expression.options {
        let names: Vec<String> = names(option).map(literal).collect();
        let comma = if names.len() == 1 { "," } else { "" };
        let _ = write!(out, ", ({}{comma})", names.join(", "));
    }
    out.push(')');
    out
}

fn names(option: &FieldOption) -> impl Iterator<Item = &str> {
    std::iter::once(option.part.as_str()).chain(option.steps.iter().map(String::as_str))
}

/// Whether the expression has several options, or a step that may be a list index.
fn needs_first_of(expr: &str) -> bool {
    let expression = FieldExpression::parse(expr);
    let number = |step: &String| step.strip_prefix('-').unwrap_or(step).bytes().all(|b| b.is_ascii_digit());
    expression.options.len() > 1 || expression.options.iter().any(|option| option.steps.iter().any(number))
}

/// Returns a Python string literal, in ASCII.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

fn is_identifier(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !KEYWORDS.contains(&text)
}

/// Returns a field name for a part: `img1.JPG` → `img1_jpg`.
fn field_name(part: &str, taken: &mut BTreeSet<String>) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut name: String = part.chars().map(clean).collect();
    if !is_identifier(&name) || name.starts_with("__") {
        name = format!("part_{name}");
    }
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Guesses the sample type from the parts, with fields filled from them.
fn guess(parts: &[String]) -> (Option<&'static str>, Vec<FieldExpr>) {
    const PICTURES: [&str; 8] = ["jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff"];
    let of_kind = |extensions: &[&str]| {
        let last = |part: &str| part.rsplit('.').next().unwrap_or(part).to_ascii_lowercase();
        let mut found = parts.iter().filter(|part| extensions.contains(&last(part).as_str()));
        match (found.next(), found.next()) {
            (Some(part), None) if FieldExpression::parse(part).options.len() == 1 => Some(part.clone()),
            _ => None,
        }
    };
    let field = |field: &str, expr: String| FieldExpr { field: field.to_owned(), expr };
    match (of_kind(&PICTURES), of_kind(&["txt"])) {
        (Some(picture), Some(text)) => {
            (Some("CaptioningSample"), vec![field("image", picture), field("caption", text)])
        }
        (None, Some(text)) if parts.len() == 1 => (Some("TextSample"), vec![field("text", text)]),
        (Some(picture), None) if parts.len() == 1 => (Some("ImageSample"), vec![field("image", picture)]),
        _ => (None, Vec::new()),
    }
}

#[cfg(test)]
#[path = "templates_tests.rs"]
mod tests;
