//! Finds line starts in a plain file, so that several threads can read it concurrently.

use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_storage::read::ReadFile;
use memchr::{memchr, memchr_iter, memrchr};

/// Bytes read at a time.
const READ_BYTES: u64 = 64 << 10;

/// Passes the bytes `[from, to)` of a file to `take` in pieces with their offsets, until it returns a value.
fn read_pieces<T>(
    file: &ReadFile,
    (from, to): (u64, u64),
    cancel: &Cancel,
    mut take: impl FnMut(u64, &[u8]) -> Option<T>,
) -> Outcome<Option<T>> {
    let mut buffer = vec![0; READ_BYTES as usize];
    let mut at = from;
    while at < to {
        cancel.check()?;
        let wanted = usize::try_from((to - at).min(READ_BYTES)).unwrap_or_default();
        let space = buffer.get_mut(..wanted).unwrap_or_default();
        let count = file.read_at(space, at).map_err(|error| Failure::io("reading the text", file.path(), &error))?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        if let Some(found) = take(at, bytes) {
            return Ok(Some(found));
        }
        at += count as u64;
    }
    Ok(None)
}

/// Returns the offset of the first line that begins at or after `from`, searching at most `most` bytes; `None` if there is none.
pub fn line_from(file: &ReadFile, from: u64, most: u64, cancel: &Cancel) -> Outcome<Option<u64>> {
    if from == 0 {
        return Ok(Some(0));
    }
    let begins = |at: u64, bytes: &[u8]| memchr(b'\n', bytes).map(|found| at + found as u64 + 1);
    Ok(read_pieces(file, (from - 1, from.saturating_add(most)), cancel, begins)?.filter(|start| *start < file.len()))
}

/// Returns the offset of the line that contains the byte at `at`, searching at most the `most` bytes before it.
pub fn line_around(file: &ReadFile, at: u64, most: u64, cancel: &Cancel) -> Outcome<Option<u64>> {
    let mut end = at;
    while end > at.saturating_sub(most) {
        let start = end.saturating_sub(READ_BYTES);
        let mut last = None;
        read_pieces(file, (start, end), cancel, |place, bytes| -> Option<()> {
            last = memrchr(b'\n', bytes).map(|found| place + found as u64 + 1).or(last);
            None
        })?;
        if last.is_some() {
            return Ok(last);
        }
        end = start;
    }
    Ok((end == 0).then_some(0))
}

/// Returns the number of lines that end before `to`.
pub fn lines_before(file: &ReadFile, to: u64, cancel: &Cancel) -> Outcome<u64> {
    let mut count = 0;
    read_pieces(file, (0, to), cancel, |_, bytes| -> Option<()> {
        count += memchr_iter(b'\n', bytes).count() as u64;
        None
    })?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;
    use gristmill_storage::read::open_read;

    #[test]
    fn line_starts_are_found_from_every_byte_offset() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let long = "y".repeat(2 * READ_BYTES as usize);
        for text in ["", "a", "a\n", "\n\nab\n\nc", &format!("{long}\n{long}\nz")] {
            write_file(&RealFs, &path, text.as_bytes(), 0o600).unwrap();
            let (file, cancel) = (open_read(&path).unwrap(), Cancel::default());
            let begins: Vec<u64> = std::iter::once(0)
                .chain(text.match_indices('\n').map(|(at, _)| at as u64 + 1).filter(|at| *at < text.len() as u64))
                .collect();
            let step = 1 + text.len() / 1_000;
            for at in (0..text.len()).step_by(step).map(|at| at as u64) {
                let wanted = begins.iter().copied().find(|begin| *begin >= at);
                assert_eq!(line_from(&file, at, u64::MAX, &cancel).unwrap(), wanted, "{at}");
                let wanted = begins.iter().copied().rfind(|begin| *begin <= at);
                assert_eq!(line_around(&file, at, u64::MAX, &cancel).unwrap(), wanted, "{at}");
                let wanted = text[..at as usize].matches('\n').count() as u64;
                assert_eq!(lines_before(&file, at, &cancel).unwrap(), wanted, "{at}");
            }
        }
        let file = open_read(&path).unwrap();
        assert_eq!(line_from(&file, 5, 10, &Cancel::default()).unwrap(), None);
        assert_eq!(line_around(&file, READ_BYTES + 5, 10, &Cancel::default()).unwrap(), None);
    }
}
