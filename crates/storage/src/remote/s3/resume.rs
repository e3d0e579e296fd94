//! Records of uploads, with which a copy continues the upload of a killed process.

use crate::fs::{Fs as _, RealFs, PRIVATE_FOLDER};
use crate::xdg;
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Folder of the records, in the state folder.
const FOLDER: &str = "uploads";
const FILE_MODE: u32 = 0o600;
/// Maximum size of a record, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// An upload that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BegunUpload {
    /// Its name; empty until the store has answered.
    pub(super) upload: String,
    pub(super) part_bytes: u64,
    /// Time of its start by the clock of this machine, in nanoseconds since 1970.
    pub(super) at: i64,
}

/// The record of the upload of one object, on this machine. No other process uses it while it is open.
#[derive(Debug)]
pub(super) struct ResumeRecord {
    path: PathBuf,
    file: File,
}

/// Returns the path of the record of an address at an endpoint; `None` is the endpoint of the vendor.
fn path_of(address: &str, endpoint: Option<&str>) -> PathBuf {
    let folder = xdg::state_dir_of(Path::new(address)).join(FOLDER);
    let name = endpoint.map(|endpoint| format!("{endpoint}\n")).unwrap_or_default() + address;
    folder.join(format!("{:032x}", xxh3_128(name.as_bytes())))
}

impl ResumeRecord {
    /// Opens the record of an address; `None` if another process has opened it, or it cannot be written.
    pub(super) fn open(address: &str, endpoint: Option<&str>) -> Option<Self> {
        let path = path_of(address, endpoint);
        let folder = path.parent()?;
        RealFs.create_folders(folder, PRIVATE_FOLDER).ok()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&path, flags, Mode::from_raw_mode(FILE_MODE)).ok()?);
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        // The process that had opened it may have removed it.
        let (there, own) = (std::fs::metadata(&path).ok()?, file.metadata().ok()?);
        (own.is_file() && (there.dev(), there.ino()) == (own.dev(), own.ino())).then_some(Self { path, file })
    }

    /// Like [`open`](Self::open); `None` if there is no record.
    pub(super) fn existing(address: &str, endpoint: Option<&str>) -> Option<Self> {
        path_of(address, endpoint).exists().then(|| Self::open(address, endpoint)).flatten()
    }

    /// Returns the upload that a killed process started.
    pub(super) fn read(&self) -> Option<BegunUpload> {
        let mut text = String::new();
        (&self.file).rewind().ok()?;
        (&self.file).take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok().filter(|begun: &BegunUpload| begun.part_bytes > 0)
    }

    /// Records an upload. If this fails, a later process starts the upload again.
    pub(super) fn write(&self, begun: &BegunUpload) {
        let write = || {
            let bytes = serde_json::to_vec(begun)?;
            self.file.write_all_at(&bytes, 0)?;
            self.file.set_len(bytes.len() as u64)
        };
        let _: std::io::Result<()> = write();
    }

    /// Records that there is no upload.
    pub(super) fn clear(&self) {
        let _ = self.file.set_len(0);
    }
}

impl Drop for ResumeRecord {
    fn drop(&mut self) {
        // The record is still locked, so no record of another process is removed.
        if self.file.metadata().is_ok_and(|info| info.len() == 0) {
            let _ = RealFs.remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resume_record_is_locked_by_one_process_and_kept_until_cleared() {
        let address = "s3://records/a";
        let begun = BegunUpload { upload: "u&1".into(), part_bytes: 5, at: 7 };
        let record = ResumeRecord::open(address, None).unwrap();
        assert_eq!(record.read(), None);
        assert!(ResumeRecord::open(address, None).is_none(), "it is in use");
        record.write(&begun);
        let path = record.path.clone();
        drop(record);
        assert_eq!(ResumeRecord::open(address, Some("http://other")).unwrap().read(), None, "it is of another store");
        let record = ResumeRecord::open(address, None).unwrap();
        for _ in 0..2 {
            assert_eq!(record.read().as_ref(), Some(&begun));
        }
        record.clear();
        drop(record);
        assert!(!path.exists());
        std::fs::write(&path, b"{\"upload\": \"x\", \"part_bytes\": 0, \"at\": 1}").unwrap();
        assert_eq!(ResumeRecord::open(address, None).unwrap().read(), None, "it is damaged");
    }
}
