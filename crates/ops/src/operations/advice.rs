//! What the data of a plan say about its answers, for front ends that ask for one option after another.

use super::AnyPlan;
use gristmill_core::options::OptionRow;
use gristmill_core::Outcome;

/// Whether an option without an answer is a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionNeed {
    /// Only if an answer is proposed.
    Optional,
    /// Yes; it may stay without one.
    Always,
    /// Yes, until it has one.
    Required,
}

/// What the data say about the answers of a plan. Implemented by operations whose answers depend on the content of files.
pub trait Advice {
    /// Returns the options that are questions and checked first, in this order. The other required ones follow in the order of the table.
    fn order(&self) -> &'static [&'static str] {
        &[]
    }
    /// Returns whether an option is a question while it has no answer.
    fn need(&self, _plan: &dyn AnyPlan, row: &OptionRow) -> QuestionNeed {
        if row.info.is_required {
            QuestionNeed::Required
        } else {
            QuestionNeed::Optional
        }
    }
    /// Returns the question for an option where its help is not the question.
    fn question(&self, _plan: &dyn AnyPlan, _option: &str) -> Option<&'static str> {
        None
    }
    /// Returns the answer to propose, as it is typed.
    fn propose(&self, _plan: &dyn AnyPlan, _option: &str) -> Option<String> {
        None
    }
    /// Checks the present answer to an option against the data. Returns lines to print.
    ///
    /// # Errors
    /// Why the answer cannot be used; or the interruption of the check.
    fn check(&mut self, _plan: &dyn AnyPlan, _option: &str) -> Outcome<Vec<String>> {
        Ok(Vec::new())
    }
}

/// The advice of operations without any.
pub(super) struct NoAdvice;

impl Advice for NoAdvice {}
