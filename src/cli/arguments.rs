//! The arguments of operations, built from their tables.

use super::paths;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, FromArgMatches, Subcommand, ValueHint};
use gristmill_core::options::{Answer, Choice, OptionRow, ValueKind};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_ops::operations::{operation, AnyOperation, AnyPlan, ObsoleteFlag, OPERATIONS};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "reading the command line";

/// The values for the options of an operation on the command line.
#[derive(Clone)]
pub struct GivenPlan {
    operation: &'static dyn AnyOperation,
    answers: Vec<(OptionRow, GivenAnswer)>,
}

#[derive(Clone, Debug)]
enum GivenAnswer {
    Answer(Answer),
    Path(PathBuf),
    Paths(Vec<PathBuf>),
}

impl std::fmt::Debug for GivenPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.operation.name()).field("answers", &self.answers).finish()
    }
}

impl GivenPlan {
    /// Returns the name of the typed command.
    pub fn name(&self) -> &'static str {
        self.operation.name()
    }

    /// Returns the path given for an option.
    pub fn path(&self, option: &str) -> Option<&Path> {
        self.answers.iter().find_map(|(row, given)| match given {
            GivenAnswer::Path(path) if row.info.name == option => Some(path.as_path()),
            _ => None,
        })
    }

    /// Returns the plan: the values are applied in the order of the table, then the files with answers. `compat` is the global flag.
    ///
    /// # Errors
    /// A path that is not local, or a value that its option does not accept.
    pub fn plan(&self, compat: bool) -> Result<Box<dyn AnyPlan>, Vec<Failure>> {
        let mut plan = self.operation.blank();
        self.apply(&mut *plan, compat).map_err(|failure| vec![failure])?;
        let foreign = self.answers.iter().filter_map(|(row, given)| refuse_foreign(row, given, &*plan));
        let foreign: Vec<Failure> = foreign.collect();
        if !foreign.is_empty() {
            return Err(foreign);
        }
        plan.complete();
        Ok(plan)
    }

    fn apply(&self, plan: &mut dyn AnyPlan, compat: bool) -> Outcome<()> {
        if compat && self.operation.options().iter().any(|row| row.info.is_global && row.info.name == "compat") {
            plan.set("compat", &Answer::On).map_err(|why| Failure::usage(ACTIVITY, why))?;
        }
        self.set(plan)?;
        for (row, given) in &self.answers {
            if let (ValueKind::File, GivenAnswer::Path(path)) = (row.kind, given) {
                let (option, part) = self.part_option_of(row.info.name).unwrap_or((row.info.name, ""));
                plan.read_file(option, path, part)?;
                // Flags take precedence over the file, and answers of the file may make further flags apply.
                self.set(plan)?;
            }
        }
        Ok(())
    }

    /// Returns the option that selects a part of `file`, and the selected part.
    fn part_option_of(&self, file: &str) -> Option<(&'static str, &str)> {
        self.answers.iter().find_map(|(row, given)| match given {
            GivenAnswer::Answer(Answer::Text(part)) if row.kind == ValueKind::FilePart && row.info.needs == file => {
                Some((row.info.name, part.as_str()))
            }
            _ => None,
        })
    }

    fn set(&self, plan: &mut dyn AnyPlan) -> Outcome<()> {
        for (row, given) in
            self.answers.iter().filter(|(row, _)| row.kind.is_stored() || row.kind == ValueKind::Content)
        {
            let answer = match given {
                GivenAnswer::Path(path) if row.kind == ValueKind::Content => {
                    plan.read_file(row.info.name, path, "")?;
                    continue;
                }
                GivenAnswer::Answer(answer) => answer.clone(),
                GivenAnswer::Path(path) => paths::answer_of_paths(row, std::slice::from_ref(path))?,
                GivenAnswer::Paths(all) => paths::answer_of_paths(row, all)?,
            };
            let refuse = |why| {
                let failure = Failure::usage(ACTIVITY, why).on(Subject::field(format!("--{}", row.info.name)));
                failure.with_hint(match row.info.example {
                    "" => format!("gristmill {} --help lists the options", self.name()),
                    example => format!("for example --{} {example}", row.info.name),
                })
            };
            plan.set(row.info.name, &answer).map_err(refuse)?;
        }
        Ok(())
    }
}

/// Refuses a value that does not apply with the other answers: ignoring it would hide a mistake. The value is accepted while the answer
/// that decides whether it applies is missing.
fn refuse_foreign(row: &OptionRow, given: &GivenAnswer, plan: &dyn AnyPlan) -> Option<Failure> {
    let decided_by = row.needs.trim_start_matches("--").split(' ').next().unwrap_or_default();
    let rows = plan.operation().options();
    let is_open = |decider: &OptionRow| {
        let has_default = matches!(decider.kind, ValueKind::Choice(_) | ValueKind::Switch) && !decider.info.is_required;
        let is_excluded = |other: &OptionRow| {
            let (excludes, is_given) = (&other.info.conflicts, plan.get(other.info.name) != Answer::Unset);
            is_given && (excludes.contains(&decided_by) || decider.info.conflicts.contains(&other.info.name))
        };
        let is_undecided = !has_default && plan.get(decided_by) == Answer::Unset;
        decider.info.name == decided_by && is_undecided && !rows.iter().any(is_excluded)
    };
    if rows.iter().any(is_open) {
        return None;
    }
    let failure = |why| Failure::usage(ACTIVITY, why).on(Subject::field(format!("--{}", row.info.name)));
    if let Some(condition) = plan.missing_condition(row.info.name) {
        let hint = format!("add {condition}, or leave the flag out");
        return Some(failure(format!("it belongs to {condition}")).with_hint(hint));
    }
    match (row.kind, given) {
        (ValueKind::Choice(choices), GivenAnswer::Answer(Answer::Text(value))) => {
            let is_default = choices.first().is_some_and(|choice| choice.name.eq_ignore_ascii_case(value));
            let has_no_effect = !is_default && plan.get(row.info.name) == Answer::Unset;
            has_no_effect.then(|| failure(format!("'{value}' has no meaning with the other answers")))
        }
        _ => None,
    }
}

impl FromArgMatches for GivenPlan {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        given_answers("", matches).ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The operations that are top-level commands.
impl Subcommand for GivenPlan {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(commands_of(""))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        operation(name).is_some()
    }
}

/// A group of commands whose names begin with the same word, such as those of `nanosets`.
pub trait OperationGroup {
    /// The common first word.
    const NAME: &'static str;
}

/// A command of a group.
#[derive(Clone, Debug)]
pub struct Grouped<G>(GivenPlan, PhantomData<G>);

impl<G> Grouped<G> {
    /// Returns the values given to the command.
    pub fn plan(&self) -> &GivenPlan {
        &self.0
    }
}

impl<G: OperationGroup> FromArgMatches for Grouped<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = given_answers(G::NAME, matches).ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        Ok(Self(given, PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<G: OperationGroup> Subcommand for Grouped<G> {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(commands_of(G::NAME))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        operation(&format!("{} {name}", G::NAME)).is_some()
    }
}

/// Returns the commands of a group, such as `merge` and `shuffle` of `nanosets`; for an empty name, the operations outside of groups.
fn commands_of(group: &str) -> impl Iterator<Item = Command> + '_ {
    OPERATIONS.iter().filter_map(move |operation| {
        let (of, name) = operation.name().split_once(' ').unwrap_or(("", operation.name()));
        if of != group {
            return None;
        }
        let command = Command::new(name).visible_aliases(operation.aliases().iter().copied());
        let command = command.about(operation.description()).override_usage(usage(*operation));
        let options = operation.options();
        let mut own: Vec<&OptionRow> = options.iter().filter(|row| !row.info.is_global).collect();
        own.sort_by_key(|row| row.is_listed_last);
        let command = command.args(own.into_iter().map(|row| argument(*operation, row)));
        Some(operation.obsolete_flags().iter().fold(command, add_obsolete))
    })
}

/// Adds a flag that only older versions of the documentation contain.
fn add_obsolete(command: Command, flag: &ObsoleteFlag) -> Command {
    let arg = Arg::new(flag.name).long(flag.name).hide(true).action(ArgAction::SetTrue);
    if flag.needs_one_of.is_empty() {
        return command.arg(arg);
    }
    let needed = format!("with {}", flag.name);
    let group = ArgGroup::new(needed.clone()).args(flag.needs_one_of).multiple(true);
    command.arg(arg.requires(needed)).group(group)
}

/// Returns the values given to a command of a group.
fn given_answers(group: &str, matches: &ArgMatches) -> Option<GivenPlan> {
    let (name, matches) = matches.subcommand()?;
    let operation = operation(format!("{group} {name}").trim_start())?;
    let own = operation.options().into_iter().filter(|row| !row.info.is_global);
    let answers = own.filter_map(|row| Some((row, answer(matches, row.info.name, row.kind)?)));
    Some(GivenPlan { operation, answers: answers.collect() })
}

/// Returns the usage of an operation. It lists required options, which parsing does not require because they can be answered in prompts.
fn usage(operation: &dyn AnyOperation) -> String {
    let mut usage = format!("gristmill {} [OPTIONS]", operation.name());
    let shown = operation.options().into_iter().filter(|row| row.info.is_required || row.info.is_positional);
    let (positional, flags): (Vec<_>, Vec<_>) = shown.partition(|row| row.info.is_positional);
    for OptionRow { info, kind, .. } in flags.into_iter().chain(positional) {
        let flag = if info.is_positional { String::new() } else { format!("--{} ", info.name) };
        let more = if kind == ValueKind::Paths { "..." } else { "" };
        let value = match info.is_required {
            true => format!("<{}>", info.value_name),
            false => format!("[{}]", info.value_name),
        };
        usage.push_str(&format!(" {flag}{value}{more}"));
    }
    usage
}

fn argument(operation: &'static dyn AnyOperation, row: &OptionRow) -> Arg {
    let OptionRow { info, kind, .. } = *row;
    let mut arg =
        Arg::new(info.name).help(info.full_help()).value_name(info.value_name).conflicts_with_all(info.conflicts);
    // If there are several positional arguments, all are required.
    let positional = operation.options().into_iter().filter(|row| row.info.is_positional);
    if info.is_positional && positional.count() > 1 {
        arg = arg.required(true);
    }
    if !info.is_positional {
        arg = arg.long(info.name).aliases(info.aliases.iter().copied());
    }
    if !row.heading.is_empty() {
        arg = arg.help_heading(row.heading);
    }
    if let Some(short) = info.short {
        arg = arg.short(short);
    }
    if !info.needs.is_empty() {
        arg = arg.requires(info.needs);
    }
    if let Some(value) = info.bare {
        arg = arg.num_args(0..=1).require_equals(true).default_missing_value(value);
    }
    // An answer that depends on others is checked when the plan is complete.
    let checked = move |text: &str| {
        let (mut plan, answer) = (operation.blank(), Answer::List(vec![text.to_owned()]));
        match plan.applies(info.name) {
            true => plan.set(info.name, &answer).map(|()| text.to_owned()),
            false => Ok(text.to_owned()),
        }
    };
    let has_text = matches!(kind, ValueKind::Number(..) | ValueKind::Text | ValueKind::FilePart | ValueKind::List(_));
    if has_text && !info.completes_paths {
        // Otherwise, a shell would complete names of files.
        arg = arg.value_hint(ValueHint::Other);
    }
    match kind {
        ValueKind::Switch => arg.action(ArgAction::SetTrue),
        ValueKind::Number(..) => arg.value_parser(checked),
        ValueKind::Text | ValueKind::FilePart => arg.value_parser(checked).allow_hyphen_values(true),
        ValueKind::List(None) => arg.value_parser(checked).allow_hyphen_values(true).action(ArgAction::Append),
        ValueKind::List(Some(_)) => arg.value_parser(checked).allow_hyphen_values(true),
        ValueKind::Path | ValueKind::File | ValueKind::Content => arg.value_parser(clap::value_parser!(PathBuf)),
        ValueKind::Paths => arg.value_parser(clap::value_parser!(PathBuf)).num_args(1..),
        ValueKind::Choice(choices) => arg.value_parser(values(choices)).ignore_case(true),
        ValueKind::Choices(choices) => arg.value_parser(values(choices)).action(ArgAction::Append),
    }
}

fn values(choices: &'static [Choice]) -> PossibleValuesParser {
    PossibleValuesParser::new(choices.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help)))
}

fn answer(matches: &ArgMatches, name: &str, kind: ValueKind) -> Option<GivenAnswer> {
    if matches.value_source(name) != Some(ValueSource::CommandLine) {
        return None;
    }
    let text = |text: String| GivenAnswer::Answer(Answer::Text(text));
    match kind {
        ValueKind::Switch => matches.get_flag(name).then_some(GivenAnswer::Answer(Answer::On)),
        ValueKind::Paths => matches.get_many::<PathBuf>(name).map(|paths| GivenAnswer::Paths(paths.cloned().collect())),
        ValueKind::Path | ValueKind::File | ValueKind::Content => {
            matches.get_one::<PathBuf>(name).cloned().map(GivenAnswer::Path)
        }
        ValueKind::Number(..) | ValueKind::Text | ValueKind::FilePart | ValueKind::Choice(_) => {
            matches.get_one::<String>(name).cloned().map(text)
        }
        ValueKind::List(_) | ValueKind::Choices(_) => {
            let values = matches.get_many::<String>(name)?;
            Some(GivenAnswer::Answer(Answer::List(values.cloned().collect())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::options::OptionInfo;
    use gristmill_ops::operations::read_plan;
    use proptest::prelude::*;

    /// Returns a value for an option from a few random bytes; for some options `Unset`.
    fn value(row: &OptionRow, draw: (u8, u32)) -> Answer {
        let (kind_of_text, number) = draw;
        if kind_of_text % 3 == 0 && !row.info.is_required {
            return Answer::Unset;
        }
        if kind_of_text % 3 == 1 && !row.info.example.is_empty() {
            return row.answer(row.info.example);
        }
        let odd = ["-x", "a b", "it's", "$HOME", "\"", "é世", "--name", "#", "a=b", "CrudeWebdataset"];
        let text = || odd[kind_of_text as usize % odd.len()].to_owned();
        match row.kind {
            ValueKind::Switch => Answer::On,
            ValueKind::File | ValueKind::FilePart | ValueKind::Content => Answer::Unset,
            ValueKind::Number(least, most) => Answer::Text((u64::from(number) % (most - least) + least).to_string()),
            ValueKind::Text => Answer::Text(text()),
            ValueKind::List(_) => Answer::List(vec![text(), "x".to_owned()]),
            ValueKind::Choices(choices) => {
                let chosen = choices.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
                Answer::List(chosen.map(|(_, choice)| choice.name.to_owned()).collect())
            }
            ValueKind::Path => Answer::Text(format!("/data/{}", text())),
            ValueKind::Paths => Answer::List(vec![format!("/data/{}", text()), "/data".to_owned()]),
            ValueKind::Choice(choices) => Answer::Text(choices[number as usize % choices.len()].name.to_owned()),
        }
    }

    proptest! {
        #[test]
        fn printed_command_of_every_operation_gives_the_same_plan(
            row in 0..OPERATIONS.len(),
            draws in proptest::collection::vec(any::<(u8, u32)>(), 64),
        ) {
            let operation = OPERATIONS[row];
            let mut plan = operation.blank();
            let rows = operation.options();
            for (row, draw) in rows.iter().zip(&draws) {
                let info = row.info;
                let excludes = |other: &OptionInfo| {
                    let is_listed = info.conflicts.contains(&other.name) || other.conflicts.contains(&info.name);
                    is_listed && plan.get(other.name) != Answer::Unset
                };
                let lacks_other = !info.needs.is_empty() && plan.get(info.needs) == Answer::Unset;
                if plan.applies(info.name) && !lacks_other && !rows.iter().any(|row| excludes(&row.info)) {
                    // If the option does not accept the value, it keeps its default.
                    let _ = plan.set(info.name, &value(row, *draw));
                }
            }
            plan.complete();
            let words = plan.command_line().arguments;
            let typed = words.iter().filter(|word| !["--compat", "--yes"].contains(&word.as_str()));
            let command = Command::new("gristmill").subcommands(commands_of(""));
            let given = match operation.name().split_once(' ') {
                None => given_answers("", &command.try_get_matches_from(typed).unwrap()),
                Some((group, _)) => {
                    let command = command.subcommand(Command::new(group.to_owned()).subcommands(commands_of(group)));
                    given_answers(group, command.try_get_matches_from(typed).unwrap().subcommand().unwrap().1)
                }
            };
            let given = given.unwrap();
            let compat = words.iter().any(|word| word == "--compat");
            prop_assert!(given.plan(compat).unwrap().is_same(&*plan), "{words:?}");
            let yaml = plan.to_yaml().unwrap();
            prop_assert_eq!(read_plan(&yaml).unwrap().to_yaml().unwrap(), yaml);
        }
    }
}
