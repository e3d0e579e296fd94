//! Refuses JSON files that do not contain lines before any line is read, because otherwise each line would be reported as a problem.

use super::pool::run_units;
use gristmill_core::text::count_verb;
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::source::documents::{DocumentFields, Layout, TextFile};
use gristmill_storage::location::threads_for;
use gristmill_storage::read_ahead::read_heads_ahead;

/// Checks the beginning of each file. Returns a note for each empty file, and a problem for each file without the text field. Fails for the
/// first file that does not contain lines or rows, with a hint that names the command for converting it. Fails if no table has the text
/// field.
pub(crate) fn check(
    files: &[&TextFile],
    fields: &DocumentFields,
    (what, threads): (&str, usize),
    cancel: &Cancel,
) -> Outcome<Vec<Problem>> {
    let _ahead = read_heads_ahead(files.iter().map(|file| (&*file.path, file.stamp)));
    let threads = files.first().map_or(threads, |file| threads_for(&file.path, threads));
    let layouts = run_units(files, threads, cancel, |file| file.source.layout(file, fields, cancel))?;
    let found = || files.iter().zip(&layouts);
    let mut others = found().filter_map(|(file, layout)| Some((file, layout.conversion(file)?)));
    if let Some((file, conversion)) = others.next() {
        return Err(refusal(file, conversion, others.count() as u64, what));
    }
    let has_text = found().any(|(_, layout)| matches!(layout, Layout::Lines | Layout::Rows));
    let mut problems = Vec::new();
    for (file, layout) in found() {
        let subject = Subject::path(&file.path);
        match layout {
            Layout::Empty => {
                let why = "it is empty and has no document";
                problems.push(Problem::note(ProblemKind::EmptyFile, subject, why));
            }
            Layout::NoText { why, hint } if !has_text => {
                return Err(Failure::usage(what, why.clone()).on(subject).with_hint(hint.clone()));
            }
            Layout::NoText { why, hint } => {
                let why = format!("it is left out: {why}");
                problems.push(Problem::problem(ProblemKind::NoText, subject, why).with_hint(hint.clone()));
            }
            Layout::Lines | Layout::Rows | Layout::Array | Layout::Objects => {}
        }
    }
    Ok(problems)
}

/// Like [`check`], for the first files in a preview. A failure that would end a run is returned as a refusal among the problems.
pub(crate) fn preview(
    files: &[&TextFile],
    fields: &DocumentFields,
    (what, threads): (&str, usize),
    cancel: &Cancel,
) -> Outcome<Vec<Problem>> {
    /// Limit of files that are checked in a preview.
    const MAX_FILES: usize = 64;
    match check(files.get(..MAX_FILES).unwrap_or(files), fields, (what, threads), cancel) {
        Err(failure) if failure.class == gristmill_core::ExitClass::Data => {
            let problem = Problem::of_failure(ProblemKind::BadJson, failure);
            Ok(vec![Problem { severity: Severity::Refusal, ..problem }])
        }
        other => other,
    }
}

fn refusal(file: &TextFile, (is, command): (&str, String), more: u64, what: &str) -> Failure {
    let others = match more {
        0 => String::new(),
        more => format!("; {} like it", count_verb(more, "more file", "is", "are")),
    };
    Failure::data(what, format!("{is}, where one object per line is read{others}"))
        .on(Subject::path(&file.path))
        .with_hint(format!("convert it: {command}"))
}
