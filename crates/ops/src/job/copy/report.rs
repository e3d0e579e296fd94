//! The result of a copy.

use super::transfer::CopiedFile;
use super::CopyItem;
use crate::job::report::{Report, ReportLine, RunFindings};
use gristmill_core::text::{bytes, count, display_safe};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Limit of files printed individually.
const MAX_PRINTED_FILES: usize = 40;

/// Files that were skipped because they are equal to their targets, by the method of comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkippedFiles {
    /// Number of files with equal size and checksum.
    pub by_checksum: u64,
    /// Number of local files with equal content.
    pub by_content: u64,
    /// Number of files of equal size that are not newer than their targets and have no known checksum.
    pub by_size: u64,
}

/// A file that would be copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedCopy {
    /// Path of the file.
    pub from: PathBuf,
    /// Path of the copy.
    pub to: PathBuf,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Result of a copy.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CopyReport {
    /// The target of the copy: a file or folder.
    pub target: PathBuf,
    /// Number of files that were copied.
    pub files: u64,
    /// Size of the copied files in bytes.
    pub bytes: u64,
    /// Number of files that were copied within a store, without downloading them.
    pub files_copied_by_store: u64,
    /// Files that were skipped because they are equal to their targets.
    pub skipped: SkippedFiles,
    /// Files that would be copied, in a preview.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedCopy>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

impl CopyReport {
    /// Adds the files that were copied to the totals.
    pub(super) fn count(&mut self, copied: &[CopiedFile]) {
        self.files = copied.len() as u64;
        self.bytes = copied.iter().map(|file| file.bytes).sum();
        self.files_copied_by_store = copied.iter().filter(|file| file.is_by_store).count() as u64;
    }

    /// Adds the files that would be copied.
    pub(super) fn plan(&mut self, items: Vec<CopyItem>) {
        self.files = items.len() as u64;
        self.bytes = items.iter().map(|item| item.info.len()).sum();
        let planned =
            items.into_iter().map(|item| PlannedCopy { bytes: item.info.len(), from: item.from, to: item.to });
        self.planned = planned.collect();
    }
}

fn shown(path: &Path) -> String {
    display_safe(&path.to_string_lossy()).into_owned()
}

fn shown_target(path: &Path) -> String {
    match path == Path::new(".") {
        true => "the current folder".to_owned(),
        false => shown(path),
    }
}

impl Report for CopyReport {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let files = format!("{} of {} to {}", count(self.files, "file"), bytes(self.bytes), shown_target(&self.target));
        let mut lines: Vec<ReportLine> = Vec::new();
        if is_preview {
            let planned = self.planned.iter().take(MAX_PRINTED_FILES);
            lines.extend(planned.map(|copy| ReportLine::plain(format!("{} → {}", shown(&copy.from), shown(&copy.to)))));
            if self.planned.len() > MAX_PRINTED_FILES {
                let more = count((self.planned.len() - MAX_PRINTED_FILES) as u64, "more file");
                lines.push(ReportLine::plain(format!("… and {more}: --json lists all of them")));
            }
            lines.push(ReportLine::plain(format!("Would copy {files}. Nothing was written.")));
        } else {
            let by_store = match self.files_copied_by_store {
                0 => String::new(),
                count if count == self.files => ", all by the store itself".to_owned(),
                count => format!(", {count} of them by the store itself"),
            };
            lines.push(ReportLine::success("Copied", format!(" {files}{by_store}.")));
        }
        let skipped = [
            (self.skipped.by_checksum, "checksums equal to those of the targets"),
            (self.skipped.by_content, "contents equal to those of the targets"),
            (self.skipped.by_size, "the sizes of their targets, which are not older"),
        ];
        let skipped = skipped.into_iter().filter(|(number, _)| *number > 0);
        lines.extend(
            skipped.map(|(number, what)| ReportLine::plain(format!("Skipped {} with {what}.", count(number, "file")))),
        );
        lines
    }

    crate::run_report!(; findings);
}
