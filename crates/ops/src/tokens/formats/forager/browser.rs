//! Samples by `index/sample_locations.bin` (docs/formats/forager.md §1): tokens, or the lines of text files.

use crate::engine::browse::tokens::{
    location, CompanionInfo, Listing, LossMask, Table, TokenFile, ACTIVITY, ROW_BYTES,
};
use crate::engine::browse::TokenBrowser;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::forager::has_text;
use gristmill_data::preview::tokens::TokenCode;
use gristmill_storage::files;
use gristmill_storage::read::{open_read, read_whole};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

/// Limit of the size of the list of files, in bytes.
const MAX_LIST: u64 = 64 << 20;
/// Limit of the size of a schema, in bytes.
const MAX_SCHEMA: u64 = 1 << 20;

/// The content of `sample_schema.json`.
#[derive(Deserialize)]
struct Schema {
    sample_size: u64,
    arrays: Vec<SchemaArray>,
}

#[derive(Deserialize)]
struct SchemaArray {
    name: String,
    dtype: String,
    offset: u64,
}

/// Lists samples by their index.
pub struct SamplesBrowser;

impl TokenBrowser for SamplesBrowser {
    fn files(&self, listing: &mut Listing<'_>) -> Outcome<Vec<TokenFile>> {
        files(listing.path, &listing.named)
    }
}

/// Returns the files in the order of their first sample.
fn files(root: &Path, named: &CompanionInfo) -> Outcome<Vec<TokenFile>> {
    let folder = root.join("index");
    let table_path = folder.join("sample_locations.bin");
    let table = Arc::new(open_read(&table_path)?);
    let rows = table.len() / ROW_BYTES;
    let list_path = folder.join("file_location.txt");
    let list = read_whole(&list_path, MAX_LIST)?.unwrap_or_default();
    let text = String::from_utf8(list)
        .map_err(|_| Failure::data(ACTIVITY, "the list of files is not UTF-8").on(Subject::path(&list_path)))?;
    let names: Vec<&str> =
        text.strip_suffix('\n').unwrap_or(&text).split('\n').filter(|name| !name.is_empty()).collect();
    let schema = schema(&folder.join("sample_schema.json"));
    let planned = planned_code(named);
    let is_cut = !table.len().is_multiple_of(ROW_BYTES);
    let mut files = Vec::new();
    let mut begin = 0;
    for (number, name) in (0_u64..).zip(&names) {
        let end = match number + 1 == names.len() as u64 {
            true => rows,
            false => first_of(&table, begin, rows, number + 1)?,
        };
        let path = root.join(name);
        let bytes = files::metadata(&path).map(|facts| facts.len());
        let holds_text = has_text(&path);
        let code = schema.as_ref().map(|(code, _)| *code).or(planned).unwrap_or_else(|| TokenCode::little(2));
        let trouble = match (&bytes, &schema) {
            (Err(error), _) => Some(format!("it cannot be opened: {}", Failure::io(ACTIVITY, &path, error).why)),
            _ if is_cut => Some("the table of samples is cut: its size is not a multiple of 24 bytes".to_owned()),
            (_, None) if !holds_text && planned.is_none() => {
                Some("the size of an id is unknown; two bytes are assumed".to_owned())
            }
            _ => None,
        };
        files.push(TokenFile {
            name: Arc::from(*name),
            path,
            bytes: *bytes.as_ref().unwrap_or(&0),
            data_from: 0,
            data_bytes: bytes.unwrap_or(0),
            code,
            table: Table::Rows(Arc::clone(&table), begin, end - begin, number),
            loss: schema.as_ref().and_then(|(_, loss)| loss.clone()),
            has_text: holds_text,
            defect: trouble.map(Arc::from),
        });
        begin = end;
    }
    Ok(files)
}

/// Returns the token code according to the plan that made the samples; `None` without such a plan.
pub(super) fn planned_code(companion: &CompanionInfo) -> Option<TokenCode> {
    let target = companion.plan()?.forager.as_ref()?;
    TokenCode::of_numpy(target.token_type().numpy_name())
}

/// Returns the first row from `from` on whose file number is at least `number`.
fn first_of(table: &gristmill_storage::read::ReadFile, from: u64, rows: u64, number: u64) -> Outcome<u64> {
    let (mut low, mut high) = (from, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        match location(table, middle)? {
            Some(file) if file < number => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Returns the token code, and the location of the loss masks, according to the schema; `None` without a usable schema.
fn schema(path: &Path) -> Option<(TokenCode, Option<LossMask>)> {
    let bytes = read_whole(path, MAX_SCHEMA).ok().flatten()?;
    let schema: Schema = serde_json::from_slice(&bytes).ok()?;
    let tokens = schema.arrays.iter().find(|array| array.name == "tokens")?;
    let code = TokenCode::of_numpy(&tokens.dtype)?;
    let end = schema.sample_size.checked_mul(code.size())?;
    let is_mask = |array: &&SchemaArray| array.name != "tokens" && array.dtype == "uint8" && array.offset == end;
    let loss = schema.arrays.iter().find(is_mask).map(|_| LossMask::AfterTokens(schema.sample_size));
    Some((code, loss)).filter(|_| tokens.offset == 0)
}
