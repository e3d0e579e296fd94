//! Locates and reads the tokenizer file for a name given by the user.

use super::foreign::{foreign_kind, HINT};
use super::numbers::is_numbers_name;
use super::vocab_merges;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Outcome};
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{read_whole, stamp_at};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum size of a tokenizer file, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Maximum number of folder entries, and maximum size of each in bytes, that are searched for files of other tokenizers.
const MAX_ENTRIES: usize = 1_000;
const MAX_FOREIGN_BYTES: u64 = 64 << 20;

/// Number of folders, starting with the folder of a file, in which a relative name from the file is searched for.
const ABOVE: usize = 4;

/// Age in nanoseconds below which a file could be modified again without a change of its modification time.
const MIN_FILE_AGE_NS: i128 = 2_000_000_000;

/// The state of a file at a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    path: PathBuf,
    stamp: FileStamp,
}

impl FileState {
    /// Returns the state of the file with this name if it was not modified for [`MIN_FILE_AGE_NS`]; if its state is the same later, its content
    /// is unchanged. Returns `None` for models in the hub cache.
    pub(super) fn now(named: &str) -> Option<Self> {
        let path = Path::new(named);
        let path = if files::is_dir(path) { in_folder(path).ok()? } else { path.to_owned() };
        let stamp = stamp_at(&path).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as i128;
        (now - i128::from(stamp.modified_ns) > MIN_FILE_AGE_NS).then_some(Self { path, stamp })
    }
}

/// Reads the tokenizer with this name. Returns its path and its bytes.
pub(super) fn read(named: &str) -> Outcome<(PathBuf, Vec<u8>)> {
    let file = path_of(named)?;
    if is_numbers_name(named) {
        return Ok((file, named.into()));
    }
    if let Some((vocab, merges)) = vocab_merges::vocab_merges_files(named) {
        return Ok((file, vocab_merges::read(vocab, merges, MAX_FILE_BYTES)?));
    }
    read_whole(&file, MAX_FILE_BYTES)?.map(|bytes| (file, bytes)).ok_or_else(|| missing(named))
}

/// Returns the path of the tokenizer with this name: a file, the file in a folder, or the file of a model in the local hub cache. For a
/// vocabulary and merges, returns the path of the vocabulary, which may not exist; for numbers, returns the name.
///
/// # Errors
/// The tokenizer does not exist.
pub fn path_of(named: &str) -> Outcome<PathBuf> {
    if let Some((vocab, _)) = vocab_merges::vocab_merges_files(named) {
        return Ok(PathBuf::from(vocab));
    }
    let path = Path::new(named);
    if is_numbers_name(named) {
        return Ok(path.to_owned());
    }
    match (files::is_dir(path), files::exists(path)) {
        (true, _) => in_folder(path),
        (false, true) => Ok(path.to_owned()),
        // The store may refuse the request or be unreachable.
        (false, false) if is_remote(path) => match files::metadata(path) {
            Ok(_) => Ok(path.to_owned()),
            Err(error) => Err(Failure::io("reading the tokenizer", path, &error)),
        },
        (false, false) => hub_folder().map_or(Ok(None), |hub| in_hub(&hub, named))?.ok_or_else(|| missing(named)),
    }
}

/// Returns the possible names of a tokenizer that a file in `folder` refers to: the name itself, and the name relative to the folder and
/// its parent folders. A hub name is not resolved.
pub fn possible_names(folder: &Path, name: &str) -> Vec<String> {
    let path = Path::new(name);
    let mut meant = Vec::new();
    if !files::is_absolute(path) {
        let above = folder.ancestors().take(ABOVE).map(|folder| folder.join(path));
        meant.extend(above.filter(|path| files::exists(path)).map(|path| path.to_string_lossy().into_owned()));
    }
    // The name relative to the current directory is as likely as the others, so it comes first if it exists, and otherwise last.
    meant.insert(if files::exists(path) { 0 } else { meant.len() }, name.to_owned());
    meant
}

/// Returns the path of the tokenizer in a folder.
fn in_folder(folder: &Path) -> Outcome<PathBuf> {
    let json = folder.join("tokenizer.json");
    if files::exists(&json) {
        return Ok(json);
    }
    let why = "the folder holds no tokenizer.json";
    let failure = Failure::environment("reading the tokenizer", why).on(Subject::path(folder));
    if let Some(model) = model_in(folder) {
        return Err(failure.with_hint(format!("it holds a SentencePiece model; give its path: {}", model.display())));
    }
    Err(match foreign_in(folder) {
        Some((path, kind)) => {
            let why = format!("the folder holds no tokenizer.json; this is {kind}, and such files are not read");
            Failure::data("reading the tokenizer", why).on(Subject::path(path)).with_hint(HINT)
        }
        None => failure,
    })
}

/// Returns the first file of a folder, by name, that belongs to an unsupported tokenizer. Files with tokens come before files with
/// settings.
fn foreign_in(folder: &Path) -> Option<(PathBuf, &'static str)> {
    let entries = files::read_dir(folder).ok()?.take(MAX_ENTRIES).filter_map(|entry| Some(entry.ok()?.into_path()));
    let mut paths: Vec<PathBuf> = entries.filter(|path| files::is_file(path) && has_foreign_name(path)).collect();
    paths.sort();
    let kind_of = |path: &PathBuf| foreign_kind(&read_whole(path, MAX_FOREIGN_BYTES).ok()??);
    let found: Vec<(PathBuf, &str)> =
        paths.into_iter().filter_map(|path| kind_of(&path).map(|kind| (path, kind))).collect();
    let settings = |kind: &str| kind.starts_with("a config") || kind.starts_with("a tokenizer_config");
    found.iter().find(|(_, kind)| !settings(kind)).or(found.first()).cloned()
}

/// Whether a file may belong to a tokenizer, judged by its suffix.
fn has_foreign_name(path: &Path) -> bool {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    suffix.is_none_or(|suffix| ["json", "txt", "tiktoken", "bpe"].contains(&suffix))
}

/// Returns the first `.model` file of a folder, by name.
fn model_in(folder: &Path) -> Option<PathBuf> {
    let names = files::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.into_path()));
    names.filter(|path| path.extension().is_some_and(|ending| ending == "model")).min()
}

/// Returns the file of a model in the local hub cache.
fn in_hub(hub: &Path, named: &str) -> Outcome<Option<PathBuf>> {
    let (name, revision) = named.split_once('@').unwrap_or((named, "main"));
    let is_plain = |part: &str| !part.is_empty() && !part.contains("..") && !part.starts_with('/');
    if !is_plain(name) || !is_plain(revision) || name.split('/').count() > 2 {
        return Ok(None);
    }
    let model = hub.join(format!("models--{}", name.replace('/', "--")));
    let commit = match read_whole(&model.join("refs").join(revision), 256)? {
        Some(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        None => revision.to_owned(),
    };
    if !is_plain(&commit) {
        return Ok(None);
    }
    let file = model.join("snapshots").join(commit).join("tokenizer.json");
    Ok(files::exists(&file).then_some(file))
}

fn hub_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE")
        .or_else(|| set("HUGGINGFACE_HUB_CACHE"))
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/huggingface/hub")))
}

fn missing(named: &str) -> Failure {
    Failure::environment("reading the tokenizer", "no such file, and no model of this name in the local hub cache")
        .on(Subject::path(named))
        .with_hint(
            "give a tokenizer.json or a SentencePiece .model; pack downloads the tokenizer of a model OWNER/NAME",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[allow(clippy::disallowed_methods)]
        std::fs::write(path, b"{}").unwrap();
    }

    #[test]
    fn hub_models_are_found_by_name_and_revision_inside_the_cache() {
        let top = tempfile::tempdir().unwrap();
        let model = top.path().join("models--some--model");
        let file = model.join("snapshots/abc/tokenizer.json");
        put(&file);
        put(&top.path().join("snapshots/abc/tokenizer.json"));
        std::fs::create_dir_all(model.join("refs")).unwrap();
        #[allow(clippy::disallowed_methods)]
        std::fs::write(model.join("refs/main"), b"abc\n").unwrap();
        let found = |named: &str| in_hub(top.path(), named).unwrap();
        assert_eq!(found("some/model"), Some(file.clone()));
        assert_eq!(found("some/model@abc"), Some(file));
        for wrong in
            ["some/model@gone", "some/other", "some", "", "@", "/some/model", "some/model@../../..", "../x", "a/b/c"]
        {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn file_state_is_known_only_if_the_file_is_old_and_unchanged() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("tokenizer.json");
        put(&file);
        let set = |seconds: u64| {
            let handle = std::fs::File::options().append(true).open(&file).unwrap();
            handle.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
        };
        let (by_path, by_folder) = (file.to_str().unwrap(), top.path().to_str().unwrap());
        assert_eq!(FileState::now(by_path), None, "it was written just now");
        set(1_000_000);
        let seen = FileState::now(by_path);
        assert!(seen.is_some() && seen == FileState::now(by_folder));
        set(1_000_001);
        assert!(FileState::now(by_path).is_some_and(|now| Some(now) != seen));
        std::fs::remove_file(&file).unwrap();
        assert_eq!((FileState::now(by_path), FileState::now(by_folder)), (None, None));
    }

    #[test]
    fn folder_without_tokenizer_json_is_refused_with_a_hint() {
        let top = tempfile::tempdir().unwrap();
        let why = in_folder(top.path()).unwrap_err();
        assert!(why.hint.is_none(), "{why:?}");
        put(&top.path().join("spm.model"));
        assert!(in_folder(top.path()).unwrap_err().hint.unwrap().contains("spm.model"));
        put(&top.path().join("tokenizer.json"));
        assert_eq!(in_folder(top.path()).unwrap(), top.path().join("tokenizer.json"));
        let big = top.path().join("big.json");
        #[allow(clippy::disallowed_methods)]
        std::fs::File::create(&big).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        assert!(read(big.to_str().unwrap()).unwrap_err().why.contains("over the limit"));
    }
}
