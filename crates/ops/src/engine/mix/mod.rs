//! Metadatasets: reading, checking and writing them (docs/formats/energon.md §14).

pub mod author;
mod aux;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
pub mod join;
pub mod join_plan;
mod overlaps;
mod paths;
mod records;
mod sets;
mod share;
mod subset;
#[cfg(test)]
mod tests;
mod walk;

pub use facts::{AuxLookup, JoinFacts, MixFacts, MixNode, MixNodeKind, MixSplit};
pub use sets::NO_MEMBER;

use gristmill_core::{Handles, Outcome, Problem, ProblemKind, Severity};
use gristmill_data::formats::energon::metadataset::Mark;
use gristmill_data::formats::energon::ENERGON_VERSION;
use join_plan::JoinPlan;
use sets::{MixFile, UnusableMember};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use walk::Walk;

/// Maximum number of members whose records are looked up in aux sources.
const MAX_AUX_LOOKUPS: usize = 100;

/// Message for a join whose index does not exist.
pub const NOT_JOINED_YET: &str = "the index of the join is not there yet, and the loader stops at that";

/// Reads a metadataset, opens all of its members, and returns its facts, including all problems. An error means that the file itself cannot
/// be read.
pub fn check(path: &Path, handles: Handles<'_>) -> Outcome<MixFacts> {
    check_file(sets::read_file(path, &path.to_string_lossy())?, handles)
}

/// Like [`check`], for a file that was already read.
fn check_file(file: MixFile, handles: Handles<'_>) -> Outcome<MixFacts> {
    let file = Rc::new(file);
    let mut walk = Walk::new(handles);
    let splits = walk.file(&file)?;
    report_overlaps(&mut walk, &file, &splits);
    let lookups = collect_lookups(&mut walk, handles)?;
    check_joins(&mut walk, &file);
    let findings = std::mem::take(&mut walk.library.findings);
    walk.problems.extend(findings);
    let joins = walk.joins.iter().map(|plan| JoinFacts {
        file: plan.file.clone(),
        split: plan.split.clone(),
        index: plan.index().to_owned(),
        is_prepared: plan.rows().is_some(),
    });
    Ok(MixFacts {
        path: file.path.clone(),
        version: file.data.as_ref().map_or(2, |data| data.version),
        splits,
        joins: joins.collect(),
        aux: lookups,
        problems: walk.problems,
    })
}

/// The joins and files to prepare for a metadataset.
#[derive(Debug, Default)]
pub struct Joins {
    /// The joins to prepare, in the order of the file, including those of nested files that are used.
    pub plans: Vec<JoinPlan>,
    /// The joins in `plans`, and the joins in unused splits of nested files, whose indexes are not stale.
    pub named: Vec<JoinPlan>,
    /// The metadatasets that were read, by their absolute paths.
    pub files: Vec<std::path::PathBuf>,
    /// Number of splits of the outermost file.
    pub splits: u64,
    /// All problems found in the metadataset.
    pub problems: Vec<Problem>,
}

/// Returns the joins that a metadataset needs, and all problems with it. Opens no tar.
pub fn joins(path: &Path, handles: Handles<'_>) -> Outcome<Joins> {
    let file = Rc::new(sets::read_file(path, &path.to_string_lossy())?);
    let mut walk = Walk::new(handles);
    let splits = walk.file(&file)?.len() as u64;
    report_clashes(&mut walk, &file);
    let plans = std::mem::take(&mut walk.joins);
    let problems = std::mem::take(&mut walk.problems);
    let nested = std::mem::take(&mut walk.nested);
    for file in &nested {
        walk.all_joins(file)?;
    }
    let named = plans.iter().chain(&walk.joins).cloned().collect();
    let files = std::iter::once(&file).chain(&nested).map(|file| file.path.clone()).collect();
    Ok(Joins { plans, named, files, splits, problems })
}

/// Reports samples that are read more than once, for the splits that read them.
fn report_overlaps(walk: &mut Walk<'_>, file: &MixFile, splits: &[MixSplit]) {
    for overlap in std::mem::take(&mut walk.usages).overlaps(splits) {
        let at = file.data.as_ref().ok().and_then(|data| data.splits.get(overlap.split)).map(|split| split.at);
        let kind = if overlap.is_over_splits { ProblemKind::Leak } else { ProblemKind::BadMember };
        let why = UnusableMember::new(overlap.message).hint(overlap.hint);
        walk.report_once(file, at.unwrap_or_default(), kind, Severity::Note, why);
    }
}

fn collect_lookups(walk: &mut Walk<'_>, handles: Handles<'_>) -> Outcome<Vec<AuxLookup>> {
    let members = std::mem::take(&mut walk.with_aux);
    let mut lookups: Vec<AuxLookup> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for member in members.iter().filter(|member| seen.insert((member.path.clone(), member.sources.clone()))) {
        if lookups.len() >= MAX_AUX_LOOKUPS {
            break;
        }
        match aux::lookup(member, handles.cancel) {
            Ok(Some(lookup)) => {
                if lookup.missing > 0 {
                    let severity = if lookup.found > 0 { Severity::Problem } else { Severity::Note };
                    walk.report_once(
                        &member.file,
                        member.at,
                        ProblemKind::BadMember,
                        severity,
                        unusable_member(&lookup),
                    );
                }
                lookups.push(lookup);
            }
            Ok(None) => {}
            Err(failure) if failure.is_cancelled() => return Err(failure),
            Err(failure) => {
                walk.report_once(&member.file, member.at, ProblemKind::BadMember, Severity::Problem, failure.into())
            }
        }
    }
    Ok(lookups)
}

fn unusable_member(lookup: &AuxLookup) -> UnusableMember {
    let examples: Vec<String> = lookup.examples.iter().map(|name| format!("'{name}'")).collect();
    let (missing, all) = (lookup.missing, lookup.missing + lookup.found);
    let records = lookup.records;
    let message = format!(
        "{missing} of {all} names of media in {records} of its records are in none of its aux sources, for example {}",
        examples.join(", ")
    );
    UnusableMember::new(message)
        .hint("in a prepared data set the loader looks for KEY.PART, in a folder for the path of a file below it")
}

/// Reports missing indexes, and indexes that the loader cannot read.
fn check_joins(walk: &mut Walk<'_>, outermost: &MixFile) {
    report_clashes(walk, outermost);
    let plans = std::mem::take(&mut walk.joins);
    for plan in &plans {
        let file = file_of(plan, outermost);
        if let Some(why) = unreadable_rows_reason(plan.filled()) {
            walk.report_once(&file, plan.at, ProblemKind::BadMetadataset, Severity::Note, why);
        }
        if plan.rows().is_none() {
            let why = UnusableMember::new(NOT_JOINED_YET)
                .hint(format!("gristmill prepare {}", sets::quoted(&outermost.path)));
            walk.report_once(&file, plan.at, ProblemKind::MissingFile, Severity::Problem, why);
        }
    }
    walk.joins = plans;
}

/// Returns the reason why the loader cannot use an index with rows that lack a member: this version writes such rows but fails to read
/// them.
fn unreadable_rows_reason(rows: Option<u64>) -> Option<UnusableMember> {
    let rows = rows.filter(|&rows| rows > 0)?;
    let rows = gristmill_core::text::count(rows, "joined sample");
    let message = format!(
        "{rows} with nothing from a member: Energon {ENERGON_VERSION} writes and finds such rows, but cannot read them"
    );
    Some(UnusableMember::new(message).hint("nonmatch: skip leaves such samples out"))
}

/// Returns message and hint about joined samples that this version of the loader cannot read; `None` if there are none.
pub fn unreadable_rows(rows: u64) -> Option<(String, Option<String>)> {
    unreadable_rows_reason(Some(rows)).map(|why| (why.message, why.hint))
}

/// Reports joins whose indexes collide. The loader names the index of a join by its members and not by the split, so two splits may need
/// one file with different rows.
fn report_clashes(walk: &mut Walk<'_>, outermost: &MixFile) {
    let plans = std::mem::take(&mut walk.joins);
    let mut by_name: HashMap<&Path, &JoinPlan> = HashMap::new();
    for plan in &plans {
        let file = file_of(plan, outermost);
        match by_name.get(plan.index()) {
            Some(other) if !other.is_same_as(plan) => {
                let message = format!(
                    "splits '{}' and '{}' join the same data sets, and the loader keeps one index for both: it would read the rows of one in the other",
                    other.split, plan.split
                );
                let hint = "write each split as a metadataset of its own, and name these here by 'path'";
                walk.refuse(&file, plan.at, ProblemKind::BadMetadataset, UnusableMember::new(message).hint(hint));
            }
            Some(_) => {}
            None => {
                by_name.insert(plan.index(), plan);
            }
        }
        if plan.has_other_names {
            let why = UnusableMember::new(
                "its members exclude too many single samples: the loader asks for another name of the index in each process",
            )
            .hint("exclude whole shards, or prepare the members again without these samples");
            walk.report_once(&file, plan.at, ProblemKind::BadMetadataset, Severity::Problem, why);
        }
    }
    walk.joins = plans;
}

/// Returns a file with only the paths that are needed to name it in a message.
fn file_of(plan: &JoinPlan, outermost: &MixFile) -> MixFile {
    let shown = if plan.file == outermost.path { outermost.shown.clone() } else { plan.shown.clone() };
    MixFile { path: plan.file.clone(), shown, data: Err(Vec::new()), is_written: outermost.is_written }
}

/// Returns the line and the column of a problem in a file, for front ends that show the text.
pub fn place(problem: &Problem) -> Option<Mark> {
    let within = |number: u64| u32::try_from(number).ok();
    Some(Mark { line: within(problem.subject.line?)?, column: within(problem.subject.column?)? })
}
