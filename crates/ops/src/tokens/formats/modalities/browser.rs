//! A `.pbin`, or a folder of them (docs/formats/modalities.md §3). The index is read in the background and held in memory in packed form.

use crate::engine::browse::tokens::{DocumentWalk, Listing, Table, TokenFile};
use crate::engine::browse::TokenBrowser;
use crate::tokens::formats::modalities::engine::folder::files_of;
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::modalities::packed::PackedReader;
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use std::path::Path;
use std::sync::Arc;

/// Documents that are added at a time.
const DOCUMENTS_PER_BATCH: usize = 4_096;
const IRREGULAR: &str =
    "documents do not follow each other: it may be a file that was merged wrongly; gristmill repair repairs it";

/// Lists a `.pbin` file.
pub struct PackedFileBrowser;

impl TokenBrowser for PackedFileBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        Ok(vec![file(listing.path, 0, listing)?])
    }
}

/// Lists a folder of `.pbin` files. A file that cannot be read is reported in its group, so that the other files can still be viewed.
pub struct PackedFolderBrowser;

impl TokenBrowser for PackedFolderBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        let root = listing.path;
        let mut files = Vec::new();
        for (group, path) in (0_u32..).zip(files_of(root)?) {
            let mut file = file(&path, group, listing).unwrap_or_else(|failure| unreadable(&path, failure));
            file.name = Arc::from(path.strip_prefix(root).unwrap_or(&path).to_string_lossy());
            files.push(file);
        }
        Ok(files)
    }
}

fn file(path: &Path, group: u32, listing: &mut Listing<'_>) -> Outcome<TokenFile> {
    let packed = PackedReader::open(open_read(path)?)?;
    let layout = packed.layout();
    let code = TokenCode { is_big: layout.is_big_endian, ..TokenCode::little(layout.token_bytes) };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let old = (!layout.is_current())
        .then(|| Arc::from(format!("of an old kind ({}): present loaders do not read it", layout.era())));
    Ok(TokenFile {
        name: Arc::from(name),
        path: path.to_owned(),
        bytes: packed.file().len(),
        data_from: layout.header_bytes,
        data_bytes: packed.data_bytes(),
        code,
        table: listing.list(group, walk(path), IRREGULAR),
        loss: None,
        has_text: false,
        defect: old,
    })
}

/// Returns a file without rows, with the reason why it cannot be read.
fn unreadable(path: &Path, failure: Failure) -> TokenFile {
    TokenFile {
        name: Arc::from(""),
        path: path.to_owned(),
        bytes: files::metadata(path).map_or(0, |facts| facts.len()),
        data_from: 0,
        data_bytes: 0,
        code: TokenCode::little(2),
        table: Table::Whole,
        loss: None,
        has_text: false,
        defect: Some(Arc::from(failure.why)),
    }
}

/// Returns a walk that reads the index. It opens the file again, so that only one of the many files of a folder is open at a time.
fn walk(path: &Path) -> DocumentWalk {
    let path = path.to_owned();
    Box::new(move |take| {
        let packed = open_read(&path).and_then(PackedReader::open)?;
        let mut items = packed.items();
        let mut batch: Vec<(u64, u64)> = Vec::with_capacity(DOCUMENTS_PER_BATCH);
        loop {
            batch.clear();
            while batch.len() < DOCUMENTS_PER_BATCH {
                let Some(item) = items.next_item()? else { break };
                batch.push(item);
            }
            if !take(&batch)? {
                return Ok(false);
            }
            if batch.len() < DOCUMENTS_PER_BATCH {
                return Ok(true);
            }
        }
    })
}
