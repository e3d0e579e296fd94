//! Problems as data: unusual, damaged or invalid things that were found, and their place.

use super::text::display_safe;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// Maximum number of characters of a key in a message.
const MAX_KEY_CHARACTERS: usize = 100;

/// Severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Skipped or handled by design; never changes the exit code.
    Note,
    /// Data is damaged or lost: exit code 1.
    Problem,
    /// The plan must not run unless it is changed. [`ProblemKind::class`] determines the exit code: 1, 2 or 3.
    Refusal,
}

macro_rules! problem_kinds {
    ($($(#[$doc:meta])* $name:ident => $id:literal, $title:literal $(, $notes:ident)?;)*) => {
        /// The kind of a [`Problem`]. The id is stable: reports, `--json` and tests use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ProblemKind {
            $($(#[$doc])* #[serde(rename = $id)] $name,)*
        }
        impl ProblemKind {
            /// All kinds, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Returns the stable id, in kebab case.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }
            /// Returns a short user-facing title, for tables.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
            /// Whether notes of this kind are shown without `-v`, because the answers or the data may have effects that were not intended.
            pub fn has_shown_notes(self) -> bool {
                match self { $(Self::$name => [$(stringify!($notes))?].contains(&"shown"),)* }
            }
        }
    };
}

problem_kinds! {
    // Problems of finding shards.
    /// A folder, FIFO, device or dangling link with the name of a shard.
    NotAFile => "not-a-file", "named like data, but not a file";
    /// A shard whose name is not UTF-8.
    ShardNameNotUtf8 => "shard-name-not-utf8", "shard name is not UTF-8";
    /// A shard name whose braces the loader would expand to other names.
    ShardNameBraces => "shard-name-braces", "shard name holds braces";
    /// A file that other programs would read as a shard, but that is not read.
    UnreadShard => "unread-shard", "looks like a shard, not read";
    /// More shards than stores and file systems handle efficiently.
    ManyShards => "many-shards", "very many shards", shown;
    /// A compressed shard, which is indexed although the loader cannot read it.
    CompressedShard => "compressed-shard", "compressed shard, left out of the splits";
    /// `x.tar` and `x.tgz` in one folder would share the same `.tar.idx`.
    IndexNameCollision => "index-name-collision", "two shards share one index name";
    /// The shard cannot be opened or read.
    Unreadable => "unreadable", "cannot be read";
    /// A text file that a format omits because of its name.
    FileLeftOut => "file-left-out", "file left out by its name", shown;
    /// A text file without any content.
    EmptyFile => "empty-file", "empty file", shown;
    /// The shard was changed, removed or replaced while it was read.
    ChangedDuringScan => "changed-during-scan", "changed while it was read";
    // Problems in tar archives.
    /// A shard without entries, or without entries that belong to samples.
    EmptyShard => "empty-shard", "shard without samples";
    /// A header block with a wrong checksum; the scan continued at the next valid header.
    DamagedHeader => "damaged-header", "damaged header";
    /// The file ends inside a header or inside the content of an entry.
    CutShort => "cut-short", "archive cut short";
    /// A pax record or a size field with an invalid value.
    BadExtendedHeader => "bad-extended-header", "impossible extended header";
    /// An entry whose name is not UTF-8.
    EntryNameNotUtf8 => "entry-name-not-utf8", "entry name is not UTF-8";
    /// An entry without key or part name: a hidden file, or a name without a dot.
    UnnamedEntry => "unnamed-entry", "entry without a part name";
    /// An entry of a type that is skipped (folder, link, device).
    SkippedEntryType => "skipped-entry-type", "entry of a skipped type";
    /// A part that is stored as a sparse file; reading it by name returns other bytes.
    SparseEntry => "sparse-entry", "sparse entry";
    /// A hard or symbolic link with the name of a part.
    LinkedPart => "linked-part", "part is a link";
    /// A part name that may be the end of a file name with several dots.
    CutName => "cut-name", "name cut at a dot", shown;
    /// A name reserved by the loader, such as `__meta__`.
    ReservedName => "reserved-name", "reserved name, skipped";
    /// A part that occurs twice in a sample.
    RepeatedPart => "repeated-part", "duplicate part in a sample";
    /// Non-zero bytes after the end blocks.
    JunkAfterEnd => "junk-after-end", "bytes after the end of the archive";
    /// A sample that was excluded because it is damaged.
    SampleExcluded => "sample-excluded", "sample excluded because of damage";
    /// A shard with samples that are left out because split.yaml excludes them.
    ExcludedBySplits => "excluded-by-splits", "shard with samples that split.yaml excludes";
    /// A key that occurs in two shards, or again later in the same shard.
    DuplicateKey => "duplicate-key", "duplicate key";
    /// Parts of one sample that are not adjacent, so that each place becomes a separate sample.
    ScatteredSample => "scattered-sample", "sample whose parts are not next to each other";
    /// A file added by the tar of macOS (`._NAME`).
    AppleDouble => "apple-double", "AppleDouble file of macOS", shown;
    // Problems of media.
    /// An entry that is selected as media but has other content.
    NotMedia => "not-media", "not a picture, sound or video", shown;
    /// A medium that is broken or truncated.
    BrokenMedia => "broken-media", "broken picture, sound or video";
    /// A row whose entry no longer exists.
    StaleMedia => "stale-media", "media metadata out of date", shown;
    /// A file that a row names but that does not exist.
    MissingMedia => "missing-media", "media missing", shown;
    /// A path in a row that leads outside the folder of media.
    MediaOutside => "media-outside", "media outside of their folder";
    // Problems of JSONL files.
    /// A line that is not a JSON object.
    BadLine => "bad-line", "line that is not a JSON object", shown;
    /// A blank line.
    BlankLine => "blank-line", "blank line";
    /// A line that starts and ends like an object but cannot be parsed.
    BadJson => "bad-json", "line that cannot be parsed";
    /// A key that occurs twice in an object.
    RepeatedField => "repeated-field", "key twice in one object";
    /// A value that readers interpret differently: a non-finite number, a lone surrogate, or a number beyond 2⁵³.
    OddJson => "odd-json", "value that not every reader takes";
    // Problems of texts.
    /// A document whose text is missing or is not a string.
    NoText => "no-text", "document without usable text";
    /// A document with a text that a format cannot store.
    BadDocument => "bad-document", "document that a format cannot take";
    /// A conversation that a chat template cannot be applied to.
    BadConversation => "bad-conversation", "conversation that cannot be used";
    /// A special token of the tokenizer that a text contains.
    SpecialToken => "special-token", "special token in a text", shown;
    /// A document that is truncated because of the tokenizer file.
    StoredTruncation => "stored-truncation", "document truncated by the tokenizer file";
    /// A document that is padded because of the tokenizer file.
    StoredPadding => "stored-padding", "document padded by the tokenizer file";
    /// The output is empty.
    EmptyResult => "empty-result", "nothing is left to write", shown;
    // Problems of metadatasets.
    /// A key, value or structure that the loader does not accept.
    BadMetadataset => "bad-metadataset", "mistake in a metadataset", shown;
    /// A member that does not exist or is not prepared.
    BadMember => "bad-member", "member that cannot be used", shown;
    // Problems of plans.
    /// An answer is missing.
    MissingAnswer => "missing-answer", "answer missing";
    /// A split ratio that is not three non-negative numbers with a positive sum.
    BadRatio => "bad-ratio", "split ratio cannot be used";
    /// Rounding of the split ratio lost the last shard; it was assigned to the last non-empty split.
    RoundedAway => "rounded-away", "rounding lost a shard", shown;
    /// A split without shards or without samples.
    EmptySplit => "empty-split", "split without samples", shown;
    /// A shard that is in no split.
    UnassignedShards => "unassigned-shards", "shard in no split", shown;
    /// A shard that is in more than one split.
    ShardInTwoSplits => "shard-in-two-splits", "shard in two splits", shown;
    /// A pattern, exclude or name without a match.
    MatchesNothing => "matches-nothing", "matches nothing", shown;
    /// A pattern that is invalid or uses an unsupported feature.
    BadPattern => "bad-pattern", "pattern cannot be used";
    /// A brace expression that cannot be expanded.
    BadBraces => "bad-braces", "brace expression cannot be expanded";
    /// An invalid name of a split or file.
    BadName => "bad-name", "name cannot be used";
    /// A key that occurs twice in a file, so that one of its values has no effect.
    RepeatedKey => "repeated-key", "key twice in one file";
    /// An unknown sample type.
    UnknownSampleType => "unknown-sample-type", "unknown sample type";
    /// A field that the sample type does not have.
    UnknownField => "unknown-field", "unknown field";
    /// A required field without an expression.
    MissingField => "missing-field", "field without an expression";
    /// A field-map expression that is invalid or cannot be evaluated.
    FieldFails => "field-fails", "field does not resolve", shown;
    /// A part that no sample has.
    NoSuchPart => "no-such-part", "no sample has this part", shown;
    /// The data set is already prepared.
    AlreadyPrepared => "already-prepared", "already prepared";
    /// The output has results of a stopped run of another plan.
    StoppedRun => "stopped-run", "stopped run of another plan";
    /// A database of an earlier, failed run.
    LeftoverDatabase => "leftover-database", "database left over from a failed run";
    /// No shard was found.
    NoShards => "no-shards", "no shards";
    /// All files exist already.
    NothingToDo => "nothing-to-do", "nothing to do";
    // Problems found when checking prepared data sets.
    /// A required file that does not exist.
    MissingFile => "missing-file", "file missing", shown;
    /// A file whose content is invalid.
    BadFile => "bad-file", "file cannot be understood";
    /// A shard whose size or modification time has changed since it was indexed.
    ShardChanged => "shard-changed", "shard changed since it was indexed", shown;
    /// A shard on disk that is not in the index.
    ShardNotIndexed => "shard-not-indexed", "shard not indexed";
    /// An object whose content was read with another checksum than its store states.
    ContentMismatch => "content-mismatch", "content and checksum disagree", shown;
    /// A row of the index that does not match the file.
    IndexMismatch => "index-mismatch", "index and file disagree";
    /// A tokenizer of token files that differs from the one in the training configuration.
    TokenizerMismatch => "tokenizer-mismatch", "tokenizer and training configuration disagree";
    /// An interrupted publication that can be completed.
    InterruptedPublish => "interrupted-publish", "interrupted publication";
    /// A sample without a part that the field map requires.
    SampleLacksPart => "sample-lacks-part", "sample lacks a mapped part", shown;
    /// A key or shard in two splits.
    Leak => "leak", "in two splits";
    /// Data that the reference program would lose or refuse, which `--compat` reproduces.
    CompatLoss => "compat-loss", "reproduced loss (--compat)", shown;
    /// A problem without a kind of its own.
    Other => "other", "described in its message", shown;
}

impl ProblemKind {
    /// Returns the exit class of a [`Severity::Refusal`] of this kind.
    pub fn class(self) -> super::ExitClass {
        use super::ExitClass::{Data, Environment, Usage};
        match self {
            Self::MissingAnswer
            | Self::BadRatio
            | Self::MatchesNothing
            | Self::BadPattern
            | Self::BadBraces
            | Self::BadName
            | Self::UnknownSampleType
            | Self::UnknownField
            | Self::MissingField
            | Self::FieldFails
            | Self::NoSuchPart
            | Self::EmptySplit => Usage,
            Self::Unreadable => Environment,
            _ => Data,
        }
    }
}

/// The thing that a problem or failure concerns. Its strings are not escaped; [`fmt::Display`] escapes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// A path or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A shard name, relative to the data set's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Offset in the file, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_offset: Option<u64>,
    /// A sample key or an entry name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A field, flag, split or pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// A line number, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// A column of that line, in characters, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
}

impl Subject {
    /// Creates a subject from a path. Invalid UTF-8 becomes replacement characters.
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self { path: Some(path.as_ref().to_string_lossy().into_owned()), ..Self::default() }
    }
    /// Creates a subject from the relative name of a shard.
    pub fn shard(name: impl Into<String>) -> Self {
        Self { shard: Some(name.into()), ..Self::default() }
    }
    /// Creates a subject from a field, flag, split name or pattern.
    pub fn field(name: impl Into<String>) -> Self {
        Self { field: Some(name.into()), ..Self::default() }
    }
    /// Replaces the folder `folder` at the start of the path by `name`.
    pub fn rename_folder(&mut self, folder: &str, name: &str) {
        let Some(rest) = self.path.as_deref().and_then(|path| path.strip_prefix(folder)) else { return };
        if rest.is_empty() || rest.starts_with('/') {
            self.path = Some(format!("{name}{rest}"));
        }
    }
    /// Adds a byte offset.
    #[must_use]
    pub fn at(mut self, byte_offset: u64) -> Self {
        self.byte_offset = Some(byte_offset);
        self
    }
    /// Adds a sample key or entry name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
    /// Adds a line number, counted from 1.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
    /// Adds a column, counted from 1.
    #[must_use]
    pub fn column(mut self, column: u64) -> Self {
        self.column = Some(column);
        self
    }
    /// Whether the subject is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the beginning and the end of a key that would fill several lines.
fn shortened(key: &str) -> Cow<'_, str> {
    let offsets = || key.char_indices().map(|(at, _)| at);
    let (start, end) = (offsets().nth(MAX_KEY_CHARACTERS / 2), offsets().nth_back(MAX_KEY_CHARACTERS / 2));
    match (start, end) {
        (Some(start), Some(end)) if start < end => format!("{}…{}", &key[..start], &key[end..]).into(),
        _ => key.into(),
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut sep = |f: &mut fmt::Formatter<'_>| -> fmt::Result {
            if !std::mem::take(&mut first) {
                f.write_str(", ")?;
            }
            Ok(())
        };
        if let Some(path) = &self.path {
            sep(f)?;
            f.write_str(&display_safe(path))?;
        }
        // A path that ends with the shard name already contains it.
        let is_in_path =
            |shard: &String| self.path.as_ref().is_some_and(|path| std::path::Path::new(path).ends_with(shard));
        if let Some(shard) = self.shard.as_ref().filter(|shard| !is_in_path(shard)) {
            sep(f)?;
            f.write_str(&display_safe(shard))?;
        }
        if let Some(field) = &self.field {
            sep(f)?;
            write!(f, "'{}'", display_safe(field))?;
        }
        if let Some(key) = &self.key {
            sep(f)?;
            write!(f, "'{}'", display_safe(&shortened(key)))?;
        }
        if let Some(line) = self.line {
            sep(f)?;
            write!(f, "line {line}")?;
        }
        if let Some(column) = self.column {
            sep(f)?;
            write!(f, "column {column}")?;
        }
        if let Some(at) = self.byte_offset {
            sep(f)?;
            write!(f, "byte {at}")?;
        }
        Ok(())
    }
}

/// Moves findings about media to the end and sorts them by place, because media are examined in parallel and the list must not depend on
/// the order in which they finish.
pub fn sort_media_problems(problems: &mut [Problem]) {
    let is_media = |problem: &Problem| matches!(problem.kind, ProblemKind::NotMedia | ProblemKind::BrokenMedia);
    problems.sort_by(|a, b| {
        let place = |problem: &Problem| {
            let Subject { path, shard, byte_offset, key, .. } = problem.subject.clone();
            is_media(problem).then_some((shard, path, byte_offset, key, problem.severity))
        };
        place(a).cmp(&place(b))
    });
}

/// A finding: a note, a problem or a refusal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The thing that the finding concerns.
    pub subject: Subject,
    /// The kind of the finding.
    pub kind: ProblemKind,
    /// The severity of the finding.
    pub severity: Severity,
    /// One sentence: the problem, and how it was or will be handled. Not escaped; print it through `display_safe`.
    pub message: String,
    /// What the user can do about the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// Creates a note: skipped or handled by design.
    pub fn note(kind: ProblemKind, subject: Subject, message: impl Into<String>) -> Self {
        Self { subject, kind, severity: Severity::Note, message: message.into(), hint: None }
    }
    /// Creates a problem: something damaged or lost.
    #[expect(clippy::self_named_constructors, reason = "named after its severity, as its siblings are")]
    pub fn problem(kind: ProblemKind, subject: Subject, message: impl Into<String>) -> Self {
        Self { severity: Severity::Problem, ..Self::note(kind, subject, message) }
    }
    /// Creates a refusal: a plan that must not run unless it is changed.
    pub fn refusal(kind: ProblemKind, subject: Subject, message: impl Into<String>) -> Self {
        Self { severity: Severity::Refusal, ..Self::note(kind, subject, message) }
    }
    /// Creates a problem from a failure that does not end the work. Preserves its hint.
    pub fn of_failure(kind: ProblemKind, failure: super::Failure) -> Self {
        Self { hint: failure.hint, ..Self::problem(kind, failure.subject, failure.why) }
    }
    /// Replaces the subject.
    #[must_use]
    pub fn on(self, subject: Subject) -> Self {
        Self { subject, ..self }
    }
    /// Prefixes the message with the effect of the problem.
    #[must_use]
    pub fn with_effect(mut self, effect: &str) -> Self {
        self.message = format!("{effect}: {}", self.message);
        self
    }
    /// Adds the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// Converts the problem to the failure that ends a run because of it.
    pub fn into_failure(self) -> super::Failure {
        super::Failure {
            class: self.kind.class(),
            kind: Some(self.kind),
            what: match self.kind {
                ProblemKind::MissingAnswer => "checking the plan",
                ProblemKind::BadRatio => "reading --split-ratio",
                ProblemKind::UnknownSampleType => "reading --sample-type",
                ProblemKind::ScatteredSample | ProblemKind::AppleDouble => "preparing the data set",
                kind if kind.class() == super::ExitClass::Usage => "checking the plan",
                _ => "the run",
            }
            .to_owned(),
            subject: self.subject,
            why: self.message,
            hint: self.hint,
        }
    }
}

impl fmt::Display for Problem {
    /// Writes `SUBJECT: MESSAGE` on one line, escaped for display.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.subject.is_empty() {
            write!(f, "{}: ", self.subject)?;
        }
        f.write_str(&display_safe(&self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn a_failure_that_becomes_a_problem_keeps_its_hint() {
        let failure = Failure::data("reading", "it is damaged").on(Subject::path("a")).with_hint("copy it again");
        let problem = Problem::of_failure(ProblemKind::BadFile, failure).with_effect("it is left out");
        assert_eq!(problem.to_string(), "a: it is left out: it is damaged");
        assert_eq!((problem.severity, problem.hint.as_deref()), (Severity::Problem, Some("copy it again")));
        let failure = Failure::data("reading", "it is damaged").on(Subject::path("a"));
        let problem = Problem::of_failure(ProblemKind::BadFile, failure).on(Subject::shard("b"));
        assert_eq!((problem.to_string(), problem.hint), ("b: it is damaged".to_owned(), None));
    }

    #[test]
    fn long_keys_are_shown_with_beginning_and_end() {
        let shown = |key: &str| Subject::default().key(key).to_string();
        let whole = "ä".repeat(101);
        assert_eq!(shown(&whole), format!("'{whole}'"));
        let (start, end) = ("a".repeat(50), "b".repeat(51));
        assert_eq!(shown(&format!("{start}xx{end}")), format!("'{start}…{end}'"));
    }

    #[test]
    fn notes_about_the_answers_are_shown_and_notes_about_the_data_are_not() {
        for kind in [ProblemKind::RoundedAway, ProblemKind::EmptyFile, ProblemKind::FileLeftOut, ProblemKind::Other] {
            assert!(kind.has_shown_notes(), "{}", kind.id());
        }
        for kind in [ProblemKind::BlankLine, ProblemKind::UnnamedEntry, ProblemKind::BrokenMedia] {
            assert!(!kind.has_shown_notes(), "{}", kind.id());
        }
        let shown = ProblemKind::ALL.iter().filter(|kind| kind.has_shown_notes()).count();
        assert!(shown < ProblemKind::ALL.len() / 2, "{shown}");
    }
}
