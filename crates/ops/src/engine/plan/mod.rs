//! Decisions based on a plan and the facts of the data set, without threads and terminal. No file is read, except the samples read by
//! [`fields::load`].
//!
//! [`validate`] reports before any work why a plan cannot run; [`splits`] divides shards; [`suggest`] proposes answers; [`fields`]
//! evaluates field maps on samples; [`file`] reads and writes plan files, and [`CommandLine`] is the equivalent command.

pub mod classes;
mod command;
pub mod compare;
pub mod dedup;
pub mod fields;
pub mod file;
pub mod inherit;
mod paths;
pub mod splits;
pub mod suggest;
mod validate;

use gristmill_core::{Problem, ProblemKind, Subject};

pub use command::CommandLine;
pub use compare::differences;
pub use gristmill_core::did_you_mean::nearest;
pub use inherit::inherited;
pub(crate) use paths::resolve_links;
pub use splits::{pattern_matches, resolve, resolve_in, ResolvedSplits};
pub use validate::{
    already_prepared, cut_names, key_refusals, keys_in_new_shards, many_shards, media_without_database, prefix_hint,
    same_keys, scattered_problem, unreadable_splits, unusable_samples, validate,
};

/// Returns the refusal for an open question.
pub(crate) fn missing_answer(what: &str, hint: impl Into<String>) -> Problem {
    Problem::refusal(ProblemKind::MissingAnswer, Subject::default(), what).with_hint(hint)
}

/// Returns the refusal for a wrong answer.
pub(crate) fn wrong_answer(flag: &str, why: impl Into<String>) -> Problem {
    Problem::refusal(ProblemKind::BadName, Subject::field(flag), why)
}
