//! Draws step Run: how far it is, then what came of it.

use super::super::draw::Look;
use super::super::source::view::samples_cell;
use super::super::step::Answers;
use super::{RunStep, Tab};
use crate::engine::plan::fields::percent;
use crate::job::prepare::PrepareReport;
use crate::job::{JobStatus, Phase};
use crate::model::text::{bytes, count, duration, grouped};
use crate::model::{ExitClass, Failure, Loading, Problem, Severity};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines, severity_sign, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::{draw_table, progress_bar, text, Align, Column};
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Draws the step.
pub fn draw(step: &mut RunStep, frame: &mut Frame, area: Rect, answers: &Answers, look: &Look) {
    let columns = usize::from(area.width);
    let head = head_lines(step, answers, columns, look);
    let sections = [
        Section::fixed(head.len(), Section::FOCUS),
        Section::fixed(1, 1),
        Section::fixed(1, 3),
        Section::growing(3, 1000, 4),
    ];
    let places = stack(area, &sections);
    draw_lines(frame.buffer_mut(), places[0], head);
    draw_lines(frame.buffer_mut(), places[2], [tabs(step, look)]);
    match step.tab {
        Tab::Problems => draw_problems(step, frame, places[3], look),
        Tab::Log => draw_log(step, frame, places[3], look),
        Tab::Overview => match step.result.clone().as_deref() {
            Some(Ok(report)) => draw_summary(step, frame, places[3], report, answers, look),
            Some(Err(failure)) => draw_failure(step, frame, places[3], failure, look),
            None => draw_shards(step, frame, places[3], answers, look),
        },
    }
}

fn head_lines(step: &RunStep, answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let Some(status) = &step.status else {
        return vec![Line::from(format!("{} starting", ui.spinner()))];
    };
    let mut lines = vec![state_line(step, status, answers, look)];
    if step.result.is_none() {
        let reading = status.progress;
        let (done, total) = if reading.bytes_total > 0 && status.phase == Phase::Scan {
            (reading.bytes_done, reading.bytes_total)
        } else {
            (reading.items_done, reading.items_total)
        };
        // A total that is not known gets no bar: it would be made up.
        if total > 0 {
            let ratio = done as f64 / total as f64;
            let share = text::pad_start(&format!("{} %", percent(ratio.min(0.999))), 8);
            let bar = progress_bar(ratio.min(0.999), columns.saturating_sub(8), ui.glyphs);
            lines.push(Line::from(vec![Span::styled(bar, ui.theme.accent), Span::raw(share)]));
        }
        lines.push(Line::from(Span::styled(text::fit_end(&figures(status, look), columns, ui.glyphs), ui.theme.muted)));
    }
    if step.asks_cancel {
        let key = ui.key(Context::Run, Action::CancelJob);
        let words = format!("{} Stop the run? {key} again stops it, any other key goes on.", ui.glyphs.warn);
        lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.warn)));
    } else if step.is_stopping {
        lines.push(Line::from(Span::styled("stopping at the next safe point", ui.theme.warn)));
    }
    lines
}

fn state_line(step: &RunStep, status: &JobStatus, answers: &Answers, look: &Look) -> Line<'static> {
    let ui = look.ui;
    let name = answers.facts.root.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let name = text::fit_middle(&name, 40, ui.glyphs);
    let took = duration(status.elapsed);
    match step.result.as_deref() {
        None => {
            let phase = match status.phase {
                Phase::Open => "opening",
                Phase::Scan => "reading shards",
                Phase::Media => "reading media headers",
                Phase::Tables => "building the index",
                Phase::Publish => "making it visible",
            };
            Line::from(vec![
                Span::styled(format!("{} {phase}", ui.spinner()), ui.theme.title),
                Span::styled(format!("   {took}"), ui.theme.muted),
            ])
        }
        Some(Ok(report)) if report.nothing_to_do => {
            Line::from(Span::styled(format!("{} {name} was prepared like this already", ui.glyphs.check), ui.theme.ok))
        }
        Some(Ok(report)) if found(report) > 0 => {
            let words = format!("{} {name} is prepared, with {}", ui.glyphs.warn, count(found(report), "problem"));
            let key = ui.key(Context::Run, Action::ShowLog);
            Line::from(vec![
                Span::styled(words, ui.theme.warn),
                Span::styled(format!("   in {took}; {key} shows them"), ui.theme.muted),
            ])
        }
        Some(Ok(_)) => Line::from(vec![
            Span::styled(format!("{} {name} is ready to train on", ui.glyphs.check), ui.theme.ok),
            Span::styled(format!("   in {took}"), ui.theme.muted),
        ]),
        Some(Err(failure)) if failure.is_cancelled() => {
            Line::from(Span::styled(format!("{} stopped; nothing was published", ui.glyphs.warn), ui.theme.warn))
        }
        Some(Err(_)) => {
            Line::from(Span::styled(format!("{} it failed; nothing was published", ui.glyphs.cross), ui.theme.error))
        }
    }
}

/// How many problems a run found that are more than notes.
fn found(report: &PrepareReport) -> u64 {
    report.counts.iter().filter(|(s, _, _)| *s >= Severity::Problem).map(|(_, _, n)| n).sum()
}

fn figures(status: &JobStatus, look: &Look) -> String {
    let dot = look.ui.glyphs.dot;
    let r = status.progress;
    let noun = if status.phase == Phase::Scan { "shard" } else { "sample" };
    let mut parts = Vec::new();
    match (status.phase, r.items_total) {
        (Phase::Open | Phase::Publish, _) => {}
        (_, 0) => parts.push(count(r.items_done, noun)),
        (_, total) => parts.push(format!("{} of {}", grouped(r.items_done), count(total, noun))),
    }
    if r.bytes_total > 0 {
        parts.push(format!("{} of {}", bytes(r.bytes_done), bytes(r.bytes_total)));
    }
    if status.bytes_per_second >= 1.0 {
        parts.push(format!("{}/s", bytes(status.bytes_per_second as u64)));
    }
    if let Some(left) = status.remaining {
        parts.push(format!("{} left", duration(left)));
    }
    parts.join(&format!(" {dot} "))
}

fn tabs(step: &RunStep, look: &Look) -> Line<'static> {
    let ui = look.ui;
    let counted = |at_least: Severity| -> u64 {
        let counts = match step.result.as_deref() {
            Some(Ok(report)) => &report.counts,
            _ => match &step.status {
                Some(status) => &status.counts,
                None => return 0,
            },
        };
        counts.iter().filter(|(s, _, _)| *s >= at_least).map(|(_, _, n)| n).sum()
    };
    let bad = counted(Severity::Problem);
    let problems = format!("Problems {}", grouped(counted(Severity::Note)));
    let first = if step.is_done() { "Summary" } else { "Shards" };
    let names = [(Tab::Overview, first.to_owned()), (Tab::Problems, problems), (Tab::Log, "Log".to_owned())];
    let mut spans = Vec::new();
    for (tab, name) in names {
        let style = match (step.tab == tab, tab == Tab::Problems && bad > 0) {
            (true, _) => ui.theme.selected,
            (false, true) => ui.theme.warn,
            (false, false) => ui.theme.muted,
        };
        spans.push(Span::styled(format!(" {name} "), style));
        spans.push(Span::raw(" "));
    }
    let key = ui.key(Context::Run, Action::ShowLog);
    spans.push(Span::styled(format!(" {key} switches"), ui.theme.muted));
    Line::from(spans)
}

fn draw_shards(step: &mut RunStep, frame: &mut Frame, area: Rect, answers: &Answers, look: &Look) {
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

/// Draws lines of which a list shows a window.
fn draw_page(step: &mut RunStep, frame: &mut Frame, area: Rect, lines: Vec<Line<'static>>, look: &Look) {
    let height = usize::from(area.height);
    let last = lines.len().saturating_sub(height);
    // The selection is where the page begins: moving it scrolls.
    step.list.set_len(last + 1);
    if step.follows {
        step.list.select(last);
    }
    let offset = step.list.selected;
    draw_lines(frame.buffer_mut(), area, lines.into_iter().skip(offset));
    if offset > 0 {
        frame.buffer_mut().set_string(area.right(), area.y, look.ui.glyphs.more_up, look.ui.theme.accent);
    }
    if offset < last {
        let y = area.bottom().saturating_sub(1);
        frame.buffer_mut().set_string(area.right(), y, look.ui.glyphs.more_down, look.ui.theme.accent);
    }
}

fn draw_summary(
    step: &mut RunStep,
    frame: &mut Frame,
    area: Rect,
    report: &PrepareReport,
    answers: &Answers,
    look: &Look,
) {
    let ui = look.ui;
    let dot = ui.glyphs.dot;
    let columns = usize::from(area.width);
    let mut lines = vec![Line::from(format!(
        "{} {dot} {} {dot} {} {dot} {}",
        count(report.shards, "shard"),
        count(report.samples, "sample"),
        count(report.parts, "part"),
        bytes(report.bytes)
    ))];
    for split in &report.splits {
        let name = text::pad_end(&text::fit_end(&split.name, 14, ui.glyphs), 14);
        lines.push(Line::from(format!(
            "  {name}{}{}",
            text::pad_start(&count(split.shards, "shard"), 13),
            text::pad_start(&count(split.samples, "sample"), 20)
        )));
    }
    let size: u64 = report.files.iter().map(|f| f.bytes).sum();
    let what = format!("{} written, {}", count(report.files.len() as u64, "file"), bytes(size));
    lines.push(Line::from(Span::styled(what, ui.theme.muted)));
    lines.push(Line::default());
    lines.extend(next_steps(answers, columns, look));
    draw_page(step, frame, area, lines, look);
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
    lines.extend(
        first.into_iter().flat_map(|w| text::wrap(w, columns)).map(|l| Line::from(Span::styled(l, ui.theme.warn))),
    );
    let check = format!("gristmill lint {}", crate::engine::plan::shell_quote(&answers.plan.path));
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

fn draw_failure(step: &mut RunStep, frame: &mut Frame, area: Rect, failure: &Failure, look: &Look) {
    let ui = look.ui;
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    let style = if failure.is_cancelled() { ui.theme.text } else { ui.theme.error };
    let wrapped = text::wrap(&failure.to_string(), columns).into_iter();
    lines.extend(wrapped.map(|l| Line::from(Span::styled(l, style))));
    if let Some(hint) = &failure.hint {
        lines.push(Line::default());
        lines.extend(text::wrap(hint, columns).into_iter().map(Line::from));
    }
    lines.push(Line::default());
    let retry = ui.key(Context::Run, Action::Retry);
    let back = ui.key(Context::Run, Action::Close);
    // What the data refuses will be refused again until an answer changes, so nothing is kept for it.
    let tries = match failure.class {
        ExitClass::Environment | ExitClass::Interrupted => " tries again; what was scanned is not scanned twice.",
        ExitClass::Data | ExitClass::Usage => " tries again.",
    };
    lines.push(Line::from(vec![Span::styled(retry, ui.theme.key), Span::styled(tries, ui.theme.muted)]));
    lines.push(Line::from(vec![
        Span::styled(back, ui.theme.key),
        Span::styled(" goes back to the answers.", ui.theme.muted),
    ]));
    draw_page(step, frame, area, lines, look);
}

fn problems_of(step: &RunStep) -> Vec<Problem> {
    match (step.result.as_deref(), &step.status) {
        (Some(Ok(report)), _) => report.problems.clone(),
        (_, Some(status)) => status.problems.clone(),
        _ => Vec::new(),
    }
}

fn draw_problems(step: &mut RunStep, frame: &mut Frame, area: Rect, look: &Look) {
    let ui = look.ui;
    let mut problems = problems_of(step);
    problems.sort_by_key(|p| std::cmp::Reverse(p.severity));
    if problems.is_empty() {
        let words = format!("{} no problems", ui.glyphs.check);
        return draw_lines(frame.buffer_mut(), area, [Line::from(Span::styled(words, ui.theme.ok))]);
    }
    step.list.set_len(problems.len());
    let sections = [Section::growing(2, problems.len(), 2), Section::growing(3, 5, 1)];
    let places = stack(area, &sections);
    draw_list(frame.buffer_mut(), places[0], &mut step.list, look.focused, ui, |at, columns| {
        let Some(problem) = problems.get(at) else { return Line::default() };
        let (sign, style) = severity_sign(problem.severity, ui);
        let words = text::fit_end(&problem.to_string(), columns.saturating_sub(2), ui.glyphs);
        Line::from(vec![Span::styled(format!("{sign} "), style), Span::raw(words)])
    });
    if let Some(problem) = step.list.get().and_then(|at| problems.get(at)) {
        let mut whole = problem.clone();
        whole.message = problem.to_string();
        draw_lines(frame.buffer_mut(), places[1], problem_lines(&whole, usize::from(area.width), ui));
    }
}

fn draw_log(step: &mut RunStep, frame: &mut Frame, area: Rect, look: &Look) {
    let log: Vec<String> = step.status.as_ref().map(|s| s.log.clone()).unwrap_or_default();
    let columns = usize::from(area.width);
    // Newest last, as in the panel of jobs; the page begins at the end.
    let lines = log.iter().flat_map(|l| text::wrap(l, columns)).map(Line::from).collect();
    draw_page(step, frame, area, lines, look);
}
