//! The mounts of this program that are visible to the process.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// File system type that identifies mounts of this program.
pub(crate) const TYPE: &str = "fuse.gristmill";
const MOUNT_TABLE: &str = "/proc/self/mountinfo";

/// A row of the mount table (`/proc/self/mountinfo`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Its number, which is unique among current mounts.
    pub id: u64,
    /// Folder of the mount.
    pub at: PathBuf,
    /// Type of the file system.
    pub kind: OsString,
    /// Source of the mount.
    pub source: OsString,
}

impl MountEntry {
    /// Whether this program has created the mount.
    pub fn is_ours(&self) -> bool {
        self.kind == TYPE
    }
}

/// Returns the mounts of this program; none if the table cannot be read.
pub fn list_mounts() -> Vec<MountEntry> {
    let mut mounts = read_table();
    mounts.retain(MountEntry::is_ours);
    mounts
}

/// Returns the mount at exactly this folder; the latest one if there are several.
pub fn mount_at(folder: &Path) -> Option<MountEntry> {
    read_table().into_iter().rfind(|mount| mount.at == folder)
}

fn read_table() -> Vec<MountEntry> {
    let table = gristmill_storage::files::read(MOUNT_TABLE).unwrap_or_default();
    table.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

/// Parses `id parent device root at options … - kind source options`.
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut words = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let at = words.nth(3)?;
    words.find(|word| *word == b"-")?;
    let (kind, source) = (words.next()?, words.next()?);
    let text = |word: &[u8]| OsString::from_vec(unescape(word));
    Some(MountEntry { id, at: text(at).into(), kind: text(kind), source: text(source) })
}

/// Replaces octal escapes such as `\040`.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|digits| byte == b'\\' && digits.iter().all(|b| matches!(b, b'0'..=b'7')));
        let escaped = digits.and_then(|digits| u8::from_str_radix(&String::from_utf8_lossy(digits), 8).ok());
        text.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    text
}

/// Escapes a text for the option `fsname` of `fusermount3`.
pub(crate) fn escape_option(text: &std::ffi::OsStr) -> OsString {
    let mut escaped = Vec::new();
    for &byte in text.as_bytes() {
        if matches!(byte, b',' | b'\\') {
            escaped.push(b'\\');
        }
        escaped.push(byte);
    }
    OsString::from_vec(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_table_lines_are_parsed() {
        let line = b"36 35 98:0 / /mnt/a\\040b\\134 rw,noatime master:1 shared:2 - fuse.gristmill /data/c\\011d rw";
        let mount = parse_line(line).unwrap();
        assert!(mount.is_ours());
        assert_eq!((mount.id, mount.at), (36, PathBuf::from("/mnt/a b\\")));
        assert_eq!(mount.source, OsString::from("/data/c\td"));
        assert_eq!([&b""[..], b"1 2 3", b"1 2 3 / /a rw - ext4"].map(parse_line), [None, None, None]);
        assert!(read_table().iter().any(|mount| mount.at == Path::new("/")));
    }

    #[test]
    fn commas_and_backslashes_in_mount_options_are_escaped() {
        assert_eq!(escape_option("/a,b\\c".as_ref()), "/a\\,b\\\\c");
    }
}
