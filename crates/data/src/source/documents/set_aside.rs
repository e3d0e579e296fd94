//! Detection of files in data folders that are not data: hidden copies, markers, and unfinished files. Spark and Hadoop ignore names that
//! begin with a dot or an underscore; notebooks store copies in `.ipynb_checkpoints`.

use super::splits::NO_DATA;
use crate::formats::{FILE_LOCATION, SAMPLE_LOCATIONS};
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Problem, ProblemKind, Subject};
use std::path::Path;

/// Suffixes of files that are still being written or downloaded.
const UNFINISHED: [&str; 7] = [".tmp", ".temp", ".partial", ".crdownload", ".incomplete", ".inprogress", "~"];
/// Names of descriptions that other programs write next to data.
const OTHER_DESCRIPTIONS: [&str; 3] = ["state.json", "Thumbs.db", "desktop.ini"];
/// Maximum number of files that a note names.
const MAX_NAMED: usize = 5;

/// Whether a relative path denotes a file that is ignored.
pub(in crate::source) fn is_set_aside(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with(['.', '_'])) || finished_name(name) != name
}

/// Whether a relative path denotes a file next to data that is no data by its name: one that is ignored, an index of this program, or a
/// description.
pub fn is_no_data(name: &str) -> bool {
    let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
    let is_description = NO_DATA.contains(&own)
        || OTHER_DESCRIPTIONS.contains(&own)
        || ["README", "LICENSE"].iter().any(|start| own.to_uppercase().starts_with(start));
    is_description || is_set_aside(name) || is_packed_already(name)
}

/// Whether packing or indexing writes outputs with this name. A program that reads every file of a folder would read such files as text and
/// find only invalid lines.
pub(in crate::source) fn is_packed_already(name: &str) -> bool {
    let ends = [".pbin", ".idx", ".ds", ".ds.index", ".ds.metadata", ".ds.loss", "tokenized-samples.bin"];
    let is_index = |file: &str| name == file || name.ends_with(&format!("/{file}"));
    ends.iter().any(|end| name.ends_with(end))
        || is_index(&format!("index/{FILE_LOCATION}"))
        || is_index(&format!("index/{SAMPLE_LOCATIONS}"))
}

/// Returns the name of a file without the suffix of an unfinished file.
pub(in crate::source) fn finished_name(name: &str) -> &str {
    let without = |end: &&str| {
        let (start, tail) = name.split_at_checked(name.len().checked_sub(end.len())?)?;
        (!start.is_empty() && tail.eq_ignore_ascii_case(end)).then_some(start)
    };
    UNFINISHED.iter().find_map(without).unwrap_or(name)
}

/// The ignored files of a folder.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct IgnoredFiles {
    count: u64,
    /// Names of ignored files, each with whether it is not a copy of data.
    named: Vec<(bool, String)>,
}

impl IgnoredFiles {
    /// Adds a file.
    pub(in crate::source) fn add(&mut self, name: &str) {
        self.count += 1;
        let own = name.rsplit_once('/').map_or(name, |(_, own)| own);
        let is_copy = own.contains(".json") && !own.ends_with(".crc") && !own.starts_with("._");
        self.named.push((!is_copy, name.to_owned()));
        if self.named.len() > 16 * MAX_NAMED {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.named.sort();
        self.named.truncate(MAX_NAMED);
    }

    /// Returns the note on the ignored files, copies of data first. `is_read` is whether they are read because the reference program reads
    /// them.
    pub(in crate::source) fn note(mut self, folder: &Path, is_read: bool, hint: &str) -> Option<Problem> {
        self.shorten();
        let mut names: Vec<String> = self.named.iter().map(|(_, name)| display_safe(name).into_owned()).collect();
        if self.count > names.len() as u64 {
            names.push("…".to_owned());
        }
        let are = match (self.count, is_read) {
            (1, false) => "is left out",
            (_, false) => "are left out",
            (1, true) => "is read, as the reference program reads it",
            (_, true) => "are read, as the reference program reads them",
        };
        let message = format!(
            "{} {are}: hidden, with a name that starts with _, or not finished (.tmp): {}",
            count(self.count, "file"),
            names.join(", ")
        );
        (self.count > 0)
            .then(|| Problem::note(ProblemKind::FileLeftOut, Subject::path(folder), message).with_hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_underscore_and_unfinished_names_are_ignored() {
        for name in [".a.jsonl", "_SUCCESS", "x/_temporary/0/a.jsonl", ".d/a", "a.jsonl.tmp", "a.jsonl.TMP", "a.jsonl~"]
        {
            assert!(is_set_aside(name), "{name}");
        }
        for name in ["a.jsonl", "a_b/c.jsonl", "a.tmp/b.jsonl", "tmp", "~", "ä", "é~é"] {
            assert!(!is_set_aside(name), "{name}");
        }
        assert_eq!(finished_name("d/a.jsonl.tmp"), "d/a.jsonl");
    }

    #[test]
    fn descriptions_and_indexes_are_no_data() {
        for name in ["README.md", "d/readme.txt", "LICENSE", "dataset_infos.json", "a.jsonl.idx", "d/Thumbs.db", ".a"] {
            assert!(is_no_data(name), "{name}");
        }
        for name in ["a.jsonl", "a.md", "README/a.txt", "info.json"] {
            assert!(!is_no_data(name), "{name}");
        }
    }

    #[test]
    fn note_on_ignored_files_names_unfinished_data_files_first() {
        let mut aside = IgnoredFiles::default();
        (0..200).for_each(|number| aside.add(&format!(".a{number:03}.crc")));
        aside.add("z.jsonl.tmp");
        let note = aside.note(Path::new("out"), false, "").unwrap();
        let start =
            "201 files are left out: hidden, with a name that starts with _, or not finished (.tmp): z.jsonl.tmp, ";
        assert!(note.message.starts_with(start), "{note}");
        assert!(note.message.ends_with(".a003.crc, …"), "{note}");
        assert!(IgnoredFiles::default().note(Path::new("out"), false, "").is_none());
    }
}
