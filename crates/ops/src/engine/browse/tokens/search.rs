//! Searches the rows of packed tokens for text, or for consecutive ids.

use super::{TokenSet, ROWS_PER_STEP};
use crate::engine::browse::{BrowseSample, KeyQuery, SampleAt};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::preview::tokens::TokenSpellings as _;
use std::collections::HashMap;

/// Limit of the bytes of one row that are searched.
const MAX_BYTES: usize = 64 << 20;
/// Limit of cached token texts.
const MAX_PIECES: usize = 1 << 20;

/// Searches for a query. Numbers separated by spaces (`464 2068`) are ids; any other query is text, if there is a vocabulary. A row that
/// cannot be read is skipped.
pub(super) fn run(
    set: &TokenSet,
    query: &KeyQuery,
    cancel: &Cancel,
    found: &mut dyn FnMut(SampleAt) -> bool,
) -> Outcome<()> {
    let ids = ids_of(query);
    let mut texts: HashMap<i128, Vec<u8>> = HashMap::new();
    for (group, file) in (0_u32..).zip(&set.files) {
        let total = set.groups_now().group(group).map_or(0, |known| known.samples);
        let mut first = 0;
        while first < total {
            cancel.check()?;
            let rows = match set.rows(group, first, ROWS_PER_STEP) {
                Ok(rows) if !rows.is_empty() => rows,
                _ => break,
            };
            for row in &rows {
                cancel.check()?;
                let Ok(bytes) = set.bytes_of(row, MAX_BYTES) else { continue };
                let fits = match (&ids, file.is_text()) {
                    (_, true) => query.matches(&String::from_utf8_lossy(&bytes)),
                    (Some(wanted), false) => contains_sequence(&file.code.ids(&bytes), wanted),
                    (None, false) => query.matches(&text_of(set, &file.code.ids(&bytes), &mut texts)),
                };
                if fits && !found(row.at) {
                    return Ok(());
                }
            }
            first += rows.len() as u64;
        }
    }
    Ok(())
}

/// Returns the ids of a query.
fn ids_of(query: &KeyQuery) -> Option<Vec<i128>> {
    let KeyQuery::Substring(words) = query else { return None };
    let ids: Option<Vec<i128>> =
        words.split([' ', ',']).filter(|word| !word.is_empty()).map(|id| id.parse().ok()).collect();
    ids.filter(|ids| !ids.is_empty())
}

fn contains_sequence(ids: &[i128], wanted: &[i128]) -> bool {
    ids.windows(wanted.len()).any(|window| window == wanted)
}

fn text_of(set: &TokenSet, ids: &[i128], known: &mut HashMap<i128, Vec<u8>>) -> String {
    let Some(vocabulary) = set.vocabulary() else { return String::new() };
    if known.len() > MAX_PIECES {
        known.clear();
    }
    let mut text = Vec::new();
    for id in ids {
        let piece = known
            .entry(*id)
            .or_insert_with(|| u32::try_from(*id).ok().and_then(|id| vocabulary.piece(id)).unwrap_or_default());
        text.extend_from_slice(piece);
    }
    String::from_utf8_lossy(&text).into_owned()
}

impl TokenSet {
    fn groups_now(&self) -> std::sync::Arc<crate::engine::browse::Groups> {
        self.state.groups()
    }

    /// Returns the first bytes of the tokens of a row.
    pub(super) fn bytes_of(&self, row: &BrowseSample, limit: usize) -> Outcome<Vec<u8>> {
        let file = self.file(row.at.group)?;
        file.read(row.byte_offset, file.extent(row.byte_size), 0, limit)
    }
}
