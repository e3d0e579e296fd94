//! Per-user locations: the XDG base folders, each followed by `gristmill`.

use etcetera::base_strategy::{BaseStrategy as _, Xdg};
use std::path::{Path, PathBuf};

const NAME: &str = "gristmill";

/// Returns the folder for drafts, recent data sets and logs: `$XDG_STATE_HOME/gristmill`.
pub fn state_dir() -> PathBuf {
    base(|xdg| xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state")))
}

/// Returns the folder for data that can be recreated: `$XDG_CACHE_HOME/gristmill`.
pub fn cache_dir() -> PathBuf {
    base(|xdg| xdg.cache_dir())
}

/// Returns the folder for files that are removed after the user's last session: `$XDG_RUNTIME_DIR/gristmill`, or else the state folder.
pub fn runtime_dir() -> PathBuf {
    base(|xdg| {
        xdg.runtime_dir().unwrap_or_else(|| xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state")))
    })
}

/// Returns the folder for settings: `$XDG_CONFIG_HOME/gristmill`.
pub fn config_dir() -> PathBuf {
    base(|xdg| xdg.config_dir())
}

/// Returns the state folder for a location in a store.
pub(super) fn state_dir_of(path: &Path) -> PathBuf {
    of_tests(path).unwrap_or_else(state_dir)
}

/// Returns the cache folder for a location in a store.
pub(super) fn cache_dir_of(path: &Path) -> PathBuf {
    of_tests(path).unwrap_or_else(cache_dir)
}

/// Returns the folder for data of stores in tests, so that tests do not change the user's folders.
fn of_tests(path: &Path) -> Option<PathBuf> {
    #[cfg(any(test, feature = "testing"))]
    if cfg!(test) || path.starts_with("mem:") {
        return Some(std::env::temp_dir().join(format!("{NAME}-tests-{}", std::process::id())));
    }
    let _ = path;
    None
}

/// Returns the picked base folder, or a folder private to this user below the temporary folder if there is no home folder (some batch
/// systems).
fn base(pick: impl FnOnce(&Xdg) -> PathBuf) -> PathBuf {
    match Xdg::new() {
        Ok(xdg) => pick(&xdg).join(NAME),
        Err(_) => std::env::temp_dir().join(format!("{NAME}-{}", rustix::process::getuid().as_raw())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_absolute_and_named_after_the_program() {
        for dir in [state_dir(), cache_dir(), config_dir()] {
            assert!(dir.is_absolute(), "{dir:?}");
            assert!(dir.file_name().unwrap().to_string_lossy().starts_with("gristmill"));
        }
    }
}
