//! Checks and creates the mount point.

use super::super::paths;
use super::MountCaller;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_fuse::mount_at;
use gristmill_storage::files;
use gristmill_storage::fs::{Fs as _, RealFs};
use gristmill_storage::location::is_remote;
use std::io;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "mounting";
/// The error number of a mount whose process has ended.
const NOT_CONNECTED: i32 = rustix::io::Errno::NOTCONN.raw_os_error();

/// Checks the mount point without changing anything. `data` is the path of the data set.
pub(super) fn check(dir: &Path, data: &Path, allows_content: bool, caller: MountCaller) -> Outcome<()> {
    paths::local(dir)?;
    let refuse = |why: &str| Failure::usage(ACTIVITY, why).on(Subject::path(dir));
    match files::metadata(dir) {
        Err(error) if error.raw_os_error() == Some(NOT_CONNECTED) => {
            let hint = format!("umount {} removes it", quoted(dir));
            return Err(refuse("a mount whose process has ended is still here").with_hint(hint));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_parent(dir, caller)?;
            return check_outside(dir, data);
        }
        Err(error) => return Err(Failure::io(ACTIVITY, dir, &error)),
        Ok(info) if !info.is_dir() => return Err(refuse("it is not a folder")),
        Ok(_) => {}
    }
    let at = files::canonicalize(dir).map_err(|error| Failure::io(ACTIVITY, dir, &error))?;
    if let Some(mount) = mount_at(&at).filter(|mount| mount.is_ours()) {
        let why = format!("{} is mounted there", mount.source.to_string_lossy());
        return Err(refuse(&why).with_hint(format!("umount {} ends it", quoted(dir))));
    }
    if !is_remote(data) && files::canonicalize(data).is_ok_and(|data| data.starts_with(&at)) {
        return Err(refuse("the mount would hide the data set").with_hint("choose a folder outside of it"));
    }
    check_outside(dir, data)?;
    let mut entries = files::read_dir(&at).map_err(|error| Failure::io(ACTIVITY, dir, &error))?;
    if !allows_content && entries.next().is_some() {
        return Err(refuse("the folder is not empty").with_hint("--nonempty mounts over its content"));
    }
    Ok(())
}

/// Refuses a mount point inside the data, because the mount would change them.
fn check_outside(dir: &Path, data: &Path) -> Outcome<()> {
    let absolute = files::absolute(dir).map_err(|error| Failure::io(ACTIVITY, dir, &error))?;
    let above = absolute.ancestors().find_map(|folder| files::canonicalize(folder).ok());
    let data = if is_remote(data) { None } else { files::canonicalize(data).ok() };
    match (above, data) {
        (Some(above), Some(data)) if above.starts_with(&data) => {
            Err(Failure::usage(ACTIVITY, "it is inside of the data set")
                .on(Subject::path(dir))
                .with_hint("choose a folder outside of it"))
        }
        _ => Ok(()),
    }
}

fn check_parent(dir: &Path, caller: MountCaller) -> Outcome<()> {
    let absolute = files::absolute(dir).map_err(|error| Failure::io(ACTIVITY, dir, &error))?;
    let parent = absolute.parent().unwrap_or(&absolute);
    if caller == MountCaller::Own && !files::is_dir(parent) {
        let why = "neither the folder nor its parent exists";
        let hint = format!("mkdir -p {} creates it", quoted(dir));
        return Err(Failure::usage(ACTIVITY, why).on(Subject::path(dir)).with_hint(hint));
    }
    Ok(())
}

fn quoted(path: &Path) -> String {
    gristmill_core::text::shell_quote(&path.to_string_lossy())
}

/// Creates the mount point if it does not exist. Returns its real path, and the folders that were created, inner ones first.
pub(super) fn make(dir: &Path) -> Outcome<(PathBuf, Vec<PathBuf>)> {
    let failed = |error: io::Error| Failure::io(ACTIVITY, dir, &error);
    let absolute = files::absolute(dir).map_err(failed)?;
    let missing: Vec<PathBuf> = files::missing_folders(&absolute).into_iter().map(Path::to_owned).collect();
    for folder in &missing {
        RealFs.create_dir(folder, 0o755)?;
    }
    let at = files::canonicalize(&absolute).map_err(failed)?;
    Ok((at, missing.into_iter().rev().collect()))
}
