//! Records of objects that were uploaded before they are published, with the data that completes the uploads.

use super::single::write_file;
use crate::files_ahead::forget;
use crate::fs::{Fs, PRIVATE_FILE};
use crate::location::RemoteUrl;
use crate::read::read_whole;
use crate::store::StagedObject;
use crate::stores::store_of;
use gristmill_core::{Failure, Outcome, Subject};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of this step in errors.
const ACTIVITY: &str = "writing";
/// Why an upload cannot be completed.
const UPLOAD_ABORTED: &str =
    "its parts no longer exist: another process, or a lifecycle rule of the bucket, has ended the upload";
/// Maximum size of a record, in bytes: ten thousand parts with long tags.
const MAX_RECORD_BYTES: u64 = 8 << 20;

/// Content of a record.
#[derive(Serialize, Deserialize)]
pub(crate) struct UploadRecord {
    /// Address of the object.
    pub(crate) address: String,
    pub(crate) object: StagedObject,
}

/// Makes the object of a record visible. This may be repeated.
pub(super) fn complete(target: &Path, record: &Path) -> Outcome<()> {
    let url = parse_target(target)?;
    let way_out = "remove the files of the run at the output, or name another output, and run the command again";
    let lost = |why: &str, hint: String| Failure::data(ACTIVITY, why).on(Subject::path(target)).with_hint(hint);
    let Some(found) = read_record(record)? else {
        return Err(lost("the record of its upload is damaged", way_out.to_owned()));
    };
    forget(&url.to_path());
    let completed = store_of(&url).and_then(|store| store.complete_staged(&url, &found.object));
    match completed.map_err(|error| Failure::io(ACTIVITY, target, &error))? {
        true => Ok(()),
        false => {
            let rule = "a lifecycle rule of the bucket that ends unfinished uploads (AbortIncompleteMultipartUpload) has to leave them longer than a run and its repetitions take";
            Err(lost(UPLOAD_ABORTED, format!("{way_out}; {rule}")))
        }
    }
}

/// Parses the address of an object.
pub(crate) fn parse_target(target: &Path) -> Outcome<RemoteUrl<'_>> {
    RemoteUrl::parse(target).ok_or_else(|| Failure::internal(ACTIVITY, "a file of this machine has no upload"))
}

pub(crate) fn write_record(fs: &dyn Fs, target: &Path, record: &Path, object: StagedObject) -> Outcome<()> {
    let content = UploadRecord { address: target.to_string_lossy().into_owned(), object };
    let bytes = serde_json::to_vec(&content).map_err(|error| Failure::environment(ACTIVITY, error.to_string()))?;
    write_file(fs, record, &bytes, PRIVATE_FILE)
}

/// Reads a record; `None` if there is none, or it is damaged.
pub(crate) fn read_record(record: &Path) -> Outcome<Option<UploadRecord>> {
    Ok(read_whole(record, MAX_RECORD_BYTES)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}
