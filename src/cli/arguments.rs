//! The arguments of operations, built from their tables.

use super::paths;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};
use gristmill_core::options::{Answer, OptionInfo, ValueKind};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_ops::operations::{operation, AnyOperation, AnyPlan, OPERATIONS};
use std::path::PathBuf;

/// The values that a command line gives for the options of an operation.
#[derive(Clone)]
pub struct GivenPlan {
    operation: &'static dyn AnyOperation,
    answers: Vec<(&'static str, GivenAnswer)>,
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

    /// Returns the plan: the values are applied in the order of the table.
    ///
    /// # Errors
    /// A path that is not local, or a value that the option does not accept.
    pub fn plan(&self) -> Outcome<Box<dyn AnyPlan>> {
        let mut plan = self.operation.blank();
        for (name, given) in &self.answers {
            let answer = match given {
                GivenAnswer::Answer(answer) => answer.clone(),
                GivenAnswer::Path(path) => Answer::Text(paths::local(path)?),
                GivenAnswer::Paths(all) => {
                    Answer::List(all.iter().map(|path| paths::local(path)).collect::<Outcome<_>>()?)
                }
            };
            let refuse = |why| Failure::usage("reading the arguments", why).on(Subject::field(format!("--{name}")));
            plan.set(name, &answer).map_err(refuse)?;
        }
        Ok(plan)
    }
}

impl FromArgMatches for GivenPlan {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        given_of("", matches).ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Operations that are commands of their own.
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

/// Returns the commands of a group, such as `merge` and `shuffle` of `nanosets`; for the group without a name, those that are in no group.
pub fn commands_of(group: &str) -> impl Iterator<Item = Command> + '_ {
    OPERATIONS.iter().filter_map(move |operation| {
        let (of, name) = operation.name().split_once(' ').unwrap_or(("", operation.name()));
        if of != group {
            return None;
        }
        let command = Command::new(name).about(operation.about());
        Some(operation.options().iter().fold(command, |command, (info, kind)| command.arg(argument(info, *kind))))
    })
}

/// Returns the values given to a command of a group.
pub fn given_of(group: &str, matches: &ArgMatches) -> Option<GivenPlan> {
    let (name, matches) = matches.subcommand()?;
    let operation = operation(format!("{group} {name}").trim_start())?;
    let options = operation.options();
    let answers = options.iter().filter_map(|(info, kind)| Some((info.name, answer(matches, info.name, *kind)?)));
    Some(GivenPlan { operation, answers: answers.collect() })
}

fn argument(info: &OptionInfo, kind: ValueKind) -> Arg {
    let mut arg = Arg::new(info.name).help(info.help).required(info.is_required);
    if !info.is_positional {
        arg = arg.long(info.name);
    }
    if let Some(short) = info.short {
        arg = arg.short(short);
    }
    if !info.default.is_empty() {
        arg = arg.default_value(info.default);
    }
    let arg = match kind {
        ValueKind::Switch => return arg.action(ArgAction::SetTrue),
        ValueKind::Number(least) => arg.value_parser(clap::value_parser!(u64).range(least..)),
        ValueKind::Text => arg.value_parser(clap::value_parser!(String)),
        ValueKind::Path => arg.value_parser(clap::value_parser!(PathBuf)),
        ValueKind::Paths => arg.value_parser(clap::value_parser!(PathBuf)).num_args(1..),
        ValueKind::Choice(choices) => {
            let values = choices.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help));
            arg.value_parser(PossibleValuesParser::new(values))
        }
    };
    arg.value_name(info.value_name)
}

fn answer(matches: &ArgMatches, name: &str, kind: ValueKind) -> Option<GivenAnswer> {
    if matches.value_source(name) != Some(ValueSource::CommandLine) {
        return None;
    }
    let text = |text: String| GivenAnswer::Answer(Answer::Text(text));
    match kind {
        ValueKind::Switch => matches.get_flag(name).then_some(GivenAnswer::Answer(Answer::On)),
        ValueKind::Number(_) => matches.get_one::<u64>(name).map(|number| text(number.to_string())),
        ValueKind::Paths => matches.get_many::<PathBuf>(name).map(|paths| GivenAnswer::Paths(paths.cloned().collect())),
        ValueKind::Path => matches.get_one::<PathBuf>(name).cloned().map(GivenAnswer::Path),
        ValueKind::Text | ValueKind::Choice(_) => matches.get_one::<String>(name).cloned().map(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_ops::operations::read_plan;
    use proptest::prelude::*;

    /// Returns a value of an option, from a few random bytes; for some, no value.
    fn value(kind: ValueKind, is_required: bool, draw: (u8, u32)) -> Answer {
        let (kind_of_text, number) = draw;
        if kind_of_text % 3 == 0 && !is_required {
            return Answer::Unset;
        }
        let odd = ["-x", "a b", "it's", "$HOME", "\"", "é世", "--name", "#", "a=b"];
        let text = || odd[kind_of_text as usize % odd.len()].to_owned();
        match kind {
            ValueKind::Switch => Answer::On,
            ValueKind::Number(least) => Answer::Text((u64::from(number) + least).to_string()),
            ValueKind::Text => Answer::Text(text()),
            ValueKind::Path => Answer::Text(format!("/data/{}", text())),
            ValueKind::Paths => Answer::List(vec![format!("/data/{}", text()), "/data".to_owned()]),
            ValueKind::Choice(choices) => Answer::Text(choices[number as usize % choices.len()].name.to_owned()),
        }
    }

    proptest! {
        #[test]
        fn the_printed_command_says_exactly_the_plan(
            row in 0..OPERATIONS.len(),
            draws in proptest::collection::vec(any::<(u8, u32)>(), 40),
        ) {
            let operation = OPERATIONS[row];
            let mut plan = operation.blank();
            for ((info, kind), draw) in operation.options().iter().zip(&draws) {
                plan.set(info.name, &value(*kind, info.is_required, *draw)).unwrap();
            }
            let words = plan.command_line().arguments;
            let command = Command::new("gristmill").subcommands(commands_of(""));
            let given = match operation.name().split_once(' ') {
                None => given_of("", &command.try_get_matches_from(&words).unwrap()),
                Some((group, _)) => {
                    let command = command.subcommand(Command::new(group.to_owned()).subcommands(commands_of(group)));
                    given_of(group, command.try_get_matches_from(&words).unwrap().subcommand().unwrap().1)
                }
            };
            let given = given.unwrap();
            prop_assert!(given.plan().unwrap().is_same(&*plan), "{words:?}");
            prop_assert!(read_plan(&plan.to_yaml().unwrap()).unwrap().unwrap().is_same(&*plan));
        }
    }
}
