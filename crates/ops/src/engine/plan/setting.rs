//! The settings of a plan, one by one, as forms show them and prompts ask for them: one table for both.

use std::fmt::Debug;

/// How a setting is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Typed.
    Text,
    /// On or off.
    Switch,
    /// One of several, stepped through by the arrows.
    Choice,
    /// A list that the cursor moves in; its answer can be typed, too.
    List,
    /// Not answered: what is below the fields, which the keys scroll.
    Page,
}

/// One setting of a plan.
pub trait Setting: Copy + Debug + Ord + 'static {
    /// The plan.
    type Plan;
    /// All of them in order.
    const ALL: &'static [Self];

    /// How it is answered.
    fn kind(self) -> Kind;

    /// What it is called.
    fn label(self) -> &'static str;

    /// What it means, or what an empty answer means.
    fn note(self) -> &'static str;

    /// What it belongs to, where labels alone are ambiguous: a format.
    fn group(self) -> Option<&'static str> {
        None
    }

    /// Whether its answer is a path.
    fn is_path(self) -> bool {
        false
    }

    /// Whether it has a meaning with the other answers.
    fn is_there(self, plan: &Self::Plan) -> bool;

    /// Whether it shows the answer of another setting, or takes it in a second way.
    fn is_second_way(self) -> bool {
        false
    }

    /// The answer as it is typed; empty for what an empty answer means.
    fn words(self, plan: &Self::Plan) -> String;

    /// Takes an answer that was typed. `Err` says what is wrong with it; the plan is then as before.
    fn set(self, plan: &mut Self::Plan, words: &str) -> Result<(), String>;

    /// Whether a switch is on.
    fn is_on(self, plan: &Self::Plan) -> bool;

    /// Switches a switch.
    fn switch(self, plan: &mut Self::Plan, on: bool);

    /// What a choice offers, each with its meaning, and the number of the one that is chosen.
    fn choices(self, plan: &Self::Plan) -> (Vec<(String, &'static str)>, usize);

    /// Takes one of the [choices](Self::choices).
    fn choose(self, plan: &mut Self::Plan, number: usize);
}

/// A number as people type it: `1,000`, `1_000` and `1'000` are the same.
pub fn number_of(typed: &str) -> Option<u64> {
    let digits: String = typed.chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    digits.parse().ok()
}
