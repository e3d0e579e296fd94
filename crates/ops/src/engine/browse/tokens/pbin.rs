//! A `.pbin`, or a folder of them (docs/formats/modalities.md §3): the index is read in the background and kept packed.

use super::documents::DocumentList;
use super::file::{Table, TokenFile};
use super::{Listing, TokenBrowser, TokenView};
use crate::engine::browse::state::GroupsState;
use crate::engine::browse::Background;
use crate::engine::modalities::folder::files_of;
use crate::formats::modalities::packed::Packed;
use crate::preview::tokens::TokenCode;
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_storage::read::open_read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Documents that are added at a time.
const DOCUMENTS_PER_BATCH: usize = 4_096;

/// Lists a `.pbin` file.
pub struct PackedFileBrowser;

impl TokenBrowser for PackedFileBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let (file, work) = file(listing.path, 0, listing.state, listing.view)?;
        listing.background.push(work);
        Ok(vec![file])
    }
}

/// Lists a folder of `.pbin` files.
pub struct PackedFolderBrowser;

impl TokenBrowser for PackedFolderBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let (files, work) = files(listing.path, listing.state, listing.view)?;
        listing.background.push(work);
        Ok(files)
    }
}

/// Opens a file; returns it with the background work that lists its documents.
fn file(path: &Path, group: u32, state: &Arc<GroupsState>, view: &TokenView) -> Outcome<(TokenFile, Background)> {
    let packed = Packed::open(open_read(path)?)?;
    let layout = packed.layout();
    let code = TokenCode { is_big: layout.is_big_endian, ..TokenCode::little(layout.token_bytes) };
    let list = Arc::new(Mutex::new(DocumentList::new()));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let old = (!layout.is_current())
        .then(|| Arc::from(format!("of an old kind ({}): present loaders do not read it", layout.era())));
    let file = TokenFile {
        name: Arc::from(name),
        path: path.to_owned(),
        bytes: packed.file().len(),
        data_from: layout.header_bytes,
        data_bytes: packed.data_bytes(),
        code,
        table: Table::List(Arc::clone(&list)),
        loss: None,
        holds_text: false,
        trouble: old,
    };
    // Windows are counted without the index; the list then only gives the ends of documents.
    let state = view.sequence_length.is_none().then(|| Arc::clone(state));
    let path = path.to_owned();
    let background: Background = Box::new(move |cancel| {
        // Opened again, so that only one of many files of a folder is open at a time.
        let packed = open_read(&path).and_then(Packed::open);
        let state_here = state.as_deref().map(|state| (state, group));
        let listed = packed.and_then(|packed| walk(&packed, &list, state_here, cancel));
        let mut documents = list.lock().unwrap_or_else(PoisonError::into_inner);
        documents.shrink();
        let trouble = match listed {
            Err(failure) if failure.is_cancelled() => return,
            Err(failure) => Some(Arc::from(failure.why)),
            Ok(false) => Some(Arc::from("its index is too irregular to be kept whole; the first documents are listed")),
            Ok(true) if !documents.is_regular() => Some(Arc::from(
                "documents do not follow each other: it may be a file that was merged wrongly; gristmill repair repairs it",
            )),
            Ok(true) => None,
        };
        if let Some(state) = state {
            state.finish(group, documents.len(), trouble);
        }
    });
    Ok((file, background))
}

/// Opens all files of a folder; returns them with the work that lists their documents one after the other. A file that cannot be read is
/// reported in its group, never as an error: the others can still be viewed.
fn files(root: &Path, state: &Arc<GroupsState>, view: &TokenView) -> Outcome<(Vec<TokenFile>, Background)> {
    let (mut files, mut works) = (Vec::new(), Vec::new());
    for (group, path) in (0_u32..).zip(files_of(root)?) {
        let mut file = match file(&path, group, state, view) {
            Ok((file, work)) => {
                works.push(work);
                file
            }
            Err(failure) => unreadable(&path, failure),
        };
        let below = path.strip_prefix(root).unwrap_or(&path);
        file.name = Arc::from(below.to_string_lossy());
        files.push(file);
    }
    Ok((files, Box::new(move |cancel| works.into_iter().for_each(|work| work(cancel)))))
}

/// Returns a file without rows, with the reason.
fn unreadable(path: &Path, failure: Failure) -> TokenFile {
    TokenFile {
        name: Arc::from(""),
        path: path.to_owned(),
        bytes: std::fs::metadata(path).map_or(0, |facts| facts.len()),
        data_from: 0,
        data_bytes: 0,
        code: TokenCode::little(2),
        table: Table::Whole,
        loss: None,
        holds_text: false,
        trouble: Some(Arc::from(failure.why)),
    }
}

/// Reads the index. Returns `false` when it is too irregular.
fn walk(
    packed: &Packed,
    list: &Mutex<DocumentList>,
    state: Option<(&GroupsState, u32)>,
    cancel: &Cancel,
) -> Outcome<bool> {
    let mut items = packed.items();
    let mut batch: Vec<(u64, u64)> = Vec::with_capacity(DOCUMENTS_PER_BATCH);
    loop {
        cancel.check()?;
        batch.clear();
        while batch.len() < DOCUMENTS_PER_BATCH {
            let Some(item) = items.next_item()? else { break };
            batch.push(item);
        }
        let mut documents = list.lock().unwrap_or_else(PoisonError::into_inner);
        if !batch.iter().all(|(offset, length)| documents.push(*offset, *length)) {
            return Ok(false);
        }
        if let Some((state, group)) = state {
            state.grow(group, documents.len());
        }
        if batch.len() < DOCUMENTS_PER_BATCH {
            return Ok(true);
        }
    }
}
