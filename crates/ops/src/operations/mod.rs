//! The operations of plans. Each operation is a table of options, a preview and a run. Front ends access operations only through
//! [`OPERATIONS`].
//!
//! A new operation is a module here and its row in [`OPERATIONS`]; one on the files of a token format is in the folder of the format. Arguments, help, completions, the printed command, plan files,
//! `--dry-run` and `--json` are derived from it.

mod count;
mod cp;
pub mod dedup;
mod index;
mod media_filters;
mod mix_index;
mod mix_new;
pub mod pack;
pub mod paths;
mod plan_file;
pub mod prepare;
mod prepare_media;
pub mod shard;

pub use count::Count;
pub use cp::CopyFiles;
pub use dedup::lines::{passages, PlannedResult};
pub use dedup::Dedup;
pub use index::{Index, IndexFormat, IndexPlan};
pub use mix_index::MixIndex;
pub use mix_new::MixNew;
pub use pack::Pack;
pub use plan_file::{check_replaceable, write_plan};
pub use prepare::Prepare;
pub use prepare_media::PrepareMedia;
pub use shard::WriteShards;

#[cfg(test)]
pub(crate) use crate::job::operation::start;
pub use crate::job::operation::{
    erase, missing, Advice, AnyOperation, AnyPlan, ObsoleteFlag, Operation, Plan, QuestionNeed,
};

use crate::engine::plan::file;
use crate::job::dedup::external_scratch;
use crate::job::operation::{absolute, command_line_of, file_name, Entry};
use crate::tokens::formats::TOKEN_FORMATS;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Maximum size of a plan file, in bytes; this program writes no larger ones.
const MAX_PLAN_BYTES: u64 = 64 << 20;

/// All operations, in the order of the help text. Those on the files of a token format are rows of the format.
pub static OPERATIONS: LazyLock<Vec<&dyn AnyOperation>> = LazyLock::new(|| {
    GENERAL_OPERATIONS
        .iter()
        .copied()
        .chain(TOKEN_FORMATS.iter().flat_map(|format| format.info().operations.iter().copied()))
        .collect()
});

/// The operations that are not on the files of one token format.
const GENERAL_OPERATIONS: &[&dyn AnyOperation] = &[
    &Entry::<Prepare>::NEW,
    &Entry::<PrepareMedia>::NEW,
    &Entry::<Pack>::NEW,
    &Entry::<Count>::NEW,
    &Entry::<Dedup>::NEW,
    &Entry::<WriteShards>::NEW,
    &Entry::<CopyFiles>::NEW,
    &Entry::<Index>::NEW,
    &Entry::<MixNew>::NEW,
    &Entry::<MixIndex>::NEW,
];

/// Returns the operation with this command name.
pub fn operation(name: &str) -> Option<&'static dyn AnyOperation> {
    OPERATIONS.iter().copied().find(|operation| operation.name() == name)
}

/// Parses a plan file. A file without a command is a plan of `prepare`.
///
/// # Errors
/// The file is not a plan, or has a newer version.
pub fn read_plan(text: &str) -> Outcome<Box<dyn AnyPlan>> {
    let command = file::command_of(text)?.unwrap_or_else(file_name::<Prepare>);
    match OPERATIONS.iter().find(|operation| command == operation.file_name()) {
        Some(operation) => operation.read(text),
        None => {
            let names: Vec<String> = OPERATIONS.iter().map(|operation| operation.file_name()).collect();
            let hint = match nearest(&command, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("commands with a plan are {}", names.join(", ")),
            };
            let failure = Failure::usage("reading the plan", "no command with a plan has this name");
            Err(failure.on(Subject::field(command)).with_hint(hint))
        }
    }
}

/// The plan and options for resuming a stopped run.
#[derive(Debug)]
pub struct InterruptedRun {
    /// The plan, with absolute paths.
    pub plan: Box<dyn AnyPlan>,
    /// The scratch folder, unless it is in the run folder.
    pub scratch: Option<PathBuf>,
}

impl Clone for InterruptedRun {
    fn clone(&self) -> Self {
        Self { plan: self.plan.boxed_clone(), scratch: self.scratch.clone() }
    }
}

impl PartialEq for InterruptedRun {
    fn eq(&self, other: &Self) -> bool {
        self.scratch == other.scratch && self.plan.is_same(&*other.plan)
    }
}

/// Returns the data for resuming the run that stopped in a run folder; `None` if its plan cannot be read or its command cannot resume.
pub fn interrupted_run(own: &RunFolder) -> Option<InterruptedRun> {
    let bytes = read_whole(&own.running_plan(), MAX_PLAN_BYTES).ok().flatten()?;
    let plan = read_plan(&String::from_utf8(bytes).ok()?).ok()?;
    Some(InterruptedRun { plan, scratch: external_scratch(own) })
}

/// Whether a text is a plan file of any operation.
fn is_plan(text: &str) -> bool {
    read_plan(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::options::{Answer, OptionRow, ValueKind};

    /// Returns an answer that is not the default; no answer for options that name files.
    fn example(row: &OptionRow) -> Answer {
        let example = row.info.example;
        match row.kind {
            ValueKind::File | ValueKind::FilePart | ValueKind::Content => Answer::Unset,
            ValueKind::List(_) | ValueKind::Text if !example.is_empty() => row.answer(example),
            ValueKind::Switch => Answer::On,
            ValueKind::Number(least, _) => Answer::Text((least + 77).to_string()),
            ValueKind::List(_) => Answer::List(vec!["a".to_owned(), "b".to_owned()]),
            ValueKind::Choices(choices) => Answer::List(choices.iter().map(|choice| choice.name.to_owned()).collect()),
            ValueKind::Text => Answer::Text("-some text".to_owned()),
            ValueKind::Path => Answer::Text("/some/path".to_owned()),
            ValueKind::Paths => Answer::List(vec!["/some/path".to_owned(), "/-x".to_owned()]),
            ValueKind::Choice(choices) => Answer::Text(choices.last().unwrap().name.to_owned()),
        }
    }

    /// Returns a plan in which an option applies: with all values of multi-valued options, and one more answer if the option requires it.
    fn plan_with(operation: &dyn AnyOperation, option: &str) -> Box<dyn AnyPlan> {
        let mut plan = operation.blank();
        for row in operation.options().iter().filter(|row| matches!(row.kind, ValueKind::Choices(_))) {
            plan.set(row.info.name, &example(row)).unwrap();
        }
        let condition = plan.missing_condition(option).and_then(|answer| answer.strip_prefix("--")?.split_once(' '));
        // A placeholder, as in `--pad-to N`, is not a value.
        if let Some((other, value)) = condition.filter(|(_, value)| value.contains(char::is_lowercase)) {
            plan.set(other, &Answer::Text(value.to_owned())).unwrap();
        }
        let needs_more = !plan.applies(option);
        let others = operation.options().into_iter().filter(|row| needs_more && row.info.name != option);
        let answers = |row: &OptionRow| match row.kind {
            ValueKind::Choice(choices) => choices.iter().map(|choice| Answer::Text(choice.name.to_owned())).collect(),
            _ => vec![example(row)],
        };
        let answers = others.flat_map(|row| answers(&row).into_iter().map(move |answer| (row.info.name, answer)));
        answers
            .map(|(name, answer)| {
                let mut other = plan.boxed_clone();
                // Some answers are valid only together with others.
                let _ = other.set(name, &answer);
                other
            })
            .find(|other| other.applies(option))
            .unwrap_or(plan)
    }

    #[test]
    fn every_option_changes_the_plan_and_is_read_back_from_its_file() {
        for operation in OPERATIONS.iter() {
            for row in operation.options().into_iter().filter(|row| row.kind.is_stored()) {
                let info = row.info;
                let name = format!("{} --{}", operation.name(), info.name);
                let mut before = plan_with(*operation, info.name);
                assert!(before.applies(info.name), "{name}");
                before.set(info.name, &Answer::Unset).unwrap();
                let (mut plan, answer) = (before.boxed_clone(), example(&row));
                plan.set(info.name, &answer).unwrap();
                assert_eq!(plan.get(info.name), answer, "{name}");
                assert!(!plan.is_same(&*before), "{name}");
                let yaml = plan.to_yaml().unwrap();
                assert_eq!(read_plan(&yaml).unwrap().to_yaml().unwrap(), yaml, "{name}");
                plan.set(info.name, &Answer::Unset).unwrap();
                assert!(plan.is_same(&*before), "{name}");
                if !info.default.is_empty() {
                    plan.set(info.name, &Answer::Text(info.default.to_owned())).unwrap();
                    assert!(plan.is_same(&*before), "{name}: {} is the default", info.default);
                }
            }
        }
    }

    #[test]
    fn every_form_step_has_options_and_every_option_has_a_help_text() {
        for operation in OPERATIONS.iter() {
            let rows = operation.options();
            for step in operation.steps() {
                assert!(rows.iter().any(|row| row.step == step.id), "{}: {}", operation.name(), step.id);
            }
            for row in rows.iter().filter(|row| !row.info.is_global) {
                let is_known = row.step.is_empty() || operation.steps().iter().any(|step| step.id == row.step);
                let name = format!("{} --{}", operation.name(), row.info.name);
                assert!(is_known && !row.info.help.is_empty() && !row.info.help.ends_with('.'), "{name}");
            }
        }
    }
}
