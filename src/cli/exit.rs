//! The end of a command: its result, its exit code, and the function that reports both.

use super::context::Context;
use super::printer::{error_value, LongList};
use gristmill_core::text::count;
use gristmill_core::{ExitClass, Failure, Problem, ProblemKind, Severity};
use gristmill_storage::near::with_near_address;
use serde_json::{json, Map, Value};

/// Maximum number of printed errors per command.
const ERRORS_SHOWN: usize = 20;

/// Version of the result object; incremented when the meaning of a field changes or a field is removed.
pub const SCHEMA_VERSION: u64 = 1;

/// The status of finished work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done, possibly with notes.
    Ok,
    /// Done, but data were found to be damaged or lost.
    Problems,
}

/// A command that has done its work.
#[derive(Debug)]
pub struct CommandSuccess {
    /// The status of the finished work.
    pub status: Status,
    /// Fields of the result object, except `status` and the schema version.
    pub result: Map<String, Value>,
    /// A list of the result object that is made while it is printed.
    pub list: Option<Box<dyn LongList>>,
    /// The kinds of findings, except notes.
    pub kinds: Vec<ProblemKind>,
    /// The exit code of the full screen, which replaces the one for the status.
    pub code: Option<u8>,
}

impl CommandSuccess {
    /// Returns a success without findings.
    pub fn ok(result: Map<String, Value>) -> Self {
        Self { status: Status::Ok, result, list: None, kinds: Vec::new(), code: None }
    }

    /// Returns finished work with an explicit exit code.
    pub fn with_code(code: u8) -> Self {
        Self { code: Some(code), ..Self::ok(Map::new()) }
    }

    /// Returns finished work with these findings; the status is `Ok` if all of them are notes.
    pub fn with_findings(
        result: Map<String, Value>,
        findings: impl IntoIterator<Item = (Severity, ProblemKind)>,
    ) -> Self {
        let severe = findings.into_iter().filter(|(severity, _)| *severity > Severity::Note);
        let kinds: Vec<ProblemKind> = severe.map(|(_, kind)| kind).collect();
        let status = if kinds.is_empty() { Status::Ok } else { Status::Problems };
        Self { status, result, list: None, kinds, code: None }
    }

    /// Adds problems that were found before the work started.
    pub fn add_problems(&mut self, problems: &[Problem]) {
        if problems.is_empty() {
            return;
        }
        let listed = self.result.entry("problems").or_insert_with(|| json!([]));
        listed
            .as_array_mut()
            .into_iter()
            .for_each(|listed| listed.extend(problems.iter().map(|problem| json!(problem))));
        let added = Self::with_findings(Map::new(), problems.iter().map(|problem| (problem.severity, problem.kind)));
        self.kinds.extend(added.kinds);
        self.status = if self.kinds.is_empty() { self.status } else { Status::Problems };
    }
}

/// A command that has failed; has at least one failure.
#[derive(Debug)]
pub struct CommandFailure {
    /// The failures; each is printed.
    pub failures: Vec<Failure>,
    /// Fields of the result object, except the error.
    pub result: Map<String, Value>,
}

impl CommandFailure {
    /// Whether one of the failures has the same reason as a note.
    pub fn states(&self, note: &Problem) -> bool {
        note.severity == Severity::Note && self.failures.iter().any(|failure| note.message.ends_with(&failure.why))
    }
}

impl From<Failure> for CommandFailure {
    fn from(failure: Failure) -> Self {
        Self { failures: vec![failure], result: Map::new() }
    }
}

impl From<Vec<Failure>> for CommandFailure {
    fn from(failures: Vec<Failure>) -> Self {
        Self { failures, result: Map::new() }
    }
}

/// The result of a command.
pub type CommandResult = Result<CommandSuccess, CommandFailure>;

/// Converts a serializable object into fields of the result object.
pub fn fields(value: impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        Ok(other) => Map::from_iter([("value".to_owned(), other)]),
        Err(_) => Map::new(),
    }
}

/// Prints the result of a command, and returns the exit code.
pub fn report(context: &Context, command: &str, finished: CommandResult) -> u8 {
    let printer = &context.printer;
    let code = match finished {
        Ok(done) => {
            let code = match (done.code, done.status) {
                (Some(code), _) => code,
                (None, Status::Problems) if !context.globals.problems_ok => 1,
                _ => 0,
            };
            let status = if done.status == Status::Ok { "ok" } else { "problems" };
            let value = object(command, status, code, done.result, &[]);
            match &done.list {
                Some(list) => printer.result_with_list(&value, &**list),
                None => printer.result(value),
            }
            code
        }
        Err(stopped) => failed(context, command, stopped),
    };
    printer.write_failure().map_or(code, |failure| {
        printer.error(&failure);
        // If stdout failed, findings are not reported completely, so the exit code is that of the write failure.
        match code {
            0 | 1 => failure.class.code(),
            code => code,
        }
    })
}

fn failed(context: &Context, command: &str, mut stopped: CommandFailure) -> u8 {
    let printer = &context.printer;
    // With several failures, the reason is not a mistyped address.
    if let [failure] = stopped.failures.as_mut_slice() {
        *failure = with_near_address(failure.clone());
    }
    let shown = if printer.is_verbose() { stopped.failures.len() } else { ERRORS_SHOWN };
    for failure in stopped.failures.iter().take(shown) {
        printer.error(failure);
    }
    if let Some(more) = stopped.failures.len().checked_sub(shown).filter(|more| *more > 0) {
        printer.progress_line(format!("… and {} (-v shows them, --json lists them)", count(more as u64, "more error")));
    }
    if stopped.failures.iter().any(Failure::is_cancelled) {
        return context.signals.exit_code();
    }
    let class = highest_class(&stopped.failures);
    let status = if class == ExitClass::Data { "refused" } else { "error" };
    printer.result(object(command, status, class.code(), stopped.result, &stopped.failures));
    class.code()
}

fn highest_class(failures: &[Failure]) -> ExitClass {
    failures.iter().map(|f| f.class).max_by_key(|c| c.code()).unwrap_or(ExitClass::Environment)
}

/// Returns the result object of a command.
pub fn object(command: &str, status: &str, code: u8, result: Map<String, Value>, failures: &[Failure]) -> Value {
    let mut object = Map::new();
    object.insert("schema_version".into(), json!(SCHEMA_VERSION));
    object.insert("program".into(), json!(concat!("gristmill ", env!("CARGO_PKG_VERSION"))));
    object.insert("command".into(), json!(command));
    object.insert("status".into(), json!(status));
    object.insert("exit_code".into(), json!(code));
    if let Some(first) = failures.first() {
        object.insert("error".into(), error_value(first));
    }
    if failures.len() > 1 {
        object.insert("errors".into(), failures.iter().map(error_value).collect());
    }
    object.extend(result);
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_replaces_note_with_same_reason() {
        let stopped = CommandFailure::from(Failure::environment("publishing", "these credentials may not remove it"));
        let note = |why: &str| Problem::note(ProblemKind::Other, Default::default(), format!("it is released: {why}"));
        assert!(stopped.states(&note("these credentials may not remove it")));
        assert!(!stopped.states(&note("these credentials may not list it")));
        let loss = Problem { severity: Severity::Problem, ..note("these credentials may not remove it") };
        assert!(!stopped.states(&loss), "a loss is always reported");
    }

    #[test]
    fn the_most_severe_failure_decides_the_code() {
        let both = [Failure::data("a", "b"), Failure::environment("c", "d"), Failure::usage("e", "f")];
        assert_eq!(highest_class(&both), ExitClass::Environment);
    }
}
