//! Finding the files, in the global order of the documents (bsade format page, §1).

use crate::model::{Cancel, Failure, Outcome, Problem, ProblemKind, Subject};
use crate::source::text::{Listing, Packing, TextFile, Walk, Wanted};
use crate::storage::read::open_read;
use std::path::Path;

/// What a name has to hold.
const WANTED: &str = ".json";
/// What is left out of paths when they are compared.
const NOT_COMPARED: &str = "crawl=";
/// Ends of names that stand for a packing that is not read: its text would be taken for lines.
const UNKNOWN: [&str; 14] =
    ["bz2", "xz", "lzma", "zip", "lz4", "br", "7z", "rar", "tar", "tgz", "Z", "lz", "lzo", "snappy"];

/// Finds the files below `dir` in their global order: by relative path without every `crawl=`, code point by code point.
///
/// Wanted is every file with `.json` in its name that is not hidden, nor in a hidden folder; links are followed. What is named like data
/// and cannot be read (an unknown suffix, a name that is not UTF-8, a suffix that the file's first bytes deny) is a problem each, before
/// any work. No file at all is a usage error.
pub fn list(dir: &Path, cancel: &Cancel) -> Outcome<Listing> {
    let mut listing = Listing::default();
    Walk {
        folder: dir,
        wants: &|name| if is_wanted(name) { Wanted::Yes } else { Wanted::No },
        sees_hidden: false,
        listing: &mut listing,
        cancel,
    }
    .run()?;
    let mut files = Vec::with_capacity(listing.files.len());
    for file in std::mem::take(&mut listing.files) {
        match refusal(&file)? {
            Some((why, hint)) => {
                let problem = Problem::problem(
                    ProblemKind::Unreadable,
                    Subject::path(&file.path),
                    format!("it is left out: {why}"),
                );
                listing.problems.push(problem.with_hint(hint));
            }
            None => files.push(TextFile { packing: by_name(&file), ..file }),
        }
    }
    files.sort_by_cached_key(|file| (compared(&file.name), file.name.clone()));
    listing.files = files;
    listing.problems.sort_by(|a, b| a.subject.path.cmp(&b.subject.path));
    if listing.files.is_empty() && listing.problems.is_empty() {
        return Err(Failure::usage("looking for text files", "there is no file with .json in its name")
            .on(Subject::path(dir))
            .with_hint("name the folder that holds the .jsonl, .jsonl.gz or .jsonl.zst files"));
    }
    Ok(listing)
}

/// A path as it is compared.
fn compared(name: &str) -> String {
    name.replace(NOT_COMPARED, "")
}

/// What comes last in a path is the file's own name.
fn own_name(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, own)| own)
}

fn is_wanted(name: &str) -> bool {
    own_name(name).contains(WANTED)
}

fn suffix(name: &str) -> &str {
    own_name(name).rsplit_once('.').map_or("", |(_, end)| end)
}

/// By the end of the name; an empty file is as plain as any.
fn by_name(file: &TextFile) -> Packing {
    match (suffix(&file.name), file.bytes) {
        ("gz", 1..) => Packing::Gzip,
        ("zst", 1..) => Packing::Zstd,
        _ => Packing::Plain,
    }
}

/// Why a file is not taken, and the way out.
fn refusal(file: &TextFile) -> Outcome<Option<(String, &'static str)>> {
    let suffix = suffix(&file.name);
    let is_known = match suffix {
        "gz" | "zst" | "jsonl" | "json" => true,
        other => own_name(&file.name).contains(".jsonl.") && !UNKNOWN.contains(&other),
    };
    if !is_known {
        let why = format!("what ends in .{suffix} is not known here");
        return Ok(Some((why, "pack it with gzip or zstd, or name it .jsonl when it is plain")));
    }
    let named = by_name(file);
    let why = match (named, file.packing) {
        _ if file.bytes == 0 => return Ok(None),
        (Packing::Plain, Packing::Plain) => return Ok(None),
        (Packing::Plain, found) => format!("it is {}, and its name says plain text", found.title()),
        // Where the first bytes say nothing, the name was believed.
        _ if Packing::of_start(&open_read(&file.path)?)? == Some(named) => return Ok(None),
        _ => format!("its name says {}, and its first bytes deny it", named.title()),
    };
    Ok(Some((why, "give it the name that fits what is in it")))
}
