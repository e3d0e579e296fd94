//! Handles keys and clicks in a step with its guide, and decides whether a step or the run is possible.

use super::field::Field;
use super::guide::Guide;
use super::plan_path;
use super::state::{Form, MouseTarget};
use crate::tui::keymap::Action;
use gristmill_core::options::{Answer, OptionRow};
use gristmill_core::{Problem, ProblemKind, Severity, Subject};
use std::path::Path;

/// Handles a key in a step. In a list, it moves the cursor and selects the row.
pub(super) fn handle_action(form: &mut Form, guide: &mut dyn Guide, action: Action) {
    let list = match form.field() {
        Some(Field::List(name)) if form.rail.is_none() => name,
        _ => return form.handle_action(action),
    };
    let Some(rows) = guide.list(list) else { return form.handle_action(action) };
    match action {
        Action::Down if rows.selected + 1 >= rows.len => form.step_focus_within(true),
        Action::Up if rows.selected == 0 => form.step_focus_within(false),
        action if rows.handle_action(action) || action == Action::Toggle => guide.select(form, list),
        action => form.handle_action(action),
    }
}

/// Handles a click.
pub(super) fn click(
    form: &mut Form,
    guide: &mut dyn Guide,
    on: MouseTarget,
    (line, column): (usize, usize),
    is_double: bool,
) {
    form.click(on, line);
    if let MouseTarget::Field(Field::List(name)) = on {
        let row = guide.list(name).and_then(|list| list.row_at(line).map(|row| list.select(row)));
        if row.is_some() {
            guide.select(form, name);
            guide.click(form, name, column, is_double);
        }
    }
}

pub(super) fn wheel(form: &mut Form, guide: &mut dyn Guide, on: MouseTarget, rows: isize) {
    match on {
        MouseTarget::Field(Field::List(name)) if guide.scrolls_by_wheel(name) => {
            if let Some(list) = guide.list(name) {
                list.scroll(rows);
            }
        }
        on => form.wheel(on, rows),
    }
}

/// Returns why a step cannot be completed: because of its answers, or for a reason of the guide.
pub(super) fn blocking_reason(form: &Form, guide: &dyn Guide, step: usize) -> Option<String> {
    form.blocking_reason(step).or_else(|| guide.blocking_reason(form, step)).or_else(|| {
        let last = form.review().saturating_sub(1);
        if !guide.checks_plan() || step > last || (0..last).any(|step| form.blocking_reason(step).is_some()) {
            return None;
        }
        // Problems that belong to no single step are reported by the last step with questions.
        let of_step = |problem: &Problem| step_of_problem(form, problem).unwrap_or(last) == step;
        form.plan().check(false).into_iter().find(of_step).map(|problem| problem.message)
    })
}

/// Returns the step of the option that a problem of the plan refers to.
fn step_of_problem(form: &Form, problem: &Problem) -> Option<usize> {
    step_of(form, &problem.subject, &[&problem.message, problem.hint.as_deref().unwrap_or_default()])
}

/// Returns the step of the first option whose flag the subject or the texts contain, or else of the option whose answer is the path of the
/// subject.
fn step_of(form: &Form, subject: &Subject, texts: &[&str]) -> Option<usize> {
    let texts = subject.field.iter().map(String::as_str).chain(texts.iter().copied());
    // Flags of other commands that a text recommends are not options of this form.
    let own = texts.map(|text| text.split("gristmill ").next().unwrap_or_default());
    let flags = own.flat_map(|text| text.split("--").skip(1));
    let name = |rest: &str| rest.split(|c: char| c != '-' && !c.is_ascii_alphanumeric()).next().map(str::to_owned);
    let named = flags.filter_map(name).find_map(|name| form.step_of(Field::Option(form.table.row(&name)?.info.name)));
    named.or_else(|| {
        let path = plan_path(Path::new(subject.path.as_ref()?));
        let is_it = |answer: &str| plan_path(Path::new(answer)) == path;
        let has_path = |row: &&OptionRow| match form.plan().get(row.info.name) {
            Answer::Text(answer) => is_it(&answer),
            Answer::List(answers) => answers.iter().any(|answer| is_it(answer)),
            _ => false,
        };
        form.step_of(Field::Option(form.table.rows().iter().find(has_path)?.info.name))
    })
}

/// Returns the failure or refusal of the preview, and the step of the option that it names, or the review if it names none.
pub(super) fn planning_blocker(form: &Form, guide: &dyn Guide) -> Option<(usize, String)> {
    let (why, step) = match guide.preview(form)? {
        Err(failure) => {
            let texts = [failure.why.as_str(), failure.hint.as_deref().unwrap_or_default()];
            (failure.to_string(), step_of(form, &failure.subject, &texts))
        }
        Ok(problems) => {
            let refusal = problems.iter().find(|problem| problem.severity == Severity::Refusal)?;
            // A stopped run is handled by a question before this run starts.
            let is_of_step = refusal.kind != ProblemKind::StoppedRun;
            (refusal.to_string(), is_of_step.then(|| step_of_problem(form, refusal)).flatten())
        }
    };
    Some((step.unwrap_or(form.review()), why))
}

/// Returns the reasons why the plan cannot be run, at most one for each step where it can be changed.
pub(super) fn blockers(form: &Form, guide: &dyn Guide) -> Vec<(usize, String)> {
    let of_step = |step| blocking_reason(form, guide, step).map(|why| (step, why));
    let by_step: Vec<_> = (0..form.steps().len()).filter_map(of_step).collect();
    match by_step.is_empty() {
        true => planning_blocker(form, guide).into_iter().collect(),
        false => by_step,
    }
}

/// Returns the first reason why the plan cannot be run, with the step where it can be changed.
pub(super) fn first_blocker(form: &Form, guide: &dyn Guide) -> Option<(usize, String)> {
    blockers(form, guide).into_iter().next()
}

/// Returns the problem for which a run would be refused; `None` while answers are incomplete.
fn refusal(form: &Form, guide: &dyn Guide) -> Option<Problem> {
    if (0..form.steps().len()).any(|step| blocking_reason(form, guide, step).is_some()) {
        return None;
    }
    guide.preview(form)?.ok()?.iter().find(|problem| problem.severity == Severity::Refusal).cloned()
}

/// Returns the problem that a run of another plan was stopped at the output, unless another reason prevents the run.
pub(super) fn stopped_run(form: &Form, guide: &dyn Guide) -> Option<Problem> {
    refusal(form, guide).filter(|problem| problem.kind == ProblemKind::StoppedRun)
}

/// Returns the hint for the problem for which a run would be refused, in terms of the form.
pub(super) fn solution(form: &Form, guide: &dyn Guide) -> Option<String> {
    let is_complete = (0..form.steps().len()).all(|step| blocking_reason(form, guide, step).is_none());
    if let Some(Err(failure)) = guide.preview(form).filter(|_| is_complete) {
        return failure.hint.clone();
    }
    let problem = refusal(form, guide)?;
    match problem.kind {
        ProblemKind::StoppedRun => {
            Some("when it runs, you are asked whether to resume that run or to start from the beginning".into())
        }
        ProblemKind::AlreadyPrepared => {
            let row = form.table.rows().iter().find(|row| row.info.replaces.is_some())?;
            let field = Field::Option(row.info.name);
            let step = form.step_of(field).and_then(|step| form.steps().get(step))?;
            let label = form.table.label(field);
            Some(format!("{label}, among all settings of {}, replaces it; or name another output", step.title))
        }
        _ => problem.hint,
    }
}
