//! Advice on the answers of a plan from its data, for front ends that ask for one option after another.

use super::AnyPlan;
use gristmill_core::options::OptionRow;
use gristmill_core::Outcome;

/// Whether prompts ask for an option that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionNeed {
    /// Asked only if an answer is proposed.
    Optional,
    /// Always asked, but may remain unanswered.
    Always,
    /// Asked until it has an answer.
    Required,
}

/// Advice from the data of a plan. Implemented by operations whose answers depend on the content of files.
pub trait Advice {
    /// Returns the options that are asked and checked first, in this order. Other required options follow in the order of the table.
    fn order(&self) -> &'static [&'static str] {
        &[]
    }
    /// Returns whether prompts ask for an option that has no answer.
    fn need(&self, _plan: &dyn AnyPlan, row: &OptionRow) -> QuestionNeed {
        if row.info.is_required {
            QuestionNeed::Required
        } else {
            QuestionNeed::Optional
        }
    }
    /// Returns the question for an option; `None` means the help of the option.
    fn question(&self, _plan: &dyn AnyPlan, _option: &str) -> Option<&'static str> {
        None
    }
    /// Returns the proposed answer, as the user would type it.
    fn propose(&self, _plan: &dyn AnyPlan, _option: &str) -> Option<String> {
        None
    }
    /// Returns what a check of an answer does, if it may take seconds.
    fn activity(&self, _plan: &dyn AnyPlan, _option: &str) -> Option<&'static str> {
        None
    }
    /// Checks the current answer to an option against the data. Returns lines to print.
    ///
    /// # Errors
    /// The reason why the answer cannot be used, or the cancellation of the check.
    fn check(&mut self, _plan: &dyn AnyPlan, _option: &str) -> Outcome<Vec<String>> {
        Ok(Vec::new())
    }
}

/// The default advice, which is empty.
pub(super) struct NoAdvice;

impl Advice for NoAdvice {}
