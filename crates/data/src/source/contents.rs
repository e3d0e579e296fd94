//! The content of one part, read from a plain or compressed shard.

use super::compressed::{open_compressed, shard_packing};
use super::documents::UnpackedReader;
use gristmill_core::{Failure, Outcome, Shard, Subject};
use gristmill_storage::cache::open_cached;
use gristmill_storage::read::ReadFile;
use std::sync::Arc;

/// Number of bytes that are decompressed at a time to reach a part of a compressed shard.
const UNPACK_BYTES: usize = 256 << 10;

/// Reads the content of a part at `offset` of the (decompressed) archive: its first `limit` bytes, at most `size`.
///
/// Offset and size are those of a part row. In a compressed shard everything before the part is decompressed first, which takes time. An
/// archive that ends before the requested bytes is an error.
pub fn read_part(shard: &Shard, offset: u64, size: u64, limit: usize) -> Outcome<Vec<u8>> {
    let file = open_cached(&shard.path)?;
    let wanted = usize::try_from(size).unwrap_or(usize::MAX).min(limit);
    let content = match shard_packing(&file)? {
        None => read_plain(&file, offset, wanted)?,
        Some(kind) => read_compressed(open_compressed(Arc::new(file), kind)?, offset, wanted)?,
    };
    content.ok_or_else(|| {
        Failure::data("reading a part", "the archive ends before it; was it changed since it was indexed?")
            .on(Subject::shard(&shard.name).at(offset))
    })
}

fn read_plain(file: &ReadFile, offset: u64, wanted: usize) -> Outcome<Option<Vec<u8>>> {
    // The size comes from a header or an index, so it is compared with the file size before memory is allocated for it.
    if offset.checked_add(wanted as u64).is_none_or(|end| end > file.len()) {
        return Ok(None);
    }
    let mut content = vec![0; wanted];
    match file.read_exact_at(&mut content, offset) {
        Ok(()) => Ok(Some(content)),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(Failure::io("reading a part", file.path(), &e)),
    }
}

fn read_compressed(mut stream: UnpackedReader, offset: u64, wanted: usize) -> Outcome<Option<Vec<u8>>> {
    let mut buffer = vec![0; UNPACK_BYTES];
    let mut before = offset;
    let mut content = Vec::new();
    while content.len() < wanted {
        let most = if before > 0 { before } else { (wanted - content.len()) as u64 };
        let most = usize::try_from(most).unwrap_or(UNPACK_BYTES).min(UNPACK_BYTES);
        let read = stream.read(&mut buffer[..most])?;
        if read == 0 {
            return Ok(None);
        }
        if before > 0 {
            before -= read as u64;
        } else {
            content.extend_from_slice(&buffer[..read]);
        }
    }
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::FileStamp;
    use std::io::Write as _;

    fn shard(bytes: &[u8]) -> (Shard, tempfile::NamedTempFile) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let stamp = FileStamp::default();
        let path = file.path().to_owned();
        (Shard { name: "s.tar".into(), path, stamp, mode: 0o644, is_tgz: false }, file)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn part_bytes_are_read_from_plain_and_compressed_shards() {
        let archive: Vec<u8> = (0..700_000u32).map(|n| (n % 251) as u8).collect();
        for bytes in [archive.clone(), gzip(&archive)] {
            let (shard, _keep) = shard(&bytes);
            assert_eq!(read_part(&shard, 600_000, 1000, 5000).unwrap(), archive[600_000..601_000]);
            assert_eq!(read_part(&shard, 3, 1000, 4).unwrap(), archive[3..7]);
            assert_eq!(read_part(&shard, 3, 0, 4).unwrap(), b"");
            assert!(read_part(&shard, 699_999, 2, 10).is_err());
            assert!(read_part(&shard, u64::MAX, u64::MAX, 10).is_err());
        }
    }
}
