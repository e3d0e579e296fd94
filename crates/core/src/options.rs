//! Options as data: which options a plan has, in which order, and how each answer is read from the plan and written to it. The arguments of
//! the command line, the printed command and the checks of answers are derived from these tables.

/// The answer to an option, as it would be typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: the option has its default.
    #[default]
    Unset,
    /// The bare flag.
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
    /// Its meaning, in one line without full stop.
    pub help: &'static str,
}

/// The kind of value of an option, and how it is read from a plan and written to it. `get` returns an empty answer for the default.
pub enum Access<P: 'static> {
    /// A flag that is given or not.
    Switch {
        /// Returns whether it is on.
        get: fn(&P) -> bool,
        /// Switches it on or off.
        set: fn(&mut P, bool),
    },
    /// A number with a lower limit.
    Number {
        /// The smallest accepted number.
        least: u64,
        /// Returns the value, or `None` for the default.
        get: fn(&P) -> Option<u64>,
        /// Stores a value; `None` is the default.
        set: fn(&mut P, Option<u64>),
    },
    /// Any text.
    Text {
        /// Returns the value, or `None` for the default.
        get: fn(&P) -> Option<String>,
        /// Stores a value; `None` is the default.
        set: fn(&mut P, Option<String>),
    },
    /// A local path.
    Path {
        /// Returns the value, or `None` for the default.
        get: fn(&P) -> Option<String>,
        /// Stores a value; `None` is the default.
        set: fn(&mut P, Option<String>),
    },
    /// Local paths, at least one where the option is required.
    Paths {
        /// Returns the values.
        get: fn(&P) -> Vec<String>,
        /// Stores all values.
        set: fn(&mut P, Vec<String>),
    },
    /// One of a fixed set of values.
    Choice {
        /// All of them; the first is the default.
        choices: &'static [Choice],
        /// Returns the name of the value, or `None` for the default.
        get: fn(&P) -> Option<&'static str>,
        /// Stores the choice with this name.
        set: fn(&mut P, &'static str),
    },
}

/// The part of an option that front ends show. It has no type parameter, so one list can hold options of different plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// The flag without its hyphens; for a positional option, its name in messages.
    pub name: &'static str,
    /// Placeholder for the value in help.
    pub value_name: &'static str,
    /// Its effect, in one line without full stop.
    pub help: &'static str,
    /// The value used if none is given; empty if there is none.
    pub default: &'static str,
    /// The one-letter flag.
    pub short: Option<char>,
    /// Whether it is given by its position among the arguments, without a flag.
    pub is_positional: bool,
    /// Whether a plan without it is incomplete.
    pub is_required: bool,
}

/// One option of a plan.
pub struct OptionSpec<P: 'static> {
    /// The part that is shown.
    pub info: OptionInfo,
    /// How a plan stores it.
    pub access: Access<P>,
}

/// The kind of an option's value, without the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// No value.
    Switch,
    /// A number that is at least this.
    Number(u64),
    /// Any text.
    Text,
    /// A local path.
    Path,
    /// Local paths.
    Paths,
    /// One of these.
    Choice(&'static [Choice]),
}

impl<P> OptionSpec<P> {
    /// Creates an option without default, short flag or requirement.
    pub const fn new(name: &'static str, value_name: &'static str, help: &'static str, access: Access<P>) -> Self {
        let info =
            OptionInfo { name, value_name, help, default: "", short: None, is_positional: false, is_required: false };
        Self { info, access }
    }

    /// Sets the value used if none is given.
    #[must_use]
    pub const fn default(mut self, default: &'static str) -> Self {
        self.info.default = default;
        self
    }

    /// Sets the one-letter flag.
    #[must_use]
    pub const fn short(mut self, short: char) -> Self {
        self.info.short = Some(short);
        self
    }

    /// Makes the option positional.
    #[must_use]
    pub const fn positional(mut self) -> Self {
        self.info.is_positional = true;
        self
    }

    /// Makes an answer mandatory.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.info.is_required = true;
        self
    }

    /// Returns the kind of its value.
    pub fn kind(&self) -> ValueKind {
        match self.access {
            Access::Switch { .. } => ValueKind::Switch,
            Access::Number { least, .. } => ValueKind::Number(least),
            Access::Text { .. } => ValueKind::Text,
            Access::Path { .. } => ValueKind::Path,
            Access::Paths { .. } => ValueKind::Paths,
            Access::Choice { choices, .. } => ValueKind::Choice(choices),
        }
    }

    /// Returns the answer stored in a plan.
    pub fn get(&self, plan: &P) -> Answer {
        let text = |text: Option<String>| text.map_or(Answer::Unset, Answer::Text);
        match &self.access {
            Access::Switch { get, .. } if get(plan) => Answer::On,
            Access::Switch { .. } => Answer::Unset,
            Access::Number { get, .. } => text(get(plan).map(|number| number.to_string())),
            Access::Text { get, .. } | Access::Path { get, .. } => text(get(plan)),
            Access::Paths { get, .. } => match get(plan) {
                paths if paths.is_empty() => Answer::Unset,
                paths => Answer::List(paths),
            },
            Access::Choice { get, .. } => text(get(plan).map(str::to_owned)),
        }
    }

    /// Stores an answer in a plan.
    ///
    /// # Errors
    /// The reason why the answer is not valid for this option.
    pub fn set(&self, plan: &mut P, answer: &Answer) -> Result<(), String> {
        let value = match answer {
            Answer::Unset => None,
            Answer::On => Some(""),
            Answer::Text(text) => Some(text.as_str()),
            Answer::List(values) => values.first().map(String::as_str),
        };
        match &self.access {
            Access::Switch { set, .. } => set(plan, value.is_some()),
            Access::Number { least, set, .. } => {
                let parse = |text: &str| text.parse().ok().filter(|number| number >= least);
                let number = value.map(|text| parse(text).ok_or_else(|| not_a_number(text, *least))).transpose()?;
                set(plan, number);
            }
            Access::Text { set, .. } | Access::Path { set, .. } => set(plan, value.map(str::to_owned)),
            Access::Paths { set, .. } => match answer {
                Answer::List(paths) => set(plan, paths.clone()),
                _ => set(plan, value.map(str::to_owned).into_iter().collect()),
            },
            Access::Choice { choices, set, .. } => {
                let names = || choices.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ");
                let chosen = match value {
                    None => choices.first(),
                    Some(name) => choices.iter().find(|choice| choice.name == name),
                };
                set(
                    plan,
                    chosen.ok_or_else(|| format!("'{}' is none of {}", value.unwrap_or_default(), names()))?.name,
                );
            }
        }
        Ok(())
    }
}

fn not_a_number(text: &str, least: u64) -> String {
    match least {
        0 => format!("'{text}' is not a number"),
        least => format!("'{text}' is not a number from {least} on"),
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
        Access::Number { least: 2, get: |plan| plan.count, set: |plan, count| plan.count = count },
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
    fn answers_are_checked_and_the_default_is_no_answer() {
        let mut plan = Plan::default();
        for (text, error) in [("1", "'1' is not a number from 2 on"), ("-3", "'-3' is not a number from 2 on")] {
            assert_eq!(COUNT.set(&mut plan, &Answer::Text(text.to_owned())).unwrap_err(), error);
        }
        COUNT.set(&mut plan, &Answer::Text("2".to_owned())).unwrap();
        assert_eq!(COUNT.get(&plan), Answer::Text("2".to_owned()));
        COUNT.set(&mut plan, &Answer::Unset).unwrap();
        assert_eq!(COUNT.get(&plan), Answer::Unset);
        let error = WAY.set(&mut plan, &Answer::Text("later".to_owned())).unwrap_err();
        assert_eq!(error, "'later' is none of fast, slow");
        WAY.set(&mut plan, &Answer::Text("slow".to_owned())).unwrap();
        assert_eq!(WAY.get(&plan), Answer::Text("slow".to_owned()));
        WAY.set(&mut plan, &Answer::Unset).unwrap();
        assert_eq!((plan.way, WAY.get(&plan)), ("fast", Answer::Unset));
    }
}
