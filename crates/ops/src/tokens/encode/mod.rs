//! Packing of tokens: converts lines of text to documents of ids, which each format encodes in its own bytes.
//!
//! An [`EncodingSpec`] describes how one format transforms the raw ids of a text. A [`Packer`], one for each thread, turns a [`FileBlock`]
//! of a file into a [`PackedPiece`]: for each spec the tokens in the bytes of the file, and the omitted documents. A piece depends only on
//! its own lines, so threads can pack pieces in any order; the caller joins them in the order of the text.

mod document_ids;
mod encoding_spec;
mod identity;
mod masks;
mod packed;
mod packer;
mod row_assignment;
mod sequence_rules;
mod sequences;

pub use document_ids::IdSource;
pub use encoding_spec::{as_length, end_id, fields_of, known_id, no_end, DocumentPadding, EncodingSpec, End, Kind};
pub use identity::{differences, plan_hash};
pub use packed::{EncodedBlock, Finding, PackedPiece, SpecialTokenCounts};
pub use packer::{FileBlock, Packer};
pub use row_assignment::{RowAssignment, RowFilter, RowOrder};
pub use sequence_rules::SequenceRules;
