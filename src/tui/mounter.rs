//! Mounts data sets with a key: runs the command `mount` in the background; the mount points are below the user's runtime folder.

use super::screen::{Effect, UiEnv};
use super::widgets::{Level, Toast};
use super::work::LatestWorker;
use gristmill_core::text::count;
use gristmill_core::Outcome;
use std::path::{Path, PathBuf};

/// Returns why mounting is unavailable; `None` if it is available.
pub fn unavailable_reason() -> Option<String> {
    let is_there = cfg!(all(feature = "mount", target_os = "linux"));
    (!is_there).then(|| "this build has no feature `mount`".to_owned())
}

/// The result of mounting or unmounting a data set.
struct MountChange {
    at: PathBuf,
    is_mounted: bool,
    /// Warnings of `mount`: parts of the data set that are missing from the mount.
    losses: Vec<String>,
}

/// The worker that mounts and unmounts.
pub struct Mounter(LatestWorker<PathBuf, Outcome<MountChange>>);

impl Mounter {
    pub fn start(env: &UiEnv) -> Self {
        Self(LatestWorker::start("mount", env.wake.clone(), |path: PathBuf| change(&path)))
    }

    /// Mounts a data set, or unmounts it if this key mounted it.
    pub fn toggle_mount(&mut self, path: &Path) -> Vec<Effect> {
        if let Some(why) = unavailable_reason() {
            return vec![Effect::Toast(Toast::new(Level::Info, why))];
        }
        self.0.submit(path.to_path_buf());
        Vec::new()
    }

    /// Whether a data set is being mounted or unmounted.
    pub fn is_busy(&self) -> bool {
        self.0.is_waiting()
    }

    /// Adds a notice about the finished mount or unmount to `effects`. Returns whether there was one.
    pub fn gather(&mut self, env: &UiEnv, effects: &mut Vec<Effect>) -> bool {
        let Some(changed) = self.0.take() else { return false };
        let (level, words) = match changed {
            Ok(MountChange { at, is_mounted: true, losses }) => {
                let at = env.short_path(&at);
                match losses.first() {
                    None => (Level::Ok, format!("mounted at {at}; the same key unmounts it")),
                    Some(first) => {
                        let problems = count(losses.len() as u64, "problem");
                        (Level::Warn, format!("mounted at {at}, with {problems}: {first}"))
                    }
                }
            }
            Ok(MountChange { at, .. }) => (Level::Ok, format!("unmounted {}", env.short_path(&at))),
            Err(failure) => {
                effects.push(Effect::failure(&failure));
                return true;
            }
        };
        effects.push(Effect::Toast(Toast::new(level, words)));
        true
    }
}

#[cfg(all(feature = "mount", target_os = "linux"))]
fn change(path: &Path) -> Outcome<MountChange> {
    use gristmill_core::{Failure, Subject};
    use gristmill_fuse::{list_mounts, mount_at, unmount};
    use gristmill_storage::fs::{Fs as _, RealFs, PRIVATE_FOLDER};
    use gristmill_storage::{files, xdg};
    use std::process::{Command, Stdio};

    const ACTIVITY: &str = "mounting";
    let folder = xdg::runtime_dir();
    let is_of = |source: &std::ffi::OsStr| {
        let source = Path::new(source);
        source == path || files::canonicalize(path).is_ok_and(|path| path == source)
    };
    let mounts = list_mounts();
    if let Some(mount) = mounts.iter().find(|mount| mount.at.starts_with(&folder) && is_of(&mount.source)) {
        unmount(&mount.at, false)
            .or_else(|_| unmount(&mount.at, true))
            .map_err(|e| Failure::io(ACTIVITY, &mount.at, &e))?;
        return Ok(MountChange { at: mount.at.clone(), is_mounted: false, losses: Vec::new() });
    }
    files::missing_folders(&folder).into_iter().try_for_each(|folder| RealFs.create_dir(folder, PRIVATE_FOLDER))?;
    let name = path.file_name().map_or_else(|| "data".to_owned(), |name| name.to_string_lossy().into_owned());
    let names = std::iter::once(name.clone()).chain((2_u32..).map(|number| format!("{name}-{number}")));
    let free = names.map(|name| folder.join(name)).find(|at| !files::is_taken(at));
    let at = free.ok_or_else(|| Failure::internal(ACTIVITY, "no name is free"))?;
    let program = std::env::current_exe().map_err(|error| Failure::io(ACTIVITY, "/proc/self/exe", &error))?;
    let mut command = Command::new(&program);
    // An absolute path cannot be mistaken for a flag.
    let path = files::absolute(path).map_err(|error| Failure::io(ACTIVITY, path, &error))?;
    command.args(["mount", "--detach"]).arg(&path).arg(&at).stdin(Stdio::null());
    let done = command.output().map_err(|error| Failure::io(ACTIVITY, &program, &error))?;
    let text = String::from_utf8_lossy(&done.stderr);
    if files::canonicalize(&at).is_ok_and(|at| mount_at(&at).is_some()) {
        // The exit code is not 0 if the data set has problems, although it is mounted.
        let losses = text.lines().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_owned).collect();
        return Ok(MountChange { at, is_mounted: true, losses });
    }
    let why = text.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("the command mount failed");
    let failure = Failure::environment(ACTIVITY, why.to_owned()).on(Subject::path(path));
    Err(match text.lines().find_map(|line| line.strip_prefix("hint: ")) {
        Some(hint) => failure.with_hint(hint.to_owned()),
        None => failure,
    })
}

#[cfg(not(all(feature = "mount", target_os = "linux")))]
fn change(path: &Path) -> Outcome<MountChange> {
    Ok(MountChange { at: path.to_owned(), is_mounted: false, losses: Vec::new() })
}
