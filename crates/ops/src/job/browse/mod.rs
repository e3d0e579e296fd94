//! Opening a data set for looking at it, with the background work that its catalog wants.

use crate::engine::browse::{self, Catalog, TokenView};
use gristmill_core::{Failure, Outcome, Subject};
use std::path::Path;
use std::sync::Arc;

/// Opens a data set; see [`browse::open`]. What there is to scan is scanned on threads that end when they are done, or when the
/// last holder of the catalog lets it go.
pub fn open(path: &Path) -> Outcome<Arc<dyn Catalog>> {
    open_tokens(path, &TokenView::default())
}

/// The same, with packed tokens looked at as `view` says.
pub fn open_tokens(path: &Path, view: &TokenView) -> Outcome<Arc<dyn Catalog>> {
    let opening = browse::open(path, view)?;
    for work in opening.background {
        let stop = opening.stop.clone();
        let started = std::thread::Builder::new().name("browse".to_owned()).spawn(move || work(&stop));
        started.map_err(|error| Failure::io("starting a thread", path, &error).on(Subject::path(path)))?;
    }
    Ok(opening.catalog)
}

#[cfg(test)]
mod tests;
