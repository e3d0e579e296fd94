//! The list of problems with a cursor: Enter opens what a problem is about, `x` excludes it, `X` all of its kind.
//!
//! [`ProblemTable`] is pure and used by every run, by the panel of jobs and by the browser ([`screen`]). [`ProblemEditor`] looks up the
//! targets of the problems of a run, and owns the splits that `x` changes.

mod editor;
mod find;
mod rows;
pub mod screen;
mod table;
mod view;

pub use editor::ProblemEditor;
pub use rows::{DatasetProblems, ExcludeTarget, OpenTarget, ProblemRows, ProblemTarget};
pub use screen::{ProblemFeed, ProblemScreen};
pub use table::ProblemTable;

#[cfg(test)]
mod tests;
