//! `dataset.yaml`: the type that a sample is loaded as (docs/formats/energon.md §10).

use super::fields::{self, ContentError};
use super::layout;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::{self, SampleType, CRUDE_CLASS, ENERGON_PACKAGE};
use gristmill_core::{Outcome, SampleMapping};
use gristmill_pycompat::{yaml_read, yaml_write, Node};
use std::path::Path;

const ACTIVITY: &str = "reading the dataset yaml";
const MODULE: &str = "__module__";
const CLASS: &str = "__class__";
/// Value of `sample_loader` for the generated file.
pub const SAMPLE_LOADER: &str = "sample_loader.py:sample_loader";
/// Value of `part_filter` for the generated file.
pub const PART_FILTER: &str = "sample_loader.py:part_filter";

/// A Python class by module and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonClass {
    /// Module that is imported.
    pub module: String,
    /// Class in the module.
    pub class: String,
}

impl PythonClass {
    /// Parses a class name: `Class` for a known sample type, or `module:Class`. Other names without a module belong to `megatron.energon`.
    /// Old class names (`CaptioningWebdataset`) are replaced by the current ones, and known classes get the module from which they can be
    /// imported.
    pub fn named(text: &str) -> Self {
        let (module, class) = text.rsplit_once(':').unwrap_or((ENERGON_PACKAGE, text));
        let today = || class.strip_suffix("Webdataset").and_then(|old| sample_type::find(&format!("{old}Sample")));
        match sample_type::find(class)
            .or_else(today)
            .filter(|known| module == ENERGON_PACKAGE || module == known.module)
        {
            Some(known) => Self { module: known.module.to_owned(), class: known.class.to_owned() },
            None => Self { module: module.to_owned(), class: class.to_owned() },
        }
    }
    /// Returns the known sample type with this class name; `None` if the module is not part of Energon.
    pub fn built_in(&self) -> Option<&'static SampleType> {
        let within = self.module.strip_prefix(ENERGON_PACKAGE);
        let ours = within.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        sample_type::find(&self.class).filter(|_| ours)
    }
    fn to_node(&self) -> Node {
        Node::Map(self.entries())
    }
    fn entries(&self) -> Vec<(String, Node)> {
        vec![(MODULE.to_owned(), Node::str(&self.module)), (CLASS.to_owned(), Node::str(&self.class))]
    }
}

/// Selects the parts of a sample that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartFilter {
    /// `file.py:function` or `module:function`.
    Function(String),
    /// Names of the parts.
    Parts(Vec<String>),
}

/// How a sample is built from its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleSource {
    /// Crude: the parts themselves.
    Parts(Option<PartFilter>),
    /// Field by field, in the order of the file.
    FieldMap(Vec<FieldExpr>),
    /// By a loader function.
    Loader {
        /// `file.py:function` or `module:function`.
        function: String,
        /// Part filter, required by the loader.
        part_filter: Option<PartFilter>,
    },
}

/// Content of a `dataset.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetYaml {
    /// The sample type, or the crude class.
    pub sample_type: PythonClass,
    /// How a sample is built.
    pub source: SampleSource,
    /// The old-style class as written, if the file has a top-level `__class__` such as `CaptioningWebdataset`, which the loader still
    /// accepts.
    pub old_class: Option<String>,
    /// `subflavors`, unchanged.
    pub subflavors: Option<Node>,
    /// `decoder`, unchanged; `Node::Null` means raw bytes.
    pub decoder: Option<Node>,
    /// Other known keys, unchanged.
    pub settings: Vec<(String, Node)>,
}

impl DatasetYaml {
    /// Whether the loader returns samples as plain maps of parts.
    pub fn is_crude(&self) -> bool {
        self.sample_type.class == CRUDE_CLASS && self.sample_type.built_in().is_none()
    }

    /// Returns the plan option that produces the same sample type and field map; `None` if the file has no field map.
    pub fn to_loading(&self) -> Option<SampleMapping> {
        let SampleSource::FieldMap(fields) = &self.source else { return None };
        let PythonClass { module, class } = &self.sample_type;
        let sample_type = match PythonClass::named(class) == self.sample_type {
            true => class.clone(),
            false => format!("{module}:{class}"),
        };
        Some(SampleMapping::FieldMap { sample_type, fields: fields.clone() })
    }

    /// Reads `.nv-meta/<name>`; returns `None` when the file is missing.
    pub fn read(root: &Path, name: &str) -> Outcome<Option<Self>> {
        let path = layout::in_nv_meta(root, name);
        let Some(text) = fields::read_text(ACTIVITY, &path, yaml_read::MAX_BYTES as u64)? else { return Ok(None) };
        Self::parse(&text).map(Some).map_err(|error| error.into_failure(ACTIVITY, &path))
    }

    /// Parses the text of a `dataset.yaml`. Unknown keys and forbidden combinations are refused, as in the loader.
    pub fn parse(text: &str) -> Result<Self, ContentError> {
        let mut parsed = YamlKeys::default();
        for (key, value) in fields::map(fields::parse_yaml(text)?, "the file")? {
            parsed.take(key, value)?;
        }
        parsed.finish()
    }

    /// Returns the content of the file for an option of a plan; `None` when no file is written.
    pub fn render(loading: &SampleMapping) -> Option<String> {
        let typed = |sample_type: &str, rest: Vec<(String, Node)>| {
            let mut entries = vec![("sample_type".to_owned(), PythonClass::named(sample_type).to_node())];
            entries.extend(rest);
            Node::Map(entries)
        };
        let node = match loading {
            SampleMapping::Unset | SampleMapping::NoDatasetYaml => return None,
            SampleMapping::Crude { .. } => Node::Map(PythonClass::named(CRUDE_CLASS).entries()),
            SampleMapping::FieldMap { sample_type, fields } => {
                let map = fields.iter().map(|field| (field.field.clone(), Node::str(&field.expr))).collect();
                typed(sample_type, vec![("field_map".to_owned(), Node::Map(map))])
            }
            SampleMapping::SampleLoader { sample_type } => typed(
                sample_type,
                vec![
                    ("sample_loader".to_owned(), Node::str(SAMPLE_LOADER)),
                    ("part_filter".to_owned(), Node::str(PART_FILTER)),
                ],
            ),
        };
        Some(yaml_write::dump_for_loader(&node))
    }
}

/// Keys that the loader accepts and that do not affect the type of the samples.
const SETTINGS: [&str; 9] = [
    "path",
    "split_part",
    "split_config",
    "training",
    "worker_config",
    "shuffle_over_epochs",
    "parallel_shard_iters",
    "max_samples_per_sequence",
    "subset",
];
const KEYS: [&str; 8] =
    [MODULE, CLASS, "sample_type", "field_map", "sample_loader", "part_filter", "subflavors", "decoder"];

/// Keys of the file, by meaning.
#[derive(Default)]
struct YamlKeys {
    module: Option<String>,
    class: Option<String>,
    sample_type: Option<PythonClass>,
    field_map: Option<Vec<FieldExpr>>,
    sample_loader: Option<String>,
    part_filter: Option<PartFilter>,
    subflavors: Option<Node>,
    decoder: Option<Node>,
    settings: Vec<(String, Node)>,
}

impl YamlKeys {
    fn take(&mut self, key: String, value: Node) -> Result<(), ContentError> {
        match key.as_str() {
            MODULE => self.module = Some(fields::text(value, "'__module__'")?),
            CLASS => self.class = Some(fields::text(value, "'__class__'")?),
            "sample_type" => self.sample_type = Some(python_class(value)?),
            "field_map" => self.field_map = Some(field_map(value)?),
            "sample_loader" => self.sample_loader = Some(function(value, "'sample_loader'")?),
            "part_filter" => {
                self.part_filter = Some(match value {
                    Node::List(_) => PartFilter::Parts(fields::texts(value, "'part_filter'")?),
                    other => PartFilter::Function(function(other, "'part_filter'")?),
                });
            }
            "subflavors" => {
                fields::map(value.clone(), "'subflavors'")?;
                self.subflavors = Some(value);
            }
            "decoder" => self.decoder = Some(value),
            known if SETTINGS.contains(&known) => self.settings.push((key, value)),
            // Settings of the old image decoding, which old classes accepted.
            "auto_decode" | "image_decode" | "ignore_decoder_errors" | "video_decode_audio" | "av_decode"
                if self.class.is_some() =>
            {
                self.settings.push((key, value));
            }
            _ => return Err(fields::unknown_key(&key, "the file", &KEYS)),
        }
        Ok(())
    }

    fn finish(self) -> Result<DatasetYaml, ContentError> {
        let (sample_type, old_class) = self.sample_class()?;
        let crude = sample_type.class == CRUDE_CLASS;
        let source = match (self.field_map, self.sample_loader) {
            (None, None) if crude => SampleSource::Parts(self.part_filter),
            (Some(_), _) | (_, Some(_)) if crude => {
                return Err(ContentError::new("a crude data set takes neither 'field_map' nor 'sample_loader'"));
            }
            (Some(_), Some(_)) => {
                return Err(ContentError::new("'field_map' and 'sample_loader' exclude each other"));
            }
            (None, None) => return Err(ContentError::new("either 'field_map' or 'sample_loader' is needed")),
            (Some(_), None) if self.part_filter.is_some() => {
                return Err(ContentError::new(
                    "'part_filter' cannot be used with 'field_map', which names its parts itself",
                ));
            }
            (Some(map), None) => SampleSource::FieldMap(map),
            (None, Some(_)) if self.part_filter.is_none() => {
                return Err(ContentError::new("'sample_loader' needs a 'part_filter'"));
            }
            (None, Some(function)) => SampleSource::Loader { function, part_filter: self.part_filter },
        };
        Ok(DatasetYaml {
            sample_type,
            source,
            old_class,
            subflavors: self.subflavors,
            decoder: self.decoder,
            settings: self.settings,
        })
    }

    /// Returns the class of the samples, and the old-style class if the file uses one.
    fn sample_class(&self) -> Result<(PythonClass, Option<String>), ContentError> {
        let Some(class) = &self.class else {
            let missing = || ContentError::new("the key 'sample_type' is missing");
            return Ok((self.sample_type.clone().ok_or_else(missing)?, None));
        };
        let module = self.module.clone().ok_or_else(|| ContentError::new("'__class__' needs '__module__'"))?;
        if class == CRUDE_CLASS {
            return Ok((PythonClass { module, class: class.clone() }, None));
        }
        if let Some(given) = &self.sample_type {
            return Ok((given.clone(), Some(class.clone())));
        }
        let known = class.strip_suffix("Webdataset").map(|stem| format!("{stem}Sample"));
        match known.as_deref().and_then(sample_type::find) {
            Some(known) => {
                let module = known.module.to_owned();
                Ok((PythonClass { module, class: known.class.to_owned() }, Some(class.clone())))
            }
            // A data set class defined by the user, whose sample type is unknown.
            None => Ok((PythonClass { module, class: class.clone() }, Some(class.clone()))),
        }
    }
}

fn python_class(value: Node) -> Result<PythonClass, ContentError> {
    let (mut module, mut class) = (None, None);
    for (key, value) in fields::map(value, "'sample_type'")? {
        match key.as_str() {
            MODULE => module = Some(fields::text(value, "'__module__'")?),
            CLASS => class = Some(fields::text(value, "'__class__'")?),
            _ => return Err(fields::unknown_key(&key, "'sample_type'", &[MODULE, CLASS])),
        }
    }
    match (module, class) {
        (Some(module), Some(class)) => Ok(PythonClass { module, class }),
        _ => Err(ContentError::new("'sample_type' needs '__module__' and '__class__'")),
    }
}

fn field_map(value: Node) -> Result<Vec<FieldExpr>, ContentError> {
    let entries = fields::map(value, "'field_map'")?;
    let field = |(field, value): (String, Node)| {
        let expr = fields::text(value, &format!("the field '{field}'"))?;
        Ok(FieldExpr { field, expr })
    };
    entries.into_iter().map(field).collect()
}

/// Parses `file.py:function`, or the map form with `__module__` and `__function__`.
fn function(value: Node, what: &str) -> Result<String, ContentError> {
    if let (Some(module), Some(name)) =
        (value.get(MODULE).and_then(Node::as_str), value.get("__function__").and_then(Node::as_str))
    {
        return Ok(format!("{module}:{name}"));
    }
    fields::text(value, what)
}

#[cfg(test)]
#[path = "dataset_yaml_tests.rs"]
mod tests;
