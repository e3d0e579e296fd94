//! The report of a run that converts token files to other token files.

use super::report::{OutputFile, Report, ReportLine, RunFindings};
use gristmill_core::text::{bytes, count, count_verb, display_safe, shell_quote};
use serde::Serialize;
use std::path::PathBuf;

/// The result of a run, or of a preview.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FilesReport {
    /// Folder of the result.
    pub output: PathBuf,
    /// Number of files read.
    pub inputs: u64,
    /// Files as written; empty for a dry run of a merge, whose division into files is not known before the run.
    pub files: Vec<OutputFile>,
    /// Number of tokens written, or to be written.
    pub tokens: u64,
    /// Number of documents, chunks or windows.
    pub units: u64,
    /// Number of input tokens that are in none of the files.
    pub left_tokens: u64,
    /// Noun for a unit, in the singular.
    #[serde(skip)]
    pub unit: &'static str,
    /// Verbs for a run and for a preview: `Merged`, `merge`.
    #[serde(skip)]
    pub verbs: (&'static str, &'static str),
    /// Size of a token in bytes.
    pub token_bytes: u64,
    /// Whether identical files already existed and nothing was written.
    pub nothing_to_do: bool,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

impl Report for FilesReport {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let what = format!(
            "{} with {} of {}",
            count(self.units, self.unit),
            count(self.tokens, "token"),
            count(self.inputs, "file")
        );
        let output = display_safe(&self.output.to_string_lossy()).into_owned();
        let (done, would) = self.verbs;
        let mut lines = vec![match (is_preview, self.nothing_to_do) {
            (true, _) => ReportLine::plain(format!("Would {would} {what} into {output}. Nothing was written.")),
            (false, true) => {
                ReportLine::success("Nothing to do.", format!(" {output} holds the same files already: {what}."))
            }
            (false, false) => {
                let size = bytes(self.files.iter().map(|file| file.bytes).sum());
                let files = count(self.files.len() as u64, "file");
                ReportLine::success(done, format!(" {what} into {output}: {files}, {size}."))
            }
        }];
        if self.left_tokens > 0 {
            lines
                .push(ReportLine::plain(format!("{} left out.", count_verb(self.left_tokens, "token", "was", "were"))));
        }
        lines
    }

    crate::job_report!(; findings);

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill info {}", shell_quote(&self.output.to_string_lossy())))
    }
}
