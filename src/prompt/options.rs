//! The dialogue for all operations: asks for the required options; all other options can be changed in a numbered list.

use super::prompter::Prompter;
use super::review::Review;
use gristmill_core::options::{self, Answer, OptionRow, ValueKind};
use gristmill_core::text::display_safe;
use gristmill_core::{Outcome, RunOptions};
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::paths::checked_answer;
use gristmill_ops::operations::{Advice, AnyPlan, QuestionNeed};

/// The answer that clears an option.
const EMPTY: &str = "-";

/// The plan with the answers so far, and the advice from the data.
struct Dialogue {
    prompt: Prompter,
    plan: Box<dyn AnyPlan>,
    advice: Box<dyn Advice>,
    options: RunOptions,
}

/// Asks for the missing options of a plan, then what to do; `None` if nothing is to be written.
pub fn plan(plan: Box<dyn AnyPlan>, options: &RunOptions) -> Outcome<Option<Box<dyn AnyPlan>>> {
    let advice = plan.operation().advice(options);
    let mut dialogue = Dialogue { prompt: Prompter::new()?, plan, advice, options: options.clone() };
    let rows = dialogue.plan.operation().options();
    for row in in_order(&rows, dialogue.advice.order()) {
        dialogue.prompt_if_open(row)?;
    }
    for group in options::one_of_groups(&rows) {
        while group.iter().all(|row| dialogue.plan.get(row.info.name) == Answer::Unset) {
            prompt_alternatives(&dialogue.prompt, &group, &mut *dialogue.plan)?;
        }
    }
    Ok(dialogue.review()?.then_some(dialogue.plan))
}

/// Returns the rows with these names in their order, then the other required rows.
fn in_order<'a>(rows: &'a [OptionRow], names: &'a [&str]) -> impl Iterator<Item = &'a OptionRow> {
    let first = names.iter().filter_map(|name| rows.iter().find(|row| row.info.name == *name));
    first.chain(rows.iter().filter(|row| row.info.is_required && !names.contains(&row.info.name)))
}

impl Dialogue {
    /// Asks for an option without an answer, until the answer is usable.
    fn prompt_if_open(&mut self, row: &OptionRow) -> Outcome<()> {
        let option = row.info.name;
        let mut is_refused = false;
        while self.plan.applies(option) {
            let need = self.advice.need(&*self.plan, row);
            let is_wanted = || need != QuestionNeed::Optional || self.advice.propose(&*self.plan, option).is_some();
            let is_asked = is_refused || self.is_open(row) && is_wanted();
            if is_asked && !prompt_option(&self.prompt, row, &self.question(row, need), &mut *self.plan)? {
                continue;
            }
            let is_left_open = self.is_open(row);
            if is_left_open && need == QuestionNeed::Required {
                continue;
            }
            if self.check(option)? || is_asked && is_left_open {
                return Ok(());
            }
            is_refused = true;
            self.clear(row);
        }
        Ok(())
    }

    /// Returns the question for an option without an answer, with the alternative options.
    fn question(&self, row: &OptionRow, need: QuestionNeed) -> Question {
        let rows = self.plan.operation().options().into_iter();
        let is_named = |name: &&'static str| row.info.conflicts.contains(name) || row.info.alternatives.contains(name);
        let is_other = |other: &OptionRow| is_named(&other.info.name) && other.kind.is_stored();
        let alternatives: Vec<OptionRow> =
            rows.filter(|other| is_other(other) && self.plan.applies(other.info.name)).collect();
        let others = alternatives.iter().map(|other| format!("or {}", other.info.usage()));
        let none = (need != QuestionNeed::Required).then(|| match unset(row) {
            "" => format!("{EMPTY} for none"),
            meaning => format!("{EMPTY} for {meaning}"),
        });
        let ways: Vec<String> = others.chain(none).collect();
        let words = self.advice.question(&*self.plan, row.info.name).unwrap_or(row.info.help);
        // A prompt takes all answers in one line.
        let words = words.replace(" (repeat)", "");
        let words = match ways.is_empty() {
            true => format!("{}: {words}", name(row)),
            false => format!("{}: {words} ({})", name(row), ways.join("; ")),
        };
        let proposed = self.advice.propose(&*self.plan, row.info.name);
        Question { words, proposed, need, alternatives }
    }

    /// Whether neither an option nor a conflicting one has an answer.
    fn is_open(&self, row: &OptionRow) -> bool {
        let mut names = std::iter::once(&row.info.name).chain(row.info.conflicts);
        names.all(|name| self.plan.get(name) == Answer::Unset)
    }

    /// Removes the answers to an option, to its alternatives and to conflicting options.
    fn clear(&mut self, row: &OptionRow) {
        for name in std::iter::once(&row.info.name).chain(row.info.conflicts).chain(row.info.alternatives) {
            // Some options cannot be unset.
            let _ = self.plan.set(name, &Answer::Unset);
        }
    }

    /// Prints the advice about an answer; returns whether the answer is usable.
    fn check(&mut self, option: &str) -> Outcome<bool> {
        self.advice.activity(&*self.plan, option).iter().for_each(|words| self.prompt.print(words));
        let lines = self.advice.check(&*self.plan, option);
        let lines = self.prompt.or_refuse(lines)?;
        lines.iter().flatten().for_each(|line| self.prompt.print(line));
        Ok(lines.is_some())
    }

    /// Asks which options to change, until the user selects none.
    fn change_options(&mut self) -> Outcome<()> {
        while let Some(option) = change_option(&self.prompt, &mut *self.plan, |_| true)? {
            // An unusable answer is reported in the review.
            self.check(option)?;
        }
        Ok(())
    }
}

/// Asks which option to change, and for its answer. Returns the name of the option; `None` if the user selects none.
pub(super) fn change_option(
    ask: &Prompter,
    plan: &mut dyn AnyPlan,
    may_change: impl Fn(&OptionRow) -> bool,
) -> Outcome<Option<&'static str>> {
    let rows: Vec<OptionRow> = offered(plan).into_iter().filter(may_change).collect();
    let lines = rows.iter().map(|row| format!("{}: {}", name(row), shown(row, plan)));
    let lines: Vec<String> = lines.chain(["no more".to_owned()]).collect();
    ask.print(format!("A single {EMPTY} clears an answer that is typed."));
    let Some(row) = rows.get(ask.choose("Which setting?", &lines, rows.len())?) else { return Ok(None) };
    prompt_option(ask, row, &Question::question_of(row), plan)?;
    Ok(Some(row.info.name))
}

impl Review for Dialogue {
    type Change = ();

    fn prompt(&self) -> &Prompter {
        &self.prompt
    }

    fn plan(&self) -> Box<dyn AnyPlan> {
        self.plan.boxed_clone()
    }

    fn preview(&self) -> Outcome<Box<dyn Report>> {
        self.plan.start(true, self.options.clone())?.wait()
    }

    fn changes(&self) -> Vec<((), &'static str)> {
        vec![((), "change settings")]
    }

    fn change(&mut self, (): ()) -> Outcome<()> {
        self.change_options()
    }
}

/// Returns the options that can be changed with the current answers.
fn offered(plan: &dyn AnyPlan) -> Vec<OptionRow> {
    let rows = plan.operation().options().into_iter();
    let is_offered = |row: &OptionRow| !row.info.is_global && !row.step.is_empty() && row.kind.is_stored();
    rows.filter(|row| is_offered(row) && plan.applies(row.info.name)).collect()
}

fn name(row: &OptionRow) -> String {
    match row.needs {
        "" => row.info.label(),
        _ => format!("{}, {}", row.heading, row.info.label()),
    }
}

/// Returns the meaning of an option without an answer; empty if there is none.
fn unset(row: &OptionRow) -> &'static str {
    if row.info.default.is_empty() {
        row.info.unset
    } else {
        row.info.default
    }
}

/// Returns the meaning of an option without an answer, or else its help.
fn note(row: &OptionRow) -> &'static str {
    Some(unset(row)).filter(|meaning| !meaning.is_empty()).unwrap_or(row.info.help)
}

/// Returns the current answer as text.
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

/// A question for an option.
struct Question {
    words: String,
    /// The suggested answer if there is none.
    proposed: Option<String>,
    need: QuestionNeed,
    /// Alternative options, which the user can answer by typing them as flags.
    alternatives: Vec<OptionRow>,
}

impl Question {
    /// Returns the question for an option to be changed.
    fn question_of(row: &OptionRow) -> Self {
        let words = match row.kind {
            ValueKind::Choice(_) | ValueKind::Choices(_) => name(row),
            ValueKind::Switch => format!("{}: {}", name(row), row.info.help),
            _ => format!("{} ({})", name(row), note(row)),
        };
        let need = if row.info.is_required { QuestionNeed::Required } else { QuestionNeed::Optional };
        Self { words, proposed: None, need, alternatives: Vec::new() }
    }
}

/// Asks which option of a group to answer, and for its answer.
fn prompt_alternatives(ask: &Prompter, group: &[OptionRow], plan: &mut dyn AnyPlan) -> Outcome<()> {
    let lines: Vec<String> = group.iter().map(|row| format!("{}: {}", row.info.label(), row.info.help)).collect();
    let heading = group.first().map_or("", |row| row.heading);
    match group.get(ask.choose(heading, &lines, 0)?) {
        Some(row) if row.kind == ValueKind::Switch => set(ask, plan, row, &Answer::On),
        Some(row) => prompt_option(ask, row, &Question::question_of(row), plan)?,
        None => false,
    };
    Ok(())
}

/// Asks for the answer to an option, and stores it; returns `false` if the answer is invalid.
fn prompt_option(ask: &Prompter, row: &OptionRow, question: &Question, plan: &mut dyn AnyPlan) -> Outcome<bool> {
    let before = plan.get(row.info.name);
    let answer = match row.kind {
        ValueKind::Switch => match ask.confirm(&question.words, before == Answer::On)? {
            true => Answer::On,
            false => Answer::Unset,
        },
        ValueKind::Choice(choices) => {
            let lines: Vec<String> = choices.iter().map(line_of).collect();
            let chosen = choices.iter().position(|choice| choice.name == row.text(&before)).unwrap_or(0);
            let number = ask.choose(&question.words, &lines, chosen)?;
            choices.get(number).map_or(Answer::Unset, |choice| Answer::Text(choice.name.to_owned()))
        }
        ValueKind::Choices(choices) => {
            let lines: Vec<String> = choices.iter().map(line_of).collect();
            let is_chosen = |name: &str| matches!(&before, Answer::List(names) if names.iter().any(|one| one == name));
            let chosen: Vec<bool> = choices.iter().map(|choice| is_chosen(choice.name)).collect();
            let numbers = ask.choose_several(&question.words, &lines, &chosen)?;
            let names = numbers.into_iter().filter_map(|number| choices.get(number));
            Answer::List(names.map(|choice| choice.name.to_owned()).collect())
        }
        _ => {
            let (row, answer) = prompt_text(ask, row, question, plan)?;
            return Ok(set(ask, plan, &row, &answer));
        }
    };
    Ok(set(ask, plan, row, &answer))
}

/// Asks for a typed answer. Returns it with its option, which is this one or an alternative.
fn prompt_text(
    ask: &Prompter,
    row: &OptionRow,
    question: &Question,
    plan: &dyn AnyPlan,
) -> Outcome<(OptionRow, Answer)> {
    let before = plan.get(row.info.name);
    let shown = row.text(&before);
    let default = Some(shown.as_str()).filter(|text| !text.is_empty()).or(question.proposed.as_deref());
    let typed = ask.text(&question.words, default, question.need != QuestionNeed::Required)?;
    if typed == shown {
        // The displayed text of several paths cannot be parsed back, so the answer stays unchanged.
        return Ok((*row, before));
    }
    let flag = typed.strip_prefix("--").map(|flag| flag.split_once([' ', '=']).unwrap_or((flag, "")));
    let other = flag.and_then(|(name, value)| {
        let other = question.alternatives.iter().find(|other| other.info.name == name)?;
        let is_switch = other.kind == ValueKind::Switch;
        Some((*other, if is_switch { Answer::On } else { other.answer(value.trim()) }))
    });
    let own = || (*row, if typed == EMPTY { Answer::Unset } else { row.answer(&typed) });
    Ok(other.unwrap_or_else(own))
}

/// Stores an answer. If it is invalid, prints the reason and returns `false`.
fn set(ask: &Prompter, plan: &mut dyn AnyPlan, row: &OptionRow, answer: &Answer) -> bool {
    let checked = checked_answer(row, answer).map_err(|failure| failure.to_string());
    let stored = checked.and_then(|answer| plan.set(row.info.name, &answer));
    if let Err(why) = &stored {
        ask.print(format!("Invalid answer: {why}"));
    }
    stored.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_ops::operations::OPERATIONS;

    #[test]
    fn prompted_options_have_unique_names() {
        for operation in OPERATIONS.iter() {
            let names: Vec<String> = offered(&*operation.blank()).iter().map(name).collect();
            let unique: std::collections::BTreeSet<&String> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "{}: {names:?}", operation.name());
            assert!(!names.is_empty(), "{}", operation.name());
        }
    }

    #[test]
    fn options_in_advice_order_exist() {
        let options = RunOptions::default();
        for operation in OPERATIONS.iter() {
            let rows = operation.options();
            let advice = operation.advice(&options);
            let unknown: Vec<_> =
                advice.order().iter().filter(|name| rows.iter().all(|row| row.info.name != **name)).collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", operation.name());
        }
    }
}
