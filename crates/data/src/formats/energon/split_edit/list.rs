//! One list of the file with all bytes that belong to it, and changes of the list.

use super::items::{ListEdit, SharedList};
use super::scalar::{written, Quote, ScalarContext};
use super::NewItem;
use std::sync::Arc;

/// An item of a list, with the comments around it.
///
/// In block style its text is the comment and blank lines above it and its own line or lines, line end included. In flow style it is the
/// text before the scalar, the scalar, and the text up to its comma or to the end of the comment after that.
#[derive(Clone, Debug)]
pub struct Item {
    pub(super) value: Arc<str>,
    pub(super) note: Option<Arc<str>>,
    pub(super) text: Arc<str>,
    /// Offset in the text at which the comment and blank lines end; in flow style the offset of the scalar.
    pub(super) lead: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) quote: Quote,
}

impl Item {
    /// Returns the value that the loader reads: quotes resolved, braces not expanded.
    pub fn value(&self) -> &Arc<str> {
        &self.value
    }
    /// Returns the comment on the item's line, else the comment lines directly above it; without `#`.
    pub fn note(&self) -> Option<&Arc<str>> {
        self.note.as_ref()
    }
    pub(super) fn new(value: Arc<str>, text: &str, lead: usize, scalar: (usize, usize), quote: Quote) -> Self {
        let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let (start, end) = (at(scalar.0), at(scalar.1));
        let mut item = Self { value, note: None, text: text.into(), lead: at(lead), start, end, quote };
        let note = item.own_note().or_else(|| note_above(item.lead()));
        item.note = note.map(Arc::from);
        item
    }
    fn part(&self, from: u32, to: u32) -> &str {
        self.text.get(from as usize..to as usize).unwrap_or_default()
    }
    pub(super) fn lead(&self) -> &str {
        self.part(0, self.lead)
    }
    fn head(&self) -> &str {
        self.part(self.lead, self.start)
    }
    fn scalar(&self) -> &str {
        self.part(self.start, self.end)
    }
    fn tail(&self) -> &str {
        self.text.get(self.end as usize..).unwrap_or_default()
    }
    /// Returns the comment after the scalar.
    fn own_note(&self) -> Option<String> {
        if self.quote == Quote::Block {
            return None;
        }
        let line = self.tail().lines().next().unwrap_or_default();
        let comment = line.trim_start_matches([' ', '\t', ',']).strip_prefix('#')?;
        Some(comment.trim_start_matches('#').trim().to_owned()).filter(|note| !note.is_empty())
    }
    fn rebuilt(&self, lead: &str, head: &str, scalar: &str, tail: &str) -> Self {
        let text = [lead, head, scalar, tail].concat();
        let start = lead.len() + head.len();
        Self::new(Arc::clone(&self.value), &text, lead.len(), (start, start + scalar.len()), self.quote)
    }
    fn with_lead(&self, lead: &str) -> Self {
        self.rebuilt(lead, self.head(), self.scalar(), self.tail())
    }
    fn with_tail(&self, tail: &str) -> Self {
        self.rebuilt(self.lead(), self.head(), self.scalar(), tail)
    }
}

/// Returns the comment lines at the end of a lead, joined.
fn note_above(lead: &str) -> Option<String> {
    let (_, own) = split_lead(lead);
    let lines: Vec<&str> = own.lines().map(|line| line.trim().trim_start_matches('#').trim()).collect();
    Some(lines.join(" ").trim().to_owned()).filter(|note| !note.is_empty())
}

/// Splits a lead into the text up to and including the last blank line, and the comment lines after it, which belong to the item.
pub(super) fn split_lead(lead: &str) -> (&str, &str) {
    let mut at = lead.len();
    for line in lead.split_inclusive('\n').rev() {
        if line.trim().is_empty() {
            break;
        }
        at -= line.len();
    }
    lead.split_at(at)
}

/// Layout of a list in block style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Text before the dash.
    pub(super) indent: Arc<str>,
    /// Text between dash and scalar.
    pub(super) gap: Arc<str>,
}

/// Properties of the whole file that determine how new list text is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListStyle<'a> {
    pub(super) eol: &'a str,
    pub(super) unicode: bool,
    /// Layout for a list in block style without items.
    pub(super) layout: &'a Layout,
    /// Whether a list that receives its first items may become block style.
    pub(super) prefers_block: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Block,
    Flow,
    /// The value is missing, or null.
    Nothing,
}

/// A list of the file: the text between its key and its first item, the items, and the end of the list with the rest of its line.
#[derive(Clone, Debug)]
pub(super) struct ListText {
    pub(super) form: Form,
    /// Text from the end of the key: colon, spaces, comment, line end.
    pub(super) intro: Arc<str>,
    /// `[`, or the spelling of null.
    pub(super) open: Arc<str>,
    pub(super) items: SharedList<Item>,
    /// `]` and the rest of the line, or the rest of the line after null.
    pub(super) close: Arc<str>,
    /// Whether the key is in a map between braces.
    pub(super) in_flow: bool,
    /// Whether the list is empty and ends a file without final line end, so that its last new item has no line end.
    pub(super) is_open: bool,
}

impl ListText {
    pub(super) fn push_to(&self, out: &mut String) {
        out.push_str(&self.intro);
        out.push_str(&self.open);
        for item in self.items.iter() {
            out.push_str(&item.text);
        }
        out.push_str(&self.close);
    }

    pub(super) fn layout(&self) -> Option<Layout> {
        if self.form != Form::Block {
            return None;
        }
        self.items.iter().take(8).enumerate().find_map(|(at, item)| {
            let (indent, gap) = item.head().split_once('-')?;
            let is_plain = indent.chars().all(|c| c == ' ') && !gap.is_empty() && gap.chars().all(|c| c == ' ');
            // If the first dash is on the line of the key, the text before it counts as indentation.
            let indent = if at == 0 { format!("{}{indent}", " ".repeat(self.column())) } else { indent.to_owned() };
            (is_plain && item.quote != Quote::Block).then(|| Layout { indent: indent.into(), gap: gap.into() })
        })
    }

    /// Writes the empty list `[]` where the value is missing or null.
    pub(super) fn fill_empty(&mut self) {
        if self.form == Form::Nothing {
            let has_space = self.intro.ends_with([' ', '\n']);
            self.open = if has_space { "[".into() } else { " [".into() };
            self.close = format!("]{}", self.close).into();
            self.form = Form::Flow;
        }
    }

    pub(super) fn change(&mut self, changes: Vec<ListEdit<NewItem>>, around: ListStyle<'_>) {
        self.fill_empty();
        let is_bare = self.form == Form::Flow
            && self.items.is_empty()
            && self.open.trim() == "["
            && self.close.trim_start_matches([' ', '\t']).starts_with(']');
        let adds = changes.iter().any(|change| !change.inserted.is_empty());
        if is_bare && adds && !self.in_flow && around.prefers_block {
            self.become_block(around.eol);
        }
        match self.form {
            Form::Block => self.change_block(changes, around),
            _ => self.change_flow(changes, around),
        }
    }

    /// Changes `key: []  # c` to `key:  # c` with a line end.
    fn become_block(&mut self, eol: &str) {
        let rest = self.close.trim_start_matches([' ', '\t']).strip_prefix(']').unwrap_or_default();
        let intro = self.intro.trim_end_matches([' ', '\t']);
        let rest = rest.trim_end_matches(['\r', '\n']);
        self.intro = format!("{intro}{}{eol}", rest.trim_end()).into();
        // A file without final line end stays so.
        self.is_open = !self.close.ends_with('\n');
        self.open = Arc::default();
        self.close = Arc::default();
        self.form = Form::Block;
    }

    /// Returns the column at which the list begins on its first line: 0 unless it follows the key on that line.
    fn column(&self) -> usize {
        self.intro.rsplit('\n').next().map_or(0, |line| line.chars().count())
    }

    /// Moves a dash that follows the colon on the same line to a separate line.
    fn move_dash_to_own_line(&mut self, eol: &str) {
        let Some(first) = self.items.get(0).filter(|_| !self.intro.ends_with('\n')) else { return };
        let head = format!("{}{}", " ".repeat(self.column()), first.head());
        let first = first.rebuilt(first.lead(), &head, first.scalar(), first.tail());
        self.intro = format!("{}{eol}", self.intro.trim_end_matches([' ', '\t'])).into();
        self.items.splice(vec![ListEdit { at: 0, removed: 1, inserted: vec![first] }]);
    }

    fn change_block(&mut self, changes: Vec<ListEdit<NewItem>>, around: ListStyle<'_>) {
        let layout = self.layout().unwrap_or_else(|| around.layout.clone());
        if changes.first().is_some_and(|first| first.at == 0) {
            self.move_dash_to_own_line(around.eol);
        }
        let is_open = std::mem::take(&mut self.is_open)
            || self.items.iter().next_back().is_some_and(|item| !item.text.ends_with('\n'));
        let mut splices: Vec<ListEdit<Item>> = Vec::with_capacity(changes.len());
        let mut kept = KeptComments::default();
        // Comments of removed items are moved above the next remaining item.
        for change in changes {
            let mut inserted: Vec<Item> = Vec::with_capacity(change.inserted.len());
            if let Some(last) = splices.last_mut() {
                if last.at + last.removed < change.at {
                    self.move_comments_down(&mut kept, last);
                }
            }
            let replaced = self.items.range(change.at, change.at + change.removed).next();
            let quote = replaced.map(|item| item.quote).unwrap_or_default();
            let manner = ScalarContext { in_flow: false, unicode: around.unicode, quote };
            for (number, new) in change.inserted.iter().enumerate() {
                let scalar = written(&new.value, manner);
                let old = replaced.filter(|item| item.quote != Quote::Block);
                let head = match old.filter(|_| number == 0) {
                    Some(old) => old.head().to_owned(),
                    None => format!("{}-{}", layout.indent, layout.gap),
                };
                let above = replaced.filter(|_| number == 0).map(Item::lead).unwrap_or_default();
                let has_own =
                    replaced.is_some_and(|item| item.own_note().is_none() && !split_lead(item.lead()).1.is_empty());
                let note = new.note.as_deref().filter(|_| !(has_own && number == 0));
                let tail = match old
                    .and_then(|old| old.tail().strip_suffix(around.eol))
                    .filter(|_| note.is_some() || number == 0)
                {
                    Some(tail) if old.is_some_and(|old| old.own_note().as_deref() == note || note.is_none()) => {
                        format!("{tail}{}", around.eol)
                    }
                    _ => format!("{}{}", comment(note), around.eol),
                };
                let lead = format!("{}{above}", kept.take());
                let text = [lead.as_str(), &head, &scalar, &tail].concat();
                let start = lead.len() + head.len();
                let place = (start, start + scalar.len());
                inserted.push(Item::new(Arc::clone(&new.value), &text, lead.len(), place, quote_of(&scalar)));
            }
            if change.inserted.is_empty() {
                for at in change.at..change.at + change.removed {
                    let Some(item) = self.items.get(at) else { continue };
                    let next = self.items.get(at + 1);
                    kept.remove(item.lead(), next.is_none_or(|next| !next.lead().is_empty()));
                }
            }
            splices.push(ListEdit { at: change.at, removed: change.removed, inserted });
        }
        if let Some(last) = splices.last_mut() {
            if last.at + last.removed < self.items.len() {
                self.move_comments_down(&mut kept, last);
            }
        }
        self.items.splice(splices);
        let rest = kept.take();
        if self.items.is_empty() {
            self.empty_block(&rest, is_open);
        } else {
            if !rest.is_empty() {
                self.close = format!("{rest}{}", self.close).into();
            }
            if is_open {
                self.repair_ends(around.eol);
            }
        }
    }

    /// Moves the comments of removed items above the next item, which becomes part of the change.
    fn move_comments_down(&self, kept: &mut KeptComments, last: &mut ListEdit<Item>) {
        let rest = kept.take();
        let next = last.at + last.removed;
        if let Some(item) = self.items.get(next).filter(|_| !rest.is_empty()) {
            last.inserted.push(item.with_lead(&format!("{rest}{}", item.lead())));
            last.removed += 1;
        }
    }

    /// Restores the line ends: every line has one, except the last line of a file that had no final line end.
    fn repair_ends(&mut self, eol: &str) {
        let last = self.items.len().saturating_sub(1);
        let mut splices = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            if at < last && !item.text.ends_with('\n') {
                let tail = format!("{}{eol}", item.tail());
                splices.push(ListEdit { at, removed: 1, inserted: vec![item.with_tail(&tail)] });
            }
            if at == last && item.text.ends_with('\n') && self.close.is_empty() && item.quote != Quote::Block {
                let tail = item.tail().trim_end_matches(['\r', '\n']).to_owned();
                splices.push(ListEdit { at, removed: 1, inserted: vec![item.with_tail(&tail)] });
            }
        }
        self.items.splice(splices);
    }

    /// Writes a list without items as `[]`.
    fn empty_block(&mut self, rest: &str, is_open: bool) {
        let colon = self.intro.find(':').map_or(0, |at| at + 1);
        let (key, line) = self.intro.split_at(colon.min(self.intro.len()));
        let line = if is_open && rest.is_empty() { line.trim_end_matches(['\r', '\n']) } else { line };
        let close = format!("]{line}{rest}{}", self.close);
        self.intro = format!("{key} ").into();
        self.open = "[".into();
        self.close = close.into();
        self.form = Form::Flow;
    }

    fn change_flow(&mut self, changes: Vec<ListEdit<NewItem>>, around: ListStyle<'_>) {
        let ends_with_comma = self.items.iter().next_back().is_some_and(|item| comma(item).is_some());
        let mut splices = Vec::with_capacity(changes.len());
        for change in changes {
            let replaced = self.items.get(change.at).filter(|_| change.removed > 0);
            let neighbour =
                replaced.or_else(|| self.items.get(change.at.checked_sub(1)?)).or_else(|| self.items.get(0));
            let quote = replaced.map(|item| item.quote).unwrap_or_default();
            let manner = ScalarContext { in_flow: true, unicode: around.unicode, quote };
            // The space before the first item differs from the space between items, which new items use.
            let between = self.items.get(1).map(Item::lead).filter(|lead| lead.trim().is_empty() && !lead.is_empty());
            let between = between.map(str::to_owned).unwrap_or_else(|| {
                let lead = neighbour.map(Item::lead).filter(|lead| lead.contains('\n') && lead.trim().is_empty());
                lead.unwrap_or(" ").to_owned()
            });
            let first = self.items.get(0).map(Item::lead).filter(|lead| lead.trim().is_empty()).unwrap_or_default();
            let mut inserted = Vec::with_capacity(change.inserted.len());
            for (number, new) in change.inserted.iter().enumerate() {
                let scalar = written(&new.value, manner);
                let lead = match replaced.filter(|_| number == 0) {
                    Some(old) => old.lead().to_owned(),
                    None if change.at == 0 && number == 0 => first.to_owned(),
                    None => between.clone(),
                };
                let old = replaced.filter(|_| number == 0 && change.inserted.len() == 1);
                let tail = old.map_or_else(
                    || match &new.note {
                        Some(note) => format!(", # {note}{}", around.eol),
                        None => ",".to_owned(),
                    },
                    |old| old.tail().to_owned(),
                );
                let text = [lead.as_str(), &scalar, &tail].concat();
                let place = (lead.len(), lead.len() + scalar.len());
                inserted.push(Item::new(Arc::clone(&new.value), &text, lead.len(), place, quote_of(&scalar)));
            }
            // The tail of the replaced item follows the last inserted one.
            if let (Some(old), Some(last), true) = (replaced, inserted.last_mut(), change.inserted.len() > 1) {
                *last = last.with_tail(old.tail());
            }
            splices.push(ListEdit { at: change.at, removed: change.removed, inserted });
        }
        let first_lead = self.items.get(0).map(|item| item.lead().to_owned());
        self.items.splice(splices);
        self.repair_commas(ends_with_comma, first_lead);
    }

    fn repair_commas(&mut self, ends_with_comma: bool, first_lead: Option<String>) {
        let last = self.items.len().saturating_sub(1);
        let mut splices = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let wants = at < last || ends_with_comma;
            let mut made = match (comma(item), wants) {
                (None, true) => Some(item.with_tail(&format!(",{}", item.tail()))),
                (Some(place), false) => {
                    let (before, after) = item.tail().split_at(place);
                    Some(item.with_tail(&format!("{before}{}", after.get(1..).unwrap_or_default())))
                }
                _ => None,
            };
            if let Some(lead) = first_lead.as_ref().filter(|_| at == 0) {
                let now = made.as_ref().unwrap_or(item);
                if now.lead().trim().is_empty() && now.lead() != lead && lead.trim().is_empty() {
                    made = Some(now.rebuilt_flow(lead));
                }
            }
            if let Some(made) = made {
                splices.push(ListEdit { at, removed: 1, inserted: vec![made] });
            }
        }
        self.items.splice(splices);
    }

    /// Sets or removes the note of an item. A note above the item is replaced in its place.
    pub(super) fn set_note(&mut self, index: usize, note: Option<&str>, eol: &str) {
        let Some(item) = self.items.get(index) else { return };
        let end = if item.tail().ends_with('\n') { eol } else { "" };
        let (before, above) = split_lead(item.lead());
        let line = |note: &str| {
            let indent: String = item.head().chars().take_while(|c| *c == ' ').collect();
            format!("{indent}# {note}{eol}")
        };
        let made = if self.form == Form::Flow {
            let place = comma(item).map_or(0, |at| at + 1);
            let (kept, rest) = item.tail().split_at(place);
            let rest = without_comment(rest);
            match note {
                Some(note) => item.with_tail(&format!("{kept} # {note}{eol}{}", rest.trim_start_matches([' ', '\t']))),
                None => item.with_tail(&format!("{kept}{rest}")),
            }
        } else if item.quote == Quote::Block || (item.own_note().is_none() && !above.is_empty()) {
            let above = note.map(line).unwrap_or_default();
            item.with_lead(&format!("{before}{above}"))
        } else {
            let space = item.tail().find('#').and_then(|at| item.tail().get(..at)).unwrap_or("  ");
            match note {
                Some(note) => item.with_tail(&format!("{space}# {note}{end}")),
                None => item.with_tail(end),
            }
        };
        self.items.splice(vec![ListEdit { at: index, removed: 1, inserted: vec![made] }]);
    }
}

impl Item {
    /// Returns the item with another lead. In flow style an item has no text between lead and scalar.
    fn rebuilt_flow(&self, lead: &str) -> Self {
        self.rebuilt(lead, "", self.scalar(), self.tail())
    }
}

fn quote_of(scalar: &str) -> Quote {
    match scalar.as_bytes().first() {
        Some(b'\'') => Quote::Single,
        Some(b'"') => Quote::Double,
        _ => Quote::Plain,
    }
}

fn comment(note: Option<&str>) -> String {
    note.map_or_else(String::new, |note| format!("  # {note}"))
}

/// Returns the offset of the comma in the tail of a flow item.
fn comma(item: &Item) -> Option<usize> {
    let at = skip(item.tail(), 0);
    (item.tail().as_bytes().get(at) == Some(&b',')).then_some(at)
}

/// Returns the text without the comment on its first line.
fn without_comment(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.find('#') {
        Some(at) if line.get(..at).is_some_and(|before| before.trim().is_empty()) => {
            text.get(line.len()..).unwrap_or_default().to_owned()
        }
        _ => text.to_owned(),
    }
}

/// Returns the first offset from `at` on that is neither white space nor in a comment.
pub(super) fn skip(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => at = bytes.get(at..).and_then(|rest| memchr::memchr(b'\n', rest)).map_or(bytes.len(), |n| at + n),
            _ => break,
        }
    }
    at
}

/// Comments of removed items that stay in the file.
#[derive(Default)]
struct KeptComments {
    rest: String,
    heading: String,
}

impl KeptComments {
    /// Takes the text above a removed item. The comment directly above it is removed too, unless more items of its group follow.
    fn remove(&mut self, lead: &str, ends_group: bool) {
        let (before, own) = split_lead(lead);
        if !lead.is_empty() {
            self.heading.clear();
        }
        self.rest.push_str(before);
        self.heading.push_str(own);
        if ends_group {
            self.heading.clear();
        }
    }
    fn take(&mut self) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.push_str(&std::mem::take(&mut self.heading));
        all
    }
}
