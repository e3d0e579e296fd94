//! Where programs keep what belongs to a user: the XDG base folders, each with `gristmill` below.

use etcetera::base_strategy::{BaseStrategy as _, Xdg};
use std::path::PathBuf;

const NAME: &str = "gristmill";

/// Drafts, recent data sets, logs: `$XDG_STATE_HOME/gristmill`.
pub fn state_dir() -> PathBuf {
    base(|xdg| xdg.state_dir().unwrap_or_else(|| xdg.home_dir().join(".local/state")))
}

/// What can be made again: `$XDG_CACHE_HOME/gristmill`.
pub fn cache_dir() -> PathBuf {
    base(|xdg| xdg.cache_dir())
}

/// Settings: `$XDG_CONFIG_HOME/gristmill`.
pub fn config_dir() -> PathBuf {
    base(|xdg| xdg.config_dir())
}

/// Without a home folder (some batch systems) a folder of this user's own below the temporary folder has to do.
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
