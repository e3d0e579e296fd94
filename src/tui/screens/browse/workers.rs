//! The workers of the browser: they open data sets, fetch rows, read samples, filter and search.

use super::detail::{read_detail, Detail, DetailQuestion};
use super::rows::{FetchedRows, RowRequest, Span};
use super::state::Search;
use crate::tui::work::{LatestWorker, Stoppable, Stream, Wake};
use gristmill_core::{Cancel, Mutex, Outcome, Subject};
use gristmill_ops::engine::browse::places::{place_of, SubjectLocation};
use gristmill_ops::engine::browse::{
    filter, problems, Catalog, KeyQuery, Marks, Matches, ProblemList, SampleAt, SampleFilter, TokenView,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval at which a running search wakes the frame.
const WAKE_EVERY: Duration = Duration::from_millis(60);
/// Number of matches after which they are published immediately.
const MATCHES_PER_BATCH: usize = 4_096;

/// A request to open a data set.
pub struct OpenRequest {
    /// The data set.
    pub path: PathBuf,
    /// The view of packed tokens.
    pub view: TokenView,
    /// For packed tokens: the selected group, and the selected byte of its file.
    pub at: Option<(u32, u64)>,
}

/// An open data set, and the location to go to in it.
pub struct OpenedCatalog {
    /// The catalog of the data set.
    pub catalog: Arc<dyn Catalog>,
    /// The row that holds the requested byte.
    pub at: Option<SampleAt>,
}

/// Opens data sets.
pub type Opener = LatestWorker<OpenRequest, Outcome<OpenedCatalog>>;

/// How long to wait until the listing of documents contains the requested one.
const LISTING_TIMEOUT: Duration = Duration::from_millis(400);

/// Starts the worker that opens data sets.
pub fn opener(wake: Wake) -> Opener {
    LatestWorker::start("browse-open", wake, |asked: OpenRequest| {
        let catalog = gristmill_ops::browse::open_tokens(&asked.path, &asked.view)?;
        let at = asked.at.and_then(|(group, byte)| row_of(catalog.as_ref(), group, byte));
        Ok(OpenedCatalog { catalog, at })
    })
}

/// Returns the row of packed tokens that holds a byte of a file.
fn row_of(catalog: &dyn Catalog, group: u32, byte: u64) -> Option<SampleAt> {
    let set = catalog.tokens()?;
    let end = Instant::now() + LISTING_TIMEOUT;
    while !catalog.groups().is_complete && Instant::now() < end {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    set.row_holding(group, byte).ok().flatten()
}

/// The workers on an open catalog.
pub struct Workers {
    rows: Stream<RowRequest, Option<FetchedRows>>,
    /// Cancels all requests for rows when the screen is closed.
    leaving: Cancel,
    /// Reads a sample; a new request cancels the previous one.
    pub detail: Stoppable<DetailQuestion, Detail>,
    finder: Stoppable<SearchJob, ()>,
    search_matches: Arc<Mutex<SearchMatches>>,
    searches: u64,
    filterer: Stoppable<FilterJob, ()>,
    filter_matches: Arc<Mutex<FilterMatches>>,
    /// Finds the known problems of the last run.
    pub problems: Stoppable<(), Outcome<ProblemList>>,
    /// Finds the start location.
    pub locator: Stoppable<FindRequest, Outcome<FoundLocation>>,
}

/// The location of a subject or key.
pub struct FoundLocation {
    pub place: SubjectLocation,
    /// Whether samples were still being scanned when the search started, so that a nearer location may be found later.
    pub may_grow: bool,
}

/// The location to find at the start of the browser.
pub enum FindRequest {
    /// The sample of this key; `shard/key` also names its shard.
    Key(String),
    /// The subject of a problem.
    Subject(Box<Subject>),
}

/// A request to filter samples.
struct FilterJob {
    number: u64,
    filter: SampleFilter,
    marks: Arc<Marks>,
    problems: Arc<ProblemList>,
}

/// The results of a filter since the last call.
#[derive(Default)]
pub struct FilterMatches {
    number: u64,
    /// The matches so far.
    pub matches: Option<Arc<Matches>>,
    /// Whether all samples were filtered; the error is the reason why not.
    pub ended: Option<Outcome<()>>,
}

/// A request to search samples.
struct SearchJob {
    number: u64,
    query: KeyQuery,
}

/// The results of a search since the last call.
#[derive(Default)]
struct SearchMatches {
    number: u64,
    found: Vec<SampleAt>,
    ended: Option<Search>,
}

impl Workers {
    /// Starts the workers on a catalog.
    pub fn start(catalog: &Arc<dyn Catalog>, wake: &Wake) -> Self {
        let leaving = Cancel::default();
        let (from, cancel) = (Arc::clone(catalog), leaving.clone());
        let mut last: Option<RowRequest> = None;
        let rows = Stream::start("browse-rows", wake.clone(), move |piece: RowRequest| {
            // The block that was being fetched when the list scrolled is requested again; its result has been returned.
            if last.as_ref() == Some(&piece) {
                return None;
            }
            last = Some(piece.clone());
            let spans = piece.spans.iter().map(|span| fetch(from.as_ref(), *span, &cancel)).collect();
            Some(FetchedRows { piece, spans })
        });
        let from = Arc::clone(catalog);
        let detail = Stoppable::start("browse-sample", wake.clone(), move |question: DetailQuestion, cancel| {
            read_detail(&from, DetailQuestion { cancel: cancel.clone(), ..question })
        });
        let search_matches: Arc<Mutex<SearchMatches>> = Arc::default();
        let (from, results, woken) = (Arc::clone(catalog), Arc::clone(&search_matches), wake.clone());
        let finder = Stoppable::start("browse-find", wake.clone(), move |job: SearchJob, cancel| {
            run_search(from.as_ref(), &job, cancel, &results, &woken)
        });
        let filter_matches: Arc<Mutex<FilterMatches>> = Arc::default();
        let (from, results, woken) = (Arc::clone(catalog), Arc::clone(&filter_matches), wake.clone());
        let filterer = Stoppable::start("browse-filter", wake.clone(), move |job: FilterJob, cancel| {
            run_filter(from.as_ref(), &job, cancel, &results, &woken)
        });
        let from = Arc::clone(catalog);
        let problems = Stoppable::start("browse-problems", wake.clone(), move |(), cancel| {
            problems::reported(from.as_ref(), cancel)
        });
        let from = Arc::clone(catalog);
        let locator = Stoppable::start("browse-locate", wake.clone(), move |wanted, cancel| {
            find_place(from.as_ref(), wanted, cancel)
        });
        let searches = 0;
        Self { rows, leaving, detail, finder, search_matches, searches, filterer, filter_matches, problems, locator }
    }

    /// Applies a filter; replaces the previous one.
    pub fn apply_filter(&mut self, filter: SampleFilter, marks: Arc<Marks>, problems: Arc<ProblemList>) {
        self.stop_filter();
        let number = {
            let mut filter_matches = self.filter_matches.lock();
            *filter_matches = FilterMatches { number: filter_matches.number + 1, ..FilterMatches::default() };
            filter_matches.number
        };
        self.filterer.submit(FilterJob { number, filter, marks, problems });
    }

    /// Stops the filter.
    pub fn stop_filter(&mut self) {
        self.filterer.cancel();
    }

    /// Removes and returns the filter results since the last call.
    pub fn take_filter_matches(&mut self) -> FilterMatches {
        let mut filter_matches = self.filter_matches.lock();
        FilterMatches {
            number: filter_matches.number,
            matches: filter_matches.matches.take(),
            ended: filter_matches.ended.take(),
        }
    }

    /// Sets the requested rows.
    pub fn request_rows(&mut self, pieces: Vec<RowRequest>) {
        self.rows.set_questions(pieces);
    }

    /// Removes and returns the fetched rows.
    pub fn take_rows(&mut self) -> Vec<FetchedRows> {
        self.rows.take().into_iter().flatten().collect()
    }

    /// Starts a search; stops the previous one.
    pub fn find(&mut self, query: KeyQuery) {
        self.stop_finding();
        self.searches += 1;
        *self.search_matches.lock() = SearchMatches { number: self.searches, ..SearchMatches::default() };
        self.finder.submit(SearchJob { number: self.searches, query });
    }

    /// Stops the search.
    pub fn stop_finding(&mut self) {
        self.finder.cancel();
    }

    /// Removes and returns the matches since the last call, and how the search ended if it did.
    pub fn take_found(&mut self) -> (Vec<SampleAt>, Option<Search>) {
        let mut search_matches = self.search_matches.lock();
        (std::mem::take(&mut search_matches.found), search_matches.ended.take())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.leaving.cancel();
    }
}

fn find_place(catalog: &dyn Catalog, wanted: FindRequest, cancel: &Cancel) -> Outcome<FoundLocation> {
    // Loaded before the search, because groups that are found during it are not searched.
    let groups = catalog.groups();
    let place = match wanted {
        FindRequest::Subject(subject) => place_of(catalog, &subject, cancel)?,
        FindRequest::Key(key) => match locate(catalog, &key, cancel)? {
            Some(at) => SubjectLocation::Sample { at, key: Arc::from(key) },
            None => SubjectLocation::Unknown,
        },
    };
    let is_counted = |group: u32| groups.group(group).is_some_and(|group| group.is_counted);
    let may_grow = match place {
        SubjectLocation::Sample { .. } => false,
        SubjectLocation::Unknown => !groups.is_complete && !catalog.is_idle(),
        SubjectLocation::Near(SampleAt { group, .. }) | SubjectLocation::Group(group) => {
            !groups.is_complete && !is_counted(group)
        }
    };
    Ok(FoundLocation { place, may_grow })
}

/// Returns the sample of a key. If no sample has the whole key, `shard/key` is the name of a shard and a key. Slow, so it must run on a
/// worker.
pub fn locate(catalog: &dyn Catalog, key: &str, cancel: &Cancel) -> Outcome<Option<SampleAt>> {
    if let Some(at) = catalog.locate(None, key, cancel)? {
        return Ok(Some(at));
    }
    for (slash, _) in key.match_indices('/') {
        let (group, rest) = (key.get(..slash).unwrap_or_default(), key.get(slash + 1..).unwrap_or_default());
        if catalog.groups().named(group).is_some() {
            if let Some(at) = catalog.locate(Some(group), rest, cancel)? {
                return Ok(Some(at));
            }
        }
    }
    Ok(None)
}

fn run_filter(
    catalog: &dyn Catalog,
    job: &FilterJob,
    cancel: &Cancel,
    filter_matches: &Mutex<FilterMatches>,
    wake: &Wake,
) {
    let send = |matches: Option<Arc<Matches>>, ended: Option<Outcome<()>>| {
        let mut filter_matches = filter_matches.lock();
        if filter_matches.number == job.number {
            filter_matches.matches = matches.or(filter_matches.matches.take());
            filter_matches.ended = ended;
            drop(filter_matches);
            wake.wake();
        }
    };
    let ended = filter::run(catalog, &job.filter, &job.marks, &job.problems, cancel, &mut |matches| {
        send(Some(matches), None);
    });
    send(None, Some(ended));
}

/// Reads the samples of a span. If one group in it cannot be read, the others are still read.
fn fetch(
    catalog: &dyn Catalog,
    span: Span,
    cancel: &Cancel,
) -> Outcome<Vec<gristmill_ops::engine::browse::BrowseSample>> {
    let whole = catalog.samples(span.from, span.count, cancel);
    let Err(failure) = whole else { return whole };
    if failure.is_cancelled() {
        return Err(failure);
    }
    let groups = catalog.groups();
    let mut samples = Vec::new();
    let (mut at, mut left) = (span.from, span.count as u64);
    let mut is_split = false;
    while let Some(group) = groups.group(at.group).filter(|_| left > 0) {
        let here = group.samples.saturating_sub(at.index).min(left);
        is_split |= here < span.count as u64;
        if here > 0 && is_split {
            if let Ok(some) = catalog.samples(at, usize::try_from(here).unwrap_or(usize::MAX), cancel) {
                samples.extend(some);
            }
        }
        left -= here;
        at = SampleAt { group: at.group.saturating_add(1), index: 0 };
    }
    if samples.is_empty() {
        return Err(failure);
    }
    Ok(samples)
}

fn run_search(
    catalog: &dyn Catalog,
    job: &SearchJob,
    cancel: &Cancel,
    search_matches: &Mutex<SearchMatches>,
    wake: &Wake,
) {
    let mut batch: Vec<SampleAt> = Vec::new();
    let send = |batch: &mut Vec<SampleAt>, ended: Option<Search>| {
        let mut search_matches = search_matches.lock();
        if search_matches.number != job.number {
            return false;
        }
        search_matches.found.append(batch);
        search_matches.ended = ended.or(search_matches.ended.take());
        drop(search_matches);
        wake.wake();
        true
    };
    let mut last_sent: Option<Instant> = None;
    let result = catalog.find(&job.query, cancel, &mut |at| {
        batch.push(at);
        // The first match is published immediately, because it is selected.
        if batch.len() >= MATCHES_PER_BATCH || last_sent.is_none_or(|at| at.elapsed() >= WAKE_EVERY) {
            last_sent = Some(Instant::now());
            return send(&mut batch, None) && !cancel.is_cancelled();
        }
        !cancel.is_cancelled()
    });
    let ended = match result {
        Ok(()) if cancel.is_cancelled() => Search::Stopped,
        Ok(()) => Search::Done,
        Err(failure) if failure.is_cancelled() => Search::Stopped,
        Err(failure) => Search::Failed(failure.to_string()),
    };
    send(&mut batch, Some(ended));
}
