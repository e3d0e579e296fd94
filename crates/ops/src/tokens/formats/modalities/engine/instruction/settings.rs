//! The configuration for preparing instruction data, and the names of its outputs.

use crate::tokens::formats::modalities::engine::config::{read_yaml, resolved, EnvVars, Section};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::modalities::{with_suffix, INDEX_SUFFIX, PACKED_SUFFIX};
use gristmill_pycompat::random::Seed;
use gristmill_pycompat::yaml_write::dump_as_python_sorted;
use gristmill_pycompat::Node;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::read_whole;
use sha2::{Digest as _, Sha256};
use std::path::{Component, Path, PathBuf};

/// Maximum size of a configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// Number of hexadecimal digits of the configuration's hash in names.
const HASH_DIGITS: usize = 7;

/// A partition of the rendered lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Lines for training.
    Train,
    /// Lines for validation.
    Val,
    /// Lines for tests.
    Test,
}

impl Partition {
    /// All partitions, in the order in which their shares are added.
    pub const ALL: [Self; 3] = [Self::Train, Self::Val, Self::Test];

    /// Returns the name of the partition in the configuration and in file names.
    pub fn word(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
        }
    }
}

/// The settings of a configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Path of the conversations, one per line.
    pub source: PathBuf,
    /// The path from which the names of all files are derived.
    pub target: PathBuf,
    /// The key of the messages.
    pub messages_key: String,
    /// Percentages, in the order of [`Partition::ALL`].
    shares: [u64; 3],
    /// Seed for distributing lines to partitions.
    pub seed: Seed,
    /// Old and new names of roles.
    pub roles: Vec<(String, String)>,
    /// The chat template of the configuration.
    pub template: String,
    /// The value of `chat_template_data` in the template.
    pub template_data: Node,
    /// The packing configuration, with its references resolved.
    pub packing: Node,
    /// Path of the packing configuration.
    pub packing_file: PathBuf,
    /// Content of the configuration file.
    pub bytes: Vec<u8>,
    /// The first digits of the SHA-256 hash of `bytes`.
    pub hash: String,
}

impl Settings {
    /// Reads a configuration and the packing configuration named in it.
    pub fn read(path: &Path) -> Outcome<Self> {
        let tree = read_yaml(path)?;
        let bytes = read_whole(path, MAX_CONFIG_BYTES)?.unwrap_or_default();
        Self::of(&tree, bytes).map_err(|failure| {
            let subject = match failure.subject.path {
                Some(_) => failure.subject.clone(),
                None => Subject { path: Subject::path(path).path, ..failure.subject.clone() },
            };
            failure.on(subject)
        })
    }

    fn of(tree: &Node, bytes: Vec<u8>) -> Outcome<Self> {
        let settings = Section::of(tree, "settings")?;
        let split = settings.section("split_config")?;
        let splitting = split.section("splitting")?;
        let mut shares = [0; 3];
        for (share, partition) in shares.iter_mut().zip(Partition::ALL) {
            *share = match splitting.get(partition.word()) {
                None => 0,
                Some(Node::Int(number)) if (0..=100).contains(number) => *number as u64,
                Some(other) => {
                    let why = format!("a whole number from 0 to 100 is needed, not {}", other.describe());
                    return Err(splitting.wrong(partition.word(), why));
                }
            };
        }
        if shares.iter().sum::<u64>() != 100 {
            return Err(split.wrong("splitting", "the percentages must sum up to 100"));
        }
        let seed = match split.get("seed") {
            Some(Node::Int(number)) => Seed::parse(&number.to_string()),
            _ => None,
        };
        let seed = seed.ok_or_else(|| split.wrong("seed", "a whole number is needed"))?;
        let mapping = Section::of(tree, "instruction_data_transformation")?.section("role_mapping")?;
        let mut roles = Vec::new();
        for (from, to) in mapping.entries() {
            let Node::Str(to) = to else {
                return Err(mapping.wrong(from, format!("a text is needed, not {}", to.describe())));
            };
            roles.push((from.clone(), to.clone()));
        }
        let packing_file = PathBuf::from(settings.text("pbin_creation_config_file_path")?);
        let digest = Sha256::digest(&bytes);
        let hash: String =
            digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(HASH_DIGITS).collect();
        Ok(Self {
            source: settings.text("src_path")?.into(),
            target: plain(Path::new(&settings.text("dst_path")?)),
            messages_key: settings.text("messages_key")?,
            shares,
            seed,
            roles,
            template: Section::root(tree).text("jinja2_chat_template")?,
            template_data: tree.get("chat_template_data").cloned().unwrap_or(Node::Map(Vec::new())),
            packing: resolved_packing(&packing_file)?,
            packing_file,
            bytes,
            hash,
        })
    }

    /// Returns the percentage of a partition.
    pub fn share(&self, partition: Partition) -> u64 {
        Partition::ALL.iter().zip(self.shares).find(|(known, _)| **known == partition).map_or(0, |(_, share)| share)
    }

    /// Returns the partitions with a share.
    pub fn partitions(&self) -> Vec<Partition> {
        Partition::ALL.into_iter().filter(|partition| self.share(*partition) > 0).collect()
    }

    /// Returns the folder of all outputs.
    pub fn folder(&self) -> PathBuf {
        let stem = self.source.file_stem().unwrap_or_default().to_string_lossy();
        self.target.with_file_name(format!("{stem}_{}", self.hash))
    }

    /// Returns the path of a partition's lines. Its index and its packed file are next to it.
    pub fn lines(&self, partition: Partition) -> PathBuf {
        let stem = self.target.file_stem().unwrap_or_default().to_string_lossy();
        let suffix =
            self.target.extension().map_or_else(String::new, |suffix| format!(".{}", suffix.to_string_lossy()));
        self.folder().join(format!("{stem}_{}.{}{suffix}", partition.word(), self.hash))
    }

    /// Returns the path of the copy of the configuration.
    pub fn copy(&self) -> PathBuf {
        self.folder().join(format!("instruction_chat_template_config.{}.yaml", self.hash))
    }

    /// Returns the path of the packing configuration of a partition.
    pub fn packing_copy(&self, partition: Partition) -> PathBuf {
        self.folder().join(format!("pbin_config_{}.{}.yaml", partition.word(), self.hash))
    }

    /// Returns the packing configuration of a partition: the given one, with the paths of the partition.
    pub fn packing_of(&self, partition: Partition) -> Outcome<(Node, String)> {
        let lines = self.lines(partition);
        let mut tree = self.packing.clone();
        let paths = [
            ("src_path", lines.clone()),
            ("dst_path", with_suffix(&lines, PACKED_SUFFIX)),
            ("index_path", with_suffix(&lines, INDEX_SUFFIX)),
        ];
        let settings = match &mut tree {
            Node::Map(entries) => entries.iter_mut().find(|(key, _)| key == "settings").map(|(_, value)| value),
            _ => None,
        };
        let Some(Node::Map(settings)) = settings else {
            return Err(
                Failure::usage("reading the configuration", "it has no settings").on(Subject::path(&self.packing_file))
            );
        };
        for (key, path) in paths {
            let path = Node::Str(path.to_string_lossy().into_owned());
            match settings.iter_mut().find(|(name, _)| name == key) {
                Some((_, value)) => *value = path,
                None => settings.push((key.to_owned(), path)),
            }
        }
        let text = dump_as_python_sorted(&tree);
        Ok((tree, text))
    }
}

/// Reads the packing configuration. References are resolved before the paths are replaced by those of a partition.
fn resolved_packing(path: &Path) -> Outcome<Node> {
    resolved(&read_yaml(path)?, &EnvVars::of(path)).map_err(|failure| {
        let subject = Subject { path: Subject::path(path).path, ..failure.subject.clone() };
        failure.on(subject)
    })
}

/// Returns a path as Python's `Path` prints it, without inner `.`. An address is not changed.
fn plain(path: &Path) -> PathBuf {
    if is_remote(path) {
        return path.to_owned();
    }
    path.components().filter(|part| *part != Component::CurDir).collect()
}
