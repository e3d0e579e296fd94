//! The common form of failures, so that all front ends print them in the same way.

use super::problem::{ProblemKind, Subject};
use serde::Serialize;
use std::fmt;

/// Shorthand for a result whose error is a [`Failure`].
pub type Outcome<T> = Result<T, Failure>;

/// The class of a failure; decides the exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitClass {
    /// Refused because of the content of the data: exit code 1.
    Data,
    /// The request is wrong or incomplete: exit code 2.
    Usage,
    /// Refused by the environment (unreadable, full, locked, forbidden): exit code 3.
    Environment,
    /// Stopped by the user or a signal: exit code 130.
    Interrupted,
}

impl ExitClass {
    /// Returns the process exit code of this class.
    pub fn code(self) -> u8 {
        match self {
            Self::Data => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Interrupted => 130,
        }
    }
}

/// A failure, which ends a unit of work or a run.
///
/// Printed as `error: WHAT failed on SUBJECT: WHY`, then `hint: HINT`. Names in `subject` come from the data; callers pass them through
/// [`display_safe`](super::text::display_safe) before printing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The class, which determines the exit code.
    pub class: ExitClass,
    /// The kind of problem, if a problem caused the failure.
    #[serde(skip)]
    pub kind: Option<ProblemKind>,
    /// The activity that failed, as a noun phrase: `reading the tar header`, `the split ratio`.
    pub what: String,
    /// The object of the activity.
    pub subject: Subject,
    /// The reason, in user-facing words.
    pub why: String,
    /// What the user can do about the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Failure {
    /// Creates a failure without subject or hint; add them with [`on`](Self::on) and [`with_hint`](Self::with_hint).
    pub fn new(class: ExitClass, what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { class, kind: None, what: what.into(), subject: Subject::default(), why: why.into(), hint: None }
    }

    /// Creates a failure with exit code 1: refused because of the data.
    pub fn data(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(ExitClass::Data, what, why)
    }

    /// Creates a failure with exit code 2: the request is wrong.
    pub fn usage(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(ExitClass::Usage, what, why)
    }

    /// Creates a failure with exit code 3: the environment refused.
    pub fn environment(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(ExitClass::Environment, what, why)
    }

    /// Creates a failure with exit code 3 for a state of the program that must not occur. The run ends instead of omitting output.
    pub fn internal(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::environment(what, why.into() + ", which is a defect of gristmill")
            .with_hint("report it with the command and the log (--log-level debug); no partial output is visible")
    }

    /// Creates a failure with exit code 3 from an I/O error on a path. If the error contains a failure ([`into_io`](Self::into_io)), its
    /// reason, class and hint are used. A failure about a setting is returned unchanged, because its reason does not concern the path.
    pub fn io(what: impl Into<String>, path: impl AsRef<std::path::Path>, error: &std::io::Error) -> Self {
        let path = path.as_ref();
        if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            if inner.is_about_setting(path) || inner.is_cancelled() {
                return inner.clone();
            }
            return Self { what: what.into(), ..inner.clone() }.on(Subject::path(path));
        }
        let mut failure = Self::environment(what, io_reason(error)).on(Subject::path(path));
        failure.hint = io_hint(&failure.what, path, error).map(str::to_owned);
        failure
    }

    /// Whether the failure concerns a variable, a flag or a local settings file, rather than an address.
    fn is_about_setting(&self, address: &std::path::Path) -> bool {
        let is_local = |path: &String| path.starts_with('/');
        let is_address = address.to_str().is_some_and(|address| address.contains("://"));
        is_address && (self.subject.field.is_some() || self.subject.path.as_ref().is_some_and(is_local))
    }

    /// Sets the kind of problem that caused the failure.
    #[must_use]
    pub fn of_kind(mut self, kind: ProblemKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Converts the failure to an I/O error, for functions that return I/O errors.
    pub fn into_io(self) -> std::io::Error {
        std::io::Error::other(self)
    }

    /// Whether a file or folder does not exist.
    pub fn is_missing(&self) -> bool {
        self.class == ExitClass::Environment && self.why == MISSING
    }

    /// Creates a failure with exit code 130: cancelled by the user.
    pub fn cancelled() -> Self {
        Self::new(ExitClass::Interrupted, "the run", "it was cancelled")
            .with_hint("no partial output is visible; run the same command again to resume")
    }

    /// Sets the subject.
    #[must_use]
    pub fn on(mut self, subject: Subject) -> Self {
        self.subject = subject;
        self
    }

    /// Adds the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Appends a hint to the existing one.
    #[must_use]
    pub fn with_further_hint(self, hint: &str) -> Self {
        let hint = match &self.hint {
            Some(first) => format!("{first}; then {hint}"),
            None => hint.to_owned(),
        };
        self.with_hint(hint)
    }

    /// Whether the run was cancelled by the user or a signal.
    pub fn is_cancelled(&self) -> bool {
        self.class == ExitClass::Interrupted
    }
}

impl fmt::Display for Failure {
    /// Writes one line that is safe to print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::text::display_safe(&self.what))?;
        f.write_str(" failed")?;
        if !self.subject.is_empty() {
            write!(f, " on {}", self.subject)?;
        }
        write!(f, ": {}", super::text::display_safe(&self.why))
    }
}

impl std::error::Error for Failure {}

/// "Too many levels of symbolic links" has no [`std::io::ErrorKind`] yet.
const ELOOP: i32 = rustix::io::Errno::LOOP.raw_os_error();

/// Reason reported for a file or folder that does not exist.
const MISSING: &str = "no such file or folder";

fn io_reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::NotFound => MISSING.into(),
        K::NotADirectory => "a part of the path is a file, not a folder".into(),
        K::PermissionDenied => "permission denied".into(),
        K::StorageFull => "no space left on the device".into(),
        K::QuotaExceeded => "the disk quota is used up".into(),
        K::ReadOnlyFilesystem => "the file system is read-only".into(),
        _ if error.raw_os_error() == Some(ELOOP) => "its symbolic links form a loop".into(),
        _ => {
            let text = error.to_string();
            match text.find(" (os error") {
                Some(end) => text[..end].to_owned(),
                None => text,
            }
        }
    }
}

/// First words of the names of activities that only read.
const READING: [&str; 4] = ["reading", "opening", "looking", "asking"];

fn io_hint(what: &str, path: &std::path::Path, error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::PermissionDenied if READING.iter().any(|word| what.starts_with(word)) => {
            Some("ask its owner for read permission")
        }
        K::StorageFull | K::QuotaExceeded => Some("free some space and run the same command again"),
        K::FileTooLarge => Some("the file would exceed the file size limit of the system: `ulimit -f` shows it"),
        K::PermissionDenied | K::ReadOnlyFilesystem => Some(match is_next_to_data(what, path) {
            true => {
                "gristmill writes next to the data; ask for write access, or link the shards into a folder of your own"
            }
            false => "ask for write access, or choose another output location",
        }),
        _ => None,
    }
}

/// Whether the written file belongs to shards, so that its folder cannot be chosen.
fn is_next_to_data(what: &str, path: &std::path::Path) -> bool {
    what == "preparing" || path.components().any(|part| part.as_os_str() == ".nv-meta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_permission_hint_names_other_location_except_next_to_data() {
        let denied = std::io::ErrorKind::PermissionDenied.into();
        let hint = |what: &str, path: &str| Failure::io(what, path, &denied).hint.unwrap();
        assert!(hint("creating the folder", "/d/out").contains("another output location"));
        assert!(hint("creating the folder", "/d/.nv-meta").contains("link the shards"));
        assert!(hint("preparing", "/d").contains("link the shards"));
        assert!(hint("reading", "/d/a.tar").contains("read permission"));
    }

    #[test]
    fn io_failure_keeps_setting_subject_and_replaces_address_subject_by_path() {
        let inner =
            |subject: Subject| Failure::environment("getting the credentials", "it is not set").on(subject).into_io();
        let kept = Failure::io("opening", "s3://b/k", &inner(Subject::field("AWS_PROFILE")));
        assert_eq!(kept.to_string(), "getting the credentials failed on 'AWS_PROFILE': it is not set");
        let kept = Failure::io("opening", "s3://b/k", &inner(Subject::path("/etc/keys.json")));
        assert_eq!(kept.subject, Subject::path("/etc/keys.json"));
        for (subject, path) in [(Subject::path("s3://b"), "s3://b/k"), (Subject::field("a"), "/d/k")] {
            let failure = Failure::io("opening", path, &inner(subject));
            assert_eq!(failure.to_string(), format!("opening failed on {path}: it is not set"));
        }
    }

    #[test]
    fn further_hint_is_appended_after_the_first_hint() {
        let hint = |failure: Failure| failure.with_further_hint("run it again").hint.unwrap();
        assert_eq!(hint(Failure::environment("a", "b")), "run it again");
        assert_eq!(hint(Failure::environment("a", "b").with_hint("get the right")), "get the right; then run it again");
    }
}
