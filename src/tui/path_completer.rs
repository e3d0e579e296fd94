//! Completes paths typed into a field: a worker reads the folder, the field shows the completion, and Tab accepts it.

use super::screen::UiEnv;
use super::widgets::TextField;
use super::work::LatestWorker;
use gristmill_ops::operations::paths::path_below_home;
use gristmill_storage::files::{self, FolderEntry};
use gristmill_storage::location::is_remote;
use std::path::{Path, PathBuf};

/// Maximum number of folder entries read for a completion.
const MAX_ENTRIES: usize = 20_000;
/// Maximum number of objects listed for a completion in a store, which returns a thousand per request.
const MAX_OBJECTS: usize = 2_000;

/// Requests completions and offers them to the field.
pub struct PathCompleter {
    /// Takes the folder of relative paths and the typed text; returns the typed text and its completion.
    worker: LatestWorker<(PathBuf, String), (String, Option<String>)>,
}

impl PathCompleter {
    /// Starts the worker.
    pub fn start(env: &UiEnv) -> Self {
        let worker = LatestWorker::start("path-completion", env.wake.clone(), |(base, typed): (PathBuf, String)| {
            let rest = rest_of_path(&base, &typed);
            (typed, rest)
        });
        Self { worker }
    }

    /// Requests the completion of a path that has just been changed, relative to `base`.
    pub fn request_completion(&mut self, base: &Path, field: &TextField) {
        if field.is_cursor_at_end() && !field.is_empty() {
            self.worker.submit((base.to_owned(), field.value().to_owned()));
        }
    }

    /// Offers a result to the focused field, if its text has not changed since the request. Returns whether something changed.
    pub fn apply_result(&mut self, field: Option<&mut TextField>) -> bool {
        let (Some((typed, Some(rest))), Some(field)) = (self.worker.take(), field) else { return false };
        let is_same = field.value() == typed;
        if is_same {
            field.show_completion(rest);
        }
        is_same
    }
}

/// Returns the common continuation of all entries whose names begin with the last component of `typed`; a folder ends with `/`.
fn rest_of_path(base: &Path, typed: &str) -> Option<String> {
    let (folder, start) =
        typed.rsplit_once('/').map_or(("", typed), |(folder, start)| (&typed[..=folder.len()], start));
    if start.is_empty() {
        return None;
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = path_below_home(folder, home.as_deref());
    let folder = match is_remote(Path::new(folder)) {
        true => PathBuf::from(folder),
        false => home.unwrap_or_else(|| Path::new(".").join(base).join(folder)),
    };
    let mut common: Option<String> = None;
    let most = if is_remote(&folder) { MAX_OBJECTS } else { MAX_ENTRIES };
    for entry in files::first_entries(&folder, most).ok()? {
        let Some(rest) = entry.file_name().to_str().and_then(|name| name.strip_prefix(start)) else { continue };
        if rest.chars().any(char::is_control) {
            continue;
        }
        common = Some(match common {
            Some(common) => common.chars().zip(rest.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect(),
            // The ends of names count, too: `a` and `ab` have only `a` in common.
            None if is_folder(&entry) => format!("{rest}/"),
            None => rest.to_owned(),
        });
    }
    // A completion that only adds a slash saves no key.
    common.filter(|rest| !rest.is_empty() && rest != "/")
}

fn is_folder(entry: &FolderEntry) -> bool {
    entry.kind().is_dir() || entry.kind().is_symlink() && files::is_dir(entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            match name.strip_suffix('/') {
                Some(name) => std::fs::create_dir(folder.path().join(name)).unwrap(),
                None => gristmill_storage::publish::write_file(
                    &gristmill_storage::fs::RealFs,
                    &folder.path().join(name),
                    b"",
                    0o644,
                )
                .unwrap(),
            }
        }
        folder
    }

    #[test]
    fn path_completion_is_common_prefix_of_matching_names() {
        let folder = folder(&["tokenizer.json", "tokens/", "web/", "we\nb", "solo.txt"]);
        let rest = |typed: &str| rest_of_path(folder.path(), typed);
        assert_eq!(rest("to").as_deref(), Some("ken"));
        assert_eq!(rest("toke").as_deref(), Some("n"));
        assert_eq!(rest("tokeni").as_deref(), Some("zer.json"));
        assert_eq!(rest("w").as_deref(), Some("eb/"));
        assert_eq!(rest("s").as_deref(), Some("olo.txt"));
        for complete in ["solo.txt", "web", "token", "", "web/", "nothing", "missing/a"] {
            assert_eq!(rest(complete), None, "{complete}");
        }
        // Relative to the current folder of the tests, which is the folder of the package.
        assert_eq!(rest_of_path(Path::new(""), "Cargo.t").as_deref(), Some("oml"));
        assert_eq!(rest_of_path(Path::new(""), "src/li").as_deref(), Some("b.rs"));
        for name in ["completer/token.json", "completer/web/a"] {
            gristmill_storage::memory_store::put(&Path::new("mem://bucket").join(name), b"");
        }
        assert_eq!(rest("mem://bucket/completer/to").as_deref(), Some("ken.json"));
        assert_eq!(rest("mem://bucket/completer/w").as_deref(), Some("eb/"));
        let absolute = format!("{}/so", folder.path().display());
        assert_eq!(rest_of_path(Path::new("/"), &absolute).as_deref(), Some("lo.txt"));
    }
}
