//! The rename list: the renames that a publish has committed to. Text, with a checksum at its end; written completely before the first
//! rename.
//!
//! ```text
//! gristmill renames 1
//! state moving
//! id 4711-0-1f2e3d4c
//! put old shards/a.tar.idx
//! put old .nv-meta/split.yaml 812,1764499200000000000,5321
//! remove old .nv-meta/stale
//! last new .nv-meta/.info.json
//! end 3 89abcdef01234567
//! ```
//!
//! Paths below the root are relative to it, so that a data set may be moved; bytes outside printable ASCII, spaces and `%` are
//! percent-encoded. The version of a file that may replace this version only is its size, time and inode, or `absent`.

use super::super::read::read_whole;
use super::super::run_folder::RunFolder;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Outcome};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const FIRST_LINE: &str = "gristmill renames 1";
/// Version of a target that may not exist.
const ABSENT: &str = "absent";
/// Maximum size of a list in bytes: a hundred thousand long paths.
const MAX_LIST_BYTES: u64 = 1 << 28;

/// What happens to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A staged file replaces it.
    Put,
    /// It is removed.
    Remove,
    /// Like `Put`, but it makes the set visible: removed before anything else moves, put in place after everything else.
    Last,
    /// Like `Remove`, but before anything else moves.
    Hide,
}

impl Action {
    const WORDS: [(Self, &'static str); 4] =
        [(Self::Put, "put"), (Self::Remove, "remove"), (Self::Last, "last"), (Self::Hide, "hide")];

    /// Whether the entry has a staged file.
    pub(super) fn has_staged(self) -> bool {
        matches!(self, Self::Put | Self::Last)
    }
    /// Whether the target makes the set visible, or made it visible.
    pub(super) fn is_visible_part(self) -> bool {
        matches!(self, Self::Last | Self::Hide)
    }

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(action, _)| *action == self).map_or("", |(_, word)| word)
    }
    fn from_word(text: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, word)| *word == text).map(|(action, _)| *action)
    }
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) action: Action,
    /// Whether the target existed before.
    pub(super) had_old: bool,
    /// Path as given: relative to the root, or absolute.
    pub(super) target: PathBuf,
    /// The version that the target must have, `Some(None)` if no file may be there. `None` if any version is replaced.
    pub(super) version: Option<Option<FileStamp>>,
}

/// Progress of a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Files are being moved.
    Moving,
    /// All files are in place; only leftovers may have to be removed.
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RenameList {
    pub(super) state: State,
    /// Part of the names of files next to targets on other file systems.
    pub(super) id: String,
    /// The entries, in the order in which they are put in place.
    pub(super) entries: Vec<Entry>,
}

impl RenameList {
    /// Returns the text of the file.
    pub(super) fn to_text(&self) -> String {
        let state = match self.state {
            State::Moving => "moving",
            State::Done => "done",
        };
        let mut text = format!("{FIRST_LINE}\nstate {state}\nid {}\n", self.id);
        for entry in &self.entries {
            let old = if entry.had_old { "old" } else { "new" };
            let path = escape(entry.target.as_os_str().as_bytes());
            let version = entry.version.map(|version| match version {
                Some(FileStamp { bytes, modified_ns, inode }) => format!(" {bytes},{modified_ns},{inode}"),
                None => format!(" {ABSENT}"),
            });
            let _ = writeln!(text, "{} {old} {path}{}", entry.action.word(), version.unwrap_or_default());
        }
        let sum = xxh3_64(text.as_bytes());
        let _ = writeln!(text, "end {} {sum:016x}", self.entries.len());
        text
    }

    /// Parses the text of the file; `None` if any byte of it differs from what was written.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let start_of_end = text.strip_suffix('\n')?.rfind('\n')? + 1;
        let (body, end) = text.split_at_checked(start_of_end)?;
        let mut lines = body.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let state = match lines.next()? {
            "state moving" => State::Moving,
            "state done" => State::Done,
            _ => return None,
        };
        let id = lines.next()?.strip_prefix("id ")?.to_owned();
        let entries = lines.map(read_entry).collect::<Option<Vec<_>>>()?;
        let expected = format!("end {} {:016x}\n", entries.len(), xxh3_64(body.as_bytes()));
        (end == expected).then_some(Self { state, id, entries })
    }

    /// Reads the list of an own folder, if there is one.
    pub(super) fn read(own: &RunFolder) -> Outcome<Option<Self>> {
        let path = own.renames();
        let Some(bytes) = read_whole(&path, MAX_LIST_BYTES)? else { return Ok(None) };
        let list = std::str::from_utf8(&bytes).ok().and_then(Self::from_text);
        list.map(Some).ok_or_else(|| {
            Failure::environment("finishing an interrupted publication", "its rename list is damaged")
                .on(Subject::path(&path))
                .with_hint("remove this file to give the interrupted publication up, then prepare again")
        })
    }

    /// Returns the names of the targets, raw, in the form shown to users.
    pub(super) fn names(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.target.to_string_lossy().into_owned()).collect()
    }
}

fn read_entry(line: &str) -> Option<Entry> {
    let mut words = line.split(' ');
    let action = Action::from_word(words.next()?)?;
    let had_old = match words.next()? {
        "old" => true,
        "new" => false,
        _ => return None,
    };
    let target = PathBuf::from(OsString::from_vec(unescape(words.next()?)?));
    let version = match words.next() {
        None => None,
        Some(ABSENT) => Some(None),
        Some(stamp) => Some(Some(read_stamp(stamp)?)),
    };
    words.next().is_none().then_some(Entry { action, had_old, target, version })
}

fn read_stamp(text: &str) -> Option<FileStamp> {
    let mut numbers = text.splitn(3, ',');
    let (bytes, modified_ns) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some(FileStamp { bytes, modified_ns, inode: numbers.next()?.parse().ok()? })
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            0x21..0x7f if *byte != b'%' => text.push(char::from(*byte)),
            _ => drop(write!(text, "%{byte:02x}")),
        }
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = tail.get(2..)?;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Some(bytes)
}

/// Returns a target as stored in the list: relative to the root if it is below it.
pub(super) fn listed_path(root: &Path, target: &Path) -> PathBuf {
    target.strip_prefix(root).map_or_else(|_| target.to_owned(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list() -> RenameList {
        let entry = |action, had_old, target: &[u8]| Entry {
            action,
            had_old,
            target: PathBuf::from(OsString::from_vec(target.to_vec())),
            version: had_old.then_some(target.first().map(|first| FileStamp {
                bytes: u64::MAX,
                modified_ns: -1,
                inode: u64::from(*first),
            })),
        };
        RenameList {
            state: State::Moving,
            id: "7-0-abc".into(),
            entries: vec![
                entry(Action::Put, true, b"a dir/100%\n.tar.idx"),
                Entry { version: Some(None), ..entry(Action::Put, false, b"split.yaml") },
                entry(Action::Remove, true, b"/else/\xff\xfe"),
                entry(Action::Hide, true, b".nv-meta/.info.yaml"),
                entry(Action::Last, false, ".nv-meta/é.json".as_bytes()),
            ],
        }
    }

    #[test]
    fn rename_list_is_read_back() {
        for list in [list(), RenameList { state: State::Done, ..list() }, RenameList { entries: vec![], ..list() }] {
            assert_eq!(RenameList::from_text(&list.to_text()), Some(list));
        }
        assert!(list()
            .to_text()
            .contains("put old a%20dir/100%25%0a.tar.idx 18446744073709551615,-1,97\nput new split.yaml absent\n"));
    }

    #[test]
    fn cut_or_changed_rename_list_is_rejected() {
        let text = list().to_text();
        for end in 0..text.len() {
            assert_eq!(RenameList::from_text(&text[..end]), None, "cut at {end}");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                assert_eq!(RenameList::from_text(&changed), None, "changed at {at}");
            }
        }
    }

    #[test]
    fn rename_targets_below_the_root_are_stored_relative() {
        assert_eq!(listed_path(Path::new("/d/s"), Path::new("/d/s/x/a.idx")), Path::new("x/a.idx"));
        assert_eq!(listed_path(Path::new("/d/s"), Path::new("/d/s2/a.idx")), Path::new("/d/s2/a.idx"));
    }

    proptest! {
        #[test]
        fn escaped_paths_are_restored(bytes in proptest::collection::vec(1u8.., 1..40)) {
            prop_assert_eq!(unescape(&escape(&bytes)), Some(bytes));
        }

        #[test]
        fn any_rename_list_text_is_read_without_panic(text in ".{0,200}") {
            let _ = RenameList::from_text(&text);
            let _ = RenameList::from_text(&format!("{FIRST_LINE}\n{text}\n"));
        }
    }
}
