//! The settings of a plan one by one: a single table for both forms and prompts.

use std::fmt::Debug;

/// The way in which a setting is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Typed text.
    Text,
    /// On or off.
    Switch,
    /// One of several values, selected with the arrow keys.
    Choice,
    /// A list with a cursor; the answer can also be typed.
    List,
    /// No answer: the content below the fields, which the keys scroll.
    Page,
}

/// One setting of a plan.
pub trait Setting: Copy + Debug + Ord + 'static {
    /// The type of the plan.
    type Plan;
    /// All settings in order.
    const ALL: &'static [Self];

    /// Returns how the setting is answered.
    fn kind(self) -> Kind;

    /// Returns the label.
    fn label(self) -> &'static str;

    /// Returns what the setting means, or what an empty answer means.
    fn note(self) -> &'static str;

    /// Returns the format that the setting belongs to, where labels alone are ambiguous.
    fn group(self) -> Option<&'static str> {
        None
    }

    /// Whether the answer is a path.
    fn is_path(self) -> bool {
        false
    }

    /// Whether the setting applies, given the other answers.
    fn is_there(self, plan: &Self::Plan) -> bool;

    /// Whether the setting shows the answer of another one, or is a second way to give it.
    fn is_second_way(self) -> bool {
        false
    }

    /// Returns the answer as it is typed; empty for the meaning of an empty answer.
    fn words(self, plan: &Self::Plan) -> String;

    /// Sets a typed answer. `Err` says what is wrong with it; the plan is then unchanged.
    fn set(self, plan: &mut Self::Plan, words: &str) -> Result<(), String>;

    /// Whether a switch is on.
    fn is_on(self, plan: &Self::Plan) -> bool;

    /// Turns a switch on or off.
    fn switch(self, plan: &mut Self::Plan, on: bool);

    /// Returns the values of a choice, each with its meaning, and the index of the selected one.
    fn choices(self, plan: &Self::Plan) -> (Vec<(String, &'static str)>, usize);

    /// Selects one of the [choices](Self::choices).
    fn choose(self, plan: &mut Self::Plan, number: usize);
}

/// Parses a number as the user types it: `1,000`, `1_000` and `1'000` are the same.
pub fn number_of(typed: &str) -> Option<u64> {
    let digits: String = typed.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    digits.parse().ok()
}
