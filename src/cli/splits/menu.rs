//! The split editor without a full screen: a menu of plain prompts. Changes are written by a command, and can be undone before.

use super::super::context::Context;
use super::super::exit::{CommandFailure, CommandResult, CommandSuccess};
use super::args::{CheckArgs, ExcludeArgs, MoveArgs};
use super::change::{diff_lines, PendingChange};
use super::{balance, check, exclude, moving, open, show};
use crate::prompt::Prompter;
use gristmill_core::text::{agree, count};
use gristmill_core::{Failure, Outcome};
use gristmill_ops::engine::splits::SplitEditor;
use serde_json::{json, Map};
use std::path::PathBuf;

/// The commands, in the order of the menu.
#[derive(Clone, Copy)]
enum Step {
    Show,
    Move,
    Exclude,
    Include,
    Balance,
    Check,
    Undo,
    Diff,
    Write,
    Leave,
}

const STEPS: [(Step, &str); 10] = [
    (Step::Show, "show shards and excludes"),
    (Step::Move, "move shards to another split"),
    (Step::Exclude, "exclude shards or samples"),
    (Step::Include, "remove excludes"),
    (Step::Balance, "balance the splits by samples"),
    (Step::Check, "check for mistakes, and for samples that splits share"),
    (Step::Undo, "undo the last change"),
    (Step::Diff, "show what would be written"),
    (Step::Write, "write"),
    (Step::Leave, "leave"),
];

/// Asks for commands until the user quits.
pub(super) fn run(editor: SplitEditor, context: &Context) -> CommandResult {
    let ask = Prompter::new()?;
    let root = editor.root().to_path_buf();
    let mut menu = Menu { prompt: ask, editor, context };
    menu.show(false);
    menu.prompt.print("Each of these is also a command: gristmill splits --help");
    let choices = STEPS.map(|(_, words)| words.to_owned());
    loop {
        let pending = menu.editor.pending();
        let question = match pending {
            0 => "What do you want to do?".to_owned(),
            some => format!("What do you want to do? ({} not written)", count(some as u64, "change")),
        };
        let default = if pending == 0 { Step::Leave } else { Step::Write };
        let default = STEPS.iter().position(|(step, _)| *step as u8 == default as u8).unwrap_or(0);
        let number = menu.prompt.choose(&question, &choices, default)?;
        let Some((step, _)) = STEPS.get(number) else { continue };
        match menu.run_command(*step) {
            Ok(false) => {}
            Ok(true) => return Ok(CommandSuccess::ok(Map::from_iter([("path".to_owned(), json!(root))]))),
            Err(stopped) if stopped.failures.iter().any(Failure::is_cancelled) => return Err(stopped),
            // A failed command is reported, and the menu continues.
            Err(stopped) => stopped.failures.iter().for_each(|failure| context.printer.error(failure)),
        }
    }
}

struct Menu<'a> {
    prompt: Prompter,
    editor: SplitEditor,
    context: &'a Context,
}

impl Menu<'_> {
    /// Runs a command. Returns whether the menu ends.
    fn run_command(&mut self, step: Step) -> Result<bool, CommandFailure> {
        match step {
            Step::Show => self.show(true),
            Step::Move => self.shift()?,
            Step::Exclude => {
                let items = self.prompt_words("What, SHARD or SHARD/KEY; braces are ranges: s_0.tar/k_{001..009}")?;
                if items.is_empty() {
                    return Ok(false);
                }
                let note = self.prompt.text("Why (empty: no note)", None, true)?;
                let note = Some(note).filter(|note| !note.is_empty());
                let args =
                    ExcludeArgs { path: self.path(), items: Vec::new(), note, from: None, allow_unmatched: false };
                let change = exclude::excluding(self.editor.clone(), items, &args, self.context)?;
                self.editor = change.report(self.context);
            }
            Step::Include => {
                let items = self.prompt_words("What, as it is listed, or SHARD/KEY")?;
                if !items.is_empty() {
                    self.editor = exclude::including(self.editor.clone(), &items)?.report(self.context);
                }
            }
            Step::Balance => {
                let ratios =
                    self.prompt.text("Ratios: 8,1,1 in the order of the splits, or train=8,val=2", None, true)?;
                if !ratios.is_empty() {
                    let change = balance::balancing(self.editor.clone(), &ratios, true, self.context)?;
                    self.editor = change.report(self.context);
                }
            }
            Step::Check => self.check()?,
            Step::Undo => match self.editor.undo() {
                Some(title) => self.prompt.print(format!("Undone: {title}")),
                None => self.prompt.print("There is nothing to undo."),
            },
            Step::Diff => match self.editor.pending() {
                0 => self.prompt.print("Nothing was changed."),
                _ => diff_lines(&self.editor.diff()).iter().for_each(|line| self.context.printer.line(line)),
            },
            Step::Write => return self.write(),
            Step::Leave => return self.leaves(),
        }
        Ok(false)
    }

    fn path(&self) -> PathBuf {
        self.editor.root().to_path_buf()
    }

    fn show(&self, whole: bool) {
        for line in show::lines(&self.editor, whole, whole) {
            self.context.printer.line(line);
        }
    }

    /// Asks for several words; returns an empty list for an empty line.
    fn prompt_words(&self, question: &str) -> Outcome<Vec<String>> {
        let line = self.prompt.text(&format!("{question} (several with spaces between, empty: none)"), None, true)?;
        Ok(line.split_whitespace().map(str::to_owned).collect())
    }

    fn shift(&mut self) -> Result<(), CommandFailure> {
        let shards = self.prompt_words("Which shards: names, or FIRST..LAST, or /REGEX")?;
        if shards.is_empty() {
            return Ok(());
        }
        let mut args = MoveArgs {
            path: self.path(),
            shards: Vec::new(),
            range: Vec::new(),
            pattern: Vec::new(),
            to: None,
            out: false,
            new: true,
        };
        for word in shards {
            let is_known = self.editor.shards().iter().any(|(name, _)| **name == *word);
            match word.strip_prefix('/') {
                Some(regex) => args.pattern.push(regex.to_owned()),
                None if !is_known && word.contains("..") && !word.contains('{') => args.range.push(word),
                None => args.shards.push(word),
            }
        }
        let mut choices: Vec<String> = self.editor.splits().iter().map(|split| split.name.to_string()).collect();
        let known = choices.len();
        choices.extend(["no split: not used for training".to_owned(), "a new split".to_owned()]);
        let chosen = self.prompt.choose("To which split?", &choices, 0)?;
        args.to = match chosen {
            at if at < known => choices.get(at).cloned(),
            at if at == known => None,
            _ => Some(self.prompt.text("Its name", None, false)?),
        };
        self.editor = moving(self.editor.clone(), &args)?.report(self.context);
        Ok(())
    }

    fn check(&mut self) -> Result<(), CommandFailure> {
        if self.editor.pending() > 0 {
            self.prompt.print("The check looks at the file as it is written; write the changes first.");
            return Ok(());
        }
        let content = self.prompt.confirm("Read every sample and compare contents, not only names?", false)?;
        let part = Vec::new();
        check::run(
            &CheckArgs { path: self.path(), content, part, smallest_part: None, excludes_to: None },
            self.context,
        )
        .map(|_| ())
    }

    /// Shows the difference, asks for confirmation and writes; if there are no changes, prints that.
    fn write(&mut self) -> Result<bool, CommandFailure> {
        let done = PendingChange::new(self.editor.clone()).finish(self.context)?;
        if done.result.get("written").is_some_and(|written| written == true) {
            self.editor = open(&self.path())?;
        }
        Ok(false)
    }

    fn leaves(&self) -> Result<bool, CommandFailure> {
        match self.editor.pending() {
            0 => Ok(true),
            some => {
                let changes = count(some as u64, "change");
                let are = agree(some as u64, "is", "are");
                Ok(self.prompt.confirm(&format!("Discard {changes} that {are} not written?"), false)?)
            }
        }
    }
}
