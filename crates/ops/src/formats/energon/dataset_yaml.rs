//! `dataset.yaml`: what a sample becomes when it is loaded (docs/formats/energon.md §10).

use super::fields::{self, ContentError};
use super::layout;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::{self, SampleType, CRUDE_CLASS};
use gristmill_core::{Loading, Outcome};
use gristmill_pycompat::{yaml_read, yaml_write, Node};
use std::path::Path;

const WHAT: &str = "reading the dataset yaml";
const ENERGON: &str = "megatron.energon";
const MODULE: &str = "__module__";
const CLASS: &str = "__class__";
/// `sample_loader` as it is written for the generated file.
pub const SAMPLE_LOADER: &str = "sample_loader.py:sample_loader";
/// `part_filter` as it is written for the generated file.
pub const PART_FILTER: &str = "sample_loader.py:part_filter";

/// A Python class: where it is and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonClass {
    /// The module that is imported.
    pub module: String,
    /// The class in it.
    pub class: String,
}

impl PythonClass {
    /// `Class` of the known sample types (others are looked for in `megatron.energon`), or `module:Class`. Old class names
    /// (`CaptioningWebdataset`) become today's, and known classes get the module they can be loaded from.
    pub fn named(text: &str) -> Self {
        let (module, class) = text.rsplit_once(':').unwrap_or((ENERGON, text));
        let today = || class.strip_suffix("Webdataset").and_then(|old| sample_type::find(&format!("{old}Sample")));
        match sample_type::find(class).or_else(today).filter(|known| module == ENERGON || module == known.module) {
            Some(known) => Self { module: known.module.to_owned(), class: known.class.to_owned() },
            None => Self { module: module.to_owned(), class: class.to_owned() },
        }
    }
    /// The known sample type with this class name, unless the module is one of the user's own.
    pub fn known(&self) -> Option<&'static SampleType> {
        let ours = self.module == ENERGON || self.module.starts_with("megatron.energon.");
        sample_type::find(&self.class).filter(|_| ours)
    }
    fn to_node(&self) -> Node {
        Node::Map(self.entries())
    }
    fn entries(&self) -> Vec<(String, Node)> {
        vec![(MODULE.to_owned(), Node::str(&self.module)), (CLASS.to_owned(), Node::str(&self.class))]
    }
}

/// Which parts of a sample are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartFilter {
    /// `file.py:function` or `module:function`.
    Function(String),
    /// These parts.
    Parts(Vec<String>),
}

/// How a sample is made of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleSource {
    /// Crude: the parts themselves.
    Parts(Option<PartFilter>),
    /// Field by field, in the order of the file.
    FieldMap(Vec<FieldExpr>),
    /// By a function.
    Loader {
        /// `file.py:function` or `module:function`.
        function: String,
        /// Needed by the loader.
        part_filter: Option<PartFilter>,
    },
}

/// What a `dataset.yaml` says.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetYaml {
    /// The sample type, or the crude class.
    pub sample_type: PythonClass,
    /// How a sample is made.
    pub source: SampleSource,
    /// Written with a top-level `__class__` such as `CaptioningWebdataset`, which still loads; the class as written.
    pub old_class: Option<String>,
    /// `subflavors`, as they are.
    pub subflavors: Option<Node>,
    /// `decoder`, as it is; `Node::Null` means raw bytes.
    pub decoder: Option<Node>,
    /// Further known keys, as they are.
    pub settings: Vec<(String, Node)>,
}

impl DatasetYaml {
    /// Whether samples stay plain maps of parts.
    pub fn is_crude(&self) -> bool {
        self.sample_type.class == CRUDE_CLASS && self.sample_type.known().is_none()
    }

    /// Reads `.nv-meta/<name>`; `None` when there is none.
    pub fn read(root: &Path, name: &str) -> Outcome<Option<Self>> {
        let path = layout::in_nv_meta(root, name);
        let Some(text) = fields::read_text(WHAT, &path, yaml_read::MAX_BYTES as u64)? else { return Ok(None) };
        Self::parse(&text).map(Some).map_err(|error| error.into_failure(WHAT, &path))
    }

    /// Reads the text of a `dataset.yaml`. Unknown keys and forbidden combinations are refused, as the loader does.
    pub fn parse(text: &str) -> Result<Self, ContentError> {
        let mut parsed = Parsed::default();
        for (key, value) in fields::map(fields::parse_yaml(text)?, "the file")? {
            parsed.take(key, value)?;
        }
        parsed.finish()
    }

    /// The bytes of the file for a plan's answer; `None` when none is written.
    pub fn render(loading: &Loading) -> Option<String> {
        let typed = |sample_type: &str, rest: Vec<(String, Node)>| {
            let mut entries = vec![("sample_type".to_owned(), PythonClass::named(sample_type).to_node())];
            entries.extend(rest);
            Node::Map(entries)
        };
        let node = match loading {
            Loading::Unset | Loading::NoDatasetYaml => return None,
            Loading::Crude { .. } => Node::Map(PythonClass::named(CRUDE_CLASS).entries()),
            Loading::FieldMap { sample_type, fields } => {
                let map = fields.iter().map(|field| (field.field.clone(), Node::str(&field.expr))).collect();
                typed(sample_type, vec![("field_map".to_owned(), Node::Map(map))])
            }
            Loading::SampleLoader { sample_type } => typed(
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

/// Keys that the loader takes and that say nothing about the samples' shape.
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

/// The file's keys, sorted into drawers.
#[derive(Default)]
struct Parsed {
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

impl Parsed {
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
            // Settings of the old image decoding, which old classes took.
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

    /// The class of the samples, and the old-style class when that is how it was given.
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
            // A data set class of the user's own: its sample type is not known from here.
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

/// `file.py:function`, or the map form with `__module__` and `__function__`.
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
