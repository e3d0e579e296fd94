//! Reads the header of the next page of a column, and facts about the first pages.

use crate::file::ParquetFile;
use crate::page_header::{LevelLayout, PageHeader, PageKind};
use crate::place::ChunkLocation;
use crate::thrift::ThriftError;
use crate::window::Window;
use gristmill_core::Outcome;
use std::ops::Range;

/// Maximum size in bytes of a page header, whose statistics may contain whole values.
const MAX_HEADER_BYTES: u64 = 16 << 20;
/// Number of bytes that are read to find a header.
pub(crate) const HEADER_AHEAD: u64 = 16 << 10;

/// Reads the header at offset `at`; also returns the range of the body, which must end before `end`. The inner error is the reason why the
/// page is damaged.
pub(crate) fn read_header(
    file: &ParquetFile,
    window: &mut Window,
    at: u64,
    end: u64,
) -> Outcome<Result<(PageHeader, Range<u64>), &'static str>> {
    let left = end.saturating_sub(at);
    let mut wanted = 1;
    loop {
        if wanted > left {
            return Ok(Err("its header ends after the end of its column"));
        }
        window.fill(file, at, wanted, HEADER_AHEAD, end)?;
        let bytes = window.from(at);
        match PageHeader::parse(bytes) {
            Ok((header, size)) => {
                let start = at + size as u64;
                let body_end = start + u64::from(header.packed);
                return Ok(match body_end <= end {
                    true => Ok((header, start..body_end)),
                    false => Err("it ends after the end of its column"),
                });
            }
            Err(ThriftError::Short) if bytes.len() as u64 <= MAX_HEADER_BYTES => {
                let known = bytes.len() as u64;
                wanted = (known + 1).max((known * 2).min(left));
            }
            Err(_) => return Ok(Err("its header is damaged")),
        }
    }
}

/// Facts about the first pages of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstPages {
    pub(crate) has_dictionary: bool,
    /// Whether data pages have version 2.
    pub(crate) is_version_2: bool,
}

impl ParquetFile {
    /// Reads the headers of the first pages of a column, up to the first data page.
    pub(crate) fn first_pages(&self, row_group: usize, leaf: usize, place: &ChunkLocation) -> Outcome<FirstPages> {
        let range = self.chunk(row_group, leaf, place)?.range;
        let (mut window, mut at, mut has_dictionary) = (Window::default(), range.start, false);
        while at < range.end {
            window.restart(at);
            let (header, body) =
                read_header(self, &mut window, at, range.end)?.map_err(|why| place.damage(Some(at), why))?;
            match header.kind {
                PageKind::Data(page) => {
                    let is_version_2 = matches!(page.levels, LevelLayout::Separate { .. });
                    return Ok(FirstPages { has_dictionary, is_version_2 });
                }
                PageKind::Dictionary { .. } => has_dictionary = true,
                PageKind::Other => {}
            }
            at = body.end;
        }
        Ok(FirstPages { has_dictionary, is_version_2: false })
    }
}
