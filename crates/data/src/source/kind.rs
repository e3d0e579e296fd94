//! Detection of the kind of data set at a path, the first step of every command (docs/formats/energon.md §1).

use super::discover::{is_shard_name, shard_range};
use super::documents::{table_kind, FolderTables, Packing};
use crate::formats::energon::layout::is_prepared;
use crate::formats::energon::tables::has_only_media;
use crate::formats::{bsade, missing_part, only_pair, raw_index, TOKEN_KINDS};
use gristmill_core::text::{display_safe, shell_quote};
use gristmill_core::{DatasetKind, Failure, Outcome, TableKind, TokenKind};
use gristmill_media::kind::type_by_extension;
use gristmill_storage::files;
use gristmill_storage::walk::walk_first;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Name of the file of a mixture index with the number of the data set of each sample, as u64.
pub const DATASET_INDEX: &str = "dataset_index.npy";
/// Name of the file of a mixture index with the number of the window in its data set for each sample, as i64.
pub const SAMPLE_INDEX: &str = "dataset_sample_index.npy";

/// Maximum number of entries that are examined; a folder without shards among them counts as plain.
const MAX_EXAMINED_ENTRIES: usize = 20_000;

/// Returns the kind of a path, given the names of files; the first bytes are read only for files of token ids and raw indexes.
///
/// A folder counts as a raw WebDataset as soon as one shard is found; in folders with many other files the search stops after a limit. A
/// path that does not exist or is not accessible is an error, unless it is the common beginning of the names of a pair of files.
pub fn kind_of(path: &Path) -> Outcome<DatasetKind> {
    let facts = match files::metadata_and_listing(path) {
        Ok(facts) => facts,
        // A server may report another error than "not found" for a path that does not exist, so the range is tried after any error.
        Err(error) => {
            let range = match shard_range(path) {
                Err(failure) if error.kind() == ErrorKind::NotFound => return Err(failure),
                range => range.ok().flatten(),
            };
            if range.is_some() {
                return Ok(DatasetKind::SingleShard);
            }
            // The path may be the common beginning of the names of a pair of files.
            let failure = Failure::io("opening the data set", path, &error);
            if error.kind() != ErrorKind::NotFound {
                return Err(failure);
            }
            return token_kind(path, true).map(DatasetKind::Tokens).ok_or_else(|| {
                let hint = only_pair(path).map(|pair| format!("a pair of files is named {}", shown(&pair)));
                match hint.or_else(|| missing_part(path)) {
                    Some(hint) => failure.with_hint(hint),
                    None => failure,
                }
            });
        }
    };
    if facts.is_dir() {
        let kind = kind_of_folder(path);
        if kind == DatasetKind::PlainFolder {
            // A folder that cannot be read also has no visible shards, so reading it is checked here.
            files::first_entries(path, 1).map(drop).map_err(|e| Failure::io("reading the folder", path, &e))?;
        }
        return Ok(kind);
    }
    Ok(if facts.is_file() { kind_of_file(path) } else { DatasetKind::OtherFile })
}

fn shown(path: &Path) -> String {
    shell_quote(&display_safe(&path.to_string_lossy()))
}

fn kind_of_file(path: &Path) -> DatasetKind {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    match () {
        () if name.ends_with(b".jsonl") => return DatasetKind::Jsonl,
        () if name.ends_with(b".yaml") => return DatasetKind::Metadataset,
        () if is_shard_name(name) => return DatasetKind::SingleShard,
        () => {}
    }
    if let Some(tokens) = token_kind(path, true) {
        return DatasetKind::Tokens(tokens);
    }
    let name = String::from_utf8_lossy(name);
    match table_kind(&name) {
        Some(table) => DatasetKind::Table(table),
        None if is_packed_jsonl(&name) => DatasetKind::PackedJsonl,
        None if raw_index::is_raw_index(path) => DatasetKind::RawIndex,
        None => DatasetKind::OtherFile,
    }
}

/// Whether a file name is the name of a compressed JSONL file, such as `a.jsonl.gz` or `a.jsonl.zst`.
pub fn is_packed_jsonl(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains(".jsonl.") && !Packing::of_name(&name).is_plain()
}

/// Facts from the names of the files below a folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamesBelow {
    /// Whether there is a shard.
    pub has_shard: bool,
    /// Whether there is a picture, a sound or a video.
    pub has_media: bool,
    /// Kind of the tables; `None` if there are none.
    pub tables: Option<&'static TableKind>,
}

fn kind_of_folder(path: &Path) -> DatasetKind {
    folder_kind(path, || match has_shard(path, 1) {
        true => NamesBelow { has_shard: true, ..NamesBelow::default() },
        false => names_below(path),
    })
}

/// Returns the kind of a folder. Calls `names` only if the direct entries do not decide. Shards take precedence over media, and media over
/// tables.
pub fn folder_kind(path: &Path, names: impl FnOnce() -> NamesBelow) -> DatasetKind {
    if is_prepared(path) {
        return DatasetKind::PreparedWebDataset;
    }
    let database = path.join(".nv-meta/index.sqlite");
    let has_database = files::is_file(&database);
    let outputs = || token_folder_kind(path).or_else(|| output_folder_kind(path));
    if let Some(kind) = (!has_database).then(outputs).flatten() {
        return kind;
    }
    let names = names();
    match () {
        // A database without rows of media, or with rows of samples, comes from a run that did not finish.
        () if names.has_shard && !(has_database && has_only_media(&database)) => DatasetKind::RawWebDataset,
        () if has_database => DatasetKind::Filesystem,
        () if names.has_media => DatasetKind::LooseMedia,
        () => match names.tables {
            Some(tables) => DatasetKind::TableFolder(tables),
            None => damaged_token_kind(path).map_or(DatasetKind::PlainFolder, DatasetKind::Tokens),
        },
    }
}

fn names_below(path: &Path) -> NamesBelow {
    let (mut tables, mut has_media) = (FolderTables::default(), false);
    for name in files_below(path, usize::MAX) {
        if is_shard_name(name.as_encoded_bytes()) {
            return NamesBelow { has_shard: true, ..NamesBelow::default() };
        }
        let Some(name) = name.to_str() else { continue };
        has_media |= type_by_extension(name).is_some();
        tables.add(name);
    }
    NamesBelow { has_shard: false, has_media, tables: tables.kind() }
}

/// Returns the kind of a folder of tokens; `None` for any other folder, and if tar shards are directly in it.
///
/// Does not detect folders prepared by Energon; the caller must check for these first.
pub fn token_folder_kind(path: &Path) -> Option<DatasetKind> {
    token_kind(path, false).filter(|_| !has_shard(path, 1)).map(DatasetKind::Tokens)
}

fn token_kind(path: &Path, is_file: bool) -> Option<&'static TokenKind> {
    TOKEN_KINDS.iter().copied().find(|kind| kind.is_file == is_file && (kind.detect)(path))
}

fn damaged_token_kind(folder: &Path) -> Option<&'static TokenKind> {
    TOKEN_KINDS.iter().copied().find(|kind| !kind.is_file && (kind.detect_damaged)(folder))
}

/// Returns the kind of a folder that `pack` wrote in several formats, or that `mix index` or `dedup --export-index` wrote; `None` for any
/// other folder.
pub fn output_folder_kind(path: &Path) -> Option<DatasetKind> {
    let kind = match () {
        () if [DATASET_INDEX, SAMPLE_INDEX].iter().all(|name| files::is_file(path.join(name))) => {
            DatasetKind::MixtureIndex
        }
        () if has_packed_formats(path) => DatasetKind::PackedFormats,
        () if bsade::is_index(path, MAX_EXAMINED_ENTRIES) && !has_shard(path, 2) => DatasetKind::DedupIndex,
        () => return None,
    };
    (!has_shard(path, 1)).then_some(kind)
}

/// Whether there are two subfolders with names of formats, at least one of which has the files of its format.
fn has_packed_formats(path: &Path) -> bool {
    let formats = packed_formats(path);
    formats.len() > 1 && formats.iter().any(|(kind, path)| token_folder_kind(path) == Some(DatasetKind::Tokens(kind)))
}

/// Returns the direct subfolders with names of formats of `pack`, each with the kind that it should have.
pub fn packed_formats(path: &Path) -> Vec<(&'static TokenKind, PathBuf)> {
    let kinds = TOKEN_KINDS.iter().filter(|kind| !kind.is_file);
    kinds.map(|kind| (*kind, path.join(kind.format))).filter(|(_, path)| files::is_dir(path)).collect()
}

/// Whether a shard is among the first files below a folder. Direct entries are examined first, so that a folder with shards next to many
/// subfolders is recognised at once.
fn has_shard(root: &Path, depth: usize) -> bool {
    files_below(root, depth).any(|name| is_shard_name(name.as_encoded_bytes()))
}

/// Returns the names of the first files below a folder.
fn files_below(root: &Path, depth: usize) -> impl Iterator<Item = OsString> {
    let files = walk_first(root, depth, MAX_EXAMINED_ENTRIES).take(MAX_EXAMINED_ENTRIES).flatten();
    files.filter(|entry| entry.depth() > 0 && entry.kind().is_file()).map(|entry| entry.file_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::modalities::kind::packed_files;
    use crate::formats::{forager, megatron, modalities, nanosets};
    use gristmill_storage::{fs::RealFs, publish::write_file};
    use std::os::unix::fs::symlink;

    fn put(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, path, b"", 0o644).unwrap();
    }

    #[test]
    fn file_kind_is_recognized_by_suffix() {
        let dir = tempfile::tempdir().unwrap();
        for (name, kind) in [
            ("a.jsonl", DatasetKind::Jsonl),
            ("a.yaml", DatasetKind::Metadataset),
            ("a.yml", DatasetKind::OtherFile),
            ("a.json", DatasetKind::OtherFile),
            ("a.pbin", DatasetKind::Tokens(&modalities::kind::PACKED_FILE)),
            ("a.ds", DatasetKind::OtherFile),
            ("a.JSONL", DatasetKind::OtherFile),
            ("a.tar", DatasetKind::SingleShard),
            ("a.jsonl.gz", DatasetKind::PackedJsonl),
            ("a.idx", DatasetKind::OtherFile),
        ] {
            put(&dir.path().join(name));
            assert_eq!(kind_of(&dir.path().join(name)).unwrap(), kind, "{name}");
        }
        assert!(kind_of(&dir.path().join("missing")).unwrap_err().why.contains("no such file"));
    }

    #[test]
    fn packed_file_is_recognized_under_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let golden = "../../tests/golden/modalities/pack_bpe/expected/data.pbin";
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(golden)).unwrap();
        let renamed = dir.path().join("packed");
        write_file(&RealFs, &renamed, &bytes, 0o644).unwrap();
        assert_eq!(kind_of(&renamed).unwrap(), DatasetKind::Tokens(&modalities::kind::PACKED_FILE));
        for other in [&bytes[..bytes.len() - 1], &bytes[1..], &bytes[..12], &bytes[..4], b""] {
            write_file(&RealFs, &renamed, other, 0o644).unwrap();
            assert_eq!(kind_of(&renamed).unwrap(), DatasetKind::OtherFile);
        }
    }

    #[test]
    fn folder_kind_is_recognized_by_files_of_an_earlier_preparation() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("sub/deep/a.txt"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder);
        put(&at("sub/.hidden.tar"));
        put(&at(".hidden/b.tar"));
        put(&at("sub/c.TAR"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder);
        put(&at("sub/deep/x.tgz"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::RawWebDataset);
        put(&at(".nv-meta/index.sqlite"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::RawWebDataset, "shards come before a left-over index");
        std::fs::remove_file(at("sub/deep/x.tgz")).unwrap();
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::Filesystem);
        put(&at(".nv-meta/.info.yaml"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PreparedWebDataset);
    }

    #[test]
    fn folders_of_tokens_are_recognized_by_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("sub/a.ds"));
        put(&at("a.ds.index"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder, "no .ds file directly in it");
        put(&at("a.ds"));
        put(&at("sub/b.tar"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::Tokens(&nanosets::kind::FOLDER));
        put(&at("samples/index/sample_locations.bin"));
        assert_eq!(kind_of(&at("samples")).unwrap(), DatasetKind::Tokens(&forager::kind::SAMPLES));
        put(&at("b.tar"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::RawWebDataset, "shards next to them come first");
    }

    #[test]
    fn folder_with_pairs_and_other_data_folders_is_not_a_pair_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        write_file(&RealFs, &at("web_text_document.idx"), megatron::MAGIC, 0o644).unwrap();
        put(&at("web_text_document.bin"));
        put(&at("cache/a"));
        put(&at("web.gristmill/plan.yaml"));
        put(&at("raw/a.txt"));
        let is_of_pairs = || kind_of(dir.path()).unwrap() == DatasetKind::Tokens(&megatron::FOLDER);
        assert!(is_of_pairs());
        put(&at("notes/a.txt"));
        assert!(!is_of_pairs());
        let hint = kind_of(&at("web")).unwrap_err().hint.unwrap();
        assert!(hint.contains("web_text_document"), "{hint}");
        assert!(kind_of(&at("we")).unwrap_err().hint.is_none());
        write_file(&RealFs, &at("web_code_document.idx"), megatron::MAGIC, 0o644).unwrap();
        assert!(is_of_pairs(), "as many pairs as other folders");
        assert!(kind_of(&at("web")).unwrap_err().hint.is_none(), "there are two of them");
    }

    #[test]
    fn folder_with_only_packed_files_is_a_token_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("empty")).unwrap();
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder);
        for name in ["b.pbin", "a/c.pbin", "b.pbin.gristmill/plan.yaml", ".hidden"] {
            put(&at(name));
        }
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::Tokens(&modalities::kind::PACKED_FOLDER));
        assert_eq!(packed_files(dir.path()).unwrap(), [at("a/c.pbin"), at("b.pbin")]);
        put(&at("a/c.jsonl"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder, "text, and tokens made of it");
        assert!(packed_files(dir.path()).is_none());
    }

    #[test]
    fn described_media_folder_keeps_its_kind_with_a_shard_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("a.png"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::LooseMedia);
        put(&at("extras/one.tar"));
        std::fs::create_dir(at(".nv-meta")).unwrap();
        let database = rusqlite::Connection::open(at(".nv-meta/index.sqlite")).unwrap();
        database.execute("CREATE TABLE media_metadata (entry_key TEXT)", []).unwrap();
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::Filesystem);
        database.execute("CREATE TABLE samples (id INTEGER)", []).unwrap();
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::RawWebDataset);
    }

    #[test]
    fn dedup_index_is_recognized_by_numbered_shards_without_tar_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("0/tokenized"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder);
        put(&at("0/offset"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::DedupIndex);
        put(&at("0/one.tar"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::RawWebDataset);
    }

    #[test]
    fn table_folder_is_recognized_by_suffix_unless_it_has_media() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("data/train-00000-of-00001.parquet"));
        put(&at("README.md"));
        let DatasetKind::Table(kind) = kind_of(&at("data/train-00000-of-00001.parquet")).unwrap() else { panic!() };
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::TableFolder(kind));
        put(&at("images/a.png"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::LooseMedia, "pictures with their table");
        put(&at("images/b.tar"));
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::RawWebDataset);
    }

    #[test]
    fn link_loop_in_a_folder_ends() {
        let dir = tempfile::tempdir().unwrap();
        symlink(dir.path(), dir.path().join("again")).unwrap();
        assert_eq!(kind_of(dir.path()).unwrap(), DatasetKind::PlainFolder);
    }
}
