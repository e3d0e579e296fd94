//! `split.yaml` with the user's formatting: every byte outside an edit is preserved.
//!
//! A YAML library that preserves comments still rewrites lines, and is too slow for hundreds of thousands of excludes. Therefore the text
//! is cut into the pieces that an edit can replace (splits, items with their comments, the text between), and reassembled. The values come
//! from the same parser that the readers use; a text is refused if its pieces do not yield these values.

mod items;
mod list;
mod parse;
mod scalar;

pub use items::{ListEdit, SharedList};
pub use list::Item;

use super::fields::ContentError;
use list::{split_lead, Form, Layout, ListStyle, ListText};
use scalar::{written, Quote, ScalarContext};
use std::collections::HashSet;
use std::sync::Arc;

/// Identifies one of the lists of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// The shards of a split, given by its position in the file.
    Split(usize),
    /// The excludes.
    Exclude,
}

/// An item to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// Value that the loader must read; quoted where necessary.
    pub value: Arc<str>,
    /// Comment written after the value.
    pub note: Option<Arc<str>>,
}

/// A split of the file.
#[derive(Clone, Debug)]
pub struct SplitEntry {
    id: u32,
    name: Arc<str>,
    /// Text before the key: comment lines, blank lines and indentation.
    lead: Arc<str>,
    key: Arc<str>,
    list: ListText,
    /// Text up to the comma, if the split is in a map between braces.
    tail: Arc<str>,
}

impl SplitEntry {
    /// Returns an id that does not change when the split is renamed or others are added or removed.
    pub fn id(&self) -> u32 {
        self.id
    }
    /// Returns the name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
    /// Returns the shard expressions.
    pub fn items(&self) -> &SharedList<Item> {
        &self.list.items
    }
    fn indent(&self) -> &str {
        self.lead.rsplit('\n').next().unwrap_or_default()
    }
    fn push_to(&self, out: &mut String) {
        out.push_str(&self.lead);
        out.push_str(&self.key);
        self.list.push_to(out);
        out.push_str(&self.tail);
    }
    /// Whether the last line has a line end.
    fn is_ended(&self) -> bool {
        match self.list.items.iter().next_back() {
            Some(item) if self.list.close.is_empty() => item.text.ends_with('\n'),
            _ => self.list.close.ends_with('\n'),
        }
    }
}

/// The map of splits.
#[derive(Clone, Debug, Default)]
struct Splits {
    /// Text from the end of the key: colon, comment, line end, or the brace.
    intro: Arc<str>,
    entries: Vec<SplitEntry>,
    /// The closing brace and the rest of its line.
    close: Arc<str>,
    in_flow: bool,
    /// Whether the value of the map is missing.
    is_nothing: bool,
}

/// A parsed `split.yaml`. Copies are cheap.
#[derive(Clone, Debug, Default)]
pub struct SplitDoc {
    exclude_first: bool,
    before_splits: Arc<str>,
    splits: Splits,
    before_exclude: Arc<str>,
    exclude: Option<ListText>,
    tail: Arc<str>,
    next_id: u32,
    /// Whether a list is missing or null, which the loader refuses; the first edit writes `[]`.
    has_missing_list: bool,
    in_flow: bool,
    eol: &'static str,
    unicode: bool,
    /// Layout of lists: number of columns from the key to the dash, and the text after the dash.
    offset: usize,
    gap: Arc<str>,
    no_items: SharedList<Item>,
    /// Lists of excludes without effect, because the key is repeated after them.
    repeated: Vec<RepeatedExcludes>,
    /// Lines of the key, if it is repeated.
    exclude_lines: Vec<u64>,
}

/// A list of excludes without effect, because the key is repeated after it.
#[derive(Clone, Debug)]
struct RepeatedExcludes {
    /// Text from the key on, which is part of the text before another key.
    text: Arc<str>,
    items: Vec<Item>,
}

impl SplitDoc {
    /// Parses a text. Lists that are null are read as empty, although the loader refuses them; see [`has_nothing`](Self::has_nothing).
    pub fn parse(text: &str) -> Result<Self, ContentError> {
        parse::parse(text)
    }

    fn empty(text: &str) -> Self {
        let first = text.lines().next().map_or(0, str::len);
        let has_return = text.as_bytes().get(first) == Some(&b'\r');
        Self {
            eol: if has_return { "\r\n" } else { "\n" },
            unicode: !text.trim_start_matches('\u{feff}').is_ascii(),
            gap: " ".into(),
            ..Self::default()
        }
    }

    /// Sets the layout of new block lists to that of the lists in this file.
    fn learn_style(&mut self) {
        let splits = self.splits.entries.iter().map(|split| (split.indent().len(), &split.list));
        let lists = splits.chain(self.exclude.iter().map(|list| (0, list)));
        let found =
            lists.filter_map(|(column, list)| Some((list.layout()?.indent.len().checked_sub(column)?, list.layout()?)));
        if let Some((offset, layout)) = found.into_iter().next() {
            (self.offset, self.gap) = (offset, layout.gap);
        }
    }

    /// Returns the text to write.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let excludes = |out: &mut String| {
            if let Some(list) = &self.exclude {
                out.push_str(&self.before_exclude);
                list.push_to(out);
            }
        };
        if self.exclude_first {
            excludes(&mut out);
        }
        out.push_str(&self.before_splits);
        out.push_str(&self.splits.intro);
        for entry in &self.splits.entries {
            entry.push_to(&mut out);
        }
        out.push_str(&self.splits.close);
        if !self.exclude_first {
            excludes(&mut out);
        }
        out.push_str(&self.tail);
        out
    }

    /// Returns the splits in the order of the file.
    pub fn splits(&self) -> &[SplitEntry] {
        &self.splits.entries
    }

    /// Returns the excludes in the order of the file.
    pub fn excludes(&self) -> &SharedList<Item> {
        self.exclude.as_ref().map_or(&self.no_items, |list| &list.items)
    }

    /// Whether a list is missing or null, which the loader refuses. The first edit writes `[]` there.
    pub fn has_nothing(&self) -> bool {
        self.has_missing_list
    }

    /// Returns the lines of the key `exclude`, counted from 1, if it occurs more than once; see [`join_excludes`](Self::join_excludes).
    pub fn exclude_lines(&self) -> &[u64] {
        &self.exclude_lines
    }

    /// Appends all lists of excludes to the last one. Returns whether there was more than one.
    pub fn join_excludes(&mut self) -> bool {
        let repeated = std::mem::take(&mut self.repeated);
        if repeated.is_empty() {
            return false;
        }
        self.exclude_lines.clear();
        let mut known: HashSet<Arc<str>> = self.excludes().iter().map(|item| Arc::clone(item.value())).collect();
        let mut inserted = Vec::new();
        for RepeatedExcludes { text, items } in repeated {
            let new = items.into_iter().filter(|item| known.insert(Arc::clone(item.value())));
            let new: Vec<NewItem> = new.map(|item| NewItem { value: item.value, note: item.note }).collect();
            let is_note =
                |comment: &str| new.iter().any(|item| item.note.as_deref().is_some_and(|n| n.contains(comment)));
            let comments = text.split_inclusive('\n').filter(|line| {
                let comment = line.trim_start().strip_prefix('#').map(str::trim);
                comment.is_some_and(|comment| !is_note(comment))
            });
            let comments: String = comments.collect();
            for place in [&mut self.before_splits, &mut self.before_exclude] {
                if let Some((before, after)) = place.split_once(&*text) {
                    *place = format!("{before}{comments}{after}").into();
                    break;
                }
            }
            inserted.extend(new);
        }
        let at = self.excludes().len();
        if !inserted.is_empty() {
            self.change(List::Exclude, vec![ListEdit { at, removed: 0, inserted }]);
        }
        true
    }

    /// Returns the items of a list; `None` for a split that does not exist.
    pub fn items(&self, list: List) -> Option<&SharedList<Item>> {
        match list {
            List::Split(index) => self.splits.entries.get(index).map(|split| &split.list.items),
            List::Exclude => Some(self.excludes()),
        }
    }

    /// Changes a list. The changes are in ascending order and do not overlap; positions are those before any change.
    pub fn change(&mut self, list: List, changes: Vec<ListEdit<NewItem>>) {
        if changes.is_empty() {
            return;
        }
        self.fill_empty();
        if list == List::Exclude && self.exclude.is_none() {
            self.add_exclude();
        }
        let prefers_block = self.prefers_block();
        let column = match list {
            List::Split(index) => self.splits.entries.get(index).map_or(0, |split| split.indent().len()),
            List::Exclude => 0,
        };
        let layout = Layout { indent: " ".repeat(column + self.offset).into(), gap: Arc::clone(&self.gap) };
        let around = ListStyle { eol: self.eol, unicode: self.unicode, layout: &layout, prefers_block };
        match list {
            List::Split(index) => {
                if let Some(split) = self.splits.entries.get_mut(index) {
                    split.list.change(changes, around);
                }
            }
            List::Exclude => {
                if let Some(list) = &mut self.exclude {
                    list.change(changes, around);
                }
            }
        }
    }

    /// Whether new lists are written in block style: true unless the file has lists with items and all of these are between brackets.
    fn prefers_block(&self) -> bool {
        let lists = || self.splits.entries.iter().map(|split| &split.list).chain(&self.exclude);
        let filled = || lists().filter(|list| !list.items.is_empty());
        filled().any(|list| list.form == Form::Block) || filled().next().is_none()
    }

    /// Sets or removes the note of an exclude.
    pub fn set_note(&mut self, index: usize, note: Option<&str>) {
        self.fill_empty();
        let eol = self.eol;
        if let Some(list) = &mut self.exclude {
            list.set_note(index, note, eol);
        }
    }

    fn fill_empty(&mut self) {
        if !self.has_missing_list {
            return;
        }
        self.has_missing_list = false;
        let splits = self.splits.entries.iter_mut().map(|split| &mut split.list);
        splits.chain(&mut self.exclude).for_each(ListText::fill_empty);
        if self.splits.is_nothing {
            self.splits.is_nothing = false;
            let close = self.splits.close.trim_start();
            let rest = close.strip_prefix("null").or(close.strip_prefix('~')).map_or(&*self.splits.close, |rest| rest);
            let rest = rest.to_owned();
            self.splits.intro = format!("{} {{", self.splits.intro.trim_end_matches(' ')).into();
            self.splits.close = format!("}}{rest}").into();
            self.splits.in_flow = true;
        }
    }

    /// Adds an empty list of excludes after the splits.
    fn add_exclude(&mut self) {
        let (before, close, flow) = if self.in_flow {
            (", exclude".to_owned(), "]".to_owned(), true)
        } else {
            let is_last = self.tail.is_empty();
            let is_ended = match self.splits.entries.last() {
                Some(entry) if self.splits.close.is_empty() => entry.is_ended(),
                _ => self.splits.close.ends_with('\n'),
            };
            let eol = if is_ended { "" } else { self.eol };
            let end = if is_last && !is_ended { "" } else { self.eol };
            (format!("{eol}exclude"), format!("]{end}"), false)
        };
        self.before_exclude = before.into();
        self.exclude = Some(ListText {
            form: Form::Flow,
            intro: ": ".into(),
            open: "[".into(),
            items: SharedList::default(),
            close: close.into(),
            in_flow: flow,
            is_open: false,
        });
    }

    /// Adds an empty split after the others.
    pub fn add_split(&mut self, name: &str) {
        self.fill_empty();
        let splits = &mut self.splits;
        let mut lead = String::from("  ");
        let mut close = format!("]{}", self.eol);
        let mut tail = String::new();
        if splits.entries.is_empty() && splits.in_flow && !self.in_flow {
            // A map between braces (`split_parts: {}`) becomes a map in block style.
            let rest = splits.close.trim_start().strip_prefix('}').unwrap_or_default().to_owned();
            if !rest.ends_with('\n') {
                close = "]".to_owned();
            }
            let intro = splits.intro.trim_end().trim_end_matches('{').trim_end();
            splits.intro = format!("{intro}{}{}", rest.trim_end(), self.eol).into();
            splits.close = Arc::default();
            splits.in_flow = false;
        } else if splits.in_flow {
            close = "]".to_owned();
            lead = if splits.entries.is_empty() { String::new() } else { " ".to_owned() };
            if let Some(last) = splits.entries.last_mut() {
                tail = last.tail.to_string();
                if !last.tail.contains(',') {
                    last.tail = format!(",{}", last.tail).into();
                }
            }
        } else if let Some(last) = splits.entries.last() {
            lead = last.indent().to_owned();
            if splits.entries.len() == 1 && !splits.intro.ends_with('\n') {
                let line = splits.intro.rsplit('\n').next().unwrap_or_default();
                lead = " ".repeat(line.chars().count() + lead.len());
            }
            if !last.is_ended() {
                lead = format!("{}{lead}", self.eol);
                close = "]".to_owned();
            }
        }
        let manner = ScalarContext { in_flow: splits.in_flow, unicode: self.unicode, quote: Quote::Plain };
        let list = ListText {
            form: Form::Flow,
            intro: ": ".into(),
            open: "[".into(),
            items: SharedList::default(),
            close: close.into(),
            in_flow: splits.in_flow,
            is_open: false,
        };
        let key = written(name, manner).into();
        let entry = SplitEntry { id: self.next_id, name: name.into(), lead: lead.into(), key, list, tail: tail.into() };
        splits.entries.push(entry);
        self.next_id += 1;
    }

    /// Renames a split.
    pub fn rename_split(&mut self, index: usize, name: &str) {
        self.fill_empty();
        let (in_flow, unicode) = (self.splits.in_flow, self.unicode);
        if let Some(split) = self.splits.entries.get_mut(index) {
            let quote = match split.key.as_bytes().first() {
                Some(b'\'') => Quote::Single,
                Some(b'"') => Quote::Double,
                _ => Quote::Plain,
            };
            split.key = written(name, ScalarContext { in_flow, unicode, quote }).into();
            split.name = name.into();
        }
    }

    /// Removes a split and its list, with the comment directly above it.
    pub fn remove_split(&mut self, index: usize) {
        self.fill_empty();
        let splits = &mut self.splits;
        if index >= splits.entries.len() {
            return;
        }
        let gone = splits.entries.remove(index);
        if splits.in_flow {
            if let Some(first) = splits.entries.first_mut().filter(|first| index == 0 && first.lead.trim().is_empty()) {
                first.lead = gone.lead;
            }
            let is_last = index == splits.entries.len();
            if let Some(last) = splits.entries.last_mut().filter(|_| is_last && !gone.tail.contains(',')) {
                last.tail = last.tail.replace(',', "").into();
            }
            return;
        }
        let lines = gone.lead.rfind('\n').map_or("", |at| gone.lead.get(..=at).unwrap_or_default());
        let (kept, _) = split_lead(lines);
        match splits.entries.get_mut(index) {
            // There is no indentation after the colon of an explicit key.
            Some(next) if index == 0 && !splits.intro.ends_with('\n') => next.lead = gone.lead,
            Some(next) => next.lead = format!("{kept}{}", next.lead).into(),
            None => splits.close = format!("{kept}{}", splits.close).into(),
        }
        if splits.entries.is_empty() {
            let colon = splits.intro.find(':').map_or(0, |at| at + 1);
            let (key, line) = splits.intro.split_at(colon);
            let end = if line.contains('\n') { "" } else { self.eol };
            splits.close = format!("}}{line}{end}{}", splits.close).into();
            splits.intro = format!("{key} {{").into();
            splits.in_flow = true;
        }
    }

    /// Takes over the ids of `other`, the previous version of this text: splits of the same name keep their id.
    pub fn adopt_ids(&mut self, other: &Self) {
        self.next_id = other.next_id;
        for split in &mut self.splits.entries {
            split.id = match other.splits.entries.iter().find(|before| before.name == split.name) {
                Some(before) => before.id,
                None => {
                    self.next_id += 1;
                    self.next_id - 1
                }
            };
        }
    }
}

#[cfg(test)]
mod tests;
