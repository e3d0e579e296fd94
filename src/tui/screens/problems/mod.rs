//! The list of problems with a cursor: Enter opens the place of the selected problem, `x` excludes its sample or shard, `X` those of all
//! problems of its kind.
//!
//! [`ProblemTable`] is pure and used by every run, by the jobs panel and by the browser ([`screen`]). [`ProblemEditor`] looks up the
//! targets of the problems of a run, and owns the split session that `x` changes.

mod editor;
mod find;
mod rows;
pub mod screen;
mod table;
mod view;

pub use editor::ProblemEditor;
pub use rows::{count_known, DatasetProblems, ExcludeTarget, OpenTarget, ProblemRows, ProblemTarget};
pub use screen::{ProblemFeed, ProblemScreen};
pub use table::ProblemTable;

#[cfg(test)]
mod tests;
