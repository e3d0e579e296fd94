//! Draws step Run: how far it is, then what came of it.

use super::super::draw::Look;
use super::super::source::view::samples_cell;
use super::super::spots::Spot;
use super::super::step::Answers;
use crate::tui::jobs::JobResult;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::screens::run::view::{draw_frame, draw_page, RunTexts};
use crate::tui::screens::run::{RunState, Tab};
use crate::tui::widgets::layout::heading;
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::{draw_table, text, Align, Column};
use gristmill_core::text::{bytes, count};
use gristmill_core::Loading;
use gristmill_ops::job::prepare::PrepareReport;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The split that trainers load unless they are told another.
const TRAINING: &str = "train";

/// Draws the step.
pub fn draw(step: &mut RunState, frame: &mut Frame, area: Rect, answers: &Answers, look: &Look) {
    let is_trainable = match &step.result {
        Some(JobResult::Prepare(end)) => end.as_ref().as_ref().is_ok_and(|report| lack(report).is_none()),
        _ => true,
    };
    let words = words(answers, is_trainable, look.ui);
    let Some(place) = draw_frame(step, frame, area, &words, look.focused, look.ui) else {
        if step.tab == Tab::Problems {
            look.spots.put(step.problems.area, Spot::Rows(0, 0));
        }
        return;
    };
    match step.result.clone() {
        Some(JobResult::Prepare(end)) => {
            if let Ok(report) = end.as_ref() {
                draw_summary(step, frame, place, report, answers, look);
            }
        }
        _ => draw_shards(step, frame, place, answers, look),
    }
}

fn words(answers: &Answers, is_trainable: bool, ui: &Ui) -> RunTexts {
    // The folder one is in has no name of its own.
    let root = std::path::absolute(&answers.facts.root).unwrap_or_else(|_| answers.facts.root.clone());
    let name = root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let name = text::fit_middle(&name, 40, ui.glyphs);
    RunTexts {
        ready: format!("{name} is {}", if is_trainable { "ready to train on" } else { "prepared" }),
        done: format!("{name} is prepared"),
        idle: format!("{name} was prepared like this already"),
        overview: "Shards",
        back: "the answers",
        keeps_work: true,
    }
}

fn draw_shards(step: &mut RunState, frame: &mut Frame, area: Rect, answers: &Answers, look: &Look) {
    let ui = look.ui;
    let shards = &answers.facts.shards;
    step.list.set_len(shards.len());
    let columns = [
        Column { title: "shard", width: Constraint::Fill(1), align: Align::Name },
        Column { title: "size", width: Constraint::Length(10), align: Align::Number },
        Column { title: "samples", width: Constraint::Length(13), align: Align::Number },
    ];
    let spinner = ui.spinner();
    draw_table(frame.buffer_mut(), area, &mut step.list, &columns, look.focused, ui, |at| {
        let Some(shard) = shards.get(at) else { return Vec::new() };
        vec![shard.name.clone().into(), bytes(shard.stamp.bytes).into(), samples_cell(shard, spinner, look)]
    });
}

fn draw_summary(
    step: &mut RunState,
    frame: &mut Frame,
    area: Rect,
    report: &PrepareReport,
    answers: &Answers,
    look: &Look,
) {
    let ui = look.ui;
    let dot = ui.glyphs.dot;
    let columns = usize::from(area.width);
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
    lines.extend(without_training(report, columns, look));
    lines.extend(next_steps(answers, columns, look));
    draw_page(step, frame, area, lines, look.ui);
}

/// Why there is nothing to train on; nothing where there is something, or no split at all.
fn lack(report: &PrepareReport) -> Option<&'static str> {
    match report.splits.iter().find(|split| *split.name == *TRAINING) {
        _ if report.splits.is_empty() => None,
        Some(split) => (split.samples == 0).then_some("has no sample"),
        None => Some("is not there"),
    }
}

/// What to do first where there is nothing to train on.
fn without_training(report: &PrepareReport, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let Some(what) = lack(report) else { return Vec::new() };
    let key = ui.key(Context::Run, Action::Splits);
    let words = format!("{TRAINING} {what}, so that what loads it fails: {key} divides the shards otherwise");
    let mut lines = wrapped(&words, columns, ui.theme.warn);
    lines.push(Line::default());
    lines
}

fn next_steps(answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let mut head = heading("Next: load it where you train", ui);
    let key = ui.key(Context::Run, Action::Copy);
    head.spans.push(Span::styled(format!("   {key} copies it"), ui.theme.muted));
    let mut lines = vec![head];
    let snippet = loader_snippet(answers);
    lines.extend(
        snippet
            .lines()
            .map(|l| Line::from(Span::styled(text::fit_end(&format!("  {l}"), columns, ui.glyphs), ui.theme.accent))),
    );
    let first = match &answers.plan.loading {
        Loading::Crude { cooker: true } => {
            Some("First fill in .nv-meta/cooker.py and register its cooker with your task encoder.")
        }
        Loading::Crude { cooker: false } => Some("First write a cooker and register it with your task encoder."),
        Loading::SampleLoader { .. } => Some("First fill in .nv-meta/sample_loader.py."),
        Loading::NoDatasetYaml => Some("First write .nv-meta/dataset.yaml; nothing can be loaded before."),
        Loading::FieldMap { .. } | Loading::Unset => None,
    };
    lines.extend(first.into_iter().flat_map(|words| wrapped(words, columns, ui.theme.warn)));
    let check = format!("gristmill lint {}", gristmill_ops::engine::plan::shell_quote(&answers.plan.path));
    lines.push(Line::from(Span::styled(
        text::fit_end(&format!("To check it again: {check}"), columns, ui.glyphs),
        ui.theme.muted,
    )));
    lines
}

/// Python that loads the training split.
pub fn loader_snippet(answers: &Answers) -> String {
    // Training is started somewhere else than here, so a relative path would not do.
    let path = std::path::absolute(&answers.facts.root).unwrap_or_else(|_| answers.facts.root.clone());
    let path = serde_json::Value::String(path.to_string_lossy().into_owned()).to_string();
    let mut lines = vec![
        "import megatron.energon as energon".to_owned(),
        String::new(),
        "config = energon.WorkerConfig.default_worker_config()".to_owned(),
        "dataset = energon.get_train_dataset(".to_owned(),
        format!("    {path},"),
        "    batch_size=8,".to_owned(),
        "    shuffle_buffer_size=100,".to_owned(),
        "    max_samples_per_sequence=100,".to_owned(),
        "    worker_config=config,".to_owned(),
    ];
    if matches!(answers.plan.loading, Loading::Crude { .. }) {
        lines.push("    task_encoder=MyTaskEncoder(),  # with your cooker".to_owned());
    }
    lines.push(")".to_owned());
    lines.push("for batch in energon.get_loader(dataset):".to_owned());
    lines.push("    print(batch)".to_owned());
    lines.push("    break".to_owned());
    lines.join("\n")
}
