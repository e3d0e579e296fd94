//! Which files are read, in which order, and for which formats.
//!
//! Every format has its own rules for finding and ordering files. Formats that agree share one pass over the text; the others read it
//! again.

use crate::engine::pack::{forager_names, pbin_names};
use crate::source::text::{list, Listing, Selection, TextFile};
use gristmill_core::{Cancel, Failure, Outcome, PackFormat, PackPlan, Problem, Subject};
use gristmill_storage::read::stamp_at;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Default limit of tasks.
const MAX_TASKS: usize = 64;

/// One pass over a list of files, for one or several formats.
#[derive(Debug)]
pub(super) struct Pass {
    /// In reading order.
    pub(super) files: Vec<TextFile>,
    /// Indexes of the specs.
    pub(super) specs: Vec<usize>,
    /// Spans of this raw index are read instead of lines.
    pub(super) index: Option<PathBuf>,
    /// Outputs of each file for each format; parallel to `files`.
    pub(super) roles: Vec<Role>,
}

/// Outputs of a file for each format of its pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    /// Index among the `.pbin` files.
    pub(super) pbin: usize,
    /// The task of Nanosets.
    pub(super) rank: u32,
    /// Index among the sample files of Forager.
    pub(super) samples: usize,
}

/// All files of a run.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub(super) passes: Vec<Pass>,
    /// Relative names of the `.pbin` files.
    pub(super) pbins: Vec<String>,
    /// Ranks of Nanosets that this run processes.
    pub(super) ranks: Vec<u32>,
    /// Total number of tasks.
    pub(super) tasks: u32,
    /// Names of the sample files of Forager.
    pub(super) samples: Vec<String>,
    /// Files that are left out although they look like data.
    pub(super) problems: Vec<Problem>,
    /// Folders that this program itself writes to.
    own: Vec<PathBuf>,
}

/// Finds all files of a plan and assigns them to passes. `is_done` reports which ranks of Nanosets have already finished.
///
/// Files below one of `own` are never input, wherever the output is.
pub(super) fn find(
    plan: &PackPlan,
    own: &[PathBuf],
    is_done: &dyn Fn(u32) -> bool,
    cancel: &Cancel,
) -> Outcome<Inputs> {
    let mut inputs = Inputs { own: own.to_vec(), ..Inputs::default() };
    let formats = plan.formats();
    let position = |wanted: PackFormat| formats.iter().position(|format| *format == wanted).unwrap_or(0);
    // Forager has the strictest order: the end of one file is carried into the next.
    if plan.forager.is_some() {
        let files = inputs.listed(plan, PackFormat::Forager, cancel)?;
        let target = plan.forager.as_ref();
        let suffix = target.map_or("", |target| target.file_suffix.as_str());
        inputs.samples = forager_names(&files, suffix, !plan.compat).ok_or_else(|| {
            Failure::data("packing for forager", "two inputs have the same name, and their samples would too")
                .with_hint("without --compat they get the names of their folders in front")
        })?;
        let roles = (0..files.len()).map(|samples| Role { samples, ..Role::default() }).collect();
        inputs.passes.push(Pass { files, specs: vec![position(PackFormat::Forager)], index: None, roles });
    }
    if let Some(target) = &plan.nanosets {
        let files = inputs.listed(plan, PackFormat::Nanosets, cancel)?;
        let usual = files.len().clamp(1, MAX_TASKS);
        inputs.tasks = target.tasks.unwrap_or(u32::try_from(usual).unwrap_or(1)).max(1);
        let tasks = usize::try_from(inputs.tasks).unwrap_or(1);
        let wanted = (0..inputs.tasks).filter(|rank| target.rank.is_none_or(|only| only == *rank));
        inputs.ranks = wanted.filter(|rank| !is_done(*rank)).collect();
        if let Some(rank) = target.rank.filter(|rank| *rank >= inputs.tasks) {
            let tasks = gristmill_core::text::count_verb(u64::from(inputs.tasks), "task", "is", "are");
            let why = format!("there is no task {rank}: {tasks} numbered from 0");
            return Err(Failure::usage("packing for nanosets", why).on(Subject::field("--rank")));
        }
        let running: BTreeSet<u32> = inputs.ranks.iter().copied().collect();
        let dealt = files.into_iter().enumerate().map(|(at, file)| (file, u32::try_from(at % tasks).unwrap_or(0)));
        let (files, roles): (Vec<_>, Vec<_>) = dealt
            .filter(|(_, rank)| running.contains(rank))
            .map(|(file, rank)| (file, Role { rank, ..Role::default() }))
            .unzip();
        if !inputs.ranks.is_empty() {
            let number = position(PackFormat::Nanosets);
            inputs.add(number, files, roles, &|role, new| role.rank = new.rank, &follows_tasks);
        }
    }
    if let Some(target) = &plan.modalities {
        let files = inputs.listed(plan, PackFormat::Modalities, cancel)?;
        inputs.pbins = pbin_names(&files);
        let roles: Vec<Role> = (0..files.len()).map(|pbin| Role { pbin, ..Role::default() }).collect();
        let number = position(PackFormat::Modalities);
        match &target.index {
            Some(index) => {
                let [file] = files.as_slice() else {
                    return Err(Failure::usage(
                        "packing by an index",
                        "one index is for one file, and there are several",
                    )
                    .on(Subject::field("--index"))
                    .with_hint("without --index the lines themselves are read"));
                };
                if !file.packing.is_plain() {
                    return Err(Failure::usage(
                        "packing by an index",
                        "the text is compressed, and an index is for plain text",
                    )
                    .on(Subject::path(&file.path)));
                }
                inputs.passes.push(Pass { files, specs: vec![number], index: Some(PathBuf::from(index)), roles });
            }
            None => inputs.add(number, files, roles, &|role, new| role.pbin = new.pbin, &|_, _| true),
        }
    }
    Ok(inputs)
}

/// Whether reading in the order of `found` gives every task its files in its own order. `found` contains positions in the reading order, by
/// file in the order of the format.
fn follows_tasks(found: &[usize], roles: &[Role]) -> bool {
    let mut last: HashMap<u32, usize> = HashMap::new();
    found.iter().zip(roles).all(|(at, role)| last.insert(role.rank, *at).is_none_or(|before| before < *at))
}

impl Inputs {
    fn listed(&mut self, plan: &PackPlan, format: PackFormat, cancel: &Cancel) -> Outcome<Vec<TextFile>> {
        let inputs: Vec<PathBuf> = plan.inputs.iter().map(PathBuf::from).collect();
        let Listing { files, problems, .. } = list(&inputs, Selection::of(plan), format, cancel)?;
        for problem in problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        let is_own = |file: &TextFile| {
            let path = std::path::absolute(&file.path).unwrap_or_else(|_| file.path.clone());
            self.own.iter().any(|own| path.starts_with(own))
        };
        let (own, files): (Vec<_>, Vec<_>) = files.into_iter().partition(is_own);
        match own.first().filter(|_| files.is_empty()) {
            Some(file) => Err(Failure::usage("packing", "the output is where the input is")
                .on(Subject::path(&file.path))
                .with_hint("name another output")),
            None => Ok(files),
        }
    }

    /// Adds a format to a pass that reads the same files in a suitable order, or otherwise to a new pass.
    fn add(
        &mut self,
        spec: usize,
        files: Vec<TextFile>,
        roles: Vec<Role>,
        take: &dyn Fn(&mut Role, &Role),
        suits: &dyn Fn(&[usize], &[Role]) -> bool,
    ) {
        for pass in self.passes.iter_mut().filter(|pass| pass.index.is_none() && pass.files.len() == files.len()) {
            let places: HashMap<&Path, usize> =
                pass.files.iter().enumerate().map(|(at, file)| (file.path.as_path(), at)).collect();
            // A file that is named twice has two positions, which a table cannot represent.
            let found: Vec<usize> = files.iter().filter_map(|file| places.get(file.path.as_path()).copied()).collect();
            if places.len() != files.len() || found.len() != files.len() || !suits(&found, &roles) {
                continue;
            }
            for (at, role) in found.iter().zip(&roles) {
                if let Some(known) = pass.roles.get_mut(*at) {
                    take(known, role);
                }
            }
            pass.specs.push(spec);
            pass.specs.sort_unstable();
            return;
        }
        self.passes.push(Pass { files, specs: vec![spec], index: None, roles });
    }

    /// Returns every file once.
    pub(super) fn files(&self) -> Vec<&TextFile> {
        let mut seen = BTreeSet::new();
        self.passes.iter().flat_map(|pass| &pass.files).filter(|file| seen.insert(&file.path)).collect()
    }

    /// Returns every file that is read line by line, once.
    pub(super) fn line_files(&self) -> Vec<&TextFile> {
        let mut seen = BTreeSet::new();
        let passes = self.passes.iter().filter(|pass| pass.index.is_none());
        passes.flat_map(|pass| &pass.files).filter(|file| seen.insert(&file.path)).collect()
    }

    /// Returns the relative names of the files of a task of Nanosets, in its order.
    pub(super) fn files_of_rank(&self, plan: &PackPlan, rank: u32) -> Vec<&str> {
        let spec = plan.formats().iter().position(|format| *format == PackFormat::Nanosets);
        let pass = spec.and_then(|spec| self.passes.iter().find(|pass| pass.specs.contains(&spec)));
        let files = pass.into_iter().flat_map(|pass| pass.files.iter().zip(&pass.roles));
        files.filter(|(_, role)| role.rank == rank).map(|(file, _)| file.name.as_str()).collect()
    }

    /// Returns the bytes on disk that all passes read.
    pub(super) fn bytes(&self) -> u64 {
        self.passes.iter().flat_map(|pass| &pass.files).map(|file| file.bytes).sum()
    }

    /// Returns a hash of the current state of the files and of their assignment; it is the same from every folder.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = String::new();
        for pass in &self.passes {
            text.push_str(&format!("{:?} {:?}\n", pass.specs, pass.index.as_deref().map(whole)));
            for (file, role) in pass.files.iter().zip(&pass.roles) {
                text.push_str(&format!("{:?} {:?} {:?} {role:?}\n", whole(&file.path), file.name, file.stamp));
            }
            if let Some(index) = &pass.index {
                text.push_str(&format!("{:?}\n", stamp_at(index).ok()));
            }
        }
        text.push_str(&format!("{:?} {}\n", self.ranks, self.tasks));
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Fails if a file has changed since it was found.
    pub(super) fn check_unchanged(&self) -> Outcome<()> {
        self.files().into_iter().try_for_each(check_unchanged)
    }
}

/// Returns a path that does not depend on the current folder.
pub(super) fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Fails if a file has changed since it was found.
pub(super) fn check_unchanged(file: &TextFile) -> Outcome<()> {
    let why = match stamp_at(&file.path) {
        Ok(stamp) if stamp == file.stamp => return Ok(()),
        Ok(_) => "it was written to while it was read",
        Err(failure) if failure.is_missing() => "it vanished while it was read",
        Err(failure) => return Err(failure),
    };
    Err(Failure::data("packing", why)
        .on(Subject::path(&file.path))
        .with_hint("wait until no program writes to it, then run the same command again"))
}
