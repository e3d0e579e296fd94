//! The detail of one sample: read by a worker, and drawn from the result.

use super::pages::{loader_lines, offset_lines};
use super::state::Mode;
use crate::tui::screens::page::{PageLine, Tone};
use gristmill_core::text::bytes;
use gristmill_core::{Cancel, Outcome};
use gristmill_data::preview::{self, PartBytes, PartPreview, ReadFrom};
use gristmill_ops::engine::browse::{loader, offsets, tokens, BrowseSample, Catalog, SampleAt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of bytes read of a part to show its first line.
const FIRST_LINE_BYTES: usize = 400;
/// Maximum number of parts whose first line is shown.
const MAX_PEEKS: usize = 12;
/// Time limit for reading one sample.
const READ_TIMEOUT: Duration = Duration::from_secs(8);
/// Interval between checks for cancellation.
const CANCEL_CHECK_EVERY: Duration = Duration::from_millis(20);
/// Maximum number of reads in progress or abandoned at a time; beyond it no read is started.
const MAX_ABANDONED_READS: usize = 16;

/// A request to read a sample.
#[derive(Clone)]
pub struct DetailQuestion {
    /// The sample to read.
    pub sample: Arc<BrowseSample>,
    /// The mode of the detail pane.
    pub mode: Mode,
    /// Index of the shown part.
    pub part: usize,
    /// Whether the reader shows the texts of the part on the whole screen.
    pub is_reading: bool,
    /// The page of the part to show.
    pub from: ReadFrom,
    /// Whether this requests another page of the part that is already shown.
    pub is_further: bool,
    /// Cancels the read.
    pub cancel: Cancel,
}

/// Identity of a request: two requests with the same value have the same result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetailRequest {
    /// The sample.
    pub at: SampleAt,
    /// The mode of the detail pane.
    pub mode: Mode,
    /// Index of the shown part; 0 in modes that do not depend on the part.
    pub part: usize,
    /// Whether the reader shows its texts.
    pub is_reading: bool,
}

impl DetailQuestion {
    /// Returns the identity of this request.
    pub fn request(&self) -> DetailRequest {
        DetailRequest { at: self.sample.at, mode: self.mode, part: self.part, is_reading: self.is_reading }
    }
}

/// The result of a read.
pub struct Detail {
    /// The request that this answers.
    pub request: DetailRequest,
    /// The content to draw.
    pub body: DetailBody,
}

/// The content to draw for a sample.
pub enum DetailBody {
    /// The shown part, and the first lines of the other parts.
    Part {
        /// Preview of the part.
        preview: Arc<PartPreview>,
        /// Whether this is a page after the first.
        is_further: bool,
        /// One line of each part, in the order of the parts. Not escaped.
        peeks: Vec<String>,
    },
    /// Lines of text.
    Page(Vec<PageLine>),
}

/// A part that is read only as far as it is shown, as a byte source.
pub struct PartBeginning<'a> {
    /// Source of the bytes.
    pub catalog: &'a dyn Catalog,
    /// The sample that holds the part.
    pub sample: &'a BrowseSample,
    /// Index of the part in the sample.
    pub part: usize,
}

impl PartBytes for PartBeginning<'_> {
    fn len(&self) -> u64 {
        self.sample.parts.get(self.part).map_or(0, |part| part.byte_size)
    }
    fn read(&self, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        self.catalog.read(self.sample, self.part, from, limit)
    }
}

/// Reads a sample. Runs on a worker and reads on a separate thread: a read that does not return is abandoned when the request is cancelled
/// or after `READ_TIMEOUT`.
pub fn read_detail(catalog: &Arc<dyn Catalog>, question: DetailQuestion) -> Detail {
    let (catalog, asked) = (Arc::clone(catalog), question.clone());
    let request = question.request();
    if LEFT.load(Ordering::Relaxed) >= MAX_ABANDONED_READS {
        return note(request, "earlier samples are still being decoded; try again in a moment");
    }
    let (sender, came) = channel();
    let counted = ReadCount::new();
    let work = move || {
        let _counted = counted;
        // Sending fails if the receiver has stopped waiting; the result is then not needed.
        let _ = sender.send(body_of(&catalog, &asked));
    };
    if let Err(error) = std::thread::Builder::new().name("browse-decode".to_owned()).spawn(work) {
        return note(request, &format!("no thread could be started: {error}"));
    }
    let end = Instant::now() + READ_TIMEOUT;
    loop {
        match came.recv_timeout(CANCEL_CHECK_EVERY) {
            Ok(body) => return Detail { request, body },
            Err(RecvTimeoutError::Disconnected) => {
                return note(request, "the decoder failed; the bytes may be damaged")
            }
            Err(RecvTimeoutError::Timeout) if question.cancel.is_cancelled() => return note(request, "stopped"),
            Err(RecvTimeoutError::Timeout) if Instant::now() < end => {}
            Err(RecvTimeoutError::Timeout) => {
                question.cancel.cancel();
                return note(request, "it takes too long to read or decode; E exports it as it is");
            }
        }
    }
}

fn note(request: DetailRequest, why: &str) -> Detail {
    Detail { request, body: DetailBody::Page(vec![PageLine::labelled(Tone::Warn, "! ", why)]) }
}

/// Number of reads in progress or abandoned.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Counts one read in [`LEFT`] until it is dropped, however the read ends.
struct ReadCount;

impl ReadCount {
    fn new() -> Self {
        LEFT.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for ReadCount {
    fn drop(&mut self) {
        LEFT.fetch_sub(1, Ordering::Relaxed);
    }
}

fn body_of(catalog: &Arc<dyn Catalog>, question: &DetailQuestion) -> DetailBody {
    match question.mode {
        Mode::Parts => part_of(catalog.as_ref(), question),
        Mode::Loader => page_of(
            loader::view(catalog.as_ref(), &question.sample, None, &question.cancel).map(|view| loader_lines(&view)),
        ),
        Mode::Offsets => {
            page_of(offsets::view(catalog.as_ref(), &question.sample, &question.cancel).map(|view| offset_lines(&view)))
        }
    }
}

fn page_of(lines: Outcome<Vec<PageLine>>) -> DetailBody {
    DetailBody::Page(lines.unwrap_or_else(|failure| vec![PageLine::labelled(Tone::Error, "! ", failure.to_string())]))
}

fn part_of(catalog: &dyn Catalog, question: &DetailQuestion) -> DetailBody {
    let sample = question.sample.as_ref();
    let name = sample.parts.get(question.part).map_or("", |part| &*part.name);
    let part = PartBeginning { catalog, sample, part: question.part };
    let (is_further, cancel) = (question.is_further, &question.cancel);
    if question.is_reading {
        let preview = Arc::new(preview::read(name, &part, &question.from, cancel));
        return DetailBody::Part { preview, is_further, peeks: Vec::new() };
    }
    let from = if let ReadFrom::Page(from) = question.from { from } else { 0 };
    if let Some(set) = catalog.tokens().filter(|_| name != "json") {
        let preview = Arc::new(tokens::page(set, sample, question.part, from, cancel));
        // Each part is another view of the same bytes, so the other parts have no first lines of their own.
        return DetailBody::Part { preview, is_further, peeks: Vec::new() };
    }
    let preview = Arc::new(preview::page(name, &part, from, cancel));
    let mut peeks = Vec::new();
    for (index, part) in sample.parts.iter().enumerate().take(MAX_PEEKS) {
        let is_shown = index == question.part;
        let is_text = is_text(&part.name) && !is_shown && !question.cancel.is_cancelled();
        let read = is_text.then(|| catalog.read(sample, index, 0, FIRST_LINE_BYTES).ok()).flatten();
        peeks.push(match read {
            Some(start) => on_one_line(&start),
            None => bytes(part.byte_size),
        });
    }
    DetailBody::Part { preview, is_further, peeks }
}

fn is_text(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    matches!(
        extension.as_str(),
        "txt" | "text" | "json" | "jsonl" | "cls" | "cls2" | "index" | "id" | "md" | "yaml" | "yml" | "csv"
    )
}

/// Joins the words of the beginning of a text with single spaces.
fn on_one_line(start: &[u8]) -> String {
    let text = String::from_utf8_lossy(start);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_parts_are_recognized_by_suffix_and_summarized_in_one_line() {
        assert!(is_text("txt") && is_text("meta.JSON") && is_text("cls"));
        assert!(!is_text("jpg") && !is_text("npy") && !is_text(""));
        assert_eq!(on_one_line(b"{\n  \"a\": 1\n}\n"), "{ \"a\": 1 }");
    }
}
