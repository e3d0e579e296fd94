//! Finds the input files, in the global order of the documents (docs/formats/bsade.md §1).

use crate::source::documents::packing::READING;
use crate::source::documents::saved_descriptions;
use crate::source::documents::{
    is_packed_already, is_set_aside, is_table_name, is_text, leave_out_others, leave_out_values, member_count,
    missing_files, missing_shards, text_file, Compression, FileChoice, InputRules, Listing, Packing, TextFile, Walk,
    OURS, SOURCES,
};
use gristmill_core::text::{count_verb, display_safe};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use std::path::Path;

/// Name of this step in failures.
const ACTIVITY: &str = "looking for text files";
/// Hint on how to read files that are left out as copies or unfinished files.
const RENAME: &str = "to read such a file as well, give it another name";
/// Hint on how to read files that are left out next to tables.
const RENAME_OTHERS: &str = "to read such a file as well, give it a name that ends in .jsonl";
/// Hint for tables whose name is that of another format.
const RENAME_TABLE: &str = "give it the name that fits its content";
/// Hint for files whose format is not written.
const NOT_WRITTEN_HINT: &str = "convert them to lines of JSON or to Parquet";
/// Message and hint for files of JSON lines whose name is not searched for.
const NDJSON: (&str, &str) =
    ("it is left out: its name has no .json in it", "name the file itself, or give it a name that ends in .jsonl");
/// Text that a name must contain.
const NAME_PART: &str = ".json";
/// Text that is removed from paths before they are compared.
const NOT_COMPARED: &str = "crawl=";
/// Suffixes of archives and of compressions that are not recognized: their bytes would be treated as lines.
const UNKNOWN: [&str; 9] = ["br", "7z", "rar", "tar", "tgz", "Z", "lz", "lzo", "snappy"];

/// Rules for the files of a data set of the Hugging Face hub. Other files with `.json` in their names are usually settings.
pub const HUB_RULES: InputRules =
    InputRules { is_read: |name| is_text(name) || is_rewritable(name), ..InputRules::JSON_LINES };

/// Finds the files below a folder in their global order: by the code points of the relative path, from which every `crawl=` is removed. A
/// single file is accepted under any name without the suffix of an unsupported compression.
///
/// Selects every file with `.json` in its name, and every table that can be written, unless it is hidden or in a hidden folder; links are
/// followed. Next to tables, names that end in `.json` are left out. Hidden copies and unfinished files are reported as a note; with
/// `follows_reference`, those that the reference program reads are selected. A file that has the name of a data file but cannot be read (an
/// unknown suffix, a name that is not UTF-8, a suffix that contradicts the first bytes of the file) is a problem, reported before any work.
/// Finding no file is a usage error.
pub fn list(path: &Path, follows_reference: bool, cancel: &Cancel) -> Outcome<Listing> {
    let facts = files::metadata(path).map_err(|error| Failure::io(ACTIVITY, path, &error))?;
    if facts.is_file() {
        return one_file(path);
    }
    if !facts.is_dir() {
        return Err(Failure::usage(ACTIVITY, "it is not a folder or a file")
            .on(Subject::path(path))
            .with_hint("name a .jsonl file, or the folder that holds such files"));
    }
    let mut listing = Listing::default();
    // The reference program reads no tables.
    let descriptions = if follows_reference { &[] } else { saved_descriptions(path) };
    let is_wanted = |name: &str| match descriptions.contains(&own_name(name)) {
        true => false,
        false => is_wanted(name) || !follows_reference && (is_rewritable(name) || is_other(name)),
    };
    let wants = |name: &str| match (is_wanted(name), !follows_reference && is_set_aside(name)) {
        (false, _) if !follows_reference && has_suffix(name, "ndjson") => FileChoice::Missed(NDJSON),
        (false, _) => FileChoice::No,
        // The reference fails on such files.
        (true, false) if !follows_reference && is_packed_already(name) => FileChoice::Ours(OURS),
        (true, false) => FileChoice::Yes,
        (true, true) => FileChoice::SetAside,
    };
    Walk {
        folder: path,
        wants: &wants,
        includes_hidden: !follows_reference,
        is_chosen: false,
        listing: &mut listing,
        cancel,
    }
    .run()?;
    if !follows_reference {
        listing.files.sort_by(|one, other| one.name.cmp(&other.name));
        let (others, files) = std::mem::take(&mut listing.files).into_iter().partition(|file| is_other(&file.name));
        listing.files = files;
        // Next to tables, such files are usually descriptions of the data set.
        leave_out_others(path, 0, (|name| !has_suffix(name, "json"), RENAME_OTHERS), &mut listing);
        let has_tables = others.iter().any(|file: &TextFile| file.source.is_table());
        leave_out_values(path, 0, (has_tables, RENAME_OTHERS), &mut listing, cancel)?;
        report_others(path, &others, &mut listing)?;
        let names = listing.files.iter().map(|file| file.name.as_str());
        listing.problems.extend(missing_files(path, "", missing_shards(names)));
    }
    let mut files = Vec::with_capacity(listing.files.len());
    for file in std::mem::take(&mut listing.files) {
        match refusal(&file, is_known(&file.name) || file.source.is_table())? {
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
    let aside = std::mem::take(&mut listing.set_aside).note(path, false, RENAME);
    if listing.files.is_empty() && listing.problems.is_empty() {
        let why = aside.map_or_else(
            || "there is no file with .json in its name, and none of Parquet".to_owned(),
            |note| note.message,
        );
        return Err(Failure::usage(ACTIVITY, why)
            .on(Subject::path(path))
            .with_hint("name a .jsonl file, or the folder that holds the .jsonl, .jsonl.gz or .jsonl.zst files"));
    }
    listing.problems.extend(aside);
    Ok(listing)
}

/// Reports files of documents whose format is not written. Next to other documents, secondary tables and plain text count as descriptions.
///
/// # Errors
/// There are no files but these.
fn report_others(folder: &Path, others: &[TextFile], listing: &mut Listing) -> Outcome<()> {
    let is_main = |file: &&TextFile| file.source.is_table() && !file.source.is_secondary();
    let main = others.iter().find(is_main);
    let table = main.or(others.iter().find(|file| file.source.is_table()));
    if listing.files.is_empty() {
        return table.map_or(Ok(()), |table| Err(not_written(table)));
    }
    let mains = others.iter().filter(is_main).count();
    let report = |number: usize, first: Option<&TextFile>, problem: fn(ProblemKind, Subject, String) -> Problem| {
        let first = first?;
        let files = count_verb(number as u64, "file", "is", "are");
        let message =
            format!("{files} left out, which cannot be written back, the first is {}", display_safe(&first.name));
        Some(problem(ProblemKind::FileLeftOut, Subject::path(folder), message).with_hint(NOT_WRITTEN_HINT))
    };
    let other = others.iter().find(|file| !is_main(file));
    listing.problems.extend(report(mains, main, Problem::problem));
    listing.problems.extend(report(others.len() - mains, other, Problem::note));
    Ok(())
}

/// Returns the failure for a file that can be read but not written.
fn not_written(file: &TextFile) -> Failure {
    let name = file.source.name();
    let (why, hint) = match file.source.rewriter() {
        Some(_) => (format!("it is a file of {name}, but has the name of another format"), RENAME_TABLE),
        None => (format!("files of {name} are not written back"), NOT_WRITTEN_HINT),
    };
    Failure::usage(ACTIVITY, why).on(Subject::path(&file.path)).with_hint(hint)
}

/// Lists a file that is the input itself.
fn one_file(path: &Path) -> Outcome<Listing> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(Failure::usage(ACTIVITY, "its name is not UTF-8").on(Subject::path(path)).with_hint("rename it"));
    };
    let file = text_file(path.to_owned(), name.to_owned(), false)?;
    if file.source.is_table() && file.source.rewriter().is_none() {
        return Err(not_written(&file));
    }
    if let Some((why, hint)) = refusal(&file, is_known(name) || !is_unread(name))? {
        return Err(Failure::data(ACTIVITY, why).on(Subject::path(path)).with_hint(hint));
    }
    let file = TextFile { packing: by_name(&file), ..file };
    Ok(Listing { files: vec![file], ..Listing::default() })
}

/// Returns a file of an earlier listing, given its name among the inputs.
pub fn known_file(path: &Path, name: &str) -> Outcome<TextFile> {
    let file = text_file(path.to_owned(), name.to_owned(), false)?;
    Ok(TextFile { packing: by_name(&file), ..file })
}

/// Returns the form of a path in which it is compared.
fn compared(name: &str) -> String {
    name.replace(NOT_COMPARED, "")
}

/// Returns the last component of a path.
fn own_name(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, own)| own)
}

fn is_wanted(name: &str) -> bool {
    own_name(name).to_ascii_lowercase().contains(NAME_PART)
}

/// Whether a name has the suffix of a table that can be written.
fn is_rewritable(name: &str) -> bool {
    SOURCES.iter().any(|source| source.rewriter().is_some() && source.is_named(name))
}

/// Whether a name has the suffix of a file of documents that cannot be written.
fn is_other(name: &str) -> bool {
    !is_wanted(name) && !is_rewritable(name) && (is_table_name(name) || has_suffix(name, "txt"))
}

fn suffix(name: &str) -> &str {
    own_name(name).rsplit_once('.').map_or("", |(_, end)| end)
}

fn has_suffix(name: &str, end: &str) -> bool {
    suffix(name).eq_ignore_ascii_case(end)
}

/// Returns the compression that the suffix of the name denotes; an empty file counts as plain.
fn by_name(file: &TextFile) -> Packing {
    match Packing::of_name(&file.name) {
        _ if file.bytes == 0 || file.source.is_table() => Packing::Plain,
        packing => packing,
    }
}

/// Whether the suffix of a name determines how to read the file.
fn is_known(name: &str) -> bool {
    let is_packed = !Packing::of_name(name).is_plain();
    let is_part = own_name(name).to_ascii_lowercase().contains(".jsonl.");
    is_packed || ["jsonl", "json"].iter().any(|end| has_suffix(name, end)) || is_part && !is_unread(name)
}

/// Whether the suffix of a name denotes an unsupported compression.
fn is_unread(name: &str) -> bool {
    let is_compressed = Compression::of_name(name).is_some() && Packing::of_name(name).is_plain();
    is_compressed || UNKNOWN.iter().any(|end| has_suffix(name, end))
}

/// Returns the reason why a file is refused, and the hint.
fn refusal(file: &TextFile, is_known: bool) -> Outcome<Option<(String, &'static str)>> {
    if !is_known {
        let why = format!("files that end in .{} are not read", suffix(&file.name));
        return Ok(Some((why, "pack it with gzip or zstd, or name it .jsonl if it is plain")));
    }
    let named = by_name(file);
    let why = match (named, file.packing) {
        _ if file.bytes == 0 || file.source.is_table() => return Ok(None),
        (Packing::Plain, Packing::Plain) => return Ok(None),
        (Packing::Plain, found) => format!("its content is {}, and its name says plain text", found.title()),
        (Packing::Zip, Packing::Zip) => match member_count(&open_read(&file.path)?)? {
            Some(members) if members > 1 => {
                let why = format!("it is an archive of {members} files, and only the first would be read");
                return Ok(Some((why, "unpack it, and name the folder")));
            }
            _ => return Ok(None),
        },
        // If the first bytes are inconclusive, the name decides.
        _ if Packing::of_start(&open_read(&file.path)?, READING)? == Some(named) => return Ok(None),
        _ => format!("its name says {}, but its content has another format", named.title()),
    };
    Ok(Some((why, "give it the name that fits its content")))
}
