//! Options as data: the options of a plan, their order, and how each answer is read from the plan and written to it. Command-line
//! arguments, printed commands, forms and checks of answers are derived from these tables.

use crate::Outcome;
use std::path::Path;

/// The answer to an option, as the user would type it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// No answer: the option has its default.
    #[default]
    Unset,
    /// The flag without a value.
    On,
    /// A value.
    Text(String),
    /// Several values.
    List(Vec<String>),
}

/// One value of an option that has a fixed set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The value as typed.
    pub name: &'static str,
    /// Meaning of the value, in one line without full stop.
    pub help: &'static str,
}

/// The kind of an option's value, and how it is read from a plan and written to it. `get` returns an empty answer for the default.
pub enum Access<P: 'static> {
    /// A flag without a value.
    Switch {
        /// Returns whether the flag is set.
        get: fn(&P) -> bool,
        /// Sets or clears the flag.
        set: fn(&mut P, bool),
    },
    /// A number within limits.
    Number {
        /// The smallest accepted number.
        least: u64,
        /// The largest accepted number.
        most: u64,
        /// Returns the value; `None` for the default.
        get: fn(&P) -> Option<u64>,
        /// Stores a value; `None` is the default.
        set: fn(&mut P, Option<u64>),
    },
    /// Text.
    Text {
        /// Returns the value; `None` for the default.
        get: fn(&P) -> Option<String>,
        /// Stores a value; `None` is the default. The error is the reason why the value is invalid.
        set: fn(&mut P, Option<String>) -> Result<(), String>,
    },
    /// A local path.
    Path {
        /// Returns the value; `None` for the default.
        get: fn(&P) -> Option<String>,
        /// Stores a value; `None` is the default.
        set: fn(&mut P, Option<String>),
    },
    /// Local paths; at least one if the option is required.
    Paths {
        /// Returns the values.
        get: fn(&P) -> Vec<String>,
        /// Stores all values.
        set: fn(&mut P, Vec<String>),
    },
    /// Several texts: the flag is repeated, or a separator divides its value.
    List {
        /// The separator; `None` if the flag is repeated.
        separator: Option<char>,
        /// Returns the values; empty for the default.
        get: fn(&P) -> Vec<String>,
        /// Replaces all values; an empty list restores the default. The error is the reason why a value is invalid.
        set: fn(&mut P, Vec<String>) -> Result<(), String>,
    },
    /// One of a fixed set of values.
    Choice {
        /// All values. The first is the default, unless the option is required.
        choices: &'static [Choice],
        /// Returns the name of the value; `None` for the default.
        get: fn(&P) -> Option<&'static str>,
        /// Stores the value with this name. An empty name removes the answer to a required option.
        set: fn(&mut P, &'static str),
    },
    /// Several of a fixed set of values; the flag is repeated.
    Choices {
        /// All values.
        choices: &'static [Choice],
        /// Returns the names of the values.
        get: fn(&P) -> Vec<&'static str>,
        /// Stores exactly the values with these names.
        set: fn(&mut P, &[&'static str]),
    },
    /// A file with answers to other options. Flags have precedence over it. The plan does not store its name.
    File {
        /// Completes a plan in which the answers from flags are set.
        read: fn(&mut P, &Path) -> Outcome<()>,
    },
    /// The part to read from the file that another option names. That option must be in [`needs`](OptionInfo::needs).
    FilePart {
        /// Completes a plan from this part of the file instead of the whole file.
        read: fn(&mut P, &Path, &str) -> Outcome<()>,
    },
    /// A file that contains the answer. The plan stores the answer instead of the file name.
    Content {
        /// Stores the answer that a file contains.
        read: fn(&mut P, &Path) -> Outcome<()>,
        /// Returns the file for the printed command; `None` if other options express the answer.
        write: fn(&P) -> Option<AnswerFile>,
    },
}

/// A file that contains the answer to an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFile {
    /// Name of the file in the printed command.
    pub name: &'static str,
    /// Content of the file.
    pub text: String,
}

/// The part of an option that front ends use. It has no type parameter, so one list can contain options of different plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Name of the flag without its hyphens; for a positional option, its name in messages.
    pub name: &'static str,
    /// Placeholder for the value in help.
    pub value_name: &'static str,
    /// Effect of the option, in one line without full stop.
    pub help: &'static str,
    /// The default value; empty if there is none.
    pub default: &'static str,
    /// The meaning of a missing answer if it is not a [value](Self::default): `one per file, at most 64`. Empty if there is none.
    pub unset: &'static str,
    /// A valid value, for hints about invalid ones. Empty if every text is valid.
    pub example: &'static str,
    /// The one-letter flag.
    pub short: Option<char>,
    /// Earlier spellings of the flag, which help does not list.
    pub aliases: &'static [&'static str],
    /// Options that cannot be given together with this option.
    pub conflicts: &'static [&'static str],
    /// Options that can answer the same question for some plans.
    pub alternatives: &'static [&'static str],
    /// The option that must be given together with this option; empty if there is none.
    pub needs: &'static str,
    /// The answer that permits replacing an existing output, empty for a flag without a value; `None` for other options.
    pub replaces: Option<&'static str>,
    /// The value that the flag without a value means. If set, other values must follow after `=`.
    pub bare: Option<&'static str>,
    /// Whether the option is a positional argument.
    pub is_positional: bool,
    /// Whether a plan without it is incomplete.
    pub is_required: bool,
    /// Whether forms show the option only in the list of all settings.
    pub is_advanced: bool,
    /// Whether the option is a flag of all commands, such as `--compat`.
    pub is_global: bool,
    /// Whether the text may be a path, so that forms complete it.
    pub completes_paths: bool,
    /// Locations that a path may name.
    pub path_scope: PathScope,
    /// The answer that the option requires, such as `--pad-to N`; empty if there is none.
    pub applies_with: &'static str,
}

/// Locations that the path of an option may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathScope {
    /// Files and folders on local disks.
    Local,
    /// Also stores that can be written.
    Store,
    /// Also stores, which the command only reads.
    ReadStore,
    /// Also stores, and data sets on the hub.
    StoreOrHub,
}

/// One option of a plan.
pub struct OptionSpec<P: 'static> {
    /// The part that front ends use.
    pub info: OptionInfo,
    /// How the plan stores the answer.
    pub access: Access<P>,
    /// Whether the option applies with the other answers of a plan; `None` if it always applies.
    pub applies: Option<fn(&P) -> bool>,
}

/// Options under one heading.
pub struct Group<P: 'static> {
    /// The heading in help and forms; empty for the first group.
    pub title: &'static str,
    /// The step of a form that shows the options; empty if forms do not show them.
    pub step: &'static str,
    /// The answer that the options require, such as `--format modalities`; empty if there is none.
    pub needs: &'static str,
    /// Whether the options apply with the other answers of a plan; `None` if they always apply.
    pub applies: Option<fn(&P) -> bool>,
    /// Whether exactly one of the options is required.
    pub is_one_of: bool,
    /// Whether help lists the options after those of other groups, although they are applied and printed earlier.
    pub is_listed_last: bool,
    /// The options.
    pub options: &'static [OptionSpec<P>],
}

impl<P> Clone for Group<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Group<P> {}

impl<P> Group<P> {
    /// Creates a group that always applies.
    pub const fn new(title: &'static str, step: &'static str, options: &'static [OptionSpec<P>]) -> Self {
        Self { title, step, needs: "", applies: None, is_one_of: false, is_listed_last: false, options }
    }

    /// Sets the answer that the options require, such as `--format modalities`, and the function that checks a plan for it.
    #[must_use]
    pub const fn needs(mut self, answer: &'static str, applies: fn(&P) -> bool) -> Self {
        (self.needs, self.applies) = (answer, Some(applies));
        self
    }

    /// Lists the options in help after those of other groups.
    #[must_use]
    pub const fn listed_last(mut self) -> Self {
        self.is_listed_last = true;
        self
    }

    /// Requires exactly one of the options, which exclude each other. Forms and prompts propose the first one.
    #[must_use]
    pub const fn one_of(mut self) -> Self {
        self.is_one_of = true;
        self
    }
}

/// A page of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Id of the step in groups and drafts.
    pub id: &'static str,
    /// Title of the step.
    pub title: &'static str,
}

/// An option and its position in the table of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// The part of the option that front ends use.
    pub info: OptionInfo,
    /// The kind of the option's value.
    pub kind: ValueKind,
    /// The heading of the option's group.
    pub heading: &'static str,
    /// The step of a form that shows the option; empty if forms do not show it.
    pub step: &'static str,
    /// The answer that the group requires.
    pub needs: &'static str,
    /// Whether exactly one option of the group is required.
    pub is_one_of: bool,
    /// Whether help lists the option after those of other groups.
    pub is_listed_last: bool,
}

/// The kind of an option's value, independent of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// No value.
    Switch,
    /// A number between two limits, inclusive.
    Number(u64, u64),
    /// Text.
    Text,
    /// A local path.
    Path,
    /// Local paths.
    Paths,
    /// Several texts, separated by a character or by repeating the flag.
    List(Option<char>),
    /// One of these values.
    Choice(&'static [Choice]),
    /// Several of these values.
    Choices(&'static [Choice]),
    /// A file with answers to other options.
    File,
    /// A part of such a file.
    FilePart,
    /// A file that contains the answer.
    Content,
}

impl ValueKind {
    /// Whether a plan stores the value. Otherwise the value names a file with answers or a part of it.
    pub fn is_stored(self) -> bool {
        !matches!(self, Self::File | Self::FilePart | Self::Content)
    }
}

impl<P> OptionSpec<P> {
    /// Creates an optional option without default and short flag.
    pub const fn new(name: &'static str, value_name: &'static str, help: &'static str, access: Access<P>) -> Self {
        let info = OptionInfo {
            name,
            value_name,
            help,
            default: "",
            unset: "",
            example: "",
            short: None,
            aliases: &[],
            conflicts: &[],
            alternatives: &[],
            needs: "",
            replaces: None,
            bare: None,
            is_positional: false,
            is_required: false,
            is_advanced: false,
            is_global: false,
            completes_paths: false,
            path_scope: PathScope::Local,
            applies_with: "",
        };
        Self { info, access, applies: None }
    }

    /// Sets the answer that the option requires, and the function that checks a plan for it.
    #[must_use]
    pub const fn applies(mut self, answer: &'static str, applies: fn(&P) -> bool) -> Self {
        (self.info.applies_with, self.applies) = (answer, Some(applies));
        self
    }

    /// Returns the kind of its value.
    pub fn kind(&self) -> ValueKind {
        match self.access {
            Access::Switch { .. } => ValueKind::Switch,
            Access::Number { least, most, .. } => ValueKind::Number(least, most),
            Access::Text { .. } => ValueKind::Text,
            Access::Path { .. } => ValueKind::Path,
            Access::Paths { .. } => ValueKind::Paths,
            Access::List { separator, .. } => ValueKind::List(separator),
            Access::Choice { choices, .. } => ValueKind::Choice(choices),
            Access::Choices { choices, .. } => ValueKind::Choices(choices),
            Access::File { .. } => ValueKind::File,
            Access::FilePart { .. } => ValueKind::FilePart,
            Access::Content { .. } => ValueKind::Content,
        }
    }

    /// Returns the answer stored in a plan.
    pub fn get(&self, plan: &P) -> Answer {
        let text = |text: Option<String>| text.map_or(Answer::Unset, Answer::Text);
        let list = |values: Vec<String>| match values.is_empty() {
            true => Answer::Unset,
            false => Answer::List(values),
        };
        match &self.access {
            Access::Switch { get, .. } if get(plan) => Answer::On,
            Access::Switch { .. } | Access::File { .. } | Access::FilePart { .. } | Access::Content { .. } => {
                Answer::Unset
            }
            Access::Number { get, .. } => text(get(plan).map(|number| number.to_string())),
            Access::Text { get, .. } | Access::Path { get, .. } => text(get(plan)),
            Access::Paths { get, .. } | Access::List { get, .. } => list(get(plan)),
            Access::Choice { get, .. } => text(get(plan).map(str::to_owned)),
            Access::Choices { get, .. } => list(get(plan).into_iter().map(str::to_owned).collect()),
        }
    }

    /// Stores an answer in a plan. Answers in files are applied by [`read`](Self::read) instead.
    ///
    /// # Errors
    /// The reason why the answer is invalid.
    pub fn set(&self, plan: &mut P, answer: &Answer) -> Result<(), String> {
        let value = match answer {
            Answer::Unset => None,
            Answer::On => self.info.bare.or(Some("")),
            Answer::Text(text) => Some(text.as_str()),
            Answer::List(values) => values.first().map(String::as_str),
        };
        match &self.access {
            Access::Switch { set, .. } => set(plan, value.is_some()),
            Access::Number { least, most, set, .. } => {
                let parse = |text: &str| number_of(text).filter(|number| (*least..=*most).contains(number));
                let number = value.map(|text| parse(text).ok_or_else(|| not_a_number(text, *least, *most)));
                set(plan, number.transpose()?);
            }
            Access::Text { set, .. } => set(plan, value.map(str::to_owned))?,
            Access::Path { set, .. } => set(plan, value.map(str::to_owned)),
            Access::Paths { set, .. } => set(plan, values_of(answer, None)),
            Access::List { separator, set, .. } => set(plan, values_of(answer, *separator))?,
            Access::Choice { choices, set, .. } => {
                let chosen = match value {
                    None if self.info.is_required => None,
                    None => choices.first().map(|choice| choice.name),
                    Some(name) => Some(choice_of(choices, name)?),
                };
                set(plan, chosen.unwrap_or_default());
            }
            Access::Choices { choices, set, .. } => {
                let names: Result<Vec<_>, _> =
                    values_of(answer, None).iter().map(|name| choice_of(choices, name)).collect();
                set(plan, &names?);
            }
            Access::File { .. } | Access::FilePart { .. } | Access::Content { .. } => {}
        }
        Ok(())
    }

    /// Applies the answers in a file. If the option names a part of a file, applies only that part.
    ///
    /// # Errors
    /// The file cannot be read, or an answer in it is invalid.
    pub fn read(&self, plan: &mut P, path: &Path, part: &str) -> Outcome<()> {
        match self.access {
            Access::File { read } | Access::Content { read, .. } => read(plan, path),
            Access::FilePart { read } => read(plan, path, part),
            _ => Ok(()),
        }
    }

    /// Returns the file that the printed command names.
    pub fn file(&self, plan: &P) -> Option<AnswerFile> {
        match self.access {
            Access::Content { write, .. } => write(plan),
            _ => None,
        }
    }
}

/// Defines methods that set one field of [`OptionInfo`].
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $kind:ty)?) => $field:ident = $to:expr;)*) => {
        impl<P> OptionSpec<P> {$(
            $(#[$doc])*
            #[must_use]
            pub const fn $name(mut self $(, $value: $kind)?) -> Self {
                self.info.$field = $to;
                self
            }
        )*}
    };
}

setters! {
    /// Sets the default value.
    default(default: &'static str) => default = default;
    /// Sets the meaning of a missing answer, if it is not a value.
    unset(meaning: &'static str) => unset = meaning;
    /// Sets a valid value, if not every text is valid.
    example(value: &'static str) => example = value;
    /// Sets the one-letter flag.
    short(short: char) => short = Some(short);
    /// Sets earlier spellings of the flag.
    aliases(aliases: &'static [&'static str]) => aliases = aliases;
    /// Sets the options that can answer the same question for some plans. Prompts mention them.
    alternatives(others: &'static [&'static str]) => alternatives = others;
    /// Sets the options that cannot be given together with this option.
    conflicts(others: &'static [&'static str]) => conflicts = others;
    /// Sets the option that must be given together with this option.
    needs(other: &'static str) => needs = other;
    /// Sets the answer that permits replacing an existing output: a value, or an empty text for a flag without a value.
    replaces(answer: &'static str) => replaces = Some(answer);
    /// Sets the value that the flag without a value means.
    bare(value: &'static str) => bare = Some(value);
    /// Accepts addresses of stores in place of paths.
    or_store() => path_scope = PathScope::Store;
    /// Accepts addresses of stores in place of paths, including read-only stores.
    or_read_store() => path_scope = PathScope::ReadStore;
    /// Accepts addresses of stores, and of data sets of the hub, in place of paths.
    or_address() => path_scope = PathScope::StoreOrHub;
    /// Makes the option positional.
    positional() => is_positional = true;
    /// Makes the option required.
    required() => is_required = true;
    /// Makes forms show the option only in the list of all settings.
    advanced() => is_advanced = true;
    /// Makes the option a flag of all commands.
    global() => is_global = true;
    /// Makes forms complete a text as a path.
    completes_paths() => completes_paths = true;
}

impl OptionInfo {
    /// Returns the label in forms and prompts: the name of the flag with spaces.
    pub fn label(&self) -> String {
        self.name.replace('-', " ")
    }

    /// Returns the help of the option: its effect, then its default.
    pub fn full_help(&self) -> String {
        match (self.default, self.unset) {
            ("", "") => self.help.to_owned(),
            ("", meaning) | (meaning, _) => format!("{} [default: {meaning}]", self.help),
        }
    }

    /// Returns the option as it is typed: `--output DIR`, or only its placeholder if it is positional.
    pub fn usage(&self) -> String {
        match (self.is_positional, self.value_name) {
            (true, name) => name.to_owned(),
            (false, "") => format!("--{}", self.name),
            (false, value) => format!("--{} {value}", self.name),
        }
    }
}

/// Returns the groups of options of which exactly one is required.
pub fn one_of_groups(rows: &[OptionRow]) -> Vec<Vec<OptionRow>> {
    let needed: Vec<OptionRow> = rows.iter().filter(|row| row.is_one_of).copied().collect();
    needed.chunk_by(|a, b| a.heading == b.heading).map(<[OptionRow]>::to_vec).collect()
}

impl OptionRow {
    /// Converts typed text to an answer; empty text is no answer.
    pub fn answer(&self, text: &str) -> Answer {
        match self.kind {
            _ if text.is_empty() => Answer::Unset,
            // A path may contain any separator, so several paths can be given only on the command line.
            ValueKind::Paths => Answer::List(vec![text.to_owned()]),
            ValueKind::List(separator) => {
                let values = text.split(separator.unwrap_or(' ')).map(str::trim).filter(|value| !value.is_empty());
                Answer::List(values.map(str::to_owned).collect())
            }
            _ => Answer::Text(text.to_owned()),
        }
    }

    /// Returns an answer as the user would type it; empty if there is none.
    pub fn text(&self, answer: &Answer) -> String {
        match (answer, self.kind) {
            (Answer::Unset | Answer::On, _) => String::new(),
            (Answer::Text(text), _) => text.clone(),
            (Answer::List(values), ValueKind::List(Some(separator))) => values.join(&separator.to_string()),
            (Answer::List(values), _) => values.join(" "),
        }
    }
}

/// Parses a number as typed by a user: `1,000`, `1_000` and `1'000` are equal.
pub fn number_of(typed: &str) -> Option<u64> {
    let digits: String = typed.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    digits.parse().ok()
}

fn values_of(answer: &Answer, separator: Option<char>) -> Vec<String> {
    let values: Vec<&str> = match answer {
        Answer::Unset | Answer::On => Vec::new(),
        Answer::Text(text) => vec![text],
        Answer::List(values) => values.iter().map(String::as_str).collect(),
    };
    match separator {
        None => values.into_iter().map(str::to_owned).collect(),
        Some(separator) => {
            values.into_iter().flat_map(|value| value.split(separator)).map(|part| part.trim().to_owned()).collect()
        }
    }
}

fn choice_of(choices: &'static [Choice], name: &str) -> Result<&'static str, String> {
    let names = || choices.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ");
    let chosen = choices.iter().find(|choice| choice.name.eq_ignore_ascii_case(name));
    chosen.map(|choice| choice.name).ok_or_else(|| format!("'{name}' is not one of {}", names()))
}

fn not_a_number(text: &str, least: u64, most: u64) -> String {
    match (least, most) {
        (0, u64::MAX) => format!("'{text}' is not a number"),
        (least, u64::MAX) => format!("'{text}' is not a number of {least} or more"),
        (least, most) => format!("'{text}' is not a number from {least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Plan {
        count: Option<u64>,
        way: &'static str,
    }

    const WAYS: &[Choice] = &[Choice { name: "fast", help: "at once" }, Choice { name: "slow", help: "later" }];
    const COUNT: OptionSpec<Plan> = OptionSpec::new(
        "count",
        "N",
        "How many",
        Access::Number { least: 2, most: u64::MAX, get: |plan| plan.count, set: |plan, count| plan.count = count },
    );
    const WAY: OptionSpec<Plan> = OptionSpec::new(
        "way",
        "WAY",
        "How",
        Access::Choice {
            choices: WAYS,
            get: |plan| (plan.way == "slow").then_some("slow"),
            set: |plan, way| plan.way = way,
        },
    );

    #[test]
    fn option_answers_are_validated_and_unset_answer_clears_them() {
        let mut plan = Plan::default();
        for (text, error) in [("1", "'1' is not a number of 2 or more"), ("-3", "'-3' is not a number of 2 or more")] {
            assert_eq!(COUNT.set(&mut plan, &Answer::Text(text.to_owned())).unwrap_err(), error);
        }
        COUNT.set(&mut plan, &Answer::Text("2".to_owned())).unwrap();
        assert_eq!(COUNT.get(&plan), Answer::Text("2".to_owned()));
        COUNT.set(&mut plan, &Answer::Unset).unwrap();
        assert_eq!(COUNT.get(&plan), Answer::Unset);
        let error = WAY.set(&mut plan, &Answer::Text("later".to_owned())).unwrap_err();
        assert_eq!(error, "'later' is not one of fast, slow");
        WAY.set(&mut plan, &Answer::Text("slow".to_owned())).unwrap();
        assert_eq!(WAY.get(&plan), Answer::Text("slow".to_owned()));
        WAY.set(&mut plan, &Answer::Unset).unwrap();
        assert_eq!((plan.way, WAY.get(&plan)), ("fast", Answer::Unset));
    }
}
