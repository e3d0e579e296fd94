//! Publishes all files in one publication.

use super::job::Job;
use super::layout::with_output;
use super::record::Recorded;
use super::DedupReport;
use crate::engine::plan::file::dedup_to_yaml;
use crate::job::publish::{remove_old, stage_report, FinishedFile, Folders, RECORD_MODE};
use gristmill_core::Outcome;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::Publication;
use std::path::{Path, PathBuf};

/// Stages all files and the ranges for viewing removed text, and publishes them; the report comes last.
pub(super) fn publish(
    (job, lock): (&Job<'_>, &DatasetLock),
    made: &[FinishedFile],
    ranges: Option<PathBuf>,
    mut recorded: Recorded,
    report: &DedupReport,
    first_input: Option<&Path>,
) -> Outcome<()> {
    let (context, plan, layout) = (job.context, job.plan, job.layout);
    let fs = &*context.fs;
    Folders::with(fs, first_input, |folders| {
        // Counts three more files: the ranges, the plan and the report.
        let publication = Publication::begin(fs, layout.root(), &layout.run_folder)?.with_lock(lock, "deduplicating");
        let mut publication = publication.counting(&context.progress, made.len() as u64 + 3);
        // For an input without documents, the visible result is an empty folder.
        folders.make(&layout.output)?;
        for file in made {
            context.cancel.check()?;
            folders.stage(file, &mut publication, &mut recorded)?;
        }
        let places: Vec<&Path> = layout.places().collect();
        let may_write = |path: &Path| places.iter().any(|place| path.starts_with(place));
        remove_old(&layout.run_folder, &recorded, &may_write, &mut publication)?;
        match ranges {
            Some(path) => publication.stage_file(&layout.run_folder.ranges(), path, RECORD_MODE)?,
            // The ranges of an earlier run do not apply to this one.
            None => publication.remove(&layout.run_folder.ranges())?,
        }
        publication.stage_bytes(
            &layout.run_folder.plan(),
            dedup_to_yaml(&with_output(plan)?)?.as_bytes(),
            RECORD_MODE,
        )?;
        stage_report(&mut publication, &layout.run_folder, &recorded, report)?;
        context.cancel.check()?;
        publication.commit(&layout.run_folder.report())
    })
}
