//! The options of a plan as plain prompts: the missing ones are asked, and all can be changed as a numbered list.

use super::ask::Ask;
use super::next_action::{report_each_problem, Choice, LastLook};
use gristmill_core::options::{self, Answer, OptionRow, ValueKind};
use gristmill_core::text::display_safe;
use gristmill_core::{DedupPlan, Outcome, PackPlan, Problem, RunOptions};
use gristmill_ops::operations::{erase, AnyPlan, Dedup, Pack};

/// The answer that removes a typed one.
const EMPTY: &str = "-";

struct Guide {
    ask: Ask,
    plan: Box<dyn AnyPlan>,
    options: RunOptions,
}

/// Asks for the required options that a plan leaves open, then what to do; `None` if nothing is to be written.
pub fn plan(plan: Box<dyn AnyPlan>, options: &RunOptions) -> Outcome<Option<Box<dyn AnyPlan>>> {
    if let Some(pack) = plan.typed::<PackPlan>() {
        return Ok(super::pack(pack.clone(), options)?.map(erase::<Pack>));
    }
    if let Some(dedup) = plan.typed::<DedupPlan>() {
        return Ok(super::dedup(dedup.clone(), options)?.map(erase::<Dedup>));
    }
    let mut guide = Guide { ask: Ask::new()?, plan, options: options.clone() };
    for row in guide.plan.operation().options().into_iter().filter(|row| row.info.is_required) {
        while guide.plan.applies(row.info.name) && guide.plan.get(row.info.name) == Answer::Unset {
            ask_option(&guide.ask, &row, &mut *guide.plan)?;
        }
    }
    for group in options::one_of_groups(&guide.plan.operation().options()) {
        while group.iter().all(|row| guide.plan.get(row.info.name) == Answer::Unset) {
            ask_one_of(&guide.ask, &group, &mut *guide.plan)?;
        }
    }
    Ok(guide.review()?.then_some(guide.plan))
}

impl LastLook for Guide {
    type Change = ();

    fn choices(&self) -> Vec<(Choice<()>, &'static str)> {
        vec![(Choice::Save, "save the plan"), (Choice::Change(()), "change settings")]
    }

    fn ask(&self) -> &Ask {
        &self.ask
    }

    fn to_yaml(&self) -> Outcome<String> {
        self.plan.to_yaml()
    }

    fn change(&mut self, (): ()) -> Outcome<()> {
        change_options(&self.ask, &mut *self.plan)
    }

    fn wrong(&self) -> Vec<Problem> {
        self.plan.check(false)
    }

    fn show(&self) -> Outcome<bool> {
        let preview = self.plan.start(true, self.options.clone())?.wait();
        let Some(preview) = self.ask.or_refuse(preview)? else { return Ok(false) };
        for line in preview.lines(true) {
            self.ask.print(line.lead + &line.rest);
        }
        let is_refused = report_each_problem(&self.ask, preview.findings().0);
        self.ask.print(format!("The same by flags: {}", self.plan.command_line().text()));
        Ok(!is_refused)
    }
}

/// Returns the options that can be changed now.
fn offered(plan: &dyn AnyPlan) -> Vec<OptionRow> {
    let rows = plan.operation().options().into_iter();
    let is_offered = |row: &OptionRow| !row.info.is_global && !row.step.is_empty() && row.kind.is_stored();
    rows.filter(|row| is_offered(row) && plan.applies(row.info.name)).collect()
}

/// Asks for options until no more are to be changed.
pub(super) fn change_options(ask: &Ask, plan: &mut dyn AnyPlan) -> Outcome<()> {
    ask.print(format!("A single {EMPTY} clears an answer that is typed."));
    loop {
        let rows = offered(plan);
        let lines = rows.iter().map(|row| format!("{}: {}", name(row), shown(row, plan)));
        let lines: Vec<String> = lines.chain(["no more".to_owned()]).collect();
        let chosen = ask.choose("Which setting?", &lines, rows.len())?;
        match rows.get(chosen) {
            Some(row) => ask_option(ask, row, plan)?,
            None => return Ok(()),
        }
    }
}

fn name(row: &OptionRow) -> String {
    match row.needs {
        "" => row.info.label(),
        _ => format!("{}, {}", row.heading, row.info.label()),
    }
}

/// Returns what counts as long as an option has no answer.
fn note(row: &OptionRow) -> &'static str {
    match (row.info.default, row.info.unset) {
        ("", "") => row.info.help,
        ("", meaning) | (meaning, _) => meaning,
    }
}

/// Returns the present answer.
fn shown(row: &OptionRow, plan: &dyn AnyPlan) -> String {
    let answer = plan.get(row.info.name);
    match (row.kind, &answer) {
        (ValueKind::Switch, answer) => {
            format!("{} ({})", if *answer == Answer::On { "on" } else { "off" }, row.info.help)
        }
        (ValueKind::Choice(_), Answer::Unset) if row.info.is_required => "not selected".to_owned(),
        (ValueKind::Choice(choices), Answer::Unset) => choices.first().map(line_of).unwrap_or_default(),
        (ValueKind::Choice(choices), answer) => {
            let name = row.text(answer);
            choices.iter().find(|choice| choice.name == name).map(line_of).unwrap_or(name)
        }
        (_, Answer::Unset) => note(row).to_owned(),
        (_, answer) => display_safe(&row.text(answer)).into_owned(),
    }
}

fn line_of(choice: &options::Choice) -> String {
    match choice.help {
        "" => choice.name.to_owned(),
        help => format!("{}: {help}", choice.name),
    }
}

/// Asks which option of a group is to be given.
fn ask_one_of(ask: &Ask, group: &[OptionRow], plan: &mut dyn AnyPlan) -> Outcome<()> {
    let lines: Vec<String> = group.iter().map(|row| format!("{}: {}", row.info.label(), row.info.help)).collect();
    let heading = group.first().map_or("", |row| row.heading);
    match group.get(ask.choose(heading, &lines, 0)?) {
        Some(row) if row.kind == ValueKind::Switch => {
            if let Err(why) = plan.set(row.info.name, &Answer::On) {
                ask.print(format!("Not possible: {why}"));
            }
            Ok(())
        }
        Some(row) => ask_option(ask, row, plan),
        None => Ok(()),
    }
}

fn ask_option(ask: &Ask, row: &OptionRow, plan: &mut dyn AnyPlan) -> Outcome<()> {
    let option = row.info.name;
    let before = plan.get(option);
    let answer = match row.kind {
        ValueKind::Switch => match ask.yes(&format!("{}: {}", name(row), row.info.help), before == Answer::On)? {
            true => Answer::On,
            false => Answer::Unset,
        },
        ValueKind::Choice(choices) => {
            let lines: Vec<String> = choices.iter().map(line_of).collect();
            let chosen = choices.iter().position(|choice| choice.name == row.text(&before)).unwrap_or(0);
            let number = ask.choose(&name(row), &lines, chosen)?;
            choices.get(number).map_or(Answer::Unset, |choice| Answer::Text(choice.name.to_owned()))
        }
        ValueKind::Choices(choices) => {
            let known = match &before {
                Answer::List(names) => names.clone(),
                _ => Vec::new(),
            };
            let mut chosen = Vec::new();
            for choice in choices {
                if ask.yes(&line_of(choice), known.iter().any(|name| name == choice.name))? {
                    chosen.push(choice.name.to_owned());
                }
            }
            Answer::List(chosen)
        }
        _ => {
            let question = format!("{} ({})", name(row), note(row));
            let text = row.text(&before);
            let typed =
                ask.text(&question, Some(text.as_str()).filter(|text| !text.is_empty()), !row.info.is_required)?;
            row.answer(if typed == EMPTY { "" } else { &typed })
        }
    };
    if let Err(why) = plan.set(option, &answer) {
        ask.print(format!("Not possible: {why}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_ops::operations::OPERATIONS;

    #[test]
    fn every_option_is_offered_by_a_name_of_its_own() {
        for operation in OPERATIONS {
            let names: Vec<String> = offered(&*operation.blank()).iter().map(name).collect();
            let unique: std::collections::BTreeSet<&String> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "{}: {names:?}", operation.name());
            assert!(!names.is_empty(), "{}", operation.name());
        }
    }
}
