//! Reads facts about JSONL files, metadatasets and prepared data sets: only a few small reads, whatever the size of the data.

use super::entry::{EntryFacts, Mixture, PreparationState};
use super::unfinished_runs::locked_by;
use gristmill_core::{Cancel, DatasetKind, Failure, Handles, ProblemLog, Progress, TokenKind};
use gristmill_data::formats::energon::jsonl_idx::{self, IndexState};
use gristmill_data::formats::energon::metadataset::{self, Leaf, Metadataset, Node, Reference};
use gristmill_data::formats::energon::{info::Info, layout, split_yaml::SplitFile};
use gristmill_data::source::kind::{packed_formats, token_folder_kind};
use gristmill_ops::engine::check::mixture_index::mixture_facts;
use gristmill_ops::engine::dedup::removed;
use gristmill_ops::engine::recorded::IndexedShards;
use gristmill_storage::files;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use std::path::Path;

/// Maximum size in bytes of a file that is read to check whether it is a metadataset, and of a report that lists shards.
const MAX_YAML: u64 = 1 << 20;
/// Maximum number of members of a metadataset whose existence is checked.
const MAX_MEMBERS: usize = 200;

/// Adds facts from a few small reads to those of an entry: its state, and the counts of its kind.
pub fn summarize(path: &Path, entry_facts: EntryFacts) -> EntryFacts {
    match entry_facts.kind {
        DatasetKind::PreparedWebDataset | DatasetKind::RawWebDataset => {
            EntryFacts { state: webdataset(path, entry_facts.kind), ..entry_facts }
        }
        DatasetKind::Jsonl => jsonl(path, entry_facts),
        DatasetKind::Metadataset => yaml(path, entry_facts),
        DatasetKind::Tokens(kind) => tokens(path, kind, entry_facts),
        DatasetKind::PackedFormats => packed(path, entry_facts),
        DatasetKind::MixtureIndex => mixture_index(path, entry_facts),
        DatasetKind::Filesystem => EntryFacts { state: PreparationState::Prepared, ..entry_facts },
        DatasetKind::LooseMedia => EntryFacts { state: PreparationState::Raw, ..entry_facts },
        DatasetKind::PlainFolder if entry_facts.texts > 0 => {
            let is_deduplicated = removed::companion(path).is_some_and(|(_, name)| name.is_empty());
            let state = if is_deduplicated { PreparationState::Prepared } else { PreparationState::None };
            EntryFacts { state, is_deduplicated, ..entry_facts }
        }
        _ => entry_facts,
    }
}

fn webdataset(path: &Path, kind: DatasetKind) -> PreparationState {
    let own = RunFolder::for_webdataset(path);
    if own.exists() {
        if let Ok(Some(holder)) = DatasetLock::holder(&own) {
            return locked_by(&holder);
        }
        if files::is_file(own.journal()) || files::is_file(own.renames()) {
            return PreparationState::Interrupted;
        }
    }
    match kind.has_splits() {
        true => prepared(path),
        false => PreparationState::Raw,
    }
}

/// Returns the facts about a JSONL file and its index.
fn jsonl(path: &Path, entry_facts: EntryFacts) -> EntryFacts {
    let (state, samples) = match jsonl_idx::state_of(path) {
        Ok(IndexState::Missing) => (PreparationState::Raw, None),
        Ok(IndexState::Fits { samples }) => (PreparationState::Prepared, Some(samples)),
        Ok(IndexState::OutOfDate { why }) => (PreparationState::Stale(why), None),
        Err(failure) => (PreparationState::Broken(failure.to_string()), None),
    };
    EntryFacts { state, samples, ..entry_facts }
}

/// Maximum number of samples of a mixture index that are read to count its data sets.
const MIXTURE_SAMPLES: u64 = 1 << 17;
/// Maximum number of files that are examined in a folder of tokens.
const MAX_FILES: usize = 10_000;

/// Returns the facts about token files. For a folder, counts only the files with tokens, not their indexes and metadata.
fn tokens(path: &Path, kind: &TokenKind, entry_facts: EntryFacts) -> EntryFacts {
    let state = (kind.defect)(path).map_or(PreparationState::Prepared, |why| PreparationState::Broken(why.to_owned()));
    if kind.is_file {
        return EntryFacts { state, ..entry_facts };
    }
    let files = (kind.files)(path);
    let sizes = files.iter().take(MAX_FILES).filter_map(|file| files::metadata(file).ok()).map(|facts| facts.len());
    let (bytes, more) = (sizes.sum(), files.len() > MAX_FILES);
    let (texts, members) = (entry_facts.texts, entry_facts.members);
    EntryFacts { state, files: files.len() as u64, bytes, more, texts, members, ..EntryFacts::of(entry_facts.kind) }
}

/// Returns the facts about a folder with several token formats.
fn packed(path: &Path, entry_facts: EntryFacts) -> EntryFacts {
    let looked = packed_formats(path).into_iter().map(|(expected, path)| match token_folder_kind(&path) {
        Some(kind) => (expected.format, summarize(&path, EntryFacts::of(kind))),
        None => (expected.format, EntryFacts::of(DatasetKind::PlainFolder)),
    });
    let formats: Vec<_> = looked.collect();
    let lacks = formats.iter().find(|(_, entry_facts)| entry_facts.state != PreparationState::Prepared);
    let why = lacks.map(|(format, _)| format!("no files of its format are in the folder '{format}'"));
    let state = why.map_or(PreparationState::Prepared, PreparationState::Broken);
    let bytes = formats.iter().map(|(_, entry_facts)| entry_facts.bytes).sum();
    EntryFacts { bytes, state, formats, texts: entry_facts.texts, ..EntryFacts::of(entry_facts.kind) }
}

/// Returns the facts about a mixture index.
fn mixture_index(path: &Path, entry_facts: EntryFacts) -> EntryFacts {
    let entry_facts = EntryFacts { texts: entry_facts.texts, ..EntryFacts::of(entry_facts.kind) };
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    match mixture_facts(path, MIXTURE_SAMPLES, &handles) {
        Ok(facts) => {
            let (samples, datasets) = (Some(facts.samples), facts.datasets.len() as u64);
            EntryFacts {
                state: PreparationState::Prepared,
                samples,
                datasets,
                bytes: facts.bytes,
                more: facts.more,
                ..entry_facts
            }
        }
        Err(failure) => EntryFacts { state: PreparationState::Broken(failure.to_string()), ..entry_facts },
    }
}

/// Returns the state of a prepared data set according to the files that a loader opens first. Large files are not read.
fn prepared(root: &Path) -> PreparationState {
    let is_small =
        |name: &str| files::metadata(layout::in_nv_meta(root, name)).is_ok_and(|facts| facts.len() <= MAX_YAML);
    let broken = |failure: &Failure| PreparationState::Broken(failure.to_string());
    if is_small(layout::INFO_JSON) || is_small(layout::INFO_YAML) {
        if let Err(failure) = Info::read(root) {
            return broken(&failure);
        }
    }
    let has = |name: &str| files::exists(layout::in_nv_meta(root, name));
    if !has(layout::SPLIT_YAML) && !has(layout::SPLIT_JSON) {
        return PreparationState::Broken("it has no split.yaml, so no loader finds its shards".into());
    }
    if is_small(layout::SPLIT_YAML) || is_small(layout::SPLIT_JSON) {
        if let Err(failure) = SplitFile::read(root) {
            return broken(&failure);
        }
    }
    let indexed = IndexedShards::read(root, MAX_YAML);
    match indexed.first_change() {
        Some((name, how)) => PreparationState::Stale(format!("{name}: {how}")),
        None => PreparationState::Prepared,
    }
}

/// Returns the facts about a YAML file: a metadataset, one with mistakes, or an unrelated file.
fn yaml(path: &Path, entry_facts: EntryFacts) -> EntryFacts {
    let text = read_whole(path, MAX_YAML).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(text) = text else { return EntryFacts { kind: DatasetKind::OtherFile, ..entry_facts } };
    match metadataset::read(&text) {
        Ok(found) => {
            let missing = missing_member(&found, path.parent().unwrap_or(Path::new(".")));
            let state = missing.map_or(PreparationState::Prepared, |name| {
                PreparationState::Broken(format!("its member {name} does not exist"))
            });
            EntryFacts { state, mixture: Some(mixture(&found)), ..entry_facts }
        }
        // Mistakes are reported only for a file that declares itself a metadataset; other YAML files are ignored.
        Err(mistakes) if text.contains("Metadataset") => {
            let first = mistakes.first().map(|m| format!("line {}, column {}: {}", m.line, m.column, m.message));
            EntryFacts {
                state: PreparationState::Broken(first.unwrap_or_default()),
                mixture: Some(Mixture::default()),
                ..entry_facts
            }
        }
        Err(_) => EntryFacts { kind: DatasetKind::OtherFile, ..entry_facts },
    }
}

/// Returns the first member that does not exist at its path, as written in the file. Remote members are not checked.
fn missing_member(found: &Metadataset, folder: &Path) -> Option<String> {
    let leaves = found.splits.iter().flat_map(|split| match &split.node {
        Node::Leaf(leaf) => vec![leaf],
        Node::Blend(blend) => blend.members.iter().map(|member| &member.leaf).collect(),
    });
    let references = leaves.flat_map(|leaf| -> Vec<&Reference> {
        match leaf {
            Leaf::Reference(reference) => vec![reference],
            Leaf::Join(join) => join.members.iter().map(|member| &member.reference).collect(),
        }
    });
    let is_gone = |reference: &&Reference| {
        !reference.path.contains("://") && matches!(files::try_exists(folder.join(&reference.path)), Ok(false))
    };
    references.take(MAX_MEMBERS).find(is_gone).map(|reference| reference.path.clone())
}

fn mixture(found: &Metadataset) -> Mixture {
    let is_join = |leaf: &Leaf| matches!(leaf, Leaf::Join(_));
    let joins = |node: &Node| match node {
        Node::Leaf(leaf) => is_join(leaf),
        Node::Blend(blend) => blend.members.iter().any(|m| is_join(&m.leaf)),
    };
    let members = |leaf: &Leaf| match leaf {
        Leaf::Reference(_) => 1,
        Leaf::Join(join) => join.members.len() as u64,
    };
    Mixture {
        version: found.version,
        splits: found.splits.iter().map(|s| s.name.clone()).collect(),
        members: found.splits.first().map_or(0, |split| match &split.node {
            Node::Leaf(leaf) => members(leaf),
            Node::Blend(blend) => blend.members.iter().map(|m| members(&m.leaf)).sum(),
        }),
        has_joins: found.splits.iter().any(|s| joins(&s.node)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::entries::inspect;
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn put(path: &Path, bytes: &[u8]) {
        write_file(&RealFs, path, bytes, 0o644).unwrap();
    }

    #[test]
    fn jsonl_entry_shows_whether_its_index_is_current() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        put(&path, b"{}\n{}\n");
        assert_eq!(inspect(&path).word(), "not indexed");
        let index: Vec<u8> = [0_u64, 3, 6].iter().flat_map(|n| n.to_le_bytes()).collect();
        put(&dir.path().join("a.jsonl.idx"), &index);
        let seen = inspect(&path);
        assert_eq!((seen.word(), seen.samples), ("indexed", Some(2)));
        assert_eq!(seen.amount("-"), "2 samples - 6 B");
        put(&path, b"{}\n{}\n{}\n");
        let seen = inspect(&path);
        assert_eq!((seen.word(), seen.samples), ("out of date", None));
    }

    #[test]
    fn unusable_entry_shows_reason_and_text_folder_its_size() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("empty.pbin"), b"");
        std::os::unix::fs::symlink("/nonexistent", at("dangling")).unwrap();
        for (name, why) in [("empty.pbin", "the file is empty"), ("dangling", "a broken link")] {
            let seen = inspect(&at(name));
            assert_eq!((seen.word(), &seen.state), ("unusable", &PreparationState::Broken(why.into())), "{name}");
            assert!(!seen.is_ready_to_browse());
        }
        let texts = at("texts");
        std::fs::create_dir(&texts).unwrap();
        put(&texts.join("a.jsonl"), b"{}\n");
        put(&texts.join("b.jsonl.gz"), b"12345");
        assert_eq!(inspect(&texts).amount("-"), "2 text files - 8 B");
    }

    #[test]
    fn checks_prepared_data_set_as_loader_does() {
        let dir = tempfile::tempdir().unwrap();
        let in_meta = |name: &str| dir.path().join(".nv-meta").join(name);
        std::fs::create_dir(dir.path().join(".nv-meta")).unwrap();
        put(&in_meta(".info.json"), br#"{"energon_version": "7.0.0", "shard_counts": {"a.tar": 1}}"#);
        let word = || (inspect(dir.path()).kind, inspect(dir.path()).word());
        assert_eq!(word(), (DatasetKind::PreparedWebDataset, "has mistakes"), "no split.yaml");
        put(&in_meta("split.yaml"), b"split_parts:\n  train: [a.tar]\nexclude: []\n");
        assert_eq!(inspect(dir.path()).state, PreparationState::Prepared);
        put(&in_meta("split.yaml"), b"split_parts:\n  train: a.tar\n");
        let PreparationState::Broken(why) = inspect(dir.path()).state else { panic!("a split is no list") };
        assert!(why.contains("split.yaml") && why.contains("must be a list"), "{why}");
        put(&in_meta("split.yaml"), b"split_parts:\n  train: [a.tar]\nexclude: []\n");
        std::fs::create_dir(in_meta("gristmill")).unwrap();
        put(&dir.path().join("a.tar"), &[0; 2048]);
        put(
            &in_meta("gristmill/report.json"),
            br#"{"plan_hash": "", "inputs": [{"name": "a.tar", "samples": 1,
                "stamp": {"bytes": 1024, "modified_ns": 1, "inode": 1}}]}"#,
        );
        let PreparationState::Stale(how) = inspect(dir.path()).state else { panic!("the shard was replaced") };
        assert!(how.starts_with("a.tar: its size was 1.0 KiB when it was indexed and is 2.0 KiB now"), "{how}");
        assert!(how.contains("--update indexes it again"), "{how}");
        put(&dir.path().join("a.tar"), &[0; 1024]);
        assert_eq!(inspect(dir.path()).state, PreparationState::Prepared);
        put(&in_meta(".info.json"), b"{");
        assert_eq!(word().1, "has mistakes");
    }

    #[test]
    fn metadataset_shows_members_and_other_yaml_is_a_plain_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mix.yaml");
        let head = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n";
        put(
            &path,
            format!("{head}  train:\n    blend:\n    - path: a\n    - path: b\n  val:\n    path: a\n").as_bytes(),
        );
        let seen = inspect(&path);
        assert_eq!(seen.kind, DatasetKind::Metadataset);
        assert_eq!(seen.amount("-"), "version 2 - 2 members - train, val");
        assert_eq!(seen.state, PreparationState::Broken("its member a does not exist".into()));
        put(&dir.path().join("a"), b"");
        assert_eq!(inspect(&path).state, PreparationState::Broken("its member b does not exist".into()));
        put(&dir.path().join("b"), b"");
        assert_eq!(inspect(&path).state, PreparationState::Prepared);
        put(&path, format!("{head}  train:\n    blnd: []\n").as_bytes());
        let seen = inspect(&path);
        assert!(matches!(&seen.state, PreparationState::Broken(why) if why.starts_with("line 5")), "{:?}", seen.state);
        assert_eq!(seen.word(), "has mistakes");
        put(&path, b"anything: else\n");
        assert_eq!(inspect(&path).kind, DatasetKind::OtherFile);
    }
}
