//! The run of a guided prepare: its request, its shards while it runs, and its summary.

use super::recorded::with_recorded_counts;
use super::source::view::samples_cell;
use super::step::Answers;
use crate::tui::jobs::JobResult;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::screens::run::view::{draw_page, RunTexts};
use crate::tui::screens::run::{JobOutput, JobRequest, Overview, RunState};
use crate::tui::widgets::layout::heading;
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::{draw_table, text, Align, Column};
use gristmill_core::sample_type::ENERGON_PACKAGE;
use gristmill_core::text::{bytes, count};
use gristmill_core::{DatasetFacts, PreparePlan, SampleMapping};
use gristmill_ops::job::prepare::PrepareReport;
use gristmill_ops::job::scan::LiveScan;
use gristmill_ops::operations::prepare::command_line;
use gristmill_storage::files;
use gristmill_storage::location::Location;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The split that trainers load by default.
const TRAINING: &str = "train";

/// Returns the request to run the answers. The first attempt continues `scan`.
pub fn request(answers: &Answers, scan: Option<LiveScan>) -> JobRequest {
    let plan = answers.plan.clone();
    let path = PathBuf::from(&plan.path);
    // A relative path such as `.` has no last component.
    let name = text::safe(&text::last_name(&files::absolute_or_same(&answers.facts.root)));
    let command = command_line(&plan);
    let overview = PrepareOverview { plan: plan.clone(), facts: Arc::clone(&answers.facts) };
    let scan = RefCell::new(scan);
    JobRequest {
        crumbs: vec!["prepare".to_owned(), text::last_name(&path)],
        words: RunTexts {
            ready: format!("{name} is ready to train on"),
            done: format!("{name} is prepared"),
            idle: format!("{name} was already prepared with these answers"),
            overview: "Shards",
            back: "the answers",
            keeps_work: true,
        },
        command,
        next: Vec::new(),
        start: Box::new(move |env| env.jobs.start_prepare(plan.clone(), env.options.clone(), scan.take())),
        depth: 2,
        browse: Some(JobOutput::Samples(path.clone())),
        splits: Some(path),
        overview: Some(Box::new(overview)),
        draft: None,
    }
}

/// The shards of a running preparation, and the summary of a finished one.
struct PrepareOverview {
    plan: PreparePlan,
    /// The facts at the start of the run.
    facts: Arc<DatasetFacts>,
}

impl Overview for PrepareOverview {
    fn draw(&self, run: &mut RunState, facts: Option<Arc<DatasetFacts>>, frame: &mut Frame, area: Rect, ui: &Ui) {
        match run.result.clone() {
            Some(result) => {
                if let Some(report) = result.typed() {
                    let lines = self.summary(report, usize::from(area.width), ui);
                    draw_page(run, frame, area, lines, ui);
                }
            }
            None => {
                let facts = facts.filter(|facts| facts.opened).map(with_recorded_counts);
                draw_shards(run, frame, area, facts.as_ref().unwrap_or(&self.facts), ui);
            }
        }
    }

    fn copied_text(&self) -> String {
        self.loader_code()
    }

    fn is_ready(&self, result: &JobResult) -> bool {
        result.typed().is_some_and(|report| missing_training(report).is_none())
    }
}

fn draw_shards(run: &mut RunState, frame: &mut Frame, area: Rect, facts: &DatasetFacts, ui: &Ui) {
    let shards = &facts.shards;
    run.list.set_len(shards.len());
    let columns = [
        Column { title: "shard", width: Constraint::Fill(1), align: Align::Name },
        Column { title: "size", width: Constraint::Length(10), align: Align::Number },
        Column { title: "samples", width: Constraint::Length(13), align: Align::Number },
    ];
    let spinner = ui.spinner();
    draw_table(frame.buffer_mut(), area, &mut run.list, &columns, true, ui, |at| {
        let Some(shard) = shards.get(at) else { return Vec::new() };
        vec![
            shard.name.clone().into(),
            bytes(shard.stamp.bytes).into(),
            samples_cell(shard, facts.is_damaged(shard), spinner, ui),
        ]
    });
}

impl PrepareOverview {
    fn summary(&self, report: &PrepareReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let dot = ui.glyphs.dot;
        let mut lines = vec![Line::from(report.amounts().join(&format!(" {dot} ")))];
        for split in &report.splits {
            let name = text::pad_end(&text::fit_end(&split.name, 14, ui.glyphs), 14);
            lines.push(Line::from(format!(
                "  {name}{}{}",
                text::pad_start(&count(split.shards, "shard"), 13),
                text::pad_start(&count(split.samples, "sample"), 20)
            )));
        }
        if let Some(media) = &report.media {
            let words = format!(
                "media: {} looked at {dot} {} {dot} {} of sound or video {dot} {}",
                count(media.entries, "entry"),
                count(media.images, "picture"),
                count(media.av, "file"),
                count(media.rows_in_all, "row")
            );
            lines.extend(wrapped(&words, columns, ui.theme.text));
        }
        let size: u64 = report.files.iter().map(|f| f.bytes).sum();
        let what = format!("{} written, {}", count(report.files.len() as u64, "file"), bytes(size));
        lines.push(Line::from(Span::styled(what, ui.theme.muted)));
        lines.push(Line::default());
        lines.extend(training_lines(report, columns, ui));
        lines.extend(self.next_steps(columns, ui));
        lines
    }

    fn next_steps(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let mut head = heading("Next: load it where you train", ui);
        let key = ui.key(Context::Run, Action::Copy);
        head.spans.push(Span::styled(format!("   {key} copies it"), ui.theme.muted));
        let mut lines = vec![head];
        let code = self.loader_code();
        lines.extend(
            code.lines().map(|l| {
                Line::from(Span::styled(text::fit_end(&format!("  {l}"), columns, ui.glyphs), ui.theme.accent))
            }),
        );
        let first = match &self.plan.loading {
            SampleMapping::Crude { cooker: true } => {
                Some("First fill in .nv-meta/cooker.py and register its cooker with your task encoder.")
            }
            SampleMapping::Crude { cooker: false } => {
                Some("First write a cooker and register it with your task encoder.")
            }
            SampleMapping::SampleLoader { .. } => Some("First fill in .nv-meta/sample_loader.py."),
            SampleMapping::NoDatasetYaml => {
                Some("First write .nv-meta/dataset.yaml; the data set cannot be loaded without it.")
            }
            SampleMapping::FieldMap { .. } | SampleMapping::Unset => None,
        };
        lines.extend(first.into_iter().flat_map(|words| wrapped(words, columns, ui.theme.warn)));
        let check = format!("gristmill lint {}", gristmill_core::text::shell_quote(&self.plan.path));
        lines.push(Line::from(Span::styled(
            text::fit_end(&format!("To check it again: {check}"), columns, ui.glyphs),
            ui.theme.muted,
        )));
        lines
    }

    /// Returns Python code that loads the training split.
    fn loader_code(&self) -> String {
        let (path, comment) = loader_path(&self.facts.root);
        let mut lines = vec![format!("import {ENERGON_PACKAGE} as energon")];
        lines.extend(comment);
        lines.extend([
            String::new(),
            "config = energon.WorkerConfig.default_worker_config()".to_owned(),
            "dataset = energon.get_train_dataset(".to_owned(),
            format!("    {path},"),
            "    batch_size=8,".to_owned(),
            "    shuffle_buffer_size=100,".to_owned(),
            "    max_samples_per_sequence=100,".to_owned(),
            "    worker_config=config,".to_owned(),
        ]);
        if matches!(self.plan.loading, SampleMapping::Crude { .. }) {
            lines.push("    task_encoder=MyTaskEncoder(),  # with your cooker".to_owned());
        }
        lines.push(")".to_owned());
        lines.push("for batch in energon.get_loader(dataset):".to_owned());
        lines.push("    print(batch)".to_owned());
        lines.push("    break".to_owned());
        lines.join("\n")
    }
}

/// Returns the path for the loader as a quoted Python argument, and a comment if it differs from the path of the data set: in stores, the
/// loader opens only paths of a profile of multi-storage-client.
fn loader_path(root: &Path) -> (String, Option<String>) {
    let quoted = |text: String| serde_json::Value::String(text).to_string();
    match Location::of(root) {
        Location::Remote(url) if url.scheme.name != "msc" => {
            let comment = format!("# PROFILE: a profile of multi-storage-client whose base_path is {}", url.bucket);
            (quoted(format!("msc://PROFILE/{}", url.key)), Some(comment))
        }
        Location::Remote(_) => (quoted(root.to_string_lossy().into_owned()), None),
        // The path is absolute, because training starts in another folder.
        Location::Local(_) => (quoted(files::absolute_or_same(root).to_string_lossy().into_owned()), None),
    }
}

/// Returns why the training split is unusable; `None` if it has samples, or if there are no splits.
fn missing_training(report: &PrepareReport) -> Option<&'static str> {
    match report.splits.iter().find(|split| &*split.name == TRAINING) {
        _ if report.splits.is_empty() => None,
        Some(split) => (split.samples == 0).then_some("has no sample"),
        None => Some("does not exist"),
    }
}

/// Returns lines with a hint for splits without samples for training.
fn training_lines(report: &PrepareReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Some(what) = missing_training(report) else { return Vec::new() };
    let key = ui.key(Context::Run, Action::Splits);
    let words = format!("{TRAINING} {what}, so loading it fails: {key} divides the shards differently");
    let mut lines = wrapped(&words, columns, ui.theme.warn);
    lines.push(Line::default());
    lines
}

#[cfg(test)]
pub(super) mod tests;
