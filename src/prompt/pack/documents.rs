//! The text of documents: real ones are shown, so that the field is chosen by sight.

use super::Guide;
use gristmill_core::pack::TextField;
use gristmill_core::text::{bytes, count, display_safe};
use gristmill_core::{Cancel, Outcome, PackFormat};
use gristmill_ops::preview::text::cut_end;
use gristmill_ops::source::text::{keys_of, list, Blocks, Extractor, Position, Selection, Text, TextFile};
use std::path::PathBuf;

/// Documents that are shown.
const MAX_SHOWN_DOCUMENTS: usize = 3;
/// Columns of a document that are shown.
const COLUMNS: usize = 100;
/// Enough of a file to find some documents, in bytes.
const LOOKED_AT: usize = 1 << 20;

impl Guide {
    pub(super) fn inputs(&mut self) -> Outcome<()> {
        loop {
            if self.plan.inputs.is_empty() {
                let path = match self.plan.paths_file {
                    Some(_) => self.ask.text("Folder that the listed paths start from", Some("."), false)?,
                    None => self.ask.text("JSONL file, or folder of them", None, false)?,
                };
                self.plan.inputs.push(path);
            }
            if let Some(files) = self.ask.or_refuse(self.files())? {
                let size = files.iter().map(|file| file.bytes).sum();
                self.ask.print(format!("{}, {}", count(files.len() as u64, "file"), bytes(size)));
                return Ok(());
            }
            self.plan.inputs.clear();
        }
    }

    /// By the rules of the first format that is chosen; before that by the widest.
    fn files(&self) -> Outcome<Vec<TextFile>> {
        let inputs: Vec<PathBuf> = self.plan.inputs.iter().map(PathBuf::from).collect();
        let listing = list(&inputs, Selection::of(&self.plan), PackFormat::Nanosets, &Cancel::default())?;
        Ok(listing.files)
    }

    pub(super) fn text_field(&mut self) -> Outcome<()> {
        let lines = self.first_lines()?;
        loop {
            let found = self.show(&lines)?;
            if found > 0 || lines.is_empty() {
                return Ok(());
            }
            let keys = lines.first().map(|line| keys_of(line).join(", ")).unwrap_or_default();
            self.ask.print(format!("No text there; the first line has these keys: {keys}"));
            let answer = self.ask.text("Key of the text, or a jq program that begins with a dot", None, false)?;
            self.plan.text = match answer.starts_with('.') {
                true => TextField::Jq(answer),
                false => TextField::Key(answer),
            };
        }
    }

    /// Some lines of the first file that has any.
    fn first_lines(&self) -> Outcome<Vec<Vec<u8>>> {
        for file in self.files()? {
            let mut blocks = Blocks::open(&file, LOOKED_AT, Position::default(), &Cancel::default())?;
            let Some(block) = blocks.next(Vec::new())? else { continue };
            let lines: Vec<Vec<u8>> = block.lines().take(50).map(|line| line.bytes.to_vec()).collect();
            if !lines.is_empty() {
                return Ok(lines);
            }
        }
        Ok(Vec::new())
    }

    /// Shows the texts of some lines; answers how many lines have one.
    fn show(&self, lines: &[Vec<u8>]) -> Outcome<usize> {
        let mut extractor = match Extractor::new(&self.plan.text) {
            Ok(extractor) => extractor,
            Err(failure) => {
                self.ask.refuse(&failure);
                return Ok(0);
            }
        };
        let mut found = 0;
        for line in lines {
            if let Text::Is(text) = extractor.document(line).text {
                found += 1;
                if found <= MAX_SHOWN_DOCUMENTS {
                    self.ask.print(format!("  {}", cut_end(&display_safe(text), COLUMNS)));
                }
            }
        }
        Ok(found)
    }
}
