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

/// Accessors of a field that is an optional text.
macro_rules! text {
    ($field:ident) => {
        Access::Text {
            get: |plan| plan.$field.clone(),
            set: |plan, text| {
                plan.$field = text;
                Ok(())
            },
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
use gristmill_core::options::{Answer, Group, OptionRow, OptionSpec, Step, ValueKind};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, RunOptions, Subject};
#[cfg(test)]
use gristmill_storage::fs::Fs;
use gristmill_storage::fs::RealFs;
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::any::Any;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
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
    /// Result of a preview.
    type Preview: Report;
    /// Result of a run.
    type Report: Report;
    /// Command, such as `nanosets merge`.
    const NAME: &'static str;
    /// Description in one line without full stop.
    const ABOUT: &'static str;
    /// Description of the running operation, such as `merging`.
    const DOING: &'static str;
    /// Kind of plan that a plan file declares, such as `merging token files`.
    const PLAN_OF: &'static str;
    /// The command in plan files, where it is not [`NAME`](Self::NAME) with hyphens.
    const FILE_NAME: Option<&'static str> = None;
    /// Pages of its form, without the last one, which shows the preview.
    const STEPS: &'static [Step] = &[Step { id: "settings", title: "Settings" }];
    /// Options by group, in the order in which they are listed, printed and applied.
    const GROUPS: &'static [Group<Self::Plan>];
    /// Whether runs use the memory that the system can spare, unless `--memory` limits it.
    const USES_SPARE_MEMORY: bool = false;

    /// Fills in answers that follow from the given ones.
    fn complete(plan: &mut Self::Plan) {
        let _ = plan;
    }
    /// Returns the answers that are missing or wrong, by the plan alone. By default, required options without an answer.
    fn check(plan: &Self::Plan, is_preview: bool) -> Vec<Problem> {
        let _ = is_preview;
        missing::<Self>(plan)
    }
    /// Returns notes on the plan that the user should read before a run; `None` if the operation has no such notes.
    ///
    /// # Errors
    /// A file that the plan names cannot be used.
    fn notes(plan: &Self::Plan) -> Outcome<Option<Vec<Problem>>> {
        let _ = plan;
        Ok(None)
    }
    /// Returns the path that the list of recent data sets gets; `None` for none.
    fn recent(plan: &Self::Plan) -> Option<PathBuf> {
        let _ = plan;
        None
    }
    /// Returns a line that is printed before a run, such as the size of its scratch files.
    ///
    /// # Errors
    /// The same as [`run`](Self::run), as far as they can be known in advance.
    fn announcement(plan: &Self::Plan, options: &RunOptions, cancel: &Cancel) -> Outcome<Option<String>> {
        let _ = (plan, options, cancel);
        Ok(None)
    }
    /// Reports what a run would do. Writes nothing.
    ///
    /// # Errors
    /// The same as [`run`](Self::run), as far as they can be known in advance.
    fn preview(plan: &Self::Plan, context: &TaskContext) -> Outcome<Self::Preview>;
    /// Runs the operation.
    ///
    /// # Errors
    /// A plan that cannot be followed; input that cannot be read; output that cannot be written or already exists.
    fn run(plan: &Self::Plan, context: &TaskContext) -> Outcome<Self::Report>;
}

/// Returns one refusal for each required option without an answer.
pub fn missing<O: Operation>(plan: &O::Plan) -> Vec<Problem> {
    let options = O::GROUPS.iter().flat_map(|group| group.options);
    let open = options.filter(|option| option.info.is_required && option.get(plan) == Answer::Unset);
    open.map(|option| {
        let message = format!("{} is not given", option.info.usage());
        Problem::refusal(ProblemKind::MissingAnswer, Subject::default(), message)
            .with_hint(format!("gristmill {} --help lists the arguments", O::NAME))
    })
    .collect()
}

/// Runs a plan in the background, writing through `fs`, which may fail; a preview writes nothing.
#[cfg(test)]
pub(crate) fn start<O: Operation<Preview = R, Report = R>, R: Report>(
    plan: O::Plan,
    is_preview: bool,
    options: RunOptions,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<R>> {
    Task::start(O::DOING, options, fs, move |context| match is_preview {
        true => O::preview(&plan, context),
        false => O::run(&plan, context),
    })
}

/// An [`Operation`] with its types erased.
pub trait AnyOperation: Sync {
    /// Returns the command, such as `nanosets merge`.
    fn name(&self) -> &'static str;
    /// Returns the description in one line without full stop.
    fn about(&self) -> &'static str;
    /// Returns the description of the running operation.
    fn doing(&self) -> &'static str;
    /// Returns the command in plan files.
    fn file_name(&self) -> String;
    /// Returns the pages of its form, without the last one, which shows the preview.
    fn steps(&self) -> &'static [Step];
    /// Returns the options, in the order in which they are listed, printed and applied.
    fn options(&self) -> Vec<OptionRow>;
    /// Whether runs use the memory that the system can spare, unless a flag limits it.
    fn uses_spare_memory(&self) -> bool;
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
    /// Applies the answers in a file, for an option that names one.
    ///
    /// # Errors
    /// A file that cannot be read, or answers that are not valid.
    fn read_file(&mut self, option: &str, path: &Path) -> Outcome<()>;
    /// Whether an option has a meaning, given the other answers.
    fn applies(&self, option: &str) -> bool;
    /// Fills in answers that follow from the given ones.
    fn complete(&mut self);
    /// Returns the answers that are missing or wrong, by the plan alone.
    fn check(&self, is_preview: bool) -> Vec<Problem>;
    /// Returns notes that the user should read before a run; `None` if the operation has no such notes.
    ///
    /// # Errors
    /// A file that the plan names cannot be used.
    fn notes(&self) -> Outcome<Option<Vec<Problem>>>;
    /// Returns the path that the list of recent data sets gets.
    fn recent(&self) -> Option<PathBuf>;
    /// Returns a line that is printed before a run.
    ///
    /// # Errors
    /// The same as those of a run, as far as they can be known in advance.
    fn announcement(&self, options: &RunOptions, cancel: &Cancel) -> Outcome<Option<String>>;
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
    /// Returns a copy.
    fn boxed_clone(&self) -> Box<dyn AnyPlan>;
    /// Returns the plan with its type.
    fn as_any(&self) -> &dyn Any;
    /// Returns the plan with its type, to be changed.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl dyn AnyPlan {
    /// Returns the plan, if it is of this type.
    pub fn typed<P: 'static>(&self) -> Option<&P> {
        self.as_any().downcast_ref()
    }
    /// Returns the plan to be changed, if it is of this type.
    pub fn typed_mut<P: 'static>(&mut self) -> Option<&mut P> {
        self.as_any_mut().downcast_mut()
    }
}

/// Returns a plan with its types erased.
pub fn erase<O: Operation>(plan: O::Plan) -> Box<dyn AnyPlan> {
    Box::new(TypedPlan::<O>(plan))
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
    let wanted = OPERATIONS.iter().find(|operation| command.as_deref() == Some(&operation.file_name()));
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

    fn file_name(&self) -> String {
        O::FILE_NAME.map_or_else(|| O::NAME.replace(' ', "-"), str::to_owned)
    }

    fn steps(&self) -> &'static [Step] {
        O::STEPS
    }

    fn options(&self) -> Vec<OptionRow> {
        let row = |group: &Group<O::Plan>, option: &OptionSpec<O::Plan>| OptionRow {
            info: option.info,
            kind: option.kind(),
            heading: group.title,
            step: group.step,
            needs: group.needs,
        };
        O::GROUPS.iter().flat_map(|group| group.options.iter().map(|option| row(group, option))).collect()
    }

    fn uses_spare_memory(&self) -> bool {
        O::USES_SPARE_MEMORY
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
    fn options() -> impl Iterator<Item = &'static OptionSpec<O::Plan>> {
        O::GROUPS.iter().flat_map(|group| group.options)
    }

    fn option(name: &str) -> Option<&'static OptionSpec<O::Plan>> {
        Self::options().find(|option| option.info.name == name)
    }

    /// Returns the plan with absolute paths.
    fn absolute(&self) -> Outcome<O::Plan> {
        let mut plan = self.0.clone();
        let is_path = |kind: ValueKind| matches!(kind, ValueKind::Path | ValueKind::Paths);
        for option in Self::options().filter(|option| is_path(option.kind())) {
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

    fn read_file(&mut self, option: &str, path: &Path) -> Outcome<()> {
        Self::option(option).map_or(Ok(()), |option| option.read(&mut self.0, path))
    }

    fn applies(&self, option: &str) -> bool {
        let is_it = |known: &&OptionSpec<O::Plan>| known.info.name == option;
        let found = O::GROUPS.iter().find_map(|group| Some((group, group.options.iter().find(is_it)?)));
        let holds = |applies: Option<fn(&O::Plan) -> bool>| applies.is_none_or(|applies| applies(&self.0));
        found.is_some_and(|(group, option)| holds(group.applies) && holds(option.applies))
    }

    fn complete(&mut self) {
        O::complete(&mut self.0);
    }

    fn check(&self, is_preview: bool) -> Vec<Problem> {
        O::check(&self.0, is_preview)
    }

    fn notes(&self) -> Outcome<Option<Vec<Problem>>> {
        O::notes(&self.0)
    }

    fn recent(&self) -> Option<PathBuf> {
        O::recent(&self.0)
    }

    fn announcement(&self, options: &RunOptions, cancel: &Cancel) -> Outcome<Option<String>> {
        O::announcement(&self.0, options, cancel)
    }

    fn command_line(&self) -> CommandLine {
        let words: Vec<&str> = std::iter::once("gristmill").chain(O::NAME.split(' ')).collect();
        let mut line = CommandLine::of_words(&words);
        for option in Self::options() {
            let flag = format!("--{}", option.info.name);
            match (option.get(&self.0), option.kind()) {
                (Answer::Unset, _) => {}
                (Answer::On, _) => line.flag_if(true, &flag),
                (Answer::Text(path), _) if option.info.is_positional => line.path(Path::new(&path)),
                (Answer::Text(text), _) => match option.info.bare {
                    Some(bare) if bare == text => line.flag_if(true, &flag),
                    Some(_) => line.flag_if(true, &format!("{flag}={text}")),
                    None => line.value(&flag, &text),
                },
                (Answer::List(paths), ValueKind::Paths) => paths.iter().for_each(|path| line.path(Path::new(path))),
                (Answer::List(values), ValueKind::List(Some(separator))) => {
                    line.value(&flag, &values.join(&separator.to_string()));
                }
                (Answer::List(values), _) => values.iter().for_each(|value| line.value(&flag, value)),
            }
        }
        line
    }

    fn to_yaml(&self) -> Outcome<String> {
        file::typed_to_yaml(O::PLAN_OF, &self.operation().file_name(), &self.absolute()?)
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(&self.0).unwrap_or_default()
    }

    fn start(&self, is_preview: bool, options: RunOptions) -> Outcome<Task<Box<dyn Report>>> {
        let plan = self.0.clone();
        Task::start(O::DOING, options, Arc::new(RealFs), move |context| match is_preview {
            true => O::preview(&plan, context).map(|report| Box::new(report) as Box<dyn Report>),
            false => O::run(&plan, context).map(|report| Box::new(report) as Box<dyn Report>),
        })
    }

    fn boxed_clone(&self) -> Box<dyn AnyPlan> {
        erase::<O>(self.0.clone())
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_changes_the_plan_and_its_file_and_is_read_back() {
        for operation in OPERATIONS {
            for OptionRow { info, kind, .. } in operation.options() {
                let (blank, mut plan) = (operation.blank(), operation.blank());
                let answer = match kind {
                    ValueKind::File => continue,
                    ValueKind::Switch => Answer::On,
                    ValueKind::Number(least, _) => Answer::Text((least + 77).to_string()),
                    ValueKind::List(_) => Answer::List(vec!["a".to_owned(), "b".to_owned()]),
                    ValueKind::Choices(choices) => {
                        Answer::List(choices.iter().map(|choice| choice.name.to_owned()).collect())
                    }
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
