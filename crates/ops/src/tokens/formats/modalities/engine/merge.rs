//! Merges packed files: concatenates all tokens and writes one index, with a fixed amount of memory.

use super::assembly::{same_size, AssembledFile};
use super::source::{check_unchanged, copy_tokens, open_packed, stamp_of, written_size};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind};
use gristmill_data::formats::modalities::packed::{Header, PackedReader, HEADER_BYTES};
use gristmill_data::formats::modalities::PACKED_SUFFIX;
use gristmill_pycompat::pickle::IndexWriter;
use gristmill_storage::files;
use gristmill_storage::fs::BufferedFile;
use gristmill_storage::run_folder::is_next_to_output;
use gristmill_storage::walk::{Walk, WalkEntry};
use std::path::{Path, PathBuf};

/// Items between two checks of the cancel flag.
const CANCEL_CHECK_EVERY: u64 = 1 << 16;

/// Returns the packed files of the given paths: files as given, and every `*.pbin` in a folder at any depth, sorted by name.
pub fn list(paths: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let facts = files::metadata(path).map_err(|error| Failure::io("opening", path, &error))?;
        if !facts.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        let is_data = |entry: &WalkEntry| entry.depth() == 0 || !is_next_to_output(entry.path());
        for entry in Walk::new(path).keep_links().sorted().filter_entry(is_data) {
            let entry = entry.map_err(|error| error.failure("reading the folder", path))?;
            let is_packed = entry.file_name().as_encoded_bytes().ends_with(PACKED_SUFFIX.as_bytes());
            if is_packed && files::is_file(entry.path()) {
                files.push(entry.into_path());
            }
        }
        if files.len() == before {
            let why = "no file below it ends in .pbin";
            return Err(Failure::usage("merging", why).on(Subject::path(path)));
        }
    }
    Ok(files)
}

/// Writes the content of the files to an empty file. With `compat`, the offsets of the second and later files are wrong, as in the
/// reference program.
pub fn merge(
    paths: &[PathBuf],
    compat: bool,
    file: &mut BufferedFile,
    handles: &Handles<'_>,
) -> Outcome<AssembledFile> {
    let mut sources = Vec::with_capacity(paths.len());
    let mut token_bytes = None;
    for path in paths {
        let packed = open_packed(path, compat, handles)?;
        same_size(&mut token_bytes, packed.layout().token_bytes, Subject::path(path))?;
        let stamp = stamp_of(packed.file())?;
        sources.push((packed, stamp));
    }
    let Some(size) = token_bytes else { return Err(Failure::usage("merging", "no packed file is named")) };
    let written = written_size(size);
    let grown = |bytes: u64| bytes / u64::from(size) * u64::from(written);
    let data_bytes = sources.iter().map(|(packed, _)| grown(packed.data_bytes())).sum();
    let documents = sources.iter().map(|(packed, _)| packed.documents()).sum();
    handles.progress.restart(sources.len() as u64, data_bytes);
    file.write_all(&Header { data_bytes, token_bytes: written }.to_bytes())?;
    let mut buffer = Vec::new();
    for (packed, stamp) in &sources {
        copy_tokens(packed, 0..packed.data_bytes(), &mut buffer, &mut |bytes| {
            handles.cancel.check()?;
            handles.progress.add(0, bytes.len() as u64);
            file.write_all(bytes)
        })?;
        check_unchanged(packed.file(), *stamp)?;
        handles.progress.add(1, 0);
    }
    let mut writer = IndexWriter::new(documents);
    let mut start = 0_u64;
    for (number, (packed, _)) in sources.iter().enumerate() {
        put_items(&mut writer, packed, start, &grown, file, handles)?;
        if number + 1 == sources.len() {
            break;
        }
        start = next_start(start, grown(packed.data_bytes()), compat, packed.file().path())?;
    }
    writer.finish(&mut |bytes| file.write_all(bytes))?;
    if compat && sources.len() > 1 {
        let message =
            "the documents of the second and later files are placed too early in the index, as the reference does";
        let problem = Problem::note(ProblemKind::CompatLoss, Subject::default(), message);
        handles.problems.report(
            problem.with_hint("without --compat they are placed correctly; `gristmill repair` repairs the file"),
        )?;
    }
    Ok(AssembledFile {
        documents,
        tokens: data_bytes / u64::from(written.max(1)),
        token_bytes: Some(written),
        bytes: file.len(),
    })
}

fn put_items(
    writer: &mut IndexWriter,
    packed: &PackedReader,
    start: u64,
    grown: &dyn Fn(u64) -> u64,
    file: &mut BufferedFile,
    handles: &Handles<'_>,
) -> Outcome<()> {
    let (mut items, mut done) = (packed.items(), 0_u64);
    while let Some((offset, length)) = items.next_item()? {
        if !packed.contains_span(offset, length) {
            let why = format!("document {done} is not within the tokens");
            return Err(Failure::data("reading the index", why).on(Subject::path(packed.file().path())));
        }
        writer.push(start + grown(offset), grown(length), &mut |bytes| file.write_all(bytes))?;
        done += 1;
        if done % CANCEL_CHECK_EVERY == 0 {
            handles.cancel.check()?;
        }
    }
    Ok(())
}

/// Returns the start of the documents of the next file.
fn next_start(start: u64, bytes: u64, compat: bool, path: &Path) -> Outcome<u64> {
    if !compat {
        return Ok(start + bytes);
    }
    (start + bytes).checked_sub(HEADER_BYTES).ok_or_else(|| {
        let why = "it has fewer bytes of tokens than a header, so that the reference would place the next file before the first";
        Failure::data("merging", why).on(Subject::path(path)).with_hint("merge without --compat")
    })
}
