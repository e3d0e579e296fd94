//! Composes the lines of reports, and selects the findings to print.

use super::printer::{paint, Tone};
use gristmill_core::text::{agree, count, display_safe, grouped};
use gristmill_core::{Problem, ProblemKind, Severity};
use gristmill_ops::job::report::{self, LineTone, ReportLine};
use std::path::Path;

/// Maximum number of printed findings per kind; further ones are only counted.
const LINES_PER_KIND: usize = 10;
/// Maximum number of printed notes per kind.
const NOTES_PER_KIND: usize = 5;

/// Returns a path as text, escaped for a sentence.
pub fn quoted(path: &Path) -> String {
    display_safe(&path.to_string_lossy()).into_owned()
}

/// Returns a table of the findings, most severe first.
pub fn problem_table(counts: &[(Severity, ProblemKind, u64)]) -> Vec<String> {
    report::problem_table(counts).into_iter().map(painted).collect()
}

/// Returns a line of a report with its style.
pub fn painted(line: ReportLine) -> String {
    let ReportLine { tone, lead, rest } = line;
    match tone {
        LineTone::Plain => lead + &rest,
        LineTone::Success => paint(Tone::Success, &lead) + &rest,
        LineTone::Strong => paint(Tone::Strong, &lead) + &rest,
    }
}

/// Whether the problem is a note that is printed without `-v`, too.
fn is_shown_note(problem: &Problem) -> bool {
    problem.severity == Severity::Note && problem.kind.has_shown_notes()
}

/// Returns the notes that are printed without `-v`: the first few of each kind, and a line with the number of the others.
pub fn shown_notes(problems: &[Problem]) -> (Vec<&Problem>, Option<String>) {
    let mut seen = std::collections::HashMap::new();
    let all = problems.iter().filter(|problem| is_shown_note(problem));
    let (shown, more): (Vec<_>, Vec<_>) = all.partition(|problem| {
        let number = seen.entry(problem.kind).or_insert(0usize);
        *number += 1;
        *number <= NOTES_PER_KIND
    });
    let line = format!(
        "… and {} (--json lists {})",
        count(more.len() as u64, "more note"),
        agree(more.len() as u64, "it", "them")
    );
    (shown, (!more.is_empty()).then_some(line))
}

/// Returns the findings to print: the first few of each kind, and notes only if `verbose`.
pub fn select_printed_problems(problems: &[Problem], verbose: bool) -> Vec<&Problem> {
    let mut seen = std::collections::HashMap::new();
    problems
        .iter()
        .filter(|problem| verbose || problem.severity > Severity::Note)
        .filter(|problem| !is_shown_note(problem))
        .filter(|problem| {
            let number = seen.entry((problem.severity, problem.kind)).or_insert(0usize);
            *number += 1;
            verbose || *number <= LINES_PER_KIND
        })
        .collect()
}

/// Returns a line with the number of findings that are not printed, without notes; `None` if all are printed.
pub fn format_unprinted_count(
    problems: &[Problem],
    counts: &[(Severity, ProblemKind, u64)],
    verbose: bool,
) -> Option<String> {
    let all: u64 = counts.iter().filter(|(severity, ..)| *severity > Severity::Note).map(|(.., number)| number).sum();
    let shown =
        select_printed_problems(problems, verbose).iter().filter(|problem| problem.severity > Severity::Note).count()
            as u64;
    let more = all.saturating_sub(shown);
    let way = if verbose { "only the first 1,000 are kept" } else { "-v shows more, --json lists them" };
    (more > 0).then(|| format!("… and {} more ({way})", grouped(more)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Subject;

    #[test]
    fn limits_findings_of_one_kind_and_hides_notes() {
        let problem = Problem::problem(ProblemKind::EmptyShard, Subject::shard("a"), "no sample");
        let mut all = vec![problem; 30];
        all.push(Problem::note(ProblemKind::UnnamedEntry, Subject::shard("a"), "skipped"));
        assert_eq!(select_printed_problems(&all, false).len(), LINES_PER_KIND);
        assert_eq!(select_printed_problems(&all, true).len(), 31);
    }

    #[test]
    fn problems_beyond_report_limit_are_counted() {
        let problem = Problem::problem(ProblemKind::EmptyShard, Subject::shard("a"), "no sample");
        let counts = [(Severity::Problem, ProblemKind::EmptyShard, 1_200)];
        let text = format_unprinted_count(&vec![problem.clone(); 30], &counts, false).unwrap();
        assert!(text.contains("1,190 more"), "{text}");
        assert_eq!(format_unprinted_count(&[problem], &[(Severity::Problem, ProblemKind::EmptyShard, 1)], false), None);
    }

    #[test]
    fn report_limits_notes_that_change_the_plan() {
        let note = Problem::note(ProblemKind::ShardInTwoSplits, Subject::field("val"), "2 shards are in both");
        let mut all = vec![note; 7];
        all.push(Problem::note(ProblemKind::UnnamedEntry, Subject::shard("a"), "skipped"));
        all.push(Problem::note(ProblemKind::FieldFails, Subject::field("text"), "odd"));
        let (shown, more) = shown_notes(&all);
        assert_eq!(shown.len(), NOTES_PER_KIND + 1);
        assert_eq!(more.unwrap(), "… and 2 more notes (--json lists them)");
    }
}
