//! Reports and records the omitted documents of a block.

use super::Assembler;
use crate::tokens::encode::{EncodingSpec, Finding, PackedPiece};
use crate::tokens::pack::inputs::Pass;
use gristmill_core::handles::MAX_LISTED_PROBLEMS;
use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink as _, Severity, Subject};
use gristmill_data::source::documents::{mark_hint, with_column, TextFile, BYTE_ORDER_MARK, NOT_UTF8, TOO_LONG};

impl Assembler<'_> {
    /// Reports the omitted documents of a block.
    pub(super) fn report_findings(&mut self, pass: &Pass, input: &TextFile, packed: &PackedPiece) -> Outcome<()> {
        for finding in &packed.findings {
            self.report(problem_of(finding, pass, self.specs, input))?;
        }
        for (is_by_design, kind, count) in &packed.unlisted {
            let severity = if *is_by_design { Severity::Note } else { Severity::Problem };
            self.count_more(severity, *kind, *count);
        }
        Ok(())
    }

    pub(super) fn report(&mut self, problem: Problem) -> Outcome<()> {
        // A run lists only the first findings of each severity, so the journal does not need more.
        let kept = self.kept.entry(problem.severity).or_default();
        if *kept < MAX_LISTED_PROBLEMS {
            *kept += 1;
            self.problems.push(problem.clone());
        } else {
            self.tally(problem.severity, problem.kind, 1);
        }
        if self.is_quiet {
            return Ok(());
        }
        self.context.problems.report(problem)
    }

    fn tally(&mut self, severity: Severity, kind: ProblemKind, count: u64) {
        match self.unlisted.iter_mut().find(|known| (known.0, known.1) == (severity, kind)) {
            Some(known) => known.2 += count,
            None => self.unlisted.push((severity, kind, count)),
        }
    }

    pub(super) fn count_more(&mut self, severity: Severity, kind: ProblemKind, count: u64) {
        self.tally(severity, kind, count);
        if !self.is_quiet {
            self.context.problems.count_more(severity, kind, count);
        }
    }
}

fn problem_of(finding: &Finding, pass: &Pass, specs: &[EncodingSpec], input: &TextFile) -> Problem {
    let is_in = |at: usize| finding.specs & (1 << at) != 0;
    let mut words = Vec::new();
    for (at, number) in pass.specs().enumerate() {
        if let Some(spec) = specs.get(number).filter(|_| is_in(at)) {
            words.push(spec.format);
        }
    }
    let whom =
        if words.len() < specs.len() { format!("left out of {}: ", words.join(" and ")) } else { "left out: ".into() };
    let subject = Subject::path(&input.path);
    let (subject, row) = match (input.source.is_table(), input.source.row_group()) {
        (true, Some(group)) => (subject, format!("row {} (in {group} {}) is ", finding.line, finding.start)),
        (true, None) => (subject, format!("row {} is ", finding.line)),
        (false, _) => (subject.line(finding.line + 1).at(finding.start), String::new()),
    };
    let message = format!("{row}{whom}{}", with_column(finding.reason, finding.column.as_deref()));
    let hint = match finding.reason {
        BYTE_ORDER_MARK => Some(mark_hint(input, finding.start)),
        NOT_UTF8 => Some("write the column as UTF-8".to_owned()),
        TOO_LONG => Some("divide the text into several rows".to_owned()),
        _ => None,
    };
    let problem = match finding.is_by_design {
        true => Problem::note(finding.kind, subject, message),
        false => Problem::problem(finding.kind, subject, message),
    };
    Problem { hint, ..problem }
}
