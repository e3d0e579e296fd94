//! Single questions on the terminal: text, numbered choice, yes or no. One line each, without redrawing.

use super::plain::PlainWriter;
use dialoguer::console::Term;
use dialoguer::theme::SimpleTheme;
use dialoguer::Input;
use gristmill_core::text::{display_safe, display_safe_lines};
use gristmill_core::{Failure, Outcome};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

/// Asks questions on the terminal: writes to stderr, and reads answers from stdin.
pub struct Prompter {
    term: Term,
}

impl Prompter {
    /// Creates a prompter; fails if there is no terminal for the answers.
    pub fn new() -> Outcome<Self> {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Err(Failure::usage("asking questions", "this is not a terminal")
                .with_hint("add --yes and answer by flags; `gristmill prepare --help` lists them"));
        }
        Ok(Self { term: Term::read_write_pair(std::io::stdin(), PlainWriter::new()) })
    }

    /// Prints one or several lines of information, escaped.
    pub fn print(&self, line: impl AsRef<str>) {
        // If the terminal is closed, the next question fails.
        let _ = writeln!(&self.term, "{}", display_safe_lines(line.as_ref()));
    }

    /// Prints the reason of a failure, and its hint.
    pub fn refuse(&self, failure: &Failure) {
        self.print(format!("Invalid answer: {failure}"));
        if let Some(hint) = &failure.hint {
            self.print(format!("  {hint}"));
        }
    }

    /// Returns the result; for an error, prints it and returns `None`. Only an interruption is a failure.
    pub fn or_refuse<T>(&self, found: Outcome<T>) -> Outcome<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(failure) if failure.is_cancelled() => Err(failure),
            Err(failure) => {
                self.refuse(&failure);
                Ok(None)
            }
        }
    }

    /// Asks for a line of text. An empty answer means the default, or an empty text if `may_be_empty`.
    pub fn text(&self, question: &str, default: Option<&str>, may_be_empty: bool) -> Outcome<String> {
        let mut question = display_safe(question).into_owned();
        let shown = default.map(display_safe);
        let is_shown_as_it_is = shown.as_deref() == default;
        if let Some(shown) = shown.filter(|_| !is_shown_as_it_is) {
            // The answer is the original text, not its escaped form.
            question = format!("{question} [{shown}]");
        }
        let mut input =
            Input::<String>::with_theme(&SimpleTheme).with_prompt(question).allow_empty(may_be_empty).report(false);
        if let Some(default) = default {
            input = input.default(default.to_owned()).show_default(is_shown_as_it_is);
        }
        input.interact_on(&self.term).map(|text| text.trim().to_owned()).map_err(prompt_failure)
    }

    /// Asks a yes-or-no question.
    pub fn confirm(&self, question: &str, default: bool) -> Outcome<bool> {
        loop {
            let answer = self.text(&format!("{question} (y or n)"), Some(if default { "y" } else { "n" }), false)?;
            match answer.to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                _ => self.print("Answer y or n."),
            }
        }
    }

    /// Asks for one of several choices by its number, counted from 1; returns its index.
    pub fn choose(&self, question: &str, choices: &[String], default: usize) -> Outcome<usize> {
        self.print_choices(question, choices);
        let first = (default + 1).to_string();
        loop {
            let answer = self.text("Number", Some(&first), false)?;
            let number = answer.parse().ok().filter(|number| (1..=choices.len()).contains(number));
            match number.map(|number| number - 1).or_else(|| named(&answer, choices)) {
                Some(index) => return Ok(index),
                None => self.print(format!("Enter a number from 1 to {}.", choices.len())),
            }
        }
    }

    /// Asks for one or more of several choices by their numbers, counted from 1, such as `1,3`.
    pub(super) fn choose_several(&self, question: &str, choices: &[String], chosen: &[bool]) -> Outcome<Vec<usize>> {
        self.print_choices(question, choices);
        let known: Vec<String> =
            (1..).zip(chosen).filter(|(_, is_chosen)| **is_chosen).map(|(n, _)| n.to_string()).collect();
        let known = Some(known.join(",")).filter(|known| !known.is_empty());
        loop {
            let answer = self.text("Numbers, like 1 or 1,2", known.as_deref(), true)?;
            match read_numbers(&with_numbers(&answer, choices), choices.len()) {
                Ok(numbers) if !numbers.is_empty() => {
                    return Ok(numbers.into_iter().map(|number| number - 1).collect())
                }
                Ok(_) => self.print("Enter at least one number."),
                Err(why) => self.print(why),
            }
        }
    }

    fn print_choices(&self, question: &str, choices: &[String]) {
        self.print(question);
        for (i, choice) in choices.iter().enumerate() {
            self.print(format!("  {}  {}", i + 1, display_safe(choice)));
        }
    }
}

/// Returns the index of the choice with this name, which is its first word.
fn named(answer: &str, choices: &[String]) -> Option<usize> {
    choices.iter().position(|choice| choice.split([':', ' ']).next() == Some(answer))
}

/// Replaces names of choices by their numbers.
fn with_numbers(answer: &str, choices: &[String]) -> String {
    let number = |word: &str| named(word, choices).map_or_else(|| word.to_owned(), |index| (index + 1).to_string());
    let words = answer.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(number).collect::<Vec<_>>().join(",")
}

/// Parses numbers and ranges such as `1-5,8`, from 1 to `most`; returns each number once, in order.
pub(super) fn read_numbers(text: &str, most: usize) -> Result<Vec<usize>, String> {
    let mut numbers = BTreeSet::new();
    let number = |text: &str| match text.trim().parse::<usize>() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("'{}' is not a number from 1 to {most}.", display_safe(text.trim()))),
    };
    for piece in text.split([',', ' ']).filter(|piece| !piece.is_empty()) {
        match piece.split_once('-') {
            Some((first, last)) => numbers.extend(number(first)?..=number(last)?),
            None => {
                numbers.insert(number(piece)?);
            }
        }
    }
    Ok(numbers.into_iter().collect())
}

fn prompt_failure(error: dialoguer::Error) -> Failure {
    let dialoguer::Error::IO(error) = error;
    if error.kind() == std::io::ErrorKind::Interrupted {
        return Failure::cancelled();
    }
    Failure::environment("asking a question", error.to_string()).with_hint("add --yes and answer by flags")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_answered_by_number_or_name() {
        let choices = ["modalities: .pbin".to_owned(), "nanosets: a folder".to_owned()];
        assert_eq!((named("nanosets", &choices), named("nano", &choices)), (Some(1), None));
        assert_eq!(with_numbers("nanosets, 1", &choices), "2,1");
        assert_eq!(with_numbers("x", &choices), "x");
    }

    #[test]
    fn shards_are_chosen_by_numbers_and_ranges() {
        assert_eq!(read_numbers("1-3, 7", 9), Ok(vec![1, 2, 3, 7]));
        assert_eq!(read_numbers("2,2,1", 9), Ok(vec![1, 2]));
        assert!(read_numbers("0", 9).is_err());
        assert!(read_numbers("8-10", 9).is_err());
        assert!(read_numbers("x", 9).is_err());
    }
}
