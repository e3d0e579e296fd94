//! What the browser has done in the background: opening, fetching rows, looking at a sample, searching.

use super::detail::{look_at, Detail, Question};
use super::rows::{Fetched, RowRequest, Span};
use super::state::Search;
use crate::tui::work::{Latest, Stream, Wake};
use gristmill_core::{Cancel, Outcome, Subject};
use gristmill_ops::engine::browse::places::{place_of, SubjectLocation};
use gristmill_ops::engine::browse::{
    filter, problems, Catalog, KeyQuery, Marks, Matches, ProblemList, SampleAt, SampleFilter, TokenView,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two wakings of the screen by a search.
const WAKE_EVERY: Duration = Duration::from_millis(60);
/// Samples found that are handed over in one go, at most.
const BATCH: usize = 4_096;

/// What is to be opened, and how.
pub struct ToOpen {
    /// The data set.
    pub path: PathBuf,
    /// How packed tokens are looked at.
    pub view: TokenView,
    /// Packed tokens: the group and the byte of its file that one was at.
    pub at: Option<(u32, u64)>,
}

/// A data set that is open, and where one was in it.
pub struct Opened {
    /// It.
    pub catalog: Arc<dyn Catalog>,
    /// The row that holds the byte that was asked for.
    pub at: Option<SampleAt>,
}

/// Opens data sets.
pub type Opener = Latest<ToOpen, Outcome<Opened>>;

/// How long the listing of documents is waited for, to find the one that was looked at.
const SETTLING: Duration = Duration::from_millis(400);

/// Starts the worker that opens data sets.
pub fn opener(wake: Wake) -> Opener {
    Latest::start("browse-open", wake, |asked: ToOpen| {
        let catalog = gristmill_ops::job::browse::open_tokens(&asked.path, &asked.view)?;
        let at = asked.at.and_then(|(group, byte)| row_of(catalog.as_ref(), group, byte));
        Ok(Opened { catalog, at })
    })
}

/// The row of packed tokens that holds a byte of a file.
fn row_of(catalog: &dyn Catalog, group: u32, byte: u64) -> Option<SampleAt> {
    let set = catalog.tokens()?;
    let end = Instant::now() + SETTLING;
    while !catalog.groups().is_complete && Instant::now() < end {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    set.row_holding(group, byte).ok().flatten()
}

/// Everything that is asked of an open catalog.
pub struct Workers {
    rows: Stream<RowRequest, Option<Fetched>>,
    detail: Latest<Question, Detail>,
    finder: Latest<SearchJob, ()>,
    /// Stops whatever is being fetched when the screen is left.
    leaving: Cancel,
    /// Stops the look at the sample before.
    looking: Cancel,
    hunting: Cancel,
    caught: Arc<Mutex<Caught>>,
    hunts: u64,
    sifter: Latest<FilterJob, ()>,
    sifting: Cancel,
    sifted: Arc<Mutex<Sifted>>,
    problems: Latest<(), Outcome<ProblemList>>,
    locator: Latest<ToFind, Outcome<Located>>,
}

/// Where something was found.
pub struct Located {
    pub place: SubjectLocation,
    /// Whether more samples were still being found when the search began, so that another place may be nearer.
    pub may_grow: bool,
}

/// Where the browser is to begin.
pub enum ToFind {
    /// At the sample of this key; `shard/key` names its shard, too.
    Key(String),
    /// At what a problem is about.
    Subject(Box<Subject>),
}

/// A filter to be applied.
struct FilterJob {
    number: u64,
    filter: SampleFilter,
    marks: Arc<Marks>,
    problems: Arc<ProblemList>,
    cancel: Cancel,
}

/// What a filter left since it was asked last.
#[derive(Default)]
pub struct Sifted {
    number: u64,
    /// What it leaves, as far as it looked.
    pub matches: Option<Arc<Matches>>,
    /// It looked at everything; or why it did not.
    pub ended: Option<Outcome<()>>,
}

/// A search to be made.
struct SearchJob {
    number: u64,
    query: KeyQuery,
    cancel: Cancel,
}

/// What a search found since it was asked last.
#[derive(Default)]
struct Caught {
    number: u64,
    found: Vec<SampleAt>,
    ended: Option<Search>,
}

impl Workers {
    /// Starts them on a catalog.
    pub fn start(catalog: &Arc<dyn Catalog>, wake: &Wake) -> Self {
        let leaving = Cancel::default();
        let (from, cancel) = (Arc::clone(catalog), leaving.clone());
        let mut last: Option<RowRequest> = None;
        let rows = Stream::start("browse-rows", wake.clone(), move |piece: RowRequest| {
            // What was being read when the list moved on is wanted again; it is on its way already.
            if last.as_ref() == Some(&piece) {
                return None;
            }
            last = Some(piece.clone());
            let spans = piece.spans.iter().map(|span| fetch(from.as_ref(), *span, &cancel)).collect();
            Some(Fetched { piece, spans })
        });
        let from = Arc::clone(catalog);
        let detail = Latest::start("browse-sample", wake.clone(), move |question| look_at(&from, question));
        let caught: Arc<Mutex<Caught>> = Arc::default();
        let (from, basket, woken) = (Arc::clone(catalog), Arc::clone(&caught), wake.clone());
        let finder = Latest::start("browse-find", wake.clone(), move |hunt: SearchJob| {
            go_hunting(from.as_ref(), &hunt, &basket, &woken)
        });
        let sifted: Arc<Mutex<Sifted>> = Arc::default();
        let (from, sieve, woken) = (Arc::clone(catalog), Arc::clone(&sifted), wake.clone());
        let sifter = Latest::start("browse-filter", wake.clone(), move |sift: FilterJob| {
            go_sifting(from.as_ref(), &sift, &sieve, &woken)
        });
        let (from, cancel) = (Arc::clone(catalog), leaving.clone());
        let problems =
            Latest::start("browse-problems", wake.clone(), move |()| problems::reported(from.as_ref(), &cancel));
        let (from, cancel) = (Arc::clone(catalog), leaving.clone());
        let locator =
            Latest::start("browse-locate", wake.clone(), move |wanted| find_place(from.as_ref(), wanted, &cancel));
        let [looking, hunting, sifting] = std::array::from_fn(|_| Cancel::default());
        Self {
            rows,
            detail,
            finder,
            leaving,
            looking,
            hunting,
            caught,
            hunts: 0,
            sifter,
            sifting,
            sifted,
            problems,
            locator,
        }
    }

    /// Applies a filter; the one before is forgotten.
    pub fn sift(&mut self, filter: SampleFilter, marks: Arc<Marks>, problems: Arc<ProblemList>) {
        self.stop_sifting();
        self.sifting = Cancel::default();
        let number = {
            let mut sifted = lock(&self.sifted);
            *sifted = Sifted { number: sifted.number + 1, ..Sifted::default() };
            sifted.number
        };
        self.sifter.ask(FilterJob { number, filter, marks, problems, cancel: self.sifting.clone() });
    }

    /// Ends the looking of a filter.
    pub fn stop_sifting(&mut self) {
        self.sifting.cancel();
    }

    /// What the filter left since the last call.
    pub fn take_sifted(&mut self) -> Sifted {
        let mut sifted = lock(&self.sifted);
        Sifted { number: sifted.number, matches: sifted.matches.take(), ended: sifted.ended.take() }
    }

    /// Asks for the problems that are known from the last run.
    pub fn want_problems(&mut self) {
        self.problems.ask(());
    }

    /// The problems, once.
    pub fn take_problems(&mut self) -> Option<Outcome<ProblemList>> {
        self.problems.take()
    }

    /// Looks for where the browser begins.
    pub fn locate(&mut self, wanted: ToFind) {
        self.locator.ask(wanted);
    }

    /// Where that is, once.
    pub fn take_located(&mut self) -> Option<Outcome<Located>> {
        self.locator.take()
    }

    /// Says which rows are wanted.
    pub fn want_rows(&mut self, pieces: Vec<RowRequest>) {
        self.rows.want(pieces);
    }

    /// Rows that came.
    pub fn take_rows(&mut self) -> Vec<Fetched> {
        self.rows.take().into_iter().flatten().collect()
    }

    /// Looks at a sample; what was looked at before is let go.
    pub fn look(&mut self, mut question: Question) {
        self.looking.cancel();
        self.looking = Cancel::default();
        question.cancel = self.looking.clone();
        self.detail.ask(question);
    }

    /// What was seen, once.
    pub fn take_detail(&mut self) -> Option<Detail> {
        self.detail.take()
    }

    /// Whether a sample is being looked at.
    pub fn is_looking(&self) -> bool {
        self.detail.is_waiting()
    }

    /// Searches; the search before ends.
    pub fn find(&mut self, query: KeyQuery) {
        self.stop_finding();
        self.hunts += 1;
        self.hunting = Cancel::default();
        *lock(&self.caught) = Caught { number: self.hunts, ..Caught::default() };
        self.finder.ask(SearchJob { number: self.hunts, query, cancel: self.hunting.clone() });
    }

    /// Ends the search.
    pub fn stop_finding(&mut self) {
        self.hunting.cancel();
    }

    /// What was found since the last call, and how the search ended if it did.
    pub fn take_found(&mut self) -> (Vec<SampleAt>, Option<Search>) {
        let mut caught = lock(&self.caught);
        (std::mem::take(&mut caught.found), caught.ended.take())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.leaving.cancel();
        self.looking.cancel();
        self.hunting.cancel();
        self.sifting.cancel();
    }
}

/// What a worker holds this for is a few stores; it never reads meanwhile.
fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find_place(catalog: &dyn Catalog, wanted: ToFind, cancel: &Cancel) -> Outcome<Located> {
    // As it is before the search: what is found meanwhile was not searched.
    let groups = catalog.groups();
    let place = match wanted {
        ToFind::Subject(subject) => place_of(catalog, &subject, cancel)?,
        ToFind::Key(key) => match locate(catalog, &key, cancel)? {
            Some(at) => SubjectLocation::Sample { at, key: Arc::from(key) },
            None => SubjectLocation::Nowhere,
        },
    };
    let is_counted = |group: u32| groups.group(group).is_some_and(|group| group.is_counted);
    let may_grow = match place {
        SubjectLocation::Sample { .. } => false,
        SubjectLocation::Nowhere => !groups.is_complete,
        SubjectLocation::Near(SampleAt { group, .. }) | SubjectLocation::Group(group) => {
            !groups.is_complete && !is_counted(group)
        }
    };
    Ok(Located { place, may_grow })
}

/// The sample of a key; where no sample has that whole key, `shard/key` names the shard, too. Reads, so it runs on a worker.
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

fn go_sifting(catalog: &dyn Catalog, sift: &FilterJob, sifted: &Mutex<Sifted>, wake: &Wake) {
    let tell = |matches: Option<Arc<Matches>>, ended: Option<Outcome<()>>| {
        let mut sifted = lock(sifted);
        if sifted.number == sift.number {
            sifted.matches = matches.or(sifted.matches.take());
            sifted.ended = ended;
            drop(sifted);
            wake.wake();
        }
    };
    let ended = filter::run(catalog, &sift.filter, &sift.marks, &sift.problems, &sift.cancel, &mut |matches| {
        tell(Some(matches), None);
    });
    tell(None, Some(ended));
}

/// The samples of a span. When one group in it cannot be read, the others are read all the same.
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

fn go_hunting(catalog: &dyn Catalog, hunt: &SearchJob, caught: &Mutex<Caught>, wake: &Wake) {
    let mut batch: Vec<SampleAt> = Vec::new();
    let tell = |batch: &mut Vec<SampleAt>, ended: Option<Search>| {
        let mut caught = lock(caught);
        if caught.number != hunt.number {
            return false;
        }
        caught.found.append(batch);
        caught.ended = ended.or(caught.ended.take());
        drop(caught);
        wake.wake();
        true
    };
    let mut told: Option<Instant> = None;
    let result = catalog.find(&hunt.query, &hunt.cancel, &mut |at| {
        batch.push(at);
        // The first one is gone to, so it is told at once.
        if batch.len() >= BATCH || told.is_none_or(|at| at.elapsed() >= WAKE_EVERY) {
            told = Some(Instant::now());
            return tell(&mut batch, None) && !hunt.cancel.is_cancelled();
        }
        !hunt.cancel.is_cancelled()
    });
    let ended = match result {
        Ok(()) if hunt.cancel.is_cancelled() => Search::Stopped,
        Ok(()) => Search::Done,
        Err(failure) if failure.is_cancelled() => Search::Stopped,
        Err(failure) => Search::Failed(failure.to_string()),
    };
    tell(&mut batch, Some(ended));
}
