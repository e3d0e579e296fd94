//! Output folders: tokens packed in several formats, and mixture indexes.

use super::{Dataset, DatasetReader, InfoRequest};
use crate::engine::check::mixture_index::mixture_facts;
use crate::engine::check::{DatasetInfo, MAX_LISTED};
use crate::tokens::packed_formats::format_facts;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes, grouped};
use gristmill_core::{Handles, Outcome};
use serde_json::json;

/// Reads a folder with tokens in several formats.
pub(super) struct PackedFormats;

impl DatasetReader for PackedFormats {
    fn info(&self, dataset: &Dataset, _: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let (formats, problems) = format_facts(&dataset.path, handles)?;
        let mut info = DatasetInfo::of(json!({ "formats": formats }));
        info.add("size", bytes(formats.iter().map(|format| format.bytes).sum()));
        let right = Align::Right;
        let columns = [("format", Align::Left), ("files", right), ("documents or samples", right), ("size", right)];
        info.table = Table::new(&[&columns[..], &[("state", Align::Left)]].concat());
        for format in formats {
            let (files, items) = (grouped(format.files), grouped(format.items));
            info.table.row([format.format.to_owned(), files, items, bytes(format.bytes), format.state.to_owned()]);
        }
        Ok(DatasetInfo { problems, ..info })
    }
}

/// Reads the index of a mixture of token folders.
pub(super) struct MixtureIndex;

impl DatasetReader for MixtureIndex {
    fn info(&self, dataset: &Dataset, _: &InfoRequest, handles: &Handles<'_>) -> Outcome<DatasetInfo> {
        let facts = mixture_facts(&dataset.path, u64::MAX, handles)?;
        let mut info = DatasetInfo::of(&facts);
        info.add("samples", grouped(facts.samples));
        info.add("data sets", grouped(facts.datasets.len() as u64));
        info.add("size", bytes(facts.bytes));
        info.table = Table::new(&[("data set", Align::Left), ("samples", Align::Right)]);
        for (number, samples) in facts.datasets.iter().take(MAX_LISTED) {
            info.table.row([number.to_string(), grouped(*samples)]);
        }
        Ok(DatasetInfo { files: facts.datasets.len() as u64, items: facts.samples, bytes: facts.bytes, ..info })
    }
}
