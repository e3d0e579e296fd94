//! The operations of `gristmill modalities`.

mod instruction;
mod rewrite;

pub use instruction::{InstructionPlan, ModalitiesInstruction};
pub use rewrite::RewritePreview;

use crate::job::operation::{AnyOperation, Entry};
use rewrite::{ModalitiesChunk, ModalitiesFilter, ModalitiesMerge, ModalitiesShuffle};

/// The operations, in the order of the help text.
pub(super) const OPERATIONS: &[&dyn AnyOperation] = &[
    &Entry::<ModalitiesMerge>::NEW,
    &Entry::<ModalitiesShuffle>::NEW,
    &Entry::<ModalitiesChunk>::NEW,
    &Entry::<ModalitiesFilter>::NEW,
    &Entry::<ModalitiesInstruction>::NEW,
];
