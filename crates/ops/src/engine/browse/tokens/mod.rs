//! Browsing of packed tokens. Each file is a group. A row is a document or a sample of a fixed size, or a training window; the tokens after
//! the last whole window are then another row.
//!
//! A [`TokenBrowser`] lists the files of one layout: those of `.pbin` files, folders of `.ds` files and Forager samples are here, those of
//! other formats in `tokens::formats`. The ends of documents are read from a file as needed (`.ds.index`, `sample_locations.bin`), or are
//! held in memory in packed form (the index at the end of a `.pbin`). Ids are decoded by the tokenizer named in the metadata, in the plan or
//! by the user.

mod companion_info;
mod documents;
mod file;
mod page;
mod search;
mod vocabulary;

pub(crate) use companion_info::{find as find_companion_info, CompanionInfo};
pub use page::page;
pub use vocabulary::Vocabulary;

use super::state::GroupsState;
use super::{
    Background, BrowsePart, BrowseSample, Catalog, CatalogHead, Groups, KeyQuery, OpenedCatalog, SampleAt, SamplesFile,
    StopOnDrop, VisitFields, Visitor,
};
use documents::DocumentList;
pub(crate) use file::{location, LossMask, Table, ROW_BYTES};
pub use file::{RowSpan, SpanTable, TokenFile};
use gristmill_core::text::{count, grouped};
use gristmill_core::{Cancel, DatasetKind, Failure, Mutex, Outcome, Subject, TokenKind};
use gristmill_data::preview::tokens::TokenCode;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const ACTIVITY: &str = "looking at the tokens";
/// Rows between two checks for cancellation.
const ROWS_PER_STEP: usize = 4_096;
/// Names of the parts of a document.
const TEXT: &str = "text";
const IDS: &str = "ids";

/// Options for browsing tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenView {
    /// The tokenizer, by path or name; `None` for the one named in the files.
    pub tokenizer: Option<String>,
    /// Number of tokens of a training window, if rows are windows; `None` if rows are documents.
    pub sequence_length: Option<u64>,
}

impl TokenView {
    /// Refuses the options for a kind of data that is not packed tokens.
    ///
    /// # Errors
    /// An option is set although the data set has no packed tokens.
    pub fn check_kind(&self, kind: DatasetKind) -> Outcome<()> {
        match self.first_flag() {
            Some(flag) if !kind.is_tokens() => {
                let refusal = Failure::usage("looking at the tokens", "these are not packed tokens");
                Err(refusal.on(Subject::field(flag)).with_hint("leave it out"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the flag of the first option that is set.
    pub fn first_flag(&self) -> Option<&'static str> {
        let tokenizer = self.tokenizer.as_ref().map(|_| "--tokenizer");
        tokenizer.or(self.sequence_length.map(|_| "--sequence-length"))
    }
}

/// Lists the files of one layout of tokens.
pub trait TokenBrowser: Sync {
    /// Returns the files in the order in which the framework reads them. Defects of a file are part of its description.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>>;
}

/// The request to list the files of a path, and what was found next to them.
pub struct Listing<'a> {
    pub(crate) path: &'a Path,
    pub(crate) view: &'a TokenView,
    /// Cancelled when the catalog is dropped.
    pub(crate) stop: Cancel,
    state: &'a Arc<GroupsState>,
    /// Facts of the tokens from metadata and the plan.
    pub(crate) named: CompanionInfo,
    background: Vec<Background>,
}

/// Passes the offset and the length of each document of a file, in batches, to a callback, until it returns `false` or an error. Returns
/// whether all documents were passed.
pub(crate) type DocumentWalk = Box<dyn FnOnce(&mut dyn FnMut(&[(u64, u64)]) -> Outcome<bool>) -> Outcome<bool> + Send>;

impl Listing<'_> {
    /// Lists the documents of a file in the background; `irregular` is the message for documents that are not adjacent.
    pub(crate) fn list(&mut self, group: u32, walk: DocumentWalk, irregular: &'static str) -> Table {
        let list = Arc::new(Mutex::new(DocumentList::new()));
        let table = Table::List(Arc::clone(&list));
        // Windows are counted without the index; the list is then only used for the ends of documents.
        let state = self.view.sequence_length.is_none().then(|| Arc::clone(self.state));
        self.background.push(Box::new(move |cancel| {
            let documents = || list.lock();
            let listed = walk(&mut |batch| {
                cancel.check()?;
                let mut documents = documents();
                let is_kept = batch.iter().all(|(offset, length)| documents.push(*offset, *length));
                if let Some(state) = &state {
                    state.grow(group, documents.len());
                }
                Ok(is_kept)
            });
            let mut documents = documents();
            documents.shrink();
            let trouble: Option<Arc<str>> = match listed {
                Err(failure) if failure.is_cancelled() => return,
                Err(failure) => Some(Arc::from(failure.why)),
                Ok(false) => {
                    Some(Arc::from("its index is too irregular to be kept whole; the first documents are listed"))
                }
                Ok(true) if !documents.is_regular() => Some(Arc::from(irregular)),
                Ok(true) => None,
            };
            if let Some(state) = state {
                state.finish(group, documents.len(), trouble);
            }
        }));
        table
    }
}

/// Opens packed tokens and prepares their background work.
pub(crate) fn open(
    path: &Path,
    kind: &'static TokenKind,
    browser: &dyn TokenBrowser,
    view: &TokenView,
) -> Outcome<OpenedCatalog> {
    let state = Arc::new(GroupsState::default());
    let stop = Cancel::default();
    let mut listing = Listing {
        path,
        view,
        stop: stop.clone(),
        state: &state,
        named: companion_info::find(path),
        background: Vec::new(),
    };
    let files = browser.files(&mut listing)?;
    let Listing { named, background, .. } = listing;
    let (vocabulary, note) = match view.tokenizer.as_ref() {
        Some(given) => (Some(Arc::new(Vocabulary::load(given)?)), None),
        None => named.vocabulary(),
    };
    let is_listed = |file: &TokenFile| matches!(file.table, file::Table::List(_));
    state.begin(files.iter().map(|file| (Arc::clone(&file.name), file.bytes, file.defect.clone())), None);
    let window = view.sequence_length.map(|length| file::Window::of(kind, length));
    for (group, file) in (0_u32..).zip(&files).filter(|(_, file)| !is_listed(file) || window.is_some()) {
        state.finish(group, file.rows(window), None);
    }
    let set = TokenSet {
        kind: DatasetKind::Tokens(kind),
        root: path.to_owned(),
        files,
        state,
        vocabulary,
        note,
        end: named.end_id(),
        window,
        view: view.clone(),
        _stop: StopOnDrop(stop.clone()),
    };
    Ok(OpenedCatalog { catalog: Arc::new(set), stop, background })
}

/// The catalog of packed tokens.
pub struct TokenSet {
    kind: DatasetKind,
    root: PathBuf,
    files: Vec<TokenFile>,
    state: Arc<GroupsState>,
    vocabulary: Option<Arc<Vocabulary>>,
    /// Why there is no vocabulary.
    note: Option<String>,
    /// The token that ends a document, if the plan names one.
    end: Option<u32>,
    window: Option<file::Window>,
    view: TokenView,
    _stop: StopOnDrop,
}

impl TokenSet {
    /// Returns the options with which the tokens are shown.
    pub fn view(&self) -> &TokenView {
        &self.view
    }

    /// Returns the vocabulary, if one was found.
    pub fn vocabulary(&self) -> Option<&Arc<Vocabulary>> {
        self.vocabulary.as_ref()
    }

    /// Returns why ids cannot be shown as text; raw.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns the length of a row in words, for display.
    pub fn measure(&self, sample: &BrowseSample) -> Option<String> {
        let file = self.files.get(sample.at.group as usize).filter(|file| !file.is_text())?;
        let tokens = file.extent(sample.byte_size) / file.code.size();
        let is_tail = self.window.is_some_and(|window| tokens < window.block);
        Some(if is_tail { format!("{} left over", grouped(tokens)) } else { count(tokens, "token") })
    }

    /// Returns the token code of a row and the number of bytes of its ids, after which masks may follow; `None` if rows are text.
    pub fn ids_of(&self, sample: &BrowseSample) -> Option<(TokenCode, u64)> {
        let file = self.files.get(sample.at.group as usize).filter(|file| !file.is_text())?;
        let extent = file.extent(sample.byte_size);
        Some((file.code, extent - extent % file.code.size()))
    }

    /// Returns up to `limit` bytes of a part of a row of a file, from byte `from` on.
    pub fn read_part(&self, group: u32, part: &BrowsePart, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        self.file(group)?.read(part.byte_offset, part.byte_size, from, limit)
    }

    /// Returns the number of whole windows of a file, and of the tokens after the last one; `None` if rows are not windows.
    pub fn windows_of(&self, group: u32) -> Option<(u64, u64)> {
        let file = self.files.get(group as usize).filter(|file| !file.is_text())?;
        self.window.map(|window| (window.count(file.tokens()), window.waste(file.tokens())))
    }

    /// Returns the sum of [`windows_of`](Self::windows_of) over all files.
    pub fn all_windows(&self) -> Option<(u64, u64)> {
        self.window?;
        let each = (0..self.files.len()).filter_map(|group| self.windows_of(u32::try_from(group).ok()?));
        Some(each.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
    }

    /// Returns the row that contains a byte of a file; `None` if it is unknown.
    pub fn row_holding(&self, group: u32, byte: u64) -> Outcome<Option<SampleAt>> {
        let file = self.file(group)?;
        let token = byte.saturating_sub(file.data_from) / file.code.size();
        let index = match self.window {
            Some(window) => Some((token / window.stride).min(file.rows(self.window).saturating_sub(1))),
            None => file.ends_within(token, token)?.0,
        };
        Ok(index.map(|index| SampleAt { group, index }))
    }

    fn file(&self, group: u32) -> Outcome<&TokenFile> {
        self.files
            .get(group as usize)
            .ok_or_else(|| Failure::usage(ACTIVITY, "there is no such file").on(Subject::path(&self.root)))
    }

    /// Returns rows of a file.
    fn rows(&self, group: u32, first: u64, count: usize) -> Outcome<Vec<BrowseSample>> {
        let file = self.file(group)?;
        let places = match self.window {
            Some(window) if !file.is_text() => window.places(file.tokens(), file.code, first, count),
            _ => file.places(first, count)?,
        };
        Ok(places.into_iter().zip(first..).map(|(place, index)| row(file, SampleAt { group, index }, place)).collect())
    }
}

fn row(file: &TokenFile, at: SampleAt, place: RowSpan) -> BrowseSample {
    let byte_offset = file.data_from.saturating_add(place.from);
    let byte_size = place.to.saturating_sub(place.from);
    let part = |name: &str| BrowsePart { name: Arc::from(name), byte_offset, byte_size };
    let parts = if file.is_text() { vec![part("json")] } else { vec![part(TEXT), part(IDS)] };
    BrowseSample { at, key: Arc::from(at.index.to_string()), byte_offset, byte_size, parts, defect: place.defect }
}

impl Catalog for TokenSet {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: self.kind, root: &self.root, group_word: "file" }
    }

    fn groups(&self) -> Arc<Groups> {
        self.state.groups()
    }

    fn tokens(&self) -> Option<&TokenSet> {
        Some(self)
    }

    fn samples(&self, from: SampleAt, count: usize, cancel: &Cancel) -> Outcome<Vec<BrowseSample>> {
        cancel.check()?;
        super::over_groups(&self.groups(), from, count.min(super::MAX_ROWS), |group, first, count| {
            let rows = self.rows(group, first, usize::try_from(count).unwrap_or(usize::MAX));
            super::or_defects(rows, group, first, count)
        })
    }

    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let Some(part) = sample.parts.get(part) else {
            let path = &self.file(sample.at.group)?.path;
            return Err(Failure::usage(ACTIVITY, "the row has no such part").on(Subject::path(path)));
        };
        self.read_part(sample.at.group, part, from, limit)
    }

    fn file_of(&self, group: u32) -> Outcome<Option<SamplesFile>> {
        let file = self.file(group)?;
        let is_packed = matches!(&file.table, file::Table::Spans(table) if table.is_packed());
        let index = file.index_path().map(Path::to_path_buf);
        Ok(Some(SamplesFile { path: file.path.clone(), is_plain: !is_packed, index }))
    }

    fn find(&self, query: &KeyQuery, cancel: &Cancel, found: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
        search::run(self, query, cancel, found)
    }

    fn locate(&self, group: Option<&str>, key: &str, _cancel: &Cancel) -> Outcome<Option<SampleAt>> {
        let Some(index) = super::row_number(key) else { return Ok(None) };
        let groups = self.groups();
        Ok(match group {
            Some(name) => groups
                .named(name)
                .filter(|group| groups.group(*group).is_some_and(|known| index < known.samples))
                .map(|group| SampleAt { group, index }),
            None => groups.locate(index),
        })
    }

    fn visit(&self, group: u32, wanted: VisitFields, cancel: &Cancel, take: Visitor<'_>) -> Outcome<()> {
        let file = self.file(group)?;
        let parts: &[&str] = if file.is_text() { &["json"] } else { &[TEXT, IDS] };
        let total = self.groups().group(group).map_or(0, |known| known.samples);
        let sizes = |first, count| Ok(self.rows(group, first, count)?.iter().map(|row| row.byte_size).collect());
        super::visit_numbered((total, ROWS_PER_STEP), parts, wanted, cancel, sizes, take)
    }
}

#[cfg(test)]
mod tests;
