//! What an operation is: a plan with options, a preview and a run. Front ends see it without its types, as [`AnyOperation`] and [`AnyPlan`].

mod advice;

pub use advice::{Advice, QuestionNeed};

use super::report::Report;
use super::task::{Task, TaskContext};
use crate::engine::plan::{file, CommandLine};
use gristmill_core::options::{Answer, Group, OptionRow, OptionSpec, Step, ValueKind};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_storage::files;
#[cfg(test)]
use gristmill_storage::fs::Fs;
use gristmill_storage::fs::RealFs;
use gristmill_storage::remote::is_hub_url;
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::any::Any;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The answers that determine the bytes of the output.
pub trait Plan: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Returns a plan without answers.
    fn blank() -> Self;
}

/// A flag of earlier versions that is accepted without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObsoleteFlag {
    /// The flag without hyphens.
    pub name: &'static str,
    /// Options of which at least one must be given with it; empty if it needs none.
    pub needs_one_of: &'static [&'static str],
}

/// An operation with its plan, options, preview and run.
pub trait Operation: Sized + Send + Sync + 'static {
    /// The plan: the answers to the options.
    type Plan: Plan;
    /// Result of a preview; a [`Report`], or a boxed one if its type depends on the input.
    type Preview: Into<Box<dyn Report>>;
    /// Result of a run, like [`Preview`](Self::Preview).
    type Report: Into<Box<dyn Report>>;
    /// Name of the command, such as `nanosets merge`.
    const NAME: &'static str;
    /// Other names of the command.
    const ALIASES: &'static [&'static str] = &[];
    /// Description in one line without full stop.
    const ABOUT: &'static str;
    /// Description of the running operation, such as `merging`.
    const ACTIVITY: &'static str;
    /// Kind of plan that a plan file declares, such as `merging token files`.
    const PLAN_OF: &'static str;
    /// The command in plan files, if it is not [`NAME`](Self::NAME) with hyphens.
    const FILE_NAME: Option<&'static str> = None;
    /// Pages of its form, except the last one, which shows the preview.
    const STEPS: &'static [Step] = &[Step { id: "settings", title: "Settings" }];
    /// Options by group, in the order in which they are listed, printed and applied.
    const GROUPS: &'static [Group<Self::Plan>];
    /// Flags of earlier versions that are accepted without effect.
    const OBSOLETE_FLAGS: &'static [ObsoleteFlag] = &[];
    /// Whether runs use all memory that the system can spare, unless `--memory` limits it.
    const USES_SPARE_MEMORY: bool = false;
    /// Whether progress shows the current phase instead of [`ACTIVITY`](Self::ACTIVITY).
    const SHOWS_PHASES: bool = false;

    /// Whether a run prompts even if no answer is missing. A flag in the printed command disables these prompts.
    fn always_prompts(_plan: &Self::Plan) -> bool {
        false
    }
    /// Sets answers that follow from other answers.
    fn complete(_plan: &mut Self::Plan) {}
    /// Returns missing and wrong answers, based on the plan and the paths in it. The default checks required options only.
    fn check(plan: &Self::Plan, _is_preview: bool) -> Vec<Problem> {
        missing::<Self>(plan)
    }
    /// Whether flags can express the plan. Plan files can contain more.
    fn is_expressible(_plan: &Self::Plan) -> bool {
        true
    }
    /// Returns the plan with absolute paths, so that it has the same result from any folder. The default converts the options that are
    /// paths.
    ///
    /// # Errors
    /// The current folder no longer exists.
    fn absolute(plan: &Self::Plan) -> Outcome<Self::Plan> {
        absolute::<Self>(plan)
    }
    /// Returns notes on the plan for the user to read before a run; `None` if the operation has no such notes.
    ///
    /// # Errors
    /// A file in the plan cannot be used.
    fn notes(_plan: &Self::Plan) -> Outcome<Option<Vec<Problem>>> {
        Ok(None)
    }
    /// Returns the path to add to the list of recent data sets, if any.
    fn recent(_plan: &Self::Plan) -> Option<PathBuf> {
        None
    }
    /// Returns a line to print before a run, such as the size of its scratch files.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run) that can be detected in advance.
    fn announcement(_plan: &Self::Plan, _options: &RunOptions, _cancel: &Cancel) -> Outcome<Option<String>> {
        Ok(None)
    }
    /// Returns the advice on answers, for front ends that ask for one option after another.
    fn advice(_options: &RunOptions) -> Box<dyn Advice> {
        Box::new(advice::NoAdvice)
    }
    /// Returns the command that is equivalent to a plan after its run.
    fn command_after_run(plan: &Self::Plan) -> String {
        command_line_of::<Self>(plan).text()
    }
    /// Returns the plan file for a plan with absolute paths.
    ///
    /// # Errors
    /// The plan cannot be written as YAML.
    fn to_yaml(plan: &Self::Plan) -> Outcome<String> {
        file::typed_to_yaml(Self::PLAN_OF, &file_name::<Self>(), plan)
    }
    /// Returns the preview of a run. Writes nothing.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run) that can be detected in advance.
    fn preview(plan: &Self::Plan, context: &TaskContext) -> Outcome<Self::Preview>;
    /// Runs the operation.
    ///
    /// # Errors
    /// The plan is invalid, input cannot be read, or output cannot be written or already exists.
    fn run(plan: &Self::Plan, context: &TaskContext) -> Outcome<Self::Report>;
}

/// Returns one refusal for each required option without an answer, and for each group without its required option.
pub fn missing<O: Operation>(plan: &O::Plan) -> Vec<Problem> {
    let refusal = |message: String, hint: String| {
        Problem::refusal(ProblemKind::MissingAnswer, Subject::default(), message).with_hint(hint)
    };
    let is_open = |option: &&OptionSpec<O::Plan>| option.get(plan) == Answer::Unset;
    let options = O::GROUPS.iter().flat_map(|group| group.options);
    let open = options.filter(|option| option.info.is_required).filter(is_open).map(|option| {
        let hint = format!("gristmill {} --help lists the arguments", O::NAME);
        refusal(format!("{} is not given", option.info.usage()), hint)
    });
    let open_groups = O::GROUPS.iter().filter(|group| group.is_one_of && group.options.iter().all(|row| is_open(&row)));
    let open_groups = open_groups.map(|group| {
        let flags: Vec<String> = group.options.iter().map(|option| option.info.usage()).collect();
        refusal(format!("{} not given", group.title.to_lowercase()), format!("one of {}", flags.join(", ")))
    });
    open.chain(open_groups).collect()
}

/// Returns a plan with absolute paths in the options that are paths.
pub(crate) fn absolute<O: Operation>(plan: &O::Plan) -> Outcome<O::Plan> {
    let mut plan = plan.clone();
    let is_path = |kind: ValueKind| matches!(kind, ValueKind::Path | ValueKind::Paths);
    let options = O::GROUPS.iter().flat_map(|group| group.options);
    for option in options.filter(|option| is_path(option.kind())) {
        let absolute = |path: String| match files::absolute(&path) {
            _ if is_hub_url(&path) => Ok(path),
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

/// Runs a plan in the background. Writes through `fs`, which may be a test double. A preview writes nothing.
#[cfg(test)]
pub(crate) fn start<O: Operation<Preview = R, Report = R>, R: Report>(
    plan: O::Plan,
    is_preview: bool,
    options: RunOptions,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<R>> {
    Task::start(O::ACTIVITY, options, fs, move |context| match is_preview {
        true => O::preview(&plan, context),
        false => O::run(&plan, context),
    })
}

/// An [`Operation`] with its types erased.
pub trait AnyOperation: Sync {
    /// Returns the command, such as `nanosets merge`.
    fn name(&self) -> &'static str;
    /// Returns other names of the command.
    fn aliases(&self) -> &'static [&'static str];
    /// Returns the description in one line without full stop.
    fn description(&self) -> &'static str;
    /// Returns the description of the running operation.
    fn doing(&self) -> &'static str;
    /// Returns the command in plan files.
    fn file_name(&self) -> String;
    /// Returns the pages of its form, except the last one, which shows the preview.
    fn steps(&self) -> &'static [Step];
    /// Returns the options, in the order in which they are listed, printed and applied.
    fn options(&self) -> Vec<OptionRow>;
    /// Returns flags of earlier versions that are accepted without effect.
    fn obsolete_flags(&self) -> &'static [ObsoleteFlag];
    /// Whether runs use all memory that the system can spare, unless a flag limits it.
    fn uses_spare_memory(&self) -> bool;
    /// Whether progress shows the current phase instead of [`doing`](Self::doing).
    fn shows_phases(&self) -> bool;
    /// Returns the advice on answers, for front ends that ask for one option after another.
    fn advice(&self, options: &RunOptions) -> Box<dyn Advice>;
    /// Returns a plan without answers.
    fn blank(&self) -> Box<dyn AnyPlan>;
    /// Parses a plan file of this operation.
    ///
    /// # Errors
    /// The file is not such a plan; the failure has the line of the mistake.
    fn read(&self, text: &str) -> Outcome<Box<dyn AnyPlan>>;
}

/// A [`Plan`] with its type erased.
pub trait AnyPlan: Debug + Send + Sync {
    /// Returns the operation of the plan.
    fn operation(&self) -> &'static dyn AnyOperation;
    /// Returns the answer to an option.
    fn get(&self, option: &str) -> Answer;
    /// Sets the answer to an option.
    ///
    /// # Errors
    /// The reason why the answer is invalid.
    fn set(&mut self, option: &str, answer: &Answer) -> Result<(), String>;
    /// Applies the answers in a file. If the option names a part of a file, applies only that part.
    ///
    /// # Errors
    /// The file cannot be read, or an answer in it is invalid.
    fn read_file(&mut self, option: &str, path: &Path, part: &str) -> Outcome<()>;
    /// Returns the answer that an option requires and the plan does not have, such as `--format modalities`.
    fn missing_condition(&self, option: &str) -> Option<&'static str>;
    /// Whether an option applies with the other answers.
    fn applies(&self, option: &str) -> bool {
        self.missing_condition(option).is_none()
    }
    /// Sets answers that follow from other answers.
    fn complete(&mut self);
    /// Returns missing and wrong answers, based on the plan and the paths in it.
    fn check(&self, is_preview: bool) -> Vec<Problem>;
    /// Returns notes for the user to read before a run; `None` if the operation has no such notes.
    ///
    /// # Errors
    /// A file in the plan cannot be used.
    fn notes(&self) -> Outcome<Option<Vec<Problem>>>;
    /// Returns the path to add to the list of recent data sets, if any.
    fn recent(&self) -> Option<PathBuf>;
    /// Returns a line to print before a run.
    ///
    /// # Errors
    /// The errors of a run that can be detected in advance.
    fn announcement(&self, options: &RunOptions, cancel: &Cancel) -> Outcome<Option<String>>;
    /// Whether flags can express the plan. Plan files can contain more.
    fn is_expressible(&self) -> bool;
    /// Returns the command that is equivalent to this plan, if [flags can express it](Self::is_expressible).
    fn command_line(&self) -> CommandLine;
    /// Returns the flags of a step in the equivalent command, quoted for a shell.
    fn step_flags(&self, step: &str) -> String;
    /// Returns the command that is equivalent to this plan after its run. It may use files that the run wrote.
    fn command_after_run(&self) -> String;
    /// Returns a plan file that can be run from any folder.
    ///
    /// # Errors
    /// The current folder no longer exists.
    fn to_yaml(&self) -> Outcome<String>;
    /// Returns the plan as JSON, for results.
    fn to_json(&self) -> serde_json::Value;
    /// Runs the plan in the background. A preview writes nothing.
    ///
    /// # Errors
    /// No thread can be started.
    fn start(&self, is_preview: bool, options: RunOptions) -> Outcome<Task<Box<dyn Report>>>;
    /// Whether another plan has the same operation and the same answers.
    fn is_same(&self, other: &dyn AnyPlan) -> bool {
        self.operation().name() == other.operation().name() && self.to_json() == other.to_json()
    }
    /// Returns a copy.
    fn boxed_clone(&self) -> Box<dyn AnyPlan>;
    /// Returns the plan for downcasting to its type.
    fn as_any(&self) -> &dyn Any;
}

impl dyn AnyOperation {
    /// Returns a plan with these inputs and no other answers.
    pub fn plan_for(&self, inputs: Vec<String>) -> Box<dyn AnyPlan> {
        let mut plan = self.blank();
        let input = self.options().into_iter().find(|row| row.info.is_positional);
        if let Some(Err(why)) = input.map(|row| plan.set(row.info.name, &Answer::List(inputs))) {
            tracing::warn!(why, "an input is not valid");
        }
        plan
    }
}

impl dyn AnyPlan + '_ {
    /// Sets the answer that permits replacing an existing output. Returns whether the operation has such an option.
    pub fn replace_output(&mut self) -> bool {
        let options = self.operation().options();
        let option = options.iter().find_map(|row| Some((row.info.name, row.info.replaces?)));
        let answer = |text: &str| if text.is_empty() { Answer::On } else { Answer::Text(text.to_owned()) };
        option.is_some_and(|(name, text)| self.set(name, &answer(text)).is_ok())
    }

    /// Returns the inputs: the values of the first positional option.
    pub fn inputs(&self) -> Vec<String> {
        let first = self.operation().options().into_iter().find(|row| row.info.is_positional);
        match first.map(|row| self.get(row.info.name)) {
            Some(Answer::Text(path)) => vec![path],
            Some(Answer::List(paths)) => paths,
            _ => Vec::new(),
        }
    }

    /// Returns the name of the first input and the number of further inputs, for titles.
    pub fn input_name(&self) -> String {
        let inputs = self.inputs();
        let Some(first) = inputs.first().map(Path::new) else { return String::new() };
        // `.` and `/` have no last component.
        let name = first.file_name().unwrap_or(first.as_os_str()).to_string_lossy().into_owned();
        match inputs.len() {
            1 => name,
            more => format!("{name} and {} more", more - 1),
        }
    }

    /// Returns the plan as this type; `None` if it has another type.
    pub fn typed<P: 'static>(&self) -> Option<&P> {
        self.as_any().downcast_ref()
    }
}

/// Returns a plan with its types erased.
pub fn erase<O: Operation>(plan: O::Plan) -> Box<dyn AnyPlan> {
    Box::new(TypedPlan::<O>(plan))
}

/// Returns the command of an operation in plan files.
pub(crate) fn file_name<O: Operation>() -> String {
    O::FILE_NAME.map_or_else(|| O::NAME.replace(' ', "-"), str::to_owned)
}

/// The row of an operation in a table of operations.
pub(crate) struct Entry<O>(PhantomData<fn() -> O>);

impl<O: Operation> Entry<O> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<O: Operation> AnyOperation for Entry<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn aliases(&self) -> &'static [&'static str] {
        O::ALIASES
    }

    fn description(&self) -> &'static str {
        O::ABOUT
    }

    fn doing(&self) -> &'static str {
        O::ACTIVITY
    }

    fn file_name(&self) -> String {
        file_name::<O>()
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
            is_one_of: group.is_one_of,
            is_listed_last: group.is_listed_last,
        };
        O::GROUPS.iter().flat_map(|group| group.options.iter().map(|option| row(group, option))).collect()
    }

    fn obsolete_flags(&self) -> &'static [ObsoleteFlag] {
        O::OBSOLETE_FLAGS
    }

    fn uses_spare_memory(&self) -> bool {
        O::USES_SPARE_MEMORY
    }

    fn shows_phases(&self) -> bool {
        O::SHOWS_PHASES
    }

    fn advice(&self, options: &RunOptions) -> Box<dyn Advice> {
        O::advice(options)
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

    fn read_file(&mut self, option: &str, path: &Path, part: &str) -> Outcome<()> {
        Self::option(option).map_or(Ok(()), |option| option.read(&mut self.0, path, part))
    }

    fn missing_condition(&self, option: &str) -> Option<&'static str> {
        let is_it = |known: &&OptionSpec<O::Plan>| known.info.name == option;
        let (group, option) = O::GROUPS.iter().find_map(|group| Some((group, group.options.iter().find(is_it)?)))?;
        let fails = |applies: Option<fn(&O::Plan) -> bool>| applies.is_some_and(|applies| !applies(&self.0));
        let of_group = fails(group.applies).then_some(group.needs);
        of_group.or_else(|| fails(option.applies).then_some(option.info.applies_with))
    }

    fn complete(&mut self) {
        O::complete(&mut self.0);
    }

    fn check(&self, is_preview: bool) -> Vec<Problem> {
        O::check(&self.0, is_preview)
    }

    fn is_expressible(&self) -> bool {
        O::is_expressible(&self.0)
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
        command_line_of::<O>(&self.0)
    }

    fn step_flags(&self, step: &str) -> String {
        let mut line = CommandLine::default();
        let options = O::GROUPS.iter().filter(|group| group.step == step).flat_map(|group| group.options);
        options.filter(|option| !option.info.is_positional).for_each(|option| add_to_line(&mut line, option, &self.0));
        line.text()
    }

    fn command_after_run(&self) -> String {
        O::command_after_run(&self.0)
    }

    fn to_yaml(&self) -> Outcome<String> {
        O::to_yaml(&O::absolute(&self.0)?)
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(&self.0).unwrap_or_default()
    }

    fn start(&self, is_preview: bool, options: RunOptions) -> Outcome<Task<Box<dyn Report>>> {
        let plan = self.0.clone();
        Task::start(O::ACTIVITY, options, Arc::new(RealFs), move |context| match is_preview {
            true => O::preview(&plan, context).map(Into::into),
            false => O::run(&plan, context).map(Into::into),
        })
    }

    fn boxed_clone(&self) -> Box<dyn AnyPlan> {
        erase::<O>(self.0.clone())
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }
}

/// Returns the command that is equivalent to a plan.
pub(crate) fn command_line_of<O: Operation>(plan: &O::Plan) -> CommandLine {
    let words: Vec<&str> = std::iter::once("gristmill").chain(O::NAME.split(' ')).collect();
    let mut line = CommandLine::of_words(&words);
    let (inputs, options): (Vec<_>, Vec<_>) =
        O::GROUPS.iter().flat_map(|group| group.options).partition(|option| option.info.is_positional);
    inputs.into_iter().for_each(|input| add_to_line(&mut line, input, plan));
    line.flag_if(O::always_prompts(plan), "--yes");
    options.into_iter().for_each(|option| add_to_line(&mut line, option, plan));
    line
}

/// Adds an option to a printed command unless it has its default.
fn add_to_line<P>(line: &mut CommandLine, option: &OptionSpec<P>, plan: &P) {
    let flag = format!("--{}", option.info.name);
    if let Some(file) = option.file(plan) {
        line.value(&flag, file.name);
        line.files.push((file.name.to_owned(), file.text));
    }
    match (option.get(plan), option.kind()) {
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
