//! Uploads objects while they are created, and completes them when they are published: until then, no object is visible.
//!
//! The data that completes an upload is in a record, a file of the run. A killed run resumes with the records that it has written.

use super::fs::{Fs, WriteFile};
use super::location::RemoteUrl;
use super::publish::record::{parse_target, read_record, write_record};
use super::store::{ObjectUpload, StagedObject};
use super::stores::store_of;
use gristmill_core::{Failure, Outcome, Subject};
use std::path::{Path, PathBuf};

/// Name of this step in errors.
const ACTIVITY: &str = "writing";

/// An object that is being uploaded. If it is dropped before it is finished, its upload is aborted.
struct StagedFile<'a> {
    fs: &'a dyn Fs,
    target: PathBuf,
    record: PathBuf,
    upload: Box<dyn ObjectUpload>,
    written: u64,
}

/// Whether an object of this size can be uploaded while it is created, with this much memory.
pub fn can_stage(target: &Path, bytes: u64, memory: u64) -> bool {
    RemoteUrl::parse(target).is_some_and(|url| store_of(&url).is_ok_and(|store| store.can_stage(&url, bytes, memory)))
}

/// Starts the upload of an object of a size for which [`can_stage`] holds. Its record contains the name of the upload from the start, and
/// the data that completes it once it is finished. The caller holds the lock of the output: other unfinished uploads of the object are
/// aborted. At most `memory` bytes of it are in memory at once, or two parts if that is more.
pub fn create<'a>(
    fs: &'a dyn Fs,
    target: &Path,
    record: PathBuf,
    (bytes, memory): (u64, u64),
) -> Outcome<Box<dyn WriteFile + 'a>> {
    let url = parse_target(target)?;
    let upload = store_of(&url).and_then(|store| store.begin_staged(&url, bytes, memory));
    let upload = upload.map_err(|error| Failure::io(ACTIVITY, target, &error))?;
    // With the record, the upload of a killed run can be aborted.
    let begun =
        StagedObject { upload: upload.id().to_owned(), bytes: 0, parts: Vec::new(), checksum: None, replaces: None };
    write_record(fs, target, &record, begun)?;
    Ok(Box::new(StagedFile { fs, target: target.to_owned(), record, upload, written: 0 }))
}

/// Whether the store still has all bytes of the object of a record, and the record is of this target and size.
pub fn is_kept(target: &Path, record: &Path, bytes: u64) -> Outcome<bool> {
    let (url, Some(found)) = (parse_target(target)?, read_record(record)?) else { return Ok(false) };
    if Path::new(&found.address) != target || found.object.bytes != bytes {
        return Ok(false);
    }
    let kept = store_of(&url).and_then(|store| store.has_staged(&url, &found.object));
    kept.map_err(|error| Failure::io(ACTIVITY, target, &error))
}

/// Aborts the upload of a record that will not be completed, if there is one.
pub fn discard(record: &Path) {
    let Ok(Some(found)) = read_record(record) else { return };
    let target = Path::new(&found.address);
    if let Some((url, store)) = RemoteUrl::parse(target).and_then(|url| Some((url, store_of(&url).ok()?))) {
        // The next run that writes the object aborts an upload that cannot be aborted now.
        let _ = store.discard_staged(&url, &found.object.upload);
    }
}

impl WriteFile for StagedFile<'_> {
    fn write_all(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.upload.write(bytes).map_err(|error| Failure::io(ACTIVITY, &self.target, &error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn overwrite(&mut self, _: &[u8], _: u64) -> Outcome<()> {
        Err(Failure::internal(ACTIVITY, "what was sent cannot be changed").on(Subject::path(&self.target)))
    }

    fn start_sync(&mut self) {}

    fn keep_in_page_cache(&mut self) {}

    fn sync(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn set_mode(&mut self, _: u32) -> Outcome<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.written
    }

    fn path(&self) -> &Path {
        &self.target
    }

    fn finish(self: Box<Self>) -> Outcome<u64> {
        let object = self.upload.finish().map_err(|error| Failure::io(ACTIVITY, &self.target, &error))?;
        write_record(self.fs, &self.target, &self.record, object)?;
        Ok(self.written)
    }

    fn close(self: Box<Self>) -> Outcome<u64> {
        self.finish()
    }
}
