//! The token limit of each format.

use super::Assembler;
use crate::tokens::encode::{EncodedBlock, EncodingSpec};
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};
use std::borrow::Cow;

impl Assembler<'_> {
    /// Whether every format of the pass has reached the token limit of the plan.
    pub(in crate::tokens::pack) fn is_full(&self) -> bool {
        let Some((limit, pass)) = self.plan.limit_tokens.zip(self.pass) else { return false };
        let written = |number: usize| self.totals.targets.get(number).map_or(0, |totals| totals.written);
        pass.specs().all(|number| written(number) >= limit)
    }

    /// Returns the documents of a block up to the one that reaches the token limit. Counts documents in the order of the text, so the
    /// result does not depend on threads or block sizes.
    pub(super) fn within_limit<'b>(
        &mut self,
        number: usize,
        spec: &EncodingSpec,
        block: &'b EncodedBlock,
    ) -> Outcome<Cow<'b, EncodedBlock>> {
        let (Some(limit), Some(totals)) = (self.plan.limit_tokens, self.totals.targets.get_mut(number)) else {
            return Ok(Cow::Borrowed(block));
        };
        let was_full = totals.written >= limit;
        let mut documents = 0;
        for length in &block.lengths {
            if totals.written >= limit {
                break;
            }
            totals.written += length;
            documents += 1;
        }
        if totals.written >= limit && !was_full {
            let why =
                format!("it has {} tokens: the limit is reached, and later documents are not packed", totals.written);
            self.report(Problem::note(ProblemKind::Other, Subject::field(spec.format), why))?;
        }
        Ok(match documents == block.lengths.len() && !was_full {
            true => Cow::Borrowed(block),
            false => Cow::Owned(block.first(documents, spec.token.bytes())),
        })
    }
}
