//! Operations that a plan can describe. Each is a table of options, a preview and a run; front ends access them only through
//! [`OPERATIONS`].
//!
//! A new operation is a module here and its row in [`OPERATIONS`]. Arguments, help, completions, the printed command, plan files,
//! `--dry-run` and `--json` are derived from it.

/// Accessors of a field that is a path.
macro_rules! path {
    ($field:ident) => {
        Access::Path {
            get: |plan| Some(plan.$field.to_string_lossy().into_owned()).filter(|path| !path.is_empty()),
            set: |plan, path| plan.$field = path.unwrap_or_default().into(),
        }
    };
}

/// Accessors of a field that is on or off.
macro_rules! switch {
    ($field:ident) => {
        Access::Switch { get: |plan| plan.$field, set: |plan, is_on| plan.$field = is_on }
    };
}

mod count;
mod nanosets_merge;
mod nanosets_shuffle;

pub use count::Count;
pub use nanosets_merge::NanosetsMerge;
pub use nanosets_shuffle::NanosetsShuffle;

use crate::engine::plan::{file, CommandLine};
use crate::job::report::Report;
use crate::job::task::{Task, TaskContext};
use gristmill_core::options::{Answer, OptionInfo, OptionSpec, ValueKind};
use gristmill_core::{Failure, Outcome, RunOptions};
use gristmill_storage::fs::{Fs, RealFs};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

/// All operations, in the order of the help.
pub static OPERATIONS: &[&dyn AnyOperation] =
    &[&Entry::<Count>::NEW, &Entry::<NanosetsMerge>::NEW, &Entry::<NanosetsShuffle>::NEW];

/// Answers that determine the bytes of the output.
pub trait Plan: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Returns a plan without any answer.
    fn blank() -> Self;
}

/// An operation that a plan can describe.
pub trait Operation: Sized + Send + Sync + 'static {
    /// Answers to the options.
    type Plan: Plan;
    /// Result of a run or preview.
    type Report: Report;
    /// Command, such as `nanosets merge`.
    const NAME: &'static str;
    /// Description in one line without full stop.
    const ABOUT: &'static str;
    /// Description of the running operation, such as `merging`.
    const DOING: &'static str;
    /// Kind of plan that a plan file declares, such as `merging token files`.
    const PLAN_OF: &'static str;
    /// Options, in the order in which they are typed, printed and applied.
    const OPTIONS: &'static [OptionSpec<Self::Plan>];

    /// Reports what a run would do. Writes nothing.
    ///
    /// # Errors
    /// The same as [`run`](Self::run), as far as they can be known in advance.
    fn preview(plan: &Self::Plan, context: &TaskContext) -> Outcome<Self::Report>;
    /// Runs the operation.
    ///
    /// # Errors
    /// A plan that cannot be followed; input that cannot be read; output that cannot be written or already exists.
    fn run(plan: &Self::Plan, context: &TaskContext) -> Outcome<Self::Report>;
}

/// Runs a plan in the background, writing through `fs`, and converts its report; a preview writes nothing.
fn start_with<O: Operation, R: Send + 'static>(
    plan: O::Plan,
    is_preview: bool,
    options: RunOptions,
    fs: Arc<dyn Fs>,
    convert: fn(O::Report) -> R,
) -> Outcome<Task<R>> {
    Task::start(O::DOING, options, fs, move |context| match is_preview {
        true => O::preview(&plan, context).map(convert),
        false => O::run(&plan, context).map(convert),
    })
}

/// Runs a plan in the background, writing through `fs`, which may fail; a preview writes nothing.
#[cfg(test)]
pub(crate) fn start<O: Operation>(
    plan: O::Plan,
    is_preview: bool,
    options: RunOptions,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<O::Report>> {
    start_with::<O, _>(plan, is_preview, options, fs, |report| report)
}

/// An [`Operation`] with its types erased.
pub trait AnyOperation: Sync {
    /// Returns the command, such as `nanosets merge`.
    fn name(&self) -> &'static str;
    /// Returns the description in one line without full stop.
    fn about(&self) -> &'static str;
    /// Returns the description of the running operation.
    fn doing(&self) -> &'static str;
    /// Returns the options, in the order in which they are typed and applied.
    fn options(&self) -> Vec<(OptionInfo, ValueKind)>;
    /// Returns a plan without any answer.
    fn blank(&self) -> Box<dyn AnyPlan>;
    /// Parses a plan file of this operation.
    ///
    /// # Errors
    /// A file that is not such a plan, with the line of the mistake.
    fn read(&self, text: &str) -> Outcome<Box<dyn AnyPlan>>;
}

/// A plan of some operation.
pub trait AnyPlan: Debug + Send + Sync {
    /// Returns the operation of the plan.
    fn operation(&self) -> &'static dyn AnyOperation;
    /// Returns the answer to an option.
    fn get(&self, option: &str) -> Answer;
    /// Sets the answer to an option.
    ///
    /// # Errors
    /// Why the answer is invalid for this option.
    fn set(&mut self, option: &str, answer: &Answer) -> Result<(), String>;
    /// Returns the command that is equivalent to this plan.
    fn command_line(&self) -> CommandLine;
    /// Returns the plan as a file that can be run from any folder.
    ///
    /// # Errors
    /// The current folder no longer exists.
    fn to_yaml(&self) -> Outcome<String>;
    /// Returns the plan for the result object.
    fn to_json(&self) -> serde_json::Value;
    /// Runs the plan in the background; a preview writes nothing.
    ///
    /// # Errors
    /// No thread can be started.
    fn start(&self, is_preview: bool, options: RunOptions) -> Outcome<Task<Box<dyn Report>>>;
    /// Whether another plan is of the same operation and has the same answers.
    fn is_same(&self, other: &dyn AnyPlan) -> bool {
        self.operation().name() == other.operation().name() && self.to_json() == other.to_json()
    }
}

/// Returns the operation of a command.
pub fn operation(name: &str) -> Option<&'static dyn AnyOperation> {
    OPERATIONS.iter().copied().find(|operation| operation.name() == name)
}

/// Parses a plan file of an operation in the table; `None` where it belongs to another command.
///
/// # Errors
/// A file that is not a plan, or is of a newer version.
pub fn read_plan(text: &str) -> Outcome<Option<Box<dyn AnyPlan>>> {
    let command = file::command_of(text)?;
    let wanted = OPERATIONS.iter().find(|operation| command.as_deref() == Some(&file_name(operation.name())));
    wanted.map(|operation| operation.read(text)).transpose()
}

/// Whether a text is the plan of any command.
pub fn is_plan(text: &str) -> bool {
    match read_plan(text) {
        Ok(Some(_)) => true,
        Ok(None) => file::read(text).is_ok(),
        Err(_) => false,
    }
}

/// Returns the spelling of a command in a plan file.
fn file_name(name: &str) -> String {
    name.replace(' ', "-")
}

/// Row of an operation in [`OPERATIONS`].
struct Entry<O>(PhantomData<fn() -> O>);

impl<O: Operation> Entry<O> {
    const NEW: Self = Self(PhantomData);
}

impl<O: Operation> AnyOperation for Entry<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn about(&self) -> &'static str {
        O::ABOUT
    }

    fn doing(&self) -> &'static str {
        O::DOING
    }

    fn options(&self) -> Vec<(OptionInfo, ValueKind)> {
        O::OPTIONS.iter().map(|option| (option.info, option.kind())).collect()
    }

    fn blank(&self) -> Box<dyn AnyPlan> {
        Box::new(TypedPlan::<O>(O::Plan::blank()))
    }

    fn read(&self, text: &str) -> Outcome<Box<dyn AnyPlan>> {
        Ok(Box::new(TypedPlan::<O>(file::read_typed(text, O::NAME)?)))
    }
}

/// The plan of an operation as an [`AnyPlan`].
struct TypedPlan<O: Operation>(O::Plan);

impl<O: Operation> Debug for TypedPlan<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<O: Operation> TypedPlan<O> {
    fn option(name: &str) -> Option<&'static OptionSpec<O::Plan>> {
        O::OPTIONS.iter().find(|option| option.info.name == name)
    }

    /// Returns the plan with absolute paths.
    fn absolute(&self) -> Outcome<O::Plan> {
        let mut plan = self.0.clone();
        let is_path = |kind: ValueKind| matches!(kind, ValueKind::Path | ValueKind::Paths);
        for option in O::OPTIONS.iter().filter(|option| is_path(option.kind())) {
            let absolute = |path: String| match std::path::absolute(&path) {
                Ok(path) => Ok(path.to_string_lossy().into_owned()),
                Err(error) => Err(Failure::io("writing the plan", &path, &error)),
            };
            let answer = match option.get(&plan) {
                Answer::Text(path) => Answer::Text(absolute(path)?),
                Answer::List(paths) => Answer::List(paths.into_iter().map(absolute).collect::<Outcome<_>>()?),
                answer => answer,
            };
            option.set(&mut plan, &answer).map_err(|why| Failure::usage("writing the plan", why))?;
        }
        Ok(plan)
    }
}

impl<O: Operation> AnyPlan for TypedPlan<O> {
    fn operation(&self) -> &'static dyn AnyOperation {
        &Entry::<O>::NEW
    }

    fn get(&self, option: &str) -> Answer {
        Self::option(option).map_or(Answer::Unset, |option| option.get(&self.0))
    }

    fn set(&mut self, option: &str, answer: &Answer) -> Result<(), String> {
        let spec = Self::option(option).ok_or_else(|| format!("{} has no option '{option}'", O::NAME))?;
        spec.set(&mut self.0, answer)
    }

    fn command_line(&self) -> CommandLine {
        let words: Vec<&str> = std::iter::once("gristmill").chain(O::NAME.split(' ')).collect();
        let mut line = CommandLine::of_words(&words);
        for option in O::OPTIONS {
            let flag = format!("--{}", option.info.name);
            match option.get(&self.0) {
                Answer::Unset => {}
                Answer::On => line.flag_if(true, &flag),
                Answer::Text(path) if option.info.is_positional => line.path(Path::new(&path)),
                Answer::Text(text) => line.value(&flag, &text),
                Answer::List(paths) => paths.iter().for_each(|path| line.path(Path::new(path))),
            }
        }
        line
    }

    fn to_yaml(&self) -> Outcome<String> {
        file::typed_to_yaml(O::PLAN_OF, &file_name(O::NAME), &self.absolute()?)
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(&self.0).unwrap_or_default()
    }

    fn start(&self, is_preview: bool, options: RunOptions) -> Outcome<Task<Box<dyn Report>>> {
        start_with::<O, _>(self.0.clone(), is_preview, options, Arc::new(RealFs), |report| Box::new(report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_changes_the_plan_and_its_file_and_is_read_back() {
        for operation in OPERATIONS {
            for (info, kind) in operation.options() {
                let (blank, mut plan) = (operation.blank(), operation.blank());
                let answer = match kind {
                    ValueKind::Switch => Answer::On,
                    ValueKind::Number(least) => Answer::Text((least + 77).to_string()),
                    ValueKind::Text => Answer::Text("-some text".to_owned()),
                    ValueKind::Path => Answer::Text("/some/path".to_owned()),
                    ValueKind::Paths => Answer::List(vec!["/some/path".to_owned(), "/-x".to_owned()]),
                    ValueKind::Choice(choices) => Answer::Text(choices.last().unwrap().name.to_owned()),
                };
                plan.set(info.name, &answer).unwrap();
                let name = format!("{} --{}", operation.name(), info.name);
                assert_eq!(plan.get(info.name), answer, "{name}");
                assert!(!plan.is_same(&*blank), "{name}");
                let yaml = plan.to_yaml().unwrap();
                assert!(read_plan(&yaml).unwrap().unwrap().is_same(&*plan), "{name}: {yaml}");
                plan.set(info.name, &Answer::Unset).unwrap();
                assert!(plan.is_same(&*blank), "{name}");
                if !info.default.is_empty() {
                    plan.set(info.name, &Answer::Text(info.default.to_owned())).unwrap();
                    assert!(plan.is_same(&*blank), "{name}: {} is the default", info.default);
                }
            }
        }
    }
}
