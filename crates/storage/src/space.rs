//! How much disk space is free, and which paths share a file system.

use super::location::is_remote;
use super::xdg;
use gristmill_core::{Failure, Outcome};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Returns how many bytes this user may still write on the file system of `path` (or of its nearest existing folder). Outputs in stores are
/// created in the state folder, so its space is returned for them.
pub fn free_bytes(path: &Path) -> Outcome<u64> {
    let path = &folder_of_drafts(path);
    let there = nearest(path);
    let facts = rustix::fs::statvfs(&there)
        .map_err(|error| Failure::io("asking for free space", path, &std::io::Error::from(error)))?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// Returns the folder in which an output is created before it becomes visible: for a store, the state folder.
pub fn folder_of_drafts(output: &Path) -> PathBuf {
    if is_remote(output) {
        xdg::state_dir_of(output)
    } else {
        output.to_owned()
    }
}

/// Returns what to do if the folder of an output has too little space.
pub fn hint_for_space(output: &Path) -> &'static str {
    match is_remote(output) {
        true => "free some space, or set XDG_STATE_HOME to a folder on another disk",
        false => "free some space, or name an --output on another disk",
    }
}

/// Whether two paths (or their nearest existing folders) are on the same file system.
pub fn same_filesystem(a: &Path, b: &Path) -> Outcome<bool> {
    Ok(!is_remote(a) && !is_remote(b) && device(a)? == device(b)?)
}

fn device(path: &Path) -> Outcome<u64> {
    let there = nearest(path);
    std::fs::metadata(&there).map(|facts| facts.dev()).map_err(|error| Failure::io("opening", path, &error))
}

fn nearest(path: &Path) -> PathBuf {
    path.ancestors()
        .find(|p| !p.as_os_str().is_empty() && p.exists())
        .map_or_else(|| PathBuf::from(if path.is_absolute() { "/" } else { "." }), Path::to_path_buf)
}

/// Whether a path is on a file system in which the kernel shows its state, `proc` or `sysfs`.
pub fn is_on_pseudo_file_system(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(path).is_ok_and(|facts| [0x9fa0, 0x6265_6572].contains(&facts.f_type));
    #[cfg(not(target_os = "linux"))]
    return path.starts_with("/proc") || path.starts_with("/sys");
}

/// Checks that files can be created in a folder; returns the reason as an error if they cannot.
pub fn may_write(folder: &Path) -> std::io::Result<()> {
    use rustix::fs::Access;
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_path_has_the_free_space_and_file_system_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("a/b/c");
        assert!(free_bytes(&later).unwrap() > 0);
        assert!(same_filesystem(dir.path(), &later).unwrap());
        assert!(!same_filesystem(dir.path(), Path::new("/proc")).unwrap());
        assert!(free_bytes(Path::new("not-there-at-all")).unwrap() > 0);
    }

    #[test]
    fn outputs_in_stores_need_space_in_the_state_folder() {
        let (stored, local) = (Path::new("mem://space/out"), Path::new("/data/out"));
        assert_eq!(folder_of_drafts(stored), xdg::state_dir_of(stored));
        assert_eq!(folder_of_drafts(local), local);
        assert!(hint_for_space(stored).contains("XDG_STATE_HOME") && hint_for_space(local).contains("--output"));
    }
}
