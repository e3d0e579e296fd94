//! Runs that are not finished: active and stopped runs, found by the run folders next to their data.

use super::dedup::external_scratch;
use gristmill_core::text::shell_quote;
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::energon::jsonl_idx::index_path;
use gristmill_storage::files;
use gristmill_storage::location::is_read_only;
use gristmill_storage::lock::{DatasetLock, Holder};
use gristmill_storage::publish;
use gristmill_storage::run_folder::RunFolder;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Limit of entries read from one folder.
const MAX_ENTRIES: usize = 100_000;

/// Outputs with a run folder, by the folder that contains them: for many outputs of one folder, it is listed once.
type OutputsByFolder = HashMap<PathBuf, BTreeSet<PathBuf>>;

/// A run that is active or was stopped, found by its run folder.
#[derive(Debug)]
pub struct UnfinishedRun {
    /// Path of the data set or output.
    pub path: PathBuf,
    /// The run folder of the run.
    pub run_folder: RunFolder,
    /// State of the run.
    pub state: State,
}

/// State of a run.
#[derive(Debug)]
pub enum State {
    /// Active; contains the holder of its lock.
    Running(Box<Holder>),
    /// Stopped during publication; contains the number of files that are not moved yet.
    Publishing(usize),
    /// Stopped, and its work can be resumed.
    Interrupted,
    /// Stopped, and its work cannot be resumed: the next run starts again and removes its files.
    Lost,
}

/// Returns the command that runs the plan of a stopped run again, with the same scratch folder; `None` if there is no plan.
pub fn resume_command(own: &RunFolder) -> Option<String> {
    let plan = Some(own.running_plan()).filter(|plan| files::is_file(plan))?;
    let quoted = |path: &Path| shell_quote(&path.to_string_lossy());
    let scratch = external_scratch(own).map_or_else(String::new, |folder| format!(" --scratch {}", quoted(&folder)));
    Some(format!("gristmill run {}{scratch}", quoted(&plan)))
}

/// Adds to the failure of reading a path that a run which writes it is active or was stopped, and how that run is continued.
pub fn explain_by_run(failure: Failure, path: &Path) -> Failure {
    if is_read_only(path) {
        return failure;
    }
    let place = files::absolute_or_same(path);
    let Some(run) = of(&place).ok().and_then(|runs| runs.into_iter().next()) else { return failure };
    let (why, hint) = match (&run.state, resume_command(&run.run_folder)) {
        (State::Running(_), _) => ("a run on it has not ended", "gristmill jobs lists it".to_owned()),
        (_, Some(command)) => ("a run on it was stopped", format!("resume it: {command}")),
        (_, None) => ("a run on it was stopped", "run the same command again".to_owned()),
    };
    Failure { why: format!("{}; {why}", failure.why), ..failure }.with_hint(hint)
}

/// Returns the run whose run folder is next to an output.
pub fn of_output(output: &Path) -> Outcome<Option<UnfinishedRun>> {
    let own = RunFolder::for_output(output);
    Ok(state(&own)?.map(|state| UnfinishedRun { path: data_of(output), run_folder: own, state }))
}

/// Returns the runs on one data set or output.
pub fn of(path: &Path) -> Outcome<Vec<UnfinishedRun>> {
    of_listed(path, &mut OutputsByFolder::new())
}

fn of_listed(path: &Path, outputs: &mut OutputsByFolder) -> Outcome<Vec<UnfinishedRun>> {
    let mut found = Vec::new();
    let mut owns = vec![(path.to_owned(), RunFolder::for_output(path))];
    match RunFolder::output_of(path) {
        // The path is a run folder itself.
        Some(output) => owns.push((data_of(&output), RunFolder::for_output(&output))),
        None => {
            let ranks = ranks(path, outputs).into_iter();
            owns.extend(ranks.map(|output| (path.to_owned(), RunFolder::for_output(&output))));
        }
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b".jsonl") {
        owns.push((path.to_owned(), RunFolder::for_output(&index_path(path))));
    }
    for (path, own) in owns {
        found.extend(state(&own)?.map(|state| UnfinishedRun { path, run_folder: own, state }));
    }
    let own = RunFolder::for_webdataset(path);
    // Files left here by a killed edit or a killed media run are not a lost run.
    let unfinished = state(&own)?.filter(|state| !matches!(state, State::Lost));
    found.extend(unfinished.map(|state| UnfinishedRun { path: path.to_owned(), run_folder: own, state }));
    Ok(found)
}

/// Returns the first path that does not exist and is not the output of a run either.
pub fn first_missing(paths: &[PathBuf]) -> Outcome<Option<&PathBuf>> {
    let mut outputs = OutputsByFolder::new();
    for path in paths.iter().filter(|path| !files::is_taken(path)) {
        // A run may work on an output that does not exist yet.
        if of_listed(&files::absolute_or_same(path), &mut outputs)?.is_empty() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Returns the runs whose outputs are directly in a folder. A folder that cannot be read counts as empty.
pub fn unfinished_runs_in(folder: &Path) -> Outcome<Vec<UnfinishedRun>> {
    let mut found = Vec::new();
    for output in outputs_in(folder) {
        found.extend(of_output(&output)?);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Returns the runs of the `named` data sets and outputs and of the outputs in them, and the runs of the `lately` used ones. Each run is
/// listed once.
pub fn known(named: &[PathBuf], lately: &[PathBuf]) -> Outcome<Vec<UnfinishedRun>> {
    let (mut found, mut outputs) = (Vec::new(), OutputsByFolder::new());
    for place in named.iter().map(files::absolute_or_same) {
        found.extend(of_listed(&place, &mut outputs)?);
        found.extend(unfinished_runs_in(&place)?);
    }
    for place in lately.iter().map(files::absolute_or_same) {
        found.extend(of_listed(&place, &mut outputs)?);
    }
    let mut seen = HashSet::new();
    found.retain(|run| {
        let own = run.run_folder.path();
        seen.insert(files::canonicalize(own).unwrap_or_else(|_| own.to_owned()))
    });
    Ok(found)
}

/// Returns the file of lines for the output of an index of lines, and the output itself otherwise.
fn data_of(output: &Path) -> PathBuf {
    let name = output.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".idx"));
    match name.filter(|name| name.ends_with(".jsonl")) {
        Some(name) => output.with_file_name(name),
        None => output.to_owned(),
    }
}

/// Returns the outputs in a folder that have a run folder next to them.
fn outputs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = files::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).flatten();
    entries.filter_map(|entry| RunFolder::output_of(entry.path())).collect()
}

/// Returns `OUTPUT.rank-*` for each task of an output that has a run folder, sorted.
fn ranks(output: &Path, outputs: &mut OutputsByFolder) -> Vec<PathBuf> {
    let (Some(name), Some(parent)) = (output.file_name().and_then(|name| name.to_str()), output.parent()) else {
        return Vec::new();
    };
    let start = format!("{name}.rank-");
    let is_rank = |path: &PathBuf| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with(&start));
    let listed = outputs.entry(parent.to_owned()).or_insert_with(|| outputs_in(parent).into_iter().collect());
    listed.range(parent.join(&start)..).take_while(|path| is_rank(path)).cloned().collect()
}

/// Returns the state of the run of a run folder; `None` if no run is unfinished.
fn state(own: &RunFolder) -> Outcome<Option<State>> {
    if !own.exists() {
        return Ok(None);
    }
    if let Some(holder) = DatasetLock::holder(own)? {
        return Ok(Some(State::Running(Box::new(holder))));
    }
    if let Some(files) = publish::pending(own)? {
        return Ok(Some(State::Publishing(files.len())));
    }
    Ok(match () {
        () if files::exists(own.journal()) => Some(State::Interrupted),
        // A run that writes a single file cannot be resumed.
        () if files::exists(own.lock()) => Some(State::Lost),
        () => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn own_of(output: &Path) -> RunFolder {
        let own = RunFolder::for_output(output);
        own.create(&RealFs).unwrap();
        own
    }

    fn names(found: &[UnfinishedRun]) -> Vec<String> {
        found.iter().map(|run| format!("{:?} {}", run.state, run.path.file_name().unwrap().to_string_lossy())).collect()
    }

    #[test]
    fn stopped_run_is_found_by_output_run_folder_and_parent_folder() {
        let dir = tempfile::tempdir().unwrap();
        let own = own_of(&dir.path().join("big"));
        assert!(unfinished_runs_in(dir.path()).unwrap().is_empty(), "nothing has begun");
        write_file(&RealFs, &own.journal(), b"x", 0o600).unwrap();
        for found in
            [of(&dir.path().join("big")), of(&dir.path().join("big.gristmill")), unfinished_runs_in(dir.path())]
        {
            assert_eq!(names(&found.unwrap()), ["Interrupted big"]);
        }
        assert!(of(&dir.path().join("small")).unwrap().is_empty());
        assert!(unfinished_runs_in(&dir.path().join("nowhere")).unwrap().is_empty());
    }

    #[test]
    fn unfinished_run_known_by_several_paths_is_listed_once() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["big", "small"] {
            write_file(&RealFs, &own_of(&dir.path().join(name)).journal(), b"x", 0o600).unwrap();
        }
        let (folder, big) = (dir.path().to_path_buf(), dir.path().join("big"));
        let lately = [dir.path().join("small"), big.clone()];
        assert_eq!(names(&known(&[folder, big], &lately).unwrap()), ["Interrupted big", "Interrupted small"]);
        assert_eq!(names(&known(&[], &lately).unwrap()), ["Interrupted small", "Interrupted big"]);
    }

    #[test]
    fn running_job_is_listed_while_it_holds_its_lock() {
        let dir = tempfile::tempdir().unwrap();
        let own = own_of(&dir.path().join("big"));
        let lock = DatasetLock::acquire(&RealFs, &own, false).unwrap();
        let found = unfinished_runs_in(dir.path()).unwrap();
        assert!(matches!(&found[..], [UnfinishedRun { state: State::Running(_), .. }]), "{found:?}");
        drop(lock);
        assert!(unfinished_runs_in(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn unfinished_ranks_are_found_by_their_common_output() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["tok.rank-00001", "tok.rank-00000", "token.rank-00002"] {
            write_file(&RealFs, &own_of(&dir.path().join(name)).journal(), b"x", 0o600).unwrap();
        }
        assert_eq!(names(&of(&dir.path().join("tok")).unwrap()), ["Interrupted tok", "Interrupted tok"]);
        assert_eq!(unfinished_runs_in(dir.path()).unwrap().len(), 3);
    }

    #[test]
    fn folder_of_several_outputs_is_listed_once() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.rank-00000", "b", "b.rank-00000", "b.rank-00001", "ba.rank-00000"] {
            write_file(&RealFs, &own_of(&dir.path().join(name)).journal(), b"x", 0o600).unwrap();
        }
        let mut outputs = OutputsByFolder::new();
        let paths = ["a", "b", "c"].map(|name| dir.path().join(name));
        let counts = paths.each_ref().map(|path| of_listed(path, &mut outputs).unwrap().len());
        assert_eq!((counts, outputs.len()), ([1, 3, 0], 1));
        write_file(&RealFs, &own_of(&dir.path().join("c.rank-00000")).journal(), b"x", 0o600).unwrap();
        assert!(of_listed(&paths[2], &mut outputs).unwrap().is_empty(), "the folder is not listed again");
        assert_eq!(first_missing(&paths).unwrap(), None);
        assert_eq!(first_missing(&[paths[0].clone(), dir.path().join("d")]).unwrap(), Some(&dir.path().join("d")));
    }

    #[test]
    fn unfinished_jsonl_index_is_listed_under_its_jsonl_file() {
        let dir = tempfile::tempdir().unwrap();
        let lines = dir.path().join("a.jsonl");
        write_file(&RealFs, &own_of(&index_path(&lines)).lock(), b"", 0o600).unwrap();
        for found in [of(&lines), unfinished_runs_in(dir.path())] {
            let found = found.unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].path, lines);
        }
    }
}
