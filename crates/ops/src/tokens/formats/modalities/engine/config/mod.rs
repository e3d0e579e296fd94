//! The configuration of `pack_encoded_data`: YAML with references, which is converted to a plan (docs/formats/modalities.md §4.1).

mod resolve;
#[cfg(test)]
mod tests;
mod tokenizer;

pub use resolve::{resolved, EnvVars};
pub use tokenizer::stored_config;
pub(in crate::tokens::formats::modalities::engine) use tokenizer::stored_unknown;

use crate::tokens::formats::modalities::engine::{unknown_end, unknown_end_note};
use gristmill_core::pack::{ModalitiesTarget, SpecialToken, TextField};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome, PackPlan, Problem};
use gristmill_data::formats::modalities::{raw_index, with_suffix, PACKED_SUFFIX};
use gristmill_pycompat::{yaml_read, Node};
use gristmill_storage::read::read_whole;
use gristmill_tokenizer::Tokenizer;
use std::path::{Path, PathBuf};
use tokenizer::TokenizerConfig;

/// Name of the operation in error messages.
const ACTIVITY: &str = "reading the configuration";
/// Maximum size of a configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// Maximum number of threads in a configuration.
const MAX_THREADS: usize = 1024;

/// The content of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackConfig {
    /// Path of the text, one document per line.
    pub source: PathBuf,
    /// Path of the packed file.
    pub output: PathBuf,
    /// Path of the raw index of the text.
    pub index: PathBuf,
    /// Whether the configuration itself names the index.
    pub is_index_named: bool,
    /// The jq expression that extracts the text from a line.
    pub jq: String,
    /// Number of processes; `None` means one per core.
    pub cpus: Option<usize>,
    /// The token that ends a document.
    pub eod_token: String,
    /// Lines per work item.
    pub batch_lines: u64,
    tokenizer: TokenizerConfig,
}

/// Reads a YAML file as a tree, without resolving references.
pub fn read_yaml(path: &Path) -> Outcome<Node> {
    let Some(bytes) = read_whole(path, MAX_CONFIG_BYTES)? else {
        return Err(Failure::io(ACTIVITY, path, &std::io::ErrorKind::NotFound.into()));
    };
    let wrong = |why: String| Failure::usage(ACTIVITY, why).on(Subject::path(path));
    let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is not text in UTF-8".into()))?;
    yaml_read::read(text).map_err(|error| {
        let place = Subject::path(path).line(error.line).column(error.column);
        wrong(error.message).on(place)
    })
}

/// Reads a configuration, and resolves its references with the environment, the number of CPUs and the path of the file.
pub fn read(path: &Path) -> Outcome<PackConfig> {
    let tree = resolved(&read_yaml(path)?, &EnvVars::of(path))?;
    PackConfig::of(&tree).map_err(|failure| {
        let subject = Subject { path: Subject::path(path).path, ..failure.subject.clone() };
        failure.on(subject)
    })
}

/// Returns the number of processes in a configuration, which becomes the number of threads. Mistakes in the file are not reported.
pub fn configured_threads(config: &Path) -> Option<usize> {
    read(config).ok().and_then(|config| config.cpus).map(|cpus| cpus.min(MAX_THREADS))
}

impl PackConfig {
    /// Reads the settings from a tree without references.
    pub fn of(tree: &Node) -> Outcome<Self> {
        let settings = Section::of(tree, "settings")?;
        let source = PathBuf::from(settings.text("src_path")?);
        let output =
            settings.optional_text("dst_path")?.map_or_else(|| with_suffix(&source, PACKED_SUFFIX), Into::into);
        let named = settings.optional_text("index_path")?;
        let is_index_named = named.is_some();
        let index = named.map_or_else(|| raw_index::default_path(&source), Into::into);
        // Only the number of lines affects the output, but all of these keys are required.
        settings.count("raw_samples_queue_size")?;
        settings.count("processed_samples_queue_size")?;
        Ok(Self {
            output,
            index,
            is_index_named,
            jq: settings.text("jq_pattern")?,
            cpus: settings.optional_count("num_cpus")?.map(|cpus| usize::try_from(cpus).unwrap_or(usize::MAX)),
            eod_token: settings.text("eod_token")?,
            batch_lines: settings.count("processing_batch_size")?,
            tokenizer: TokenizerConfig::of(&Section::of(tree, "tokenizer")?)?,
            source,
        })
    }

    /// Sets another tokenizer than the one in the configuration: a path, or a name in the local hub cache.
    pub fn use_tokenizer(&mut self, tokenizer: &str) {
        self.tokenizer.path = tokenizer.to_owned();
    }

    /// Returns the plan that produces the same file. Reads the tokenizer's files, and fails if they do not match the configuration.
    pub fn plan(&self, compat: bool) -> Outcome<PackPlan> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let inputs = vec![text(&self.source)];
        let mut plan = PackPlan::new(inputs, self.tokenizer.path.clone(), text(&self.output));
        let lengths = self.tokenizer.lengths()?;
        plan.text = TextField::Jq(self.jq.clone());
        plan.special_tokens = self.tokenizer.special_tokens();
        plan.compat = compat;
        let mut target = ModalitiesTarget {
            eod_token: Some(self.eod_token.clone()),
            index: Some(text(&self.index)),
            truncate_to: lengths.truncate_to,
            pad_to: lengths.pad_to,
            pad_token: lengths.pad_token,
            ..ModalitiesTarget::default()
        };
        target.batch_lines = if compat { self.batch_lines } else { gristmill_core::pack::DEFAULT_BATCH_LINES };
        plan.modalities = Some(target);
        Ok(plan)
    }
}

/// Sets the unknown token as the end token of a plan if the tokenizer does not have its end token, as the reference program does. Returns a
/// note on this; `None` if the token exists, or there is no unknown token.
pub fn use_unknown_as_end_token(plan: &mut PackPlan) -> Outcome<Option<Problem>> {
    let Some(token) = plan.modalities.as_ref().and_then(|target| target.eod_token.clone()) else { return Ok(None) };
    let tokenizer = Tokenizer::load_unproven(&plan.tokenizer)?;
    let Some(id) = unknown_end(&plan.tokenizer, &tokenizer, &token)? else { return Ok(None) };
    if let Some(target) = &mut plan.modalities {
        target.eod_token = None;
    }
    plan.end = Some(SpecialToken::Id(id));
    Ok(Some(unknown_end_note(&token, id)))
}

/// A map of the configuration, with its name for error messages.
pub(in crate::tokens::formats::modalities::engine) struct Section<'a> {
    name: String,
    entries: &'a Node,
}

impl<'a> Section<'a> {
    /// Returns the root of the configuration.
    pub(in crate::tokens::formats::modalities::engine) fn root(tree: &'a Node) -> Self {
        Self { name: String::new(), entries: tree }
    }

    /// Returns the map under a key.
    pub(in crate::tokens::formats::modalities::engine) fn of(tree: &'a Node, name: &str) -> Outcome<Self> {
        Self::root(tree).section(name)
    }

    /// Returns its entries, in order.
    pub(in crate::tokens::formats::modalities::engine) fn entries(&self) -> &'a [(String, Node)] {
        self.entries.as_map().unwrap_or_default()
    }

    /// Returns the map under a key of this map.
    pub(in crate::tokens::formats::modalities::engine) fn section(&self, key: &str) -> Outcome<Self> {
        match self.get(key) {
            Some(entries @ Node::Map(_)) => Ok(Self { name: self.path(key), entries }),
            Some(other) => Err(self.wrong(key, format!("a map is needed, not {}", other.describe()))),
            None => Err(self.missing(key)),
        }
    }

    /// Returns the value of a key; `None` if it is missing or null.
    pub(in crate::tokens::formats::modalities::engine) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.get(key).filter(|value| **value != Node::Null)
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }

    fn missing(&self, key: &str) -> Failure {
        self.wrong(key, "it is missing")
    }

    pub(in crate::tokens::formats::modalities::engine) fn wrong(&self, key: &str, why: impl Into<String>) -> Failure {
        Failure::usage(ACTIVITY, why).on(Subject::field(self.path(key)))
    }

    pub(in crate::tokens::formats::modalities::engine) fn text(&self, key: &str) -> Outcome<String> {
        self.optional_text(key)?.ok_or_else(|| self.missing(key))
    }

    pub(in crate::tokens::formats::modalities::engine) fn optional_text(&self, key: &str) -> Outcome<Option<String>> {
        match self.get(key) {
            None => Ok(None),
            Some(Node::Str(text)) if !text.is_empty() => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(key, format!("a text is needed, not {}", other.describe()))),
        }
    }

    pub(in crate::tokens::formats::modalities::engine) fn count(&self, key: &str) -> Outcome<u64> {
        self.optional_count(key)?.ok_or_else(|| self.missing(key))
    }

    /// Returns a whole number of at least 1; fails for any other value.
    pub(in crate::tokens::formats::modalities::engine) fn optional_count(&self, key: &str) -> Outcome<Option<u64>> {
        match self.get(key) {
            None => Ok(None),
            Some(Node::Int(number)) if *number >= 1 => Ok(Some(u64::try_from(*number).unwrap_or(u64::MAX))),
            Some(other) => {
                Err(self.wrong(key, format!("a whole number from 1 up is needed, not {}", other.describe())))
            }
        }
    }
}
