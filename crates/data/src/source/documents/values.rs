//! JSON files in folders that hold one value instead of lines, which are usually settings and descriptions (docs/formats/json.md).

use super::{layout_of, Layout, Listing, TextFile};
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Cancel, Outcome, Problem, ProblemKind, Subject};
use std::path::Path;

/// Suffix of such files.
const SUFFIX: &str = ".json";

/// Leaves out files of a folder that hold one array, or objects over several lines, if the folder has files of lines or rows, or
/// `has_others` is true. This is a problem, and not a note, for an array, which may consist of documents, and if the names of files with
/// lines also end in `.json`.
pub(in crate::source) fn leave_out_values(
    folder: &Path,
    first: usize,
    (has_others, hint): (bool, &str),
    listing: &mut Listing,
    cancel: &Cancel,
) -> Outcome<()> {
    let mut has_array = false;
    let is_value = |file: &TextFile| -> Outcome<bool> {
        let may_be = !file.source.is_table() && file.name.ends_with(SUFFIX);
        let layout = if may_be { Some(layout_of(file, cancel)?) } else { None };
        has_array |= layout == Some(Layout::Array);
        Ok(matches!(layout, Some(Layout::Array | Layout::Objects)))
    };
    let found = listing.files.get(first..).unwrap_or_default();
    let values = found.iter().map(is_value).collect::<Outcome<Vec<bool>>>()?;
    let kept = || found.iter().zip(&values).filter(|(_, is_value)| !**is_value).map(|(file, _)| file);
    let (number, rest) = (values.iter().filter(|is_value| **is_value).count(), kept().count());
    if number == 0 || rest == 0 && !has_others {
        return Ok(());
    }
    let is_loss = has_array || kept().any(|file| file.name.ends_with(SUFFIX));
    let name = found.iter().zip(&values).find(|(_, is_value)| **is_value).map_or("", |(file, _)| file.name.as_str());
    let message = format!(
        "{} without lines left out, the first is {}: one JSON array, or objects of several lines",
        count(number as u64, "file"),
        display_safe(name)
    );
    let report = if is_loss { Problem::problem } else { Problem::note };
    let problem = report(ProblemKind::FileLeftOut, Subject::path(folder), message);
    let mut is_kept = values.into_iter().map(|is_value| !is_value);
    let rest: Vec<TextFile> = listing.files.drain(first..).filter(|_| is_kept.next().unwrap_or(true)).collect();
    listing.files.extend(rest);
    listing.problems.push(problem.with_hint(hint));
    Ok(())
}
