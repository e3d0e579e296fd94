//! Folders that `save_to_disk` of the Hugging Face library writes: a data set, or one data set per split (docs/formats/huggingface.md §1).

use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// Name of this step in failures.
const ACTIVITY: &str = "reading the saved data set";
/// Name of the file with the state of a data set, which lists its files.
const STATE: &str = "state.json";
/// Name of the file that describes a data set.
const INFO: &str = "dataset_info.json";
/// Name of the file with the list of splits.
const SPLITS: &str = "dataset_dict.json";
/// Maximum size of a description, in bytes.
const MAX_STATE_BYTES: u64 = 64 << 20;

/// A split of a saved data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SavedSplit {
    /// Name of the split; `None` if the folder has no splits.
    pub(super) name: Option<String>,
    /// Paths of its files in the folder, in order.
    pub(super) files: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct SplitList {
    splits: Vec<String>,
}

#[derive(Deserialize)]
struct State {
    #[serde(rename = "_data_files")]
    files: Vec<DataFile>,
    #[serde(rename = "_split")]
    split: Option<String>,
}

#[derive(Deserialize)]
struct DataFile {
    filename: String,
}

/// Returns the splits of a folder in order; `None` if it does not contain a saved data set.
///
/// # Errors
/// A description or a file is missing or damaged, or a name refers to a path outside the folder.
pub(super) fn splits(folder: &Path) -> Outcome<Option<Vec<SavedSplit>>> {
    if let Some(SplitList { splits }) = read(&folder.join(SPLITS))? {
        check_unique(&folder.join(SPLITS), splits.iter().map(String::as_str))?;
        let split = |name: String| {
            let own = plain(&folder.join(SPLITS), &name)?;
            let missing = || missing(&folder.join(&own).join(STATE));
            let saved = saved_split(folder, &own)?.ok_or_else(missing)?;
            Ok(SavedSplit { name: Some(name), ..saved })
        };
        return splits.into_iter().map(split).collect::<Outcome<_>>().map(Some);
    }
    if !has_state(folder) {
        return Ok(None);
    }
    Ok(saved_split(folder, Path::new(""))?.map(|split| vec![split]))
}

/// Returns the names of the files that describe the saved data set in a folder; none if it does not contain one.
pub(in crate::source) fn descriptions(folder: &Path) -> &'static [&'static str] {
    let is_saved = files::is_file(folder.join(SPLITS)) || has_state(folder);
    if is_saved {
        &[STATE, INFO, SPLITS]
    } else {
        &[]
    }
}

/// Whether a folder has the state of a saved data set. Other programs write files with the name of the state, too.
fn has_state(folder: &Path) -> bool {
    files::is_file(folder.join(STATE)) && files::is_file(folder.join(INFO))
}

/// Returns the split in a folder below the data set.
fn saved_split(root: &Path, folder: &Path) -> Outcome<Option<SavedSplit>> {
    let path = root.join(folder).join(STATE);
    let Some(state) = read::<State>(&path)? else { return Ok(None) };
    check_unique(&path, state.files.iter().map(|file| file.filename.as_str()))?;
    let file = |file: DataFile| {
        let name = folder.join(plain(&path, &file.filename)?);
        match files::is_file(root.join(&name)) {
            true => Ok(name),
            false => Err(missing(&root.join(&name))),
        }
    };
    let files = state.files.into_iter().map(file).collect::<Outcome<_>>()?;
    Ok(Some(SavedSplit { name: state.split.filter(|name| !name.is_empty()), files }))
}

/// Refuses a list with repeated names.
fn check_unique<'n>(from: &Path, names: impl Iterator<Item = &'n str>) -> Outcome<()> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => Err(Failure::data(ACTIVITY, format!("it lists {} twice", display_safe(name)))
            .on(Subject::path(from))
            .with_hint("save the data set again")),
    }
}

fn missing(path: &Path) -> Failure {
    Failure::data(ACTIVITY, "the data set names this file, and it does not exist")
        .on(Subject::path(path))
        .with_hint("copy the folder again, or name the files that exist one by one")
}

/// Returns the path of a name that must have a single component.
fn plain(from: &Path, name: &str) -> Outcome<PathBuf> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) => Ok(only.into()),
        _ => {
            let why = format!("it names {}, which is no file or folder next to it", display_safe(name));
            Err(Failure::data(ACTIVITY, why).on(Subject::path(from)).with_hint("save the data set again"))
        }
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Outcome<Option<T>> {
    let Some(bytes) = read_whole(path, MAX_STATE_BYTES)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        let hint = "save the data set again, or name its files one by one";
        Failure::data(ACTIVITY, error.to_string()).on(Subject::path(path)).with_hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn put(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, &path, text.as_bytes(), 0o644).unwrap();
    }

    #[test]
    fn saved_data_set_files_are_in_the_order_of_state_json() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(splits(root).unwrap(), None);
        put(root, STATE, r#"{"_data_files": [{"filename": "b.arrow"}, {"filename": "a.arrow"}], "_split": null}"#);
        assert_eq!(splits(root).unwrap(), None, "a file of this name alone says nothing");
        put(root, INFO, "{}");
        put(root, "b.arrow", "");
        let error = splits(root).unwrap_err();
        assert!(error.subject.path.unwrap().ends_with("a.arrow"));
        put(root, "a.arrow", "");
        let only = splits(root).unwrap().unwrap();
        assert_eq!(only, [SavedSplit { name: None, files: vec!["b.arrow".into(), "a.arrow".into()] }]);
        for name in ["../a.arrow", "/a.arrow", "", ".", "x/a.arrow"] {
            put(root, STATE, &format!(r#"{{"_data_files": [{{"filename": "{name}"}}]}}"#));
            assert!(splits(root).unwrap_err().why.contains("next to it"), "{name}");
        }
        put(root, STATE, r#"{"_data_files": [{"filename": "a.arrow"}, {"filename": "a.arrow"}]}"#);
        assert!(splits(root).unwrap_err().why.contains("a.arrow twice"));
        put(root, STATE, "{");
        assert!(splits(root).is_err());
    }

    #[test]
    fn each_split_of_a_saved_data_set_has_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, SPLITS, r#"{"splits": ["train", "my-test"]}"#);
        put(root, "train/dataset.arrow", "");
        put(root, "train/state.json", r#"{"_data_files": [{"filename": "dataset.arrow"}], "_split": "other"}"#);
        assert!(splits(root).unwrap_err().subject.path.unwrap().ends_with("my-test/state.json"));
        put(root, "my-test/state.json", r#"{"_data_files": []}"#);
        let found = splits(root).unwrap().unwrap();
        let names: Vec<_> = found.iter().map(|split| split.name.as_deref()).collect();
        assert_eq!(names, [Some("train"), Some("my-test")]);
        assert_eq!(found[0].files, [PathBuf::from("train/dataset.arrow")]);
        put(root, SPLITS, r#"{"splits": ["../train"]}"#);
        assert!(splits(root).is_err());
    }
}
