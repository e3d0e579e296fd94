//! Finds the header of the next page of a column.

use crate::file::ParquetFile;
use crate::page_header::PageHeader;
use crate::thrift::ThriftError;
use crate::window::Window;
use gristmill_core::Outcome;
use std::ops::Range;

/// Maximum size of a page header; statistics in it hold whole values.
const MAX_HEADER_BYTES: u64 = 16 << 20;
/// Number of bytes that are read to find a header.
pub(crate) const HEADER_AHEAD: u64 = 16 << 10;

/// Reads the header at `at`; also returns where the body is, which is before `end`. The inner error is the reason why the page is damaged.
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
