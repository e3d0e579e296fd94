//! The members of a metadataset on disk. Each is opened only once, even if it is named several times.

use gristmill_core::did_you_mean::nearest;
use gristmill_core::text::shell_quote;
use gristmill_core::{DatasetKind, Failure, Outcome, Problem};
use gristmill_data::formats::energon::dataset_yaml::DatasetYaml;
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::jsonl_idx::{self, IndexState};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::metadataset::{self, Metadataset, Mistake};
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_data::source::kind::kind_of;
use gristmill_pycompat::yaml_read;
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Message for a member that does not exist, followed by its path.
pub const NO_MEMBER: &str = "no such file or folder";

/// The reason why a member cannot be used, with a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnusableMember {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl UnusableMember {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Failure> for UnusableMember {
    fn from(failure: Failure) -> Self {
        let place = match (failure.subject.path, failure.subject.line) {
            (Some(path), Some(line)) => format!("{path}, line {line}: "),
            (Some(path), None) => format!("{path}: "),
            _ => String::new(),
        };
        Self { message: format!("{place}{}", failure.why), hint: failure.hint }
    }
}

/// A prepared WebDataset.
#[derive(Debug)]
pub(super) struct WebSet {
    pub(super) root: PathBuf,
    pub(super) info: Info,
    ids: HashMap<String, u32>,
}

/// A metadataset that was read, and its path.
#[derive(Debug)]
pub(super) struct MixFile {
    /// Absolute path.
    pub(super) path: PathBuf,
    /// The path as given by the user or in another file, for messages.
    pub(super) shown: String,
    pub(super) data: Result<Metadataset, Vec<Mistake>>,
    /// Whether it is on disk, so that lines of it can be looked up.
    pub(super) is_written: bool,
}

impl MixFile {
    /// Returns the folder against which relative paths are resolved.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

/// The data set or file at a path.
#[derive(Clone, Debug)]
pub(super) enum MemberSource {
    Web(Rc<WebSet>),
    /// A JSONL file, with its number of samples.
    Jsonl(u64),
    Mix(Rc<MixFile>),
}

/// The splits of a WebDataset, with braces expanded.
#[derive(Debug)]
pub(super) struct Splits {
    /// The names of the splits with their shards.
    parts: Vec<(String, Vec<String>)>,
    excludes: HashSet<String>,
    /// The problem of a key that occurs twice in the file.
    repeated: Option<Problem>,
}

/// One split of a WebDataset.
#[derive(Debug, Default)]
pub(super) struct SplitView {
    /// Shards as listed, including excluded ones, in order: position in the index, samples, whether the shard is excluded.
    pub(super) shards: Vec<(u32, u64, bool)>,
    /// Individually excluded samples of all shards: position of the shard in the index, and key; sorted.
    pub(super) excluded: Vec<(u32, String)>,
    /// Items that the loader treats as excludes of samples: those with a slash.
    pub(super) exclude_items: Vec<String>,
}

impl SplitView {
    /// Returns the number of samples that the loader counts: those in shards that are not excluded.
    pub(super) fn declared(&self) -> u64 {
        self.shards.iter().filter(|(_, _, is_excluded)| !is_excluded).map(|(_, count, _)| count).sum()
    }
}

/// Opens members and caches them.
#[derive(Default)]
pub(super) struct MemberCache {
    opened: HashMap<PathBuf, Result<MemberSource, UnusableMember>>,
    /// By folder and name of the split file.
    splits: HashMap<(PathBuf, String), Result<Rc<Splits>, UnusableMember>>,
    /// By folder, name of the split file, and split.
    views: HashMap<(PathBuf, String, String), Result<Rc<SplitView>, UnusableMember>>,
    /// By folder and name of the dataset yaml: the result of [`is_crude`](Self::is_crude).
    crude: HashMap<(PathBuf, String), Result<bool, UnusableMember>>,
    /// Problems in the files of the members that do not prevent the loader from reading them.
    pub(super) findings: Vec<Problem>,
}

impl MemberCache {
    /// Opens the data set or file at a path.
    pub(super) fn open(&mut self, path: &Path) -> Result<MemberSource, UnusableMember> {
        if let Some(known) = self.opened.get(path) {
            return known.clone();
        }
        let opened = open(path);
        self.opened.insert(path.to_owned(), opened.clone());
        opened
    }

    /// Returns one split of a WebDataset. `config` is a file to use instead of `split.yaml`.
    pub(super) fn split(
        &mut self,
        set: &WebSet,
        config: Option<&str>,
        name: &str,
    ) -> Result<Rc<SplitView>, UnusableMember> {
        let config = config.unwrap_or(layout::SPLIT_YAML);
        let key = (set.root.clone(), config.to_owned(), name.to_owned());
        if let Some(known) = self.views.get(&key) {
            return known.clone();
        }
        let view = self.splits(set, config).and_then(|splits| view(set, &splits, name)).map(Rc::new);
        self.views.insert(key, view.clone());
        view
    }

    /// Returns the names of the splits of a WebDataset.
    pub(super) fn split_names(&mut self, set: &WebSet) -> Vec<String> {
        let splits = self.splits(set, layout::SPLIT_YAML);
        splits.map(|splits| splits.parts.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default()
    }

    fn splits(&mut self, set: &WebSet, config: &str) -> Result<Rc<Splits>, UnusableMember> {
        let key = (set.root.clone(), config.to_owned());
        if let Some(known) = self.splits.get(&key) {
            return known.clone();
        }
        let splits = read_splits(&set.root, config).map(Rc::new);
        self.findings.extend(splits.as_ref().ok().and_then(|splits| splits.repeated.clone()));
        self.splits.insert(key, splits.clone());
        splits
    }

    /// Whether the loader returns the samples of a WebDataset as plain maps of parts. `config` is a file to use instead of `dataset.yaml`.
    pub(super) fn is_crude(&mut self, set: &WebSet, config: Option<&str>) -> Result<bool, UnusableMember> {
        let config = config.unwrap_or(layout::DATASET_YAML);
        let key = (set.root.clone(), config.to_owned());
        if let Some(known) = self.crude.get(&key) {
            return known.clone();
        }
        let crude = read_crude(&set.root, config);
        self.crude.insert(key, crude.clone());
        crude
    }
}

fn open(path: &Path) -> Result<MemberSource, UnusableMember> {
    let shown = path.display();
    let kind = match kind_of(path) {
        Ok(kind) => kind,
        Err(_) if !files::exists(path) => {
            return Err(UnusableMember::new(format!("{NO_MEMBER}: {shown}"))
                .hint("correct the path (relative ones begin at the folder of this file), or leave the member out"));
        }
        Err(failure) => return Err(failure.into()),
    };
    let prepare = || hint_for(path, "gristmill prepare PATH");
    if let Err(refusal) = kind.info().member {
        let why = refusal.why.replace("{kind}", kind.title());
        let hint = match kind.tokens().is_some_and(|tokens| tokens.is_mixable) {
            true => {
                format!("token folders are mixed by 'gristmill mix index', which writes what {} reads", kind.title())
            }
            false => refusal.hint.replace("{}", &quoted(path)),
        };
        return Err(UnusableMember::new(format!("{shown} {why}")).hint(hint));
    }
    match kind {
        DatasetKind::Jsonl => match jsonl_idx::state_of(path)? {
            IndexState::Fits { samples } => Ok(MemberSource::Jsonl(samples)),
            IndexState::Missing => Err(UnusableMember::new(format!("{shown} has no index")).hint(prepare())),
            IndexState::OutOfDate { why } => {
                Err(UnusableMember::new(format!("the index of {shown} is out of date: {why}")).hint(prepare()))
            }
        },
        DatasetKind::Metadataset => Ok(MemberSource::Mix(Rc::new(read_file(path, &path.to_string_lossy())?))),
        _ => {
            let info = Info::read(path)?.ok_or_else(|| UnusableMember::new("it is not prepared").hint(prepare()))?;
            let ids = info.shard_counts.iter().enumerate();
            let ids = ids.map(|(id, (name, _))| (name.clone(), u32::try_from(id).unwrap_or(u32::MAX))).collect();
            Ok(MemberSource::Web(Rc::new(WebSet { root: path.to_owned(), info, ids })))
        }
    }
}

/// Reads a metadataset; `shown` is its name in messages.
pub(super) fn read_file(path: &Path, shown: &str) -> Outcome<MixFile> {
    const ACTIVITY: &str = "reading the metadataset";
    let bytes = gristmill_storage::read::read_whole(path, yaml_read::MAX_BYTES as u64)?;
    let bytes = bytes.ok_or_else(|| {
        Failure::environment(ACTIVITY, "no such file or folder").on(gristmill_core::Subject::path(path))
    })?;
    let data = match String::from_utf8(bytes) {
        Ok(text) => metadataset::read(&text),
        Err(error) => Err(vec![not_text(&error)]),
    };
    let absolute = super::paths::lexically(path).unwrap_or_else(|| path.to_owned());
    Ok(MixFile { path: absolute, shown: shown.to_owned(), data, is_written: true })
}

/// Returns a remark that the members of a file with mistakes are not checked, at the place of the first mistake.
pub(super) fn unchecked_members(mistakes: &[Mistake]) -> Option<Mistake> {
    let message = "its members are checked once its mistakes are corrected".to_owned();
    mistakes.first().map(|first| Mistake { message, hint: None, ..first.clone() })
}

fn not_text(error: &std::string::FromUtf8Error) -> Mistake {
    let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
    let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = good.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    let within = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Mistake { message: "here is no UTF-8 text".into(), line: within(line), column: within(column), hint: None }
}

/// Quotes a path for a shell.
pub(super) fn quoted(path: &Path) -> String {
    shell_quote(&path.to_string_lossy())
}

fn read_splits(root: &Path, config: &str) -> Result<Splits, UnusableMember> {
    let file = if config == layout::SPLIT_YAML {
        SplitFile::read(root)?
    } else if config.ends_with(".yaml") || config.ends_with(".json") {
        SplitFile::read_file(&layout::in_nv_meta(root, config))?
    } else {
        return Err(UnusableMember::new(format!(
            "the loader reads splits from .yaml and .json files, not from '{config}'"
        )));
    };
    let Some(file) = file else {
        let message = format!("{} has no .nv-meta/{config}", root.display());
        return Err(UnusableMember::new(message).hint(hint_for(root, "gristmill prepare PATH")));
    };
    let (parts, bad) = file.expanded();
    let (excludes, bad_excludes) = file.expanded_excludes();
    if let Some(bad) = bad.first().or(bad_excludes.first()) {
        let message = format!("'{}' in its {config} cannot be expanded: {}", bad.item, bad.error);
        return Err(UnusableMember::new(message));
    }
    let repeated = file.repeated_excludes(&layout::in_nv_meta(root, config));
    Ok(Splits { parts, excludes: excludes.into_iter().collect(), repeated })
}

fn view(set: &WebSet, splits: &Splits, name: &str) -> Result<SplitView, UnusableMember> {
    let Some((_, shards)) = splits.parts.iter().find(|(known, _)| known == name) else {
        let known: Vec<&str> = splits.parts.iter().map(|(known, _)| known.as_str()).collect();
        let message = format!("{} has no split '{name}', only: {}", set.root.display(), known.join(", "));
        let unusable = UnusableMember::new(message);
        return Err(match nearest(name, known.iter().copied()) {
            Some(near) => unusable.hint(format!("name another with split_part: {near}")),
            None => unusable.hint("name another with split_part, or leave this split out"),
        });
    };
    let mut view = SplitView::default();
    for shard in shards {
        let is_excluded = splits.excludes.contains(shard);
        let Some(&id) = set.ids.get(shard) else {
            let message =
                format!("split '{name}' of {} names the shard '{shard}', which is not indexed", set.root.display());
            return Err(UnusableMember::new(message).hint(format!("gristmill lint {}", quoted(&set.root))));
        };
        let count = set.info.shard_counts.get(id as usize).map_or(0, |(_, count)| *count);
        view.shards.push((id, count, is_excluded));
    }
    if view.shards.iter().all(|(_, _, is_excluded)| *is_excluded) {
        let message = format!("split '{name}' of {} is empty, and the loader stops at it", set.root.display());
        return Err(UnusableMember::new(message).hint("leave the member out, or name another split with split_part"));
    }
    for item in &splits.excludes {
        if item.contains('/') {
            view.exclude_items.push(item.clone());
            view.excluded.extend(sample_of(set, item));
        }
    }
    view.exclude_items.sort_unstable();
    view.excluded.sort_unstable();
    Ok(view)
}

/// Splits `SHARD/KEY` at the slash before which the text is the name of a shard.
fn sample_of(set: &WebSet, item: &str) -> Option<(u32, String)> {
    if set.ids.contains_key(item) {
        return None;
    }
    item.match_indices('/').find_map(|(at, _)| {
        let id = set.ids.get(item.get(..at)?)?;
        Some((*id, item.get(at + 1..)?.to_owned()))
    })
}

fn read_crude(root: &Path, config: &str) -> Result<bool, UnusableMember> {
    match DatasetYaml::read(root, config)? {
        Some(yaml) => Ok(yaml.is_crude()),
        None => {
            let message =
                format!("{} has no .nv-meta/{config}, so the loader cannot make samples of it", root.display());
            Err(UnusableMember::new(message).hint(hint_for(root, "gristmill prepare PATH --force-overwrite")))
        }
    }
}
