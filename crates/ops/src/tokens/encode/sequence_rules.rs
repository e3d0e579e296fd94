//! How documents are divided into sequences, and the sequences of a block.

use gristmill_data::source::documents::{texts_at, Document, DocumentRules, DocumentVerdict, Text, EMPTY};

/// How documents are divided into sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceRules {
    /// The keys of the texts, each of which has its own sequences; empty if a jq program extracts the texts.
    pub keys: Vec<String>,
    /// Whether the only text is the text field of the plan.
    pub is_plan_text: bool,
    /// Whether a text may be a list of strings, each of which is a sequence.
    pub takes_lists: bool,
    /// Whether a string without tokens is a sequence.
    pub keeps_empty: bool,
}

/// The sequences of the documents of a block.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    /// Number of tokens of each sequence.
    pub lengths: Vec<u64>,
    /// Number of sequences of each text. The texts of a document are adjacent, in the order of the keys.
    pub counts: Vec<u64>,
}

impl Sequences {
    /// Returns the sequences of the first `documents` of `all` documents.
    pub(super) fn first(&self, documents: usize, all: usize) -> Self {
        let texts = self.counts.len().checked_div(all).unwrap_or(0).saturating_mul(documents);
        let counts = self.counts.get(..texts).unwrap_or_default().to_vec();
        let sequences = usize::try_from(counts.iter().sum::<u64>()).unwrap_or(usize::MAX);
        Self { lengths: self.lengths.get(..sequences).unwrap_or_default().to_vec(), counts }
    }

    pub(super) fn clear(&mut self) {
        self.lengths.clear();
        self.counts.clear();
    }

    /// Returns the memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.lengths.capacity() + self.counts.capacity()) * size_of::<u64>()
    }
}

impl SequenceRules {
    /// Whether the texts of a document are read from its line instead of the extracted text.
    pub(super) fn reads_line(&self, document: &Document<'_>) -> bool {
        let may_be_list = self.takes_lists && !self.keys.is_empty();
        !self.is_plan_text || may_be_list && matches!(document.text, Text::NotText(_) | Text::Falsy(_))
    }

    /// Returns the texts of each key.
    pub(super) fn texts_of(
        &self,
        rules: DocumentRules,
        line: &[u8],
        document: &Document<'_>,
    ) -> Result<Vec<Vec<String>>, DocumentVerdict<'static>> {
        match document.text {
            Text::Blank => return Err(DocumentVerdict::Refuse("the line is blank")),
            Text::Invalid { why, .. } | Text::NotObject(why) | Text::Unreadable(why) => {
                return Err(DocumentVerdict::Refuse(why))
            }
            _ => {}
        }
        if let Some(why) = document.quirks.why(rules.refused) {
            return Err(DocumentVerdict::Refuse(why));
        }
        let texts = self.keys.iter().map(|key| texts_at(line, key, self.takes_lists));
        let texts: Vec<Vec<String>> = texts.collect::<Result<_, _>>().map_err(DocumentVerdict::Refuse)?;
        match rules.skips_empty && texts.iter().flatten().all(String::is_empty) {
            true => Err(DocumentVerdict::Skip(EMPTY)),
            false => Ok(texts),
        }
    }
}
