//! Opens data sets for browsing, and runs the background work of their catalogs.

use crate::datasets::Dataset;
use crate::engine::browse::{Catalog, TokenView};
use gristmill_core::{Failure, NullProblemSink, Outcome, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_data::source::kind::kind_of;
use gristmill_storage::files::{self, fetch_listing_during};
use gristmill_storage::location::is_remote;
use std::path::Path;
use std::sync::Arc;

/// Opens a data set; see [`Dataset::catalog`]. Scans run on threads, which end when they finish or when the last reference to the catalog
/// is dropped.
pub fn open(path: &Path) -> Outcome<Arc<dyn Catalog>> {
    open_tokens(path, &TokenView::default())
}

/// Like [`open`], with options for displaying packed tokens.
pub fn open_tokens(path: &Path, view: &TokenView) -> Outcome<Arc<dyn Catalog>> {
    // Files of an interrupted publication are missing until it is completed.
    let dataset = match is_remote(path) {
        true => {
            // Lists `.nv-meta` and the address in parallel; the store caches both listings for later calls.
            fetch_listing_during(&layout::nv_meta(path), || _ = files::metadata(path));
            Dataset::find(path)
        }
        false => Dataset::find_recovered(path, &NullProblemSink),
    };
    let opening = dataset?.catalog(view)?;
    for work in opening.background {
        let stop = opening.stop.clone();
        let started = std::thread::Builder::new().name("browse".to_owned()).spawn(move || work(&stop));
        started.map_err(|error| Failure::io("starting a thread", path, &error).on(Subject::path(path)))?;
    }
    Ok(opening.catalog)
}

/// Checks whether a path can be browsed.
///
/// # Errors
/// The reason why the path cannot be browsed.
pub fn can_open(path: &Path) -> Outcome<()> {
    let kind = kind_of(path)?;
    kind.info().browse.map_err(|refusal| refusal.on("opening the data set", &path.to_string_lossy()))
}

#[cfg(test)]
mod tests;
