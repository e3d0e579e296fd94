//! Objects that are sent while they are made, and completed when they are published: until then, nothing of them is visible.
//!
//! What completes one is in a record, a file of the run. A run that was killed is continued with the records that it has written.

use super::fs::{Fs, WriteFile, PRIVATE_FILE};
use super::location::RemoteUrl;
use super::publish::write_file;
use super::read::read_whole;
use super::store::{store_of, ObjectUpload, StagedObject};
use gristmill_core::{Failure, Outcome, Subject};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name of this step in errors.
const WHAT: &str = "writing";
/// Maximum size of a record, in bytes: ten thousand parts with long tags.
const MAX_RECORD_BYTES: u64 = 8 << 20;

/// Content of a record.
#[derive(Serialize, Deserialize)]
struct Record {
    address: String,
    object: StagedObject,
}

/// An object that is being sent. Dropped before it is finished, its upload is ended.
struct StagedFile<'a> {
    fs: &'a dyn Fs,
    target: PathBuf,
    record: PathBuf,
    upload: Box<dyn ObjectUpload>,
    written: u64,
}

/// Whether an object of this size can be sent while it is made.
pub fn can_stage(target: &Path, bytes: u64) -> bool {
    RemoteUrl::parse(target).is_some_and(|url| store_of(&url).is_ok_and(|store| store.can_stage(&url, bytes)))
}

/// Begins an object of a size for which [`can_stage`] holds. Its record is written when it is finished. The caller holds the lock of the output:
/// other unfinished uploads of the object are ended. `memory` is how many bytes of it are in memory at once; two parts are in any case.
pub fn create<'a>(
    fs: &'a dyn Fs,
    target: &Path,
    record: PathBuf,
    (bytes, memory): (u64, u64),
) -> Outcome<Box<dyn WriteFile + 'a>> {
    let url = parse(target)?;
    let upload = store_of(&url).and_then(|store| store.begin_staged(&url, bytes, memory));
    let upload = upload.map_err(|error| Failure::io(WHAT, target, &error))?;
    Ok(Box::new(StagedFile { fs, target: target.to_owned(), record, upload, written: 0 }))
}

/// Whether the store still has all bytes of the object of a record, which is that of this target and size.
pub fn is_kept(target: &Path, record: &Path, bytes: u64) -> Outcome<bool> {
    let (url, Some(found)) = (parse(target)?, read(record)?) else { return Ok(false) };
    if Path::new(&found.address) != target || found.object.bytes != bytes {
        return Ok(false);
    }
    let kept = store_of(&url).and_then(|store| store.has_staged(&url, &found.object));
    kept.map_err(|error| Failure::io(WHAT, target, &error))
}

/// Makes the object of a record visible. This may be repeated.
pub(crate) fn complete(target: &Path, record: &Path) -> Outcome<()> {
    let url = parse(target)?;
    let lost = |why: &str| {
        let failure = Failure::data(WHAT, why).on(Subject::path(target));
        failure.with_hint("remove what the run has put there, and run the same command again")
    };
    let Some(found) = read(record)? else { return Err(lost("the record of its upload is damaged")) };
    let completed = store_of(&url).and_then(|store| store.complete_staged(&url, &found.object));
    match completed.map_err(|error| Failure::io(WHAT, target, &error))? {
        true => Ok(()),
        false => Err(lost("its upload was ended by another process, or by a rule of the bucket")),
    }
}

/// Ends the upload of a record that is not going to be completed, if there is one.
pub fn discard(record: &Path) {
    let Ok(Some(found)) = read(record) else { return };
    let target = Path::new(&found.address);
    if let Some((url, store)) = RemoteUrl::parse(target).and_then(|url| Some((url, store_of(&url).ok()?))) {
        // What cannot be removed now is ended by the next run that writes the object.
        let _ = store.end_upload(&url, &found.object.upload);
    }
}

fn parse(target: &Path) -> Outcome<RemoteUrl<'_>> {
    RemoteUrl::parse(target).ok_or_else(|| Failure::internal(WHAT, "a file of this machine has no upload"))
}

/// Reads a record; `None` if there is none, or it is damaged.
fn read(record: &Path) -> Outcome<Option<Record>> {
    Ok(read_whole(record, MAX_RECORD_BYTES)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

impl WriteFile for StagedFile<'_> {
    fn write_all(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.upload.write(bytes).map_err(|error| Failure::io(WHAT, &self.target, &error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn overwrite(&mut self, _: &[u8], _: u64) -> Outcome<()> {
        Err(Failure::internal(WHAT, "what was sent cannot be changed").on(Subject::path(&self.target)))
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
        let object = self.upload.finish().map_err(|error| Failure::io(WHAT, &self.target, &error))?;
        let record = Record { address: self.target.to_string_lossy().into_owned(), object };
        let bytes = serde_json::to_vec(&record).map_err(|error| Failure::environment(WHAT, error.to_string()))?;
        write_file(self.fs, &self.record, &bytes, PRIVATE_FILE)?;
        Ok(self.written)
    }

    fn close(self: Box<Self>) -> Outcome<u64> {
        self.finish()
    }
}
