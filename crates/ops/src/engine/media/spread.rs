//! Distributions of the content of the media tables, for `info` and the facts view.

use gristmill_core::text::{count, duration, grouped};
use gristmill_core::{AvFacts, Cancel, ImageFacts, MediaFacts, Outcome};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::media_json::from_json;
use gristmill_data::formats::energon::tables::{failure, has_media_tables, open_readonly, VisitError};
use gristmill_storage::files;
use rusqlite::Connection;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Maximum number of names in a list.
const MAX_SHOWN_NAMES: usize = 8;
/// Rows between two checks of the cancel flag.
const CANCEL_EVERY: u64 = 4096;
/// Upper bounds of the classes of pictures and videos, by their longer side in pixels.
const SIDES: [u32; 9] = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];
/// Upper bounds of the classes of durations, in seconds, with their names.
const LENGTHS: [(f64, &str); 9] = [
    (1.0, "under 1 s"),
    (5.0, "1–5 s"),
    (10.0, "5–10 s"),
    (30.0, "10–30 s"),
    (60.0, "30–60 s"),
    (300.0, "1–5 min"),
    (1800.0, "5–30 min"),
    (3600.0, "30–60 min"),
    (f64::INFINITY, "1 h and more"),
];

/// A filter that was applied to the entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterFacts {
    /// `EXTENSION`, `HEADER` or `GLOB`.
    pub strategy: String,
    /// The patterns of a glob; empty for other strategies.
    pub patterns: String,
    /// Time of first use, in UTC, as stored in the database.
    pub created_at: String,
}

/// The content of the media tables. Every list contains names and row counts, in a fixed order of classes or most frequent first. If not
/// all names are listed, `others` is last, so that the counts add up to the total.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MediaSpread {
    /// Total number of rows.
    pub rows: u64,
    /// Number of rows of pictures.
    pub images: u64,
    /// Number of rows of audio and video.
    pub av: u64,
    /// Number of rows that cannot be read.
    pub unreadable: u64,
    /// The filters that produced the rows, oldest first.
    pub filters: Vec<FilterFacts>,
    /// Pictures by format.
    pub formats: Vec<(String, u64)>,
    /// Pictures by mode.
    pub modes: Vec<(String, u64)>,
    /// Pictures by width × height, in pixels; the most frequent ones.
    pub sizes: Vec<(String, u64)>,
    /// Pictures by their longer side, in classes.
    pub sides: Vec<(String, u64)>,
    /// Videos by width × height, in pixels; the most frequent ones.
    pub video_sizes: Vec<(String, u64)>,
    /// Audio and video by duration, in classes.
    pub durations: Vec<(String, u64)>,
    /// Audio by sample rate and channels.
    pub audio: Vec<(String, u64)>,
    /// Total duration of audio and video, in seconds.
    pub seconds: f64,
    /// Smallest and largest width and height of the pictures.
    pub extent: Option<[(u32, u32); 2]>,
}

impl MediaSpread {
    /// Returns names and values, in the order of display. Raw.
    pub fn facts(&self) -> Vec<(String, String)> {
        let (images, av) = (count(self.images, "picture"), grouped(self.av));
        let mut facts = vec![("rows", format!("{} ({images}, {av} of sound or video)", grouped(self.rows)))];
        for filter in &self.filters {
            let patterns = if filter.patterns.is_empty() { String::new() } else { format!(" {}", filter.patterns) };
            let strategy = filter.strategy.to_lowercase();
            facts.push(("picked by", format!("{strategy}{patterns}, first {} UTC", filter.created_at)));
        }
        let lists = [
            ("formats", &self.formats),
            ("modes", &self.modes),
            ("longer side", &self.sides),
            ("sizes", &self.sizes),
            ("video sizes", &self.video_sizes),
            ("durations", &self.durations),
            ("sound", &self.audio),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        facts.extend(lists.map(|(name, list)| (name, list_text(list))));
        if let Some([(width, height), (most_width, most_height)]) = self.extent {
            let (wide, high) = (span(width, most_width), span(height, most_height));
            facts.push(("pictures are", format!("{wide} px wide, {high} px high")));
        }
        if self.seconds >= 1.0 {
            facts.push(("plays for", duration(Duration::try_from_secs_f64(self.seconds).unwrap_or_default())));
        }
        if self.unreadable > 0 {
            facts.push(("cannot be read", count(self.unreadable, "row")));
        }
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn list_text(list: &[(String, u64)]) -> String {
    let shown = list.iter().take(MAX_SHOWN_NAMES).map(|(name, rows)| format!("{name} {}", grouped(*rows)));
    let text = shown.collect::<Vec<_>>().join(", ");
    match list.len() > MAX_SHOWN_NAMES {
        true => text + ", …",
        false => text,
    }
}

/// Formats a range: `48` or `48–300`.
fn span(least: u32, most: u32) -> String {
    let (least, most) = (grouped(u64::from(least)), grouped(u64::from(most)));
    if least == most {
        least
    } else {
        format!("{least}–{most}")
    }
}

/// Limit of distinct sizes that are counted, because a malicious table may have one per row.
const MAX_DISTINCT_SIZES: usize = 10_000;
/// Limit of listed sizes.
const MAX_LISTED_SIZES: usize = 20;
/// Name under which all further sizes are counted.
pub const OTHERS: &str = "others";

#[derive(Default)]
struct SpreadTally {
    spread: MediaSpread,
    formats: BTreeMap<String, u64>,
    modes: BTreeMap<String, u64>,
    /// Number of pictures by width and height.
    sizes: BTreeMap<(u32, u32), u64>,
    /// Number of videos by width and height.
    video_sizes: BTreeMap<(u32, u32), u64>,
    /// Number of sounds by sample rate and number of channels.
    audio: BTreeMap<(u32, u32), u64>,
    /// Number of rows in `video_sizes` and in `audio`, including those beyond their limits.
    videos: u64,
    sounds: u64,
    sides: [u64; SIDES.len() + 1],
    lengths: [u64; LENGTHS.len()],
}

/// Reads the media tables of the data set at `root`, row by row. Returns `None` if there are none, and returns soon after a cancellation.
pub fn facts_of(root: &Path, cancel: &Cancel) -> Outcome<Option<MediaSpread>> {
    let path = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    if !files::is_file(&path) {
        return Ok(None);
    }
    let connection = open_readonly(&path)?;
    let failed = |error: rusqlite::Error| failure(&path, &error);
    if !has_media_tables(&connection).map_err(failed)? {
        return Ok(None);
    }
    let mut tally = SpreadTally::default();
    tally.spread.filters = filters(&connection).map_err(failed)?;
    rows(&connection, cancel, &mut tally).map_err(|error| error.into_failure(&path))?;
    Ok(Some(tally.finish()))
}

fn filters(connection: &Connection) -> rusqlite::Result<Vec<FilterFacts>> {
    let sql = "SELECT strategy, coalesce(patterns, ''), coalesce(created_at_utc, '') FROM media_filters ORDER BY filter_id LIMIT 1000";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(FilterFacts { strategy: row.get(0)?, patterns: row.get(1)?, created_at: row.get(2)? })
    })?;
    rows.collect()
}

fn rows(connection: &Connection, cancel: &Cancel, tally: &mut SpreadTally) -> Result<(), VisitError> {
    let mut statement = connection.prepare("SELECT metadata_type, metadata_json FROM media_metadata")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        tally.spread.rows += 1;
        if tally.spread.rows.is_multiple_of(CANCEL_EVERY) && cancel.is_cancelled() {
            return Err(VisitError::Cancelled);
        }
        let (kind, json) = (row.get_ref(0)?, row.get_ref(1)?);
        match (kind.as_str(), json.as_str()) {
            (Ok(kind), Ok(json)) => tally.add_facts(from_json(kind, json)),
            _ => tally.spread.unreadable += 1,
        }
    }
    Ok(())
}

impl SpreadTally {
    fn add_facts(&mut self, facts: Result<MediaFacts, String>) {
        match facts {
            Ok(MediaFacts::Image(image)) => self.image(&image),
            Ok(MediaFacts::Av(av)) => self.av(&av),
            Err(_) => self.spread.unreadable += 1,
        }
    }

    fn image(&mut self, image: &ImageFacts) {
        let (width, height) = (image.width, image.height);
        self.spread.images += 1;
        *self.formats.entry(image.format.to_owned()).or_default() += 1;
        *self.modes.entry(image.mode.to_owned()).or_default() += 1;
        count_size(&mut self.sizes, (width, height));
        let side = width.max(height);
        let class = SIDES.iter().position(|end| side <= *end).unwrap_or(SIDES.len());
        if let Some(class) = self.sides.get_mut(class) {
            *class += 1;
        }
        let [low, high] = self.spread.extent.unwrap_or([(width, height); 2]);
        self.spread.extent = Some([(low.0.min(width), low.1.min(height)), (high.0.max(width), high.1.max(height))]);
    }

    fn av(&mut self, av: &AvFacts) {
        self.spread.av += 1;
        if let (Some(width), Some(height)) = (av.video_width, av.video_height) {
            self.videos += 1;
            count_size(&mut self.video_sizes, (width, height));
        }
        if let (Some(rate), Some(channels)) = (av.audio_sample_rate, av.audio_channels) {
            self.sounds += 1;
            count_size(&mut self.audio, (rate, channels));
        }
        let seconds = av.video_duration.or(av.audio_duration).filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        if let Some(seconds) = seconds {
            self.spread.seconds += seconds;
            let class = LENGTHS.iter().position(|(end, _)| seconds < *end).unwrap_or(LENGTHS.len() - 1);
            if let Some(class) = self.lengths.get_mut(class) {
                *class += 1;
            }
        }
    }

    fn finish(self) -> MediaSpread {
        let mut spread = self.spread;
        let pixels = |(width, height)| format!("{width}×{height}");
        spread.formats = most(self.formats, spread.images, |name| name);
        spread.modes = most(self.modes, spread.images, |name| name);
        spread.sizes = most(self.sizes, spread.images, pixels);
        spread.video_sizes = most(self.video_sizes, self.videos, pixels);
        spread.audio = most(self.audio, self.sounds, |(rate, channels)| format!("{rate} Hz, {channels} ch"));
        let sides = (0..).zip(self.sides).filter(|(_, count)| *count > 0);
        spread.sides = sides.map(|(class, count)| (side_name(class), count)).collect();
        let lengths = LENGTHS.iter().zip(self.lengths).filter(|(_, count)| *count > 0);
        spread.durations = lengths.map(|((_, name), count)| ((*name).to_owned(), count)).collect();
        spread
    }
}

fn count_size(sizes: &mut BTreeMap<(u32, u32), u64>, size: (u32, u32)) {
    if sizes.len() < MAX_DISTINCT_SIZES || sizes.contains_key(&size) {
        *sizes.entry(size).or_default() += 1;
    }
}

fn side_name(class: usize) -> String {
    match (class.checked_sub(1).and_then(|before| SIDES.get(before)), SIDES.get(class)) {
        (None, Some(end)) => format!("up to {end} px"),
        (Some(before), Some(end)) => format!("{}–{end} px", before + 1),
        (Some(before), None) => format!("over {before} px"),
        (None, None) => String::new(),
    }
}

/// Returns the most frequent names with their counts, and the remainder of `all` rows as the last item.
fn most<K: Ord>(counts: BTreeMap<K, u64>, all: u64, name: impl Fn(K) -> String) -> Vec<(String, u64)> {
    let mut list: Vec<(K, u64)> = counts.into_iter().collect();
    // The sort is stable: equal counts keep the order of the map.
    list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut named: Vec<_> = list.into_iter().take(MAX_LISTED_SIZES).map(|(key, count)| (name(key), count)).collect();
    let rest = all.saturating_sub(named.iter().map(|(_, count)| count).sum());
    named.extend((rest > 0).then(|| (OTHERS.to_owned(), rest)));
    named
}
