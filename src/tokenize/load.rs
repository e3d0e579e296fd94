//! From what a person names to a tokenizer's bytes.

use crate::model::problem::Subject;
use crate::model::{Failure, Outcome};
use crate::storage::read::read_whole;
use std::path::{Path, PathBuf};

/// A larger file is no tokenizer.
const LARGEST: u64 = 256 << 20;

/// Reads the tokenizer of this name; where it was found, and its bytes.
pub(super) fn read(named: &str) -> Outcome<(PathBuf, Vec<u8>)> {
    let path = Path::new(named);
    let file = if path.is_dir() { in_folder(path)? } else { path.to_owned() };
    match read_whole(&file, LARGEST)? {
        Some(bytes) => Ok((file, bytes)),
        None => match in_hub(named)? {
            Some(file) => read_whole(&file, LARGEST)?.map(|bytes| (file, bytes)).ok_or_else(|| missing(named)),
            None => Err(missing(named)),
        },
    }
}

/// The tokenizer that a folder holds.
fn in_folder(folder: &Path) -> Outcome<PathBuf> {
    let json = folder.join("tokenizer.json");
    if json.exists() {
        return Ok(json);
    }
    let why = "the folder holds no tokenizer.json";
    Err(Failure::environment("reading the tokenizer", why).on(Subject::path(folder)))
}

/// The file of a model in the local hub cache.
fn in_hub(named: &str) -> Outcome<Option<PathBuf>> {
    let (name, revision) = named.split_once('@').unwrap_or((named, "main"));
    let is_plain = |part: &str| !part.is_empty() && !part.contains("..") && !part.starts_with('/');
    if !is_plain(name) || !is_plain(revision) || name.split('/').count() > 2 {
        return Ok(None);
    }
    let Some(hub) = hub_folder() else { return Ok(None) };
    let model = hub.join(format!("models--{}", name.replace('/', "--")));
    let commit = match read_whole(&model.join("refs").join(revision), 256)? {
        Some(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        None => revision.to_owned(),
    };
    if !is_plain(&commit) {
        return Ok(None);
    }
    let file = model.join("snapshots").join(commit).join("tokenizer.json");
    Ok(file.exists().then_some(file))
}

fn hub_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/huggingface/hub")))
}

fn missing(named: &str) -> Failure {
    Failure::environment("reading the tokenizer", "no such file, and no model of this name in the local hub cache")
        .on(Subject::path(named))
        .with_hint("give the path of a tokenizer.json or of a SentencePiece .model; nothing is downloaded")
}
