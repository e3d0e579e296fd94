//! Shows a sample as the trainer receives it according to `.nv-meta/dataset.yaml`: field by field, or the error that the loader raises.
//! Python code is shown, but never run.

use super::{BrowseSample, Catalog};
use crate::engine::plan::fields::mismatch_reason;
use gristmill_core::field_map::FieldExpression;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::{Field, SampleType};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::energon::dataset_yaml::{DatasetYaml, PartFilter, PythonClass, SampleSource};
use gristmill_data::formats::energon::layout;
use gristmill_data::source::decode::{self, DecodedPart, FieldError, PartClass, Value};
use gristmill_pycompat::Node;
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use std::path::{Component, Path};

/// Bytes of a picture that are read: enough to find its header after thumbnails and colour profiles.
const PICTURE_BYTES: u64 = 4 << 20;
/// Limit of the size of a Python file that is shown, in bytes.
const MAX_CODE_BYTES: u64 = 1 << 20;

/// How a sample is made from its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoaderKind {
    /// A field map.
    FieldMap,
    /// No conversion: the trainer receives the parts themselves.
    Crude,
    /// A Python function, which is not run here.
    Function {
        /// `file.py:function` or `module:function`.
        function: String,
        /// The content of the file, if it is in `.nv-meta` and can be read.
        code: Option<String>,
    },
    /// There is no `dataset.yaml`, so nothing defines how samples are made.
    Missing,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// The value from the parts.
    Found(Value),
    /// The default of the class, as Python writes it, if no part is mapped to the field.
    Default(&'static str),
}

/// One field of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderField {
    /// The name of the field; raw if it is read from the file.
    pub name: String,
    /// The type as declared by the class; empty without a class.
    pub field_type: &'static str,
    /// The expression that fills the field, if there is one.
    pub expr: Option<String>,
    /// The value of the field, or the error that the loader raises.
    pub value: Result<FieldValue, String>,
    /// A warning about a setting that the trainer accepts but that is probably a mistake.
    pub warning: Option<String>,
}

impl LoaderField {
    /// Returns shape and type of the numbers of an array: `[3, 427, 640] float32`; for a list its length. `None` for values without a
    /// shape.
    pub fn shape(&self) -> Option<String> {
        match self.value.as_ref().ok()? {
            FieldValue::Found(Value::Image { width, height, .. }) => Some(format!("[3, {height}, {width}] float32")),
            FieldValue::Found(Value::Array { dtype, shape }) => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                Some(format!("[{}] {dtype}", shape.join(", ")))
            }
            FieldValue::Found(Value::Json(serde_json::Value::Array(items))) => Some(format!("[{}]", items.len())),
            _ => None,
        }
    }
}

/// A sample in the form in which the loader returns it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderView {
    /// How the sample is made.
    pub kind: LoaderKind,
    /// The class of the sample, `module.Class`; empty without a class. Raw.
    pub class: String,
    /// The fields in the order of the class, followed by the other fields of the file.
    pub fields: Vec<LoaderField>,
    /// Why `dataset.yaml` or a part cannot be used, in which case the trainer receives no sample.
    pub error: Option<String>,
    /// A remark about this view.
    pub note: Option<String>,
}

/// Shows a sample as the file `config` in `.nv-meta` (`dataset.yaml` if `None`) defines it. Reads only the needed parts.
///
/// Errors that the trainer would raise are part of the view. Only a cancellation is returned as an error.
pub fn view(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    config: Option<&str>,
    cancel: &Cancel,
) -> Outcome<LoaderView> {
    cancel.check()?;
    let mut view =
        LoaderView { kind: LoaderKind::Missing, class: String::new(), fields: Vec::new(), error: None, note: None };
    let name = config.unwrap_or(layout::DATASET_YAML);
    let is_folder = catalog.kind().is_web_dataset() && files::is_dir(catalog.root());
    if !is_folder {
        view.kind = LoaderKind::Crude;
        view.note = Some("without a dataset.yaml the trainer gets the parts themselves".to_owned());
        view.fields = parts(catalog, sample, None, false, cancel)?;
        return Ok(view);
    }
    let yaml = match DatasetYaml::read(catalog.root(), name) {
        Ok(Some(yaml)) => yaml,
        Ok(None) => {
            view.error = Some(format!("there is no .nv-meta/{name}, so nothing says how a sample is made"));
            return Ok(view);
        }
        Err(failure) => {
            view.error = Some(failure.why);
            return Ok(view);
        }
    };
    let is_raw = matches!(yaml.decoder, Some(Node::Null));
    view.class = format!("{}.{}", yaml.sample_type.module, yaml.sample_type.class);
    match &yaml.source {
        SampleSource::Parts(filter) => {
            view.kind = LoaderKind::Crude;
            view.note = cooker(catalog.root())
                .map(|_| "cooker.py makes a sample of these parts; it is not run here".to_owned());
            view.fields = parts(catalog, sample, filter.as_ref(), is_raw, cancel)?;
        }
        SampleSource::Loader { function, part_filter } => {
            let code = code_of(catalog.root(), function);
            view.kind = LoaderKind::Function { function: function.clone(), code };
            view.note =
                Some("a Python function makes the sample; it gets the parts below and is not run here".to_owned());
            view.fields = parts(catalog, sample, part_filter.as_ref(), is_raw, cancel)?;
        }
        SampleSource::FieldMap(map) => {
            view.kind = LoaderKind::FieldMap;
            view.fields = mapped(catalog, sample, &yaml.sample_type, map, is_raw, cancel)?;
        }
    }
    if yaml.decoder.as_ref().is_some_and(|decoder| *decoder != Node::Null) {
        view.note.get_or_insert_with(|| "a decoder of its own is set; the default one is shown here".to_owned());
    }
    Ok(view)
}

/// Returns the parts in the form in which the loader passes them on, `__key__` first.
fn parts(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    filter: Option<&PartFilter>,
    is_raw: bool,
    cancel: &Cancel,
) -> Outcome<Vec<LoaderField>> {
    let wanted = |name: &str| match filter {
        Some(PartFilter::Parts(names)) => names.iter().any(|known| known == name),
        _ => true,
    };
    let key = FieldValue::Found(Value::Text(sample.key.to_string()));
    let field =
        |name: &str, value| LoaderField { name: name.to_owned(), field_type: "", expr: None, value, warning: None };
    let mut fields = vec![LoaderField { field_type: "str", ..field("__key__", Ok(key)) }];
    for (at, part) in sample.parts.iter().enumerate().filter(|(_, part)| wanted(&part.name)) {
        // Of several parts with the same name, the trainer keeps the last.
        if sample.parts.iter().skip(at + 1).any(|later| later.name == part.name) {
            continue;
        }
        let value = decoded(catalog, sample, at, is_raw, cancel)?;
        let error = |reason| FieldError::Undecodable { part: part.name.to_string(), reason }.to_string();
        fields.push(field(&part.name, value.map(FieldValue::Found).map_err(error)));
    }
    Ok(fields)
}

fn mapped(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    class: &PythonClass,
    map: &[FieldExpr],
    is_raw: bool,
    cancel: &Cancel,
) -> Outcome<Vec<LoaderField>> {
    let expressions: Vec<FieldExpression> = map.iter().map(|field| FieldExpression::parse(&field.expr)).collect();
    let is_read = |name: &str| expressions.iter().flat_map(|e| &e.options).any(|option| option.part == name);
    let mut read: Vec<(&str, DecodedPart)> = Vec::new();
    for (at, part) in sample.parts.iter().enumerate().rev() {
        if is_read(&part.name) && !read.iter().any(|(known, _)| *known == &*part.name) {
            read.push((&part.name, decoded(catalog, sample, at, is_raw, cancel)?));
        }
    }
    let find = |name: &str| read.iter().find(|(known, _)| *known == name).map(|(_, part)| part);
    let known = class.built_in();
    let fill = |name: &str, expr: &str, expression: &FieldExpression| {
        let class_field = field_of(known, name);
        let value = decode::eval(expression, &find).map(FieldValue::Found).map_err(|error| error.to_string());
        let unknown = known.is_some() && class_field.is_none() && !name.starts_with("__");
        let warning = match (&value, class_field) {
            (Ok(FieldValue::Found(value)), Some(field)) if !is_raw => mismatch_reason(field.field_type, value),
            _ => None,
        };
        let value = match unknown {
            true => Err(format!("{} has no field '{name}': the trainer raises a TypeError", class.class)),
            false => value,
        };
        let field_type = class_field.map_or("", |field| field.field_type.python());
        LoaderField { name: name.to_owned(), field_type, expr: Some(expr.to_owned()), value, warning }
    };
    let key = Ok(FieldValue::Found(Value::Text(sample.key.to_string())));
    let mut fields =
        vec![LoaderField { name: "__key__".to_owned(), field_type: "str", expr: None, value: key, warning: None }];
    let at = |name: &str| map.iter().zip(&expressions).find(|(field, _)| field.field == name);
    for field in known.map(|known| known.fields).unwrap_or_default() {
        fields.push(match at(field.name) {
            Some((entry, expression)) => fill(field.name, &entry.expr, expression),
            None => unmapped(class, field),
        });
    }
    for (entry, expression) in map.iter().zip(&expressions).filter(|(entry, _)| field_of(known, &entry.field).is_none())
    {
        fields.push(fill(&entry.field, &entry.expr, expression));
    }
    Ok(fields)
}

fn field_of(class: Option<&'static SampleType>, name: &str) -> Option<&'static Field> {
    class.and_then(|class| class.fields.iter().find(|field| field.name == name))
}

fn unmapped(class: &PythonClass, field: &Field) -> LoaderField {
    let value = match field.default {
        Some(default) => Ok(FieldValue::Default(default)),
        None => Err(format!(
            "{}.__init__() missing 1 required positional argument: '{}' (nothing is mapped to it)",
            class.class, field.name
        )),
    };
    LoaderField { name: field.name.to_owned(), field_type: field.field_type.python(), expr: None, value, warning: None }
}

/// Returns a part in the form in which the default decoder returns it. A part that cannot be read counts as not decodable.
fn decoded(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    at: usize,
    is_raw: bool,
    cancel: &Cancel,
) -> Outcome<DecodedPart> {
    cancel.check()?;
    let Some(part) = sample.parts.get(at) else { return Ok(Err("the sample has no such part".to_owned())) };
    let (name, size) = (&*part.name, part.byte_size);
    if is_raw {
        return Ok(Ok(Value::Bytes { len: size, label: "raw bytes: no decoder is set" }));
    }
    let wanted = match decode::part_class(name) {
        PartClass::Media | PartClass::Bytes if size > 0 => return Ok(Ok(decode::undecoded(name, size))),
        PartClass::Image => size.min(PICTURE_BYTES),
        _ => size,
    };
    if wanted > decode::MAX_PART_BYTES as u64 {
        let most = gristmill_core::text::bytes(decode::MAX_PART_BYTES as u64);
        return Ok(Err(format!("it is larger than {most}")));
    }
    match catalog.read(sample, at, 0, usize::try_from(wanted).unwrap_or(decode::MAX_PART_BYTES)) {
        Err(failure) if failure.is_cancelled() => Err(failure),
        Err(failure) => Ok(Err(failure.why)),
        Ok(bytes) => Ok(decode::decode_part(name, &bytes)),
    }
}

fn cooker(root: &Path) -> Option<String> {
    text_in_meta(root, layout::COOKER_PY)
}

/// Returns the Python file of `file.py:function`, if it is in `.nv-meta`.
fn code_of(root: &Path, function: &str) -> Option<String> {
    let (file, _) = function.rsplit_once(':')?;
    file.ends_with(".py").then(|| text_in_meta(root, file)).flatten()
}

fn text_in_meta(root: &Path, name: &str) -> Option<String> {
    if !Path::new(name).components().all(|c| matches!(c, Component::Normal(_))) {
        return None;
    }
    let bytes = read_whole(&layout::in_nv_meta(root, name), MAX_CODE_BYTES).ok()??;
    String::from_utf8(bytes).ok()
}
