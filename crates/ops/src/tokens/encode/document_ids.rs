//! Document ids, for formats that list documents.

/// The source of the document ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// The format lists no documents.
    Unused,
    /// The line number.
    Line,
    /// The text at this path of keys. The line number is recorded too.
    Key(Vec<String>),
}

/// Document ids, in the order of the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentIds {
    text: String,
    /// The end of each id in `text`, in bytes.
    ends: Vec<usize>,
}

impl DocumentIds {
    /// Returns the id of the document with this index.
    pub fn get(&self, number: usize) -> Option<&str> {
        let start = number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(number)?)
    }

    /// Returns the ids of the first `documents` documents.
    pub(super) fn first(&self, documents: usize) -> Self {
        let ends = self.ends.get(..documents).unwrap_or_default();
        let text = self.text.get(..ends.last().copied().unwrap_or(0)).unwrap_or_default();
        Self { text: text.to_owned(), ends: ends.to_vec() }
    }

    pub(super) fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Returns the memory held, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::DocumentIds;

    #[test]
    fn document_ids_are_found_by_position() {
        let mut ids = DocumentIds::default();
        ["a", "", "\u{e9}b"].into_iter().for_each(|id| ids.push(id));
        let all = |ids: &DocumentIds| (0..4).map(|at| ids.get(at).map(str::to_owned)).collect::<Vec<_>>();
        assert_eq!(all(&ids), [Some("a".into()), Some(String::new()), Some("\u{e9}b".into()), None]);
        assert_eq!(all(&ids.first(2)), [Some("a".into()), Some(String::new()), None, None]);
        assert_eq!(ids.first(0), DocumentIds::default());
        ids.clear();
        ids.push("c");
        assert_eq!((ids.get(0), ids.get(1)), (Some("c"), None));
    }
}
