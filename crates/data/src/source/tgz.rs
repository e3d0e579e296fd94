//! Decompression of a shard into a plain one, which the loader can read.

use super::compressed::{open_compressed, shard_packing};
use gristmill_core::{Cancel, Failure, Outcome, Shard, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, WriteFile};
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::place_version;
use gristmill_storage::read::open_read;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::space::same_filesystem;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of bytes that are decompressed and written at a time.
const UNPACK_BYTES: usize = 1 << 20;

/// Decompresses the archive of a shard to `target`, with the mode of the shard, and makes it durable. A shard that is not compressed is
/// copied.
///
/// An existing `target` is refused. `target` appears only once it is complete: it is written in the work folder of the data set if that
/// exists on this machine and on the same file system, otherwise under a hidden name next to `target`. A damaged stream is an error.
pub fn rewrite(fs: &dyn Fs, shard: &Shard, target: &Path, cancel: &Cancel) -> Outcome<()> {
    let Some(folder) = target.parent() else {
        return Err(Failure::usage("unpacking", "the target is not a file name").on(Subject::path(target)));
    };
    let is_taken = || Failure::data("unpacking", "the file exists already").on(Subject::path(target));
    if files::is_taken(target) {
        return Err(is_taken());
    }
    let draft = draft_path(shard, target, folder);
    // A killed run may have left a draft.
    fs.remove_file(&draft)?;
    let made = write_draft(fs, shard, &draft, cancel)
        .and_then(|()| place_version(fs, &draft, target, shard.mode, None))
        .and_then(|is_new| if is_new { Ok(()) } else { Err(is_taken()) });
    if made.is_err() {
        // Only the first error is reported.
        let _ = fs.remove_file(&draft);
    }
    made
}

fn draft_path(shard: &Shard, target: &Path, folder: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".gristmill-unpacking");
    let depth = shard.name.split('/').count();
    let work = shard.path.ancestors().nth(depth).map(|root| RunFolder::for_webdataset(root).work_folder());
    let is_near = |work: &Path| is_remote(folder) || same_filesystem(work, folder).unwrap_or(false);
    match work.filter(|work| files::is_dir(work) && is_near(work)) {
        Some(work) => {
            // The hash of the path distinguishes shards of the same name in two folders.
            let place = xxhash_rust::xxh3::xxh3_64(shard.name.as_bytes());
            work.join(format!("unpacking-{place:016x}"))
        }
        None => folder.join(name),
    }
}

fn write_draft(fs: &dyn Fs, shard: &Shard, draft: &Path, cancel: &Cancel) -> Outcome<()> {
    let mut out = fs.create_file(draft)?;
    // The file is scanned next, so it should stay in the page cache.
    out.keep_in_page_cache();
    unpack(shard, out.as_mut(), cancel)?;
    out.set_mode(shard.mode)?;
    out.finish().map(drop)
}

fn unpack(shard: &Shard, out: &mut dyn WriteFile, cancel: &Cancel) -> Outcome<()> {
    let file = open_read(&shard.path)?;
    let mut buffer = vec![0; UNPACK_BYTES];
    let Some(kind) = shard_packing(&file)? else {
        let mut offset = 0;
        loop {
            cancel.check()?;
            let read = file.read_at(&mut buffer, offset).map_err(|e| Failure::io("reading", &shard.path, &e))?;
            if read == 0 {
                return Ok(());
            }
            out.write_all(&buffer[..read])?;
            offset += read as u64;
        }
    };
    let mut stream = open_compressed(Arc::new(file), kind)?;
    loop {
        cancel.check()?;
        // Decoders return few bytes per call, so the buffer is filled before it is written.
        let mut filled = 0;
        while filled < buffer.len() {
            match stream.read(&mut buffer[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        out.write_all(&buffer[..filled])?;
        if filled < buffer.len() {
            break;
        }
    }
    match stream.broken() {
        None => Ok(()),
        Some(why) => Err(Failure::data("unpacking", format!("the {} stream ends early: {why}", kind.title()))
            .on(Subject::shard(&shard.name))
            .with_hint("fetch the shard again, or exclude it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::documents::Packing;
    use gristmill_core::{ExitClass, FileStamp};
    use gristmill_storage::fs::RealFs;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    fn shard_of(dir: &Path, bytes: &[u8]) -> Shard {
        let path = dir.join("s.tgz");
        gristmill_storage::publish::write_file(&RealFs, &path, bytes, 0o640).unwrap();
        Shard { name: "s.tgz".into(), path, stamp: FileStamp::default(), mode: 0o640, is_tgz: true }
    }

    fn archive() -> Vec<u8> {
        (0..3_000_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect()
    }

    fn compressed(kind: Packing, bytes: &[u8]) -> Vec<u8> {
        match kind {
            Packing::Gzip => {
                let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                e.write_all(bytes).unwrap();
                e.finish().unwrap()
            }
            Packing::Bzip2 => {
                let mut e = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                e.write_all(bytes).unwrap();
                e.finish().unwrap()
            }
            _ => {
                let mut e = liblzma::write::XzEncoder::new(Vec::new(), 1);
                e.write_all(bytes).unwrap();
                e.finish().unwrap()
            }
        }
    }

    #[test]
    fn each_compression_is_unpacked_with_the_mode_of_the_shard() {
        for kind in [Packing::Gzip, Packing::Bzip2, Packing::Xz] {
            let dir = tempfile::tempdir().unwrap();
            let shard = shard_of(dir.path(), &compressed(kind, &archive()));
            let target = dir.path().join("s.tar");
            rewrite(&RealFs, &shard, &target, &Cancel::default()).unwrap();
            assert!(std::fs::read(&target).unwrap() == archive(), "{kind:?}");
            assert_eq!(std::fs::metadata(&target).unwrap().mode() & 0o7777, 0o640);
        }
    }

    #[test]
    fn uncompressed_tgz_shard_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        let shard = shard_of(dir.path(), &archive());
        rewrite(&RealFs, &shard, &dir.path().join("s.tar"), &Cancel::default()).unwrap();
        assert!(std::fs::read(dir.path().join("s.tar")).unwrap() == archive());
    }

    #[test]
    fn broken_stream_or_cancellation_leaves_no_output() {
        for kind in [Packing::Gzip, Packing::Bzip2, Packing::Xz] {
            let dir = tempfile::tempdir().unwrap();
            let mut bytes = compressed(kind, &archive());
            bytes.truncate(bytes.len() - 20);
            let shard = shard_of(dir.path(), &bytes);
            let target = dir.path().join("s.tar");
            let failure = rewrite(&RealFs, &shard, &target, &Cancel::default()).unwrap_err();
            assert_eq!(failure.class, ExitClass::Data, "{kind:?}: {failure}");
            assert!(!target.exists());
            let cancel = Cancel::default();
            cancel.cancel();
            assert!(rewrite(&RealFs, &shard, &target, &cancel).unwrap_err().is_cancelled());
            let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(left, ["s.tgz"]);
        }
    }

    #[test]
    fn a_target_that_exists_is_neither_replaced_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let shard = shard_of(dir.path(), &archive());
        let target = dir.path().join("s.tar");
        gristmill_storage::publish::write_file(&RealFs, &target, b"mine", 0o600).unwrap();
        assert!(rewrite(&RealFs, &shard, &target, &Cancel::default()).is_err());
        assert_eq!(std::fs::read(&target).unwrap(), b"mine");
    }
}
