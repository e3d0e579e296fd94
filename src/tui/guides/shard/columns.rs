//! The columns of rows, and the mark of each: what `shard` makes of the column.

use crate::tui::screen::Ui;
use crate::tui::widgets::layout::heading;
use crate::tui::widgets::text;
use gristmill_core::options::Answer;
use gristmill_core::shard_plan::{Column, KeyRule};
use gristmill_core::text::{agree, count, display_safe};
use gristmill_core::{Cancel, Outcome, ProblemKind, ShardPlan};
use gristmill_ops::browse;
use gristmill_ops::engine::browse::SampleAt;
use gristmill_ops::shard::examples::{DividedName, FutureSample, NameExample};
use gristmill_ops::shard::ShardReport;
use ratatui::text::{Line, Span};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Maximum number of rows that are read. The next constants limit the bytes of a row and the number of columns.
const READ_ROWS: usize = 10;
const MAX_ROW_BYTES: usize = 4 << 20;
const MAX_COLUMNS: usize = 200;
/// Maximum length of a shown value in characters.
const MAX_VALUE_CHARS: usize = 80;

/// A value of the option for keys that is not the name of a column.
const NUMBER: &str = "number";

/// Interval between two checks for the progress of a scan.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The role of a column of rows in the shards that `shard` writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    /// The column is only a part of the row.
    #[default]
    None,
    /// The column has paths of media files.
    Media,
    /// The column has a text.
    Text,
    /// The column is the key of the sample.
    Key,
    /// The column is the name of the split.
    Split,
}

impl Mark {
    /// Returns the marks that a column may have, in the order in which the keys left and right go through them. A column `number` cannot be
    /// the key of samples, because `--key number` numbers them instead.
    pub(super) fn of_column(name: &str) -> Vec<Self> {
        let all = [Self::None, Self::Media, Self::Text, Self::Key, Self::Split];
        all.into_iter().filter(|mark| *mark != Self::Key || name != NUMBER).collect()
    }

    /// Returns the name of the mark for display.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Media => "media",
            Self::Text => "text",
            Self::Key => "key",
            Self::Split => "split",
        }
    }

    /// Returns the mark that a plan gives to a column.
    pub(super) fn of(plan: &ShardPlan, name: &str) -> Self {
        let has = |columns: &[Column]| columns.iter().any(|column| column.name == name);
        match () {
            () if has(&plan.rows.media) => Self::Media,
            () if has(&plan.rows.text) => Self::Text,
            () if plan.key.as_deref() == Some(name) => Self::Key,
            () if plan.rows.split.as_deref() == Some(name) => Self::Split,
            () => Self::None,
        }
    }

    /// Returns the options that change when a column gets this mark, with their answers. Only one column can be the key, and one the split.
    pub(super) fn answers(self, plan: &ShardPlan, name: &str) -> Vec<(&'static str, Answer)> {
        let list = |columns: &[Column], mark: Self| {
            let others = columns.iter().filter(|column| column.name != name).map(|column| match &column.part {
                Some(part) => format!("{}:{part}", column.name),
                None => column.name.clone(),
            });
            let texts: Vec<String> = others.chain((self == mark).then(|| name.to_owned())).collect();
            if texts.is_empty() {
                Answer::Unset
            } else {
                Answer::List(texts)
            }
        };
        let one = |now: Option<&str>, mark: Self| match now.filter(|now| *now != name) {
            _ if self == mark => Answer::Text(name.to_owned()),
            Some(other) => Answer::Text(other.to_owned()),
            None => Answer::Unset,
        };
        vec![
            ("media", list(&plan.rows.media, Self::Media)),
            ("text", list(&plan.rows.text, Self::Text)),
            ("key", one(plan.key.as_deref(), Self::Key)),
            ("split-column", one(plan.rows.split.as_deref(), Self::Split)),
        ]
    }
}

/// A column of the first rows, with its first value that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowColumn {
    /// The name of the column, not escaped.
    pub(super) name: String,
    /// The value, escaped for display.
    pub(super) value: String,
}

fn shown(value: Value) -> String {
    let value = match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    display_safe(&value).chars().take(MAX_VALUE_CHARS).collect()
}

/// Returns the columns of the images in an annotation file, from a sample made of it; empty for other samples.
pub(super) fn image_columns(sample: &FutureSample) -> Vec<RowColumn> {
    let column = |(name, value)| RowColumn { name: format!("image.{name}"), value: shown(value) };
    sample.annotated_image().into_iter().flatten().take(MAX_COLUMNS).map(column).collect()
}

/// Returns a line about missing media of rows; `None` if no media are missing.
pub(super) fn missing_media_line(report: &ShardReport, ui: &Ui) -> Option<Line<'static>> {
    let missing = report.counts.iter().filter(|(_, kind, _)| *kind == ProblemKind::MissingMedia);
    let missing: u64 = missing.map(|(_, _, count)| count).sum();
    let words = format!("{} of media {} missing", count(missing, "file"), agree(missing, "is", "are"));
    (missing > 0).then(|| Line::from(Span::styled(words, ui.theme.warn)))
}

/// Returns the columns of the first rows of an input; empty if it has no rows.
pub(super) fn read_columns(input: &Path, cancel: &Cancel) -> Outcome<Vec<RowColumn>> {
    let catalog = browse::open(input)?;
    if catalog.group_word() != "file" || catalog.kind().is_tokens() {
        return Ok(Vec::new());
    }
    while !catalog.groups().is_complete && catalog.groups().total() < READ_ROWS as u64 {
        cancel.check()?;
        std::thread::sleep(POLL_INTERVAL);
    }
    let mut columns: Vec<RowColumn> = Vec::new();
    for row in catalog.samples(SampleAt::default(), READ_ROWS, cancel)? {
        let bytes = catalog.read(&row, 0, 0, MAX_ROW_BYTES)?;
        // Rows that are too long or not an object are problems of the preview.
        let Ok(Value::Object(fields)) = serde_json::from_slice(&bytes) else { continue };
        for (name, value) in fields {
            let value = shown(value);
            if let Some(known) = columns.iter_mut().find(|known| known.name == name) {
                if known.value.is_empty() {
                    known.value = value;
                }
            } else if columns.len() < MAX_COLUMNS {
                columns.push(RowColumn { name, value });
            }
        }
    }
    Ok(columns)
}

/// Returns lines with the key and part of each name by both key rules.
pub(super) fn rule_lines(names: &[NameExample], rule: KeyRule, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    if names.is_empty() {
        return Vec::new();
    }
    let half = columns.saturating_sub(3) / 2;
    let cell = |words: &str| text::pad_end(&text::fit_middle(words, half, ui.glyphs), half);
    let divided = |name: &DividedName| match name {
        Some((key, part)) => format!("{} {} {}", display_safe(key), ui.glyphs.dot, display_safe(part)),
        None => "left out".to_owned(),
    };
    let pair = |first: &str, last: &str| {
        let style = |is_on: bool| if is_on { ui.theme.text } else { ui.theme.muted };
        Line::from(vec![
            Span::styled(format!(" {} ", cell(first)), style(rule == KeyRule::FirstDot)),
            Span::styled(cell(last), style(rule == KeyRule::LastDot)),
        ])
    };
    let mut lines = vec![heading("Key and part by both rules", ui), pair("first-dot", "last-dot")];
    lines.extend(names.iter().map(|name| pair(&divided(&name.first_dot), &divided(&name.last_dot))));
    lines
}
