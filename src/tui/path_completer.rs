//! Completes paths that are typed into a field: a worker reads the folder, the field shows the rest, Tab takes it.

use super::screen::UiEnv;
use super::widgets::TextField;
use super::work::Latest;
use std::path::{Path, PathBuf};

/// Entries of a folder that are read for a completion, at most.
const MAX_ENTRIES: usize = 20_000;

/// Asks for the rest of what is typed and brings it to the field.
pub struct PathCompleter {
    worker: Latest<(PathBuf, String), (String, Option<String>)>,
}

impl PathCompleter {
    /// Starts the worker.
    pub fn start(env: &UiEnv) -> Self {
        let worker = Latest::start("path-completion", env.wake.clone(), |(base, typed): (PathBuf, String)| {
            let rest = rest_of_path(&base, &typed);
            (typed, rest)
        });
        Self { worker }
    }

    /// Asks what completes a path that has just been changed, relative to `base`.
    pub fn ask(&mut self, base: &Path, field: &TextField) {
        if field.is_cursor_at_end() && !field.is_empty() {
            self.worker.ask((base.to_owned(), field.value().to_owned()));
        }
    }

    /// Shows an answer in the field that has the keys, if it still holds what was asked about. Returns whether something changed.
    pub fn take(&mut self, field: Option<&mut TextField>) -> bool {
        let (Some((typed, Some(rest))), Some(field)) = (self.worker.take(), field) else { return false };
        let is_same = field.value() == typed;
        if is_same {
            field.offer(rest);
        }
        is_same
    }
}

/// What all entries have in common whose names begin with the last component of `typed`, after that; a folder ends with `/`.
fn rest_of_path(base: &Path, typed: &str) -> Option<String> {
    let (folder, start) =
        typed.rsplit_once('/').map_or(("", typed), |(folder, start)| (&typed[..=folder.len()], start));
    if start.is_empty() {
        return None;
    }
    let home = folder.strip_prefix("~/").and_then(|rest| Some(PathBuf::from(std::env::var_os("HOME")?).join(rest)));
    let folder = home.unwrap_or_else(|| Path::new(".").join(base).join(folder));
    let mut common: Option<String> = None;
    for entry in std::fs::read_dir(&folder).ok()?.take(MAX_ENTRIES).flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(start)) else { continue };
        if rest.chars().any(char::is_control) {
            continue;
        }
        common = Some(match common {
            Some(common) => common.chars().zip(rest.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect(),
            // Both ends of a name count: `a` next to `ab` has nothing in common but `a`.
            None if entry.path().is_dir() => format!("{rest}/"),
            None => rest.to_owned(),
        });
    }
    // A name that is complete needs no more than the next key.
    common.filter(|rest| !rest.is_empty() && rest != "/")
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
    fn the_common_rest_of_all_names_is_found() {
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
        // Of the current folder, which tests share: the package.
        assert_eq!(rest_of_path(Path::new(""), "Cargo.t").as_deref(), Some("oml"));
        assert_eq!(rest_of_path(Path::new(""), "src/li").as_deref(), Some("b.rs"));
        let absolute = format!("{}/so", folder.path().display());
        assert_eq!(rest_of_path(Path::new("/"), &absolute).as_deref(), Some("lo.txt"));
    }
}
