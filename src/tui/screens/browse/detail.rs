//! What is shown of one sample: looked at on a worker, drawn from what came back.

use super::state::Mode;
use crate::engine::browse::{BrowseSample, Catalog, SampleAt};
use crate::model::text::bytes;
use crate::model::{Cancel, Outcome};
use crate::preview::{self, PartBytes, PartPreview};
use std::sync::Arc;

/// Bytes of another part of which the first line is shown.
const PEEKED: usize = 400;
/// Parts of which the first line is shown, at most.
const MOST_PEEKS: usize = 12;

/// What is to be looked at.
#[derive(Clone)]
pub struct Question {
    /// The sample.
    pub sample: Arc<BrowseSample>,
    /// What of it.
    pub mode: Mode,
    /// The part that is shown.
    pub part: usize,
    /// The byte from which the part is shown.
    pub from: u64,
    /// One came back to the first page from a later one.
    pub is_back: bool,
    /// Stops it.
    pub cancel: Cancel,
}

/// What makes two looks the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The sample.
    pub at: SampleAt,
    /// What of it.
    pub mode: Mode,
    /// The part that is shown; 0 where parts make no difference.
    pub part: usize,
}

impl Question {
    /// What it is about.
    pub fn look(&self) -> Look {
        Look { at: self.sample.at, mode: self.mode, part: self.part }
    }
}

/// What was seen.
pub struct Detail {
    /// Of what.
    pub look: Look,
    /// What there is to draw.
    pub body: Body,
}

/// What there is to draw of a sample.
pub enum Body {
    /// One part, and the first lines of the others.
    Part {
        /// The part.
        preview: Arc<PartPreview>,
        /// It is not the first page.
        is_further: bool,
        /// One line of every part; in the order of the parts. Raw.
        peeks: Vec<String>,
    },
}

/// A part that is read as far as it is looked at.
struct PartOf<'a> {
    catalog: &'a dyn Catalog,
    sample: &'a BrowseSample,
    part: usize,
}

impl PartBytes for PartOf<'_> {
    fn len(&self) -> u64 {
        self.sample.parts.get(self.part).map_or(0, |part| part.byte_size)
    }
    fn read(&self, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        self.catalog.read(self.sample, self.part, from, limit)
    }
}

/// Looks at a sample. Runs on a worker.
pub fn look_at(catalog: &Arc<dyn Catalog>, question: Question) -> Detail {
    let look = question.look();
    let body = match question.mode {
        Mode::Parts => part_of(catalog.as_ref(), &question),
        _ => part_of(catalog.as_ref(), &question),
    };
    Detail { look, body }
}

fn part_of(catalog: &dyn Catalog, question: &Question) -> Body {
    let sample = question.sample.as_ref();
    let name = sample.parts.get(question.part).map_or("", |part| &*part.name);
    let part = PartOf { catalog, sample, part: question.part };
    let preview = Arc::new(preview::page(name, &part, question.from, &question.cancel));
    let mut peeks = Vec::new();
    for (index, part) in sample.parts.iter().enumerate().take(MOST_PEEKS) {
        let is_shown = index == question.part;
        let is_text = is_text(&part.name) && !is_shown && !question.cancel.is_cancelled();
        let read = is_text.then(|| catalog.read(sample, index, 0, PEEKED).ok()).flatten();
        peeks.push(match read {
            Some(start) => first_line(&start),
            None => bytes(part.byte_size),
        });
    }
    Body::Part { preview, is_further: question.from > 0 || question.is_back, peeks }
}

fn is_text(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    matches!(
        extension.as_str(),
        "txt" | "text" | "json" | "jsonl" | "cls" | "cls2" | "index" | "id" | "md" | "yaml" | "yml" | "csv"
    )
}

/// The first words of a text, on one line.
fn first_line(start: &[u8]) -> String {
    let text = String::from_utf8_lossy(start);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_told_by_its_name_and_its_first_words_stand_on_one_line() {
        assert!(is_text("txt") && is_text("meta.JSON") && is_text("cls"));
        assert!(!is_text("jpg") && !is_text("npy") && !is_text(""));
        assert_eq!(first_line(b"{\n  \"a\": 1\n}\n"), "{ \"a\": 1 }");
    }
}
