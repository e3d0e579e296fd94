//! Draws step Sample type.

use super::super::click_targets::{ClickTarget, DrawContext, StepOption};
use super::super::step::Answers;
use super::{own_class_problem, Choice, FieldSource, FocusStop, TypeStep};
use crate::tui::widgets::layout::{draw_lines, heading, row, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::text;
use gristmill_core::sample_type::CRUDE_CLASS;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Draws the step.
pub fn draw(step: &mut TypeStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let at = step.stop();
    let about = describe_selected(step, answers, usize::from(area.width), context);
    let options = match step.choice {
        Choice::Known(_) => 3,
        Choice::Own => 5,
        Choice::Crude => 2,
        Choice::NoYaml | Choice::Keep => 0,
    };
    let focus = |on: bool, otherwise: u8| if on { Section::FOCUS } else { otherwise };
    let sections = [
        Section::fixed(1, 0),
        Section::growing(5, step.rows.len(), focus(at == FocusStop::List, 5)),
        Section::fixed(1, 0),
        Section::growing(about.len().min(2) as u16, about.len(), 3),
        Section::fixed(options, focus(at != FocusStop::List, 4)),
    ];
    let places = stack(area, &sections);
    draw_lines(frame.buffer_mut(), places[0], [heading("Which class does the trainer use for a sample?", ui)]);
    let rows = step.rows.clone();
    let focused = context.focused && at == FocusStop::List;
    context.click_targets.add(places[1], ClickTarget::Rows(0, 0));
    let mut list = step.list.clone();
    draw_list(frame.buffer_mut(), places[1], &mut list, focused, ui, |row, columns| {
        rows.get(row).map(|choice| choice_line(*choice, row, answers, columns, context)).unwrap_or_default()
    });
    step.list = list;
    draw_lines(frame.buffer_mut(), places[3], about);
    draw_options(step, frame, places[4], context);
}

fn choice_line(choice: Choice, row: usize, answers: &Answers, columns: usize, context: &DrawContext) -> Line<'static> {
    let ui = context.ui;
    let (name, what) = match choice {
        Choice::Known(t) => (t.class, t.what),
        Choice::Crude => (CRUDE_CLASS, "a plain map of parts; your code makes the sample"),
        Choice::Own => ("a class of your own", "module:Class"),
        Choice::NoYaml => ("no dataset.yaml", "write it yourself, or later"),
        Choice::Keep => ("as it is", "keep the existing dataset.yaml"),
    };
    let class = match choice {
        Choice::Known(t) => t.class,
        Choice::Crude => CRUDE_CLASS,
        _ => "",
    };
    let suggestion = answers.derived.suggested_types.iter().find(|s| s.class == class);
    let name_columns = 28.min(columns);
    let name = text::pad_end(&text::fit_end(name, name_columns, ui.glyphs), name_columns);
    let room = columns.saturating_sub(name_columns + 1);
    let is_best = row == 0 && suggestion.is_some();
    let (note, style) = match suggestion.filter(|_| choice != Choice::Crude) {
        Some(s) if is_best => (format!("best guess: {}", s.why), ui.theme.ok),
        Some(s) => (s.why.clone(), ui.theme.muted),
        None => (what.to_owned(), ui.theme.muted),
    };
    Line::from(vec![Span::raw(name), Span::raw(" "), Span::styled(text::fit_end(&note, room, ui.glyphs), style)])
}

/// Returns lines that describe the selected row and its fields.
fn describe_selected(step: &TypeStep, answers: &Answers, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let ui = context.ui;
    let muted = |words: String| Line::from(Span::styled(words, ui.theme.muted));
    let wrapped = |words: &str| text::wrap(words, columns).into_iter().map(Line::from).collect::<Vec<_>>();
    match step.choice {
        Choice::Known(t) => {
            let mut lines = vec![Line::from(Span::styled(t.class, ui.theme.title))];
            lines.extend(text::wrap(t.what, columns).into_iter().map(muted));
            if t.fields.is_empty() {
                lines.push(muted("no fields of its own".into()));
            }
            if let Some(s) = answers.derived.suggested_types.iter().find(|s| s.class == t.class) {
                let why = text::fit_end(&format!("  {}", s.why), columns, ui.glyphs);
                lines.push(Line::from(Span::styled(why, ui.theme.ok)));
            }
            let names = t.fields.iter().map(|f| text::width(f.name)).max().unwrap_or(0);
            let types = t.fields.iter().map(|f| text::width(f.field_type.python())).max().unwrap_or(0);
            for field in t.fields {
                let name = text::pad_end(field.name, names);
                let python = text::pad_end(field.field_type.python(), types + 2);
                let default = match field.default {
                    None => "required".to_owned(),
                    Some("None") => "optional".to_owned(),
                    Some(default) => format!("default {default}"),
                };
                lines.push(Line::from(vec![
                    Span::raw(format!("  {name} ")),
                    Span::styled(python, ui.theme.accent),
                    Span::styled(default, ui.theme.muted),
                ]));
            }
            lines
        }
        Choice::Crude => {
            let mut lines = wrapped(
                "Crude: the trainer gets each sample as a plain map of its parts, and functions of yours (cookers) make \
                 the sample of it. The framework's makers recommend it for anything that is not plain.",
            );
            lines.push(muted(format!("parts seen: {}", answers.derived.parts_by_share(&answers.facts).join(", "))));
            lines
        }
        Choice::Own => wrapped("A class of your own, importable where you train. Name it, then map its fields."),
        Choice::NoYaml => {
            wrapped("Only the index and the splits are written. The data set cannot be loaded without a dataset.yaml.")
        }
        Choice::Keep => wrapped("An update keeps the dataset.yaml that is there. Choose a type to write a new one."),
    }
}

fn draw_options(step: &TypeStep, frame: &mut Frame, area: Rect, context: &DrawContext) {
    let ui = context.ui;
    let at = step.stop();
    let mut line = 0;
    if step.choice == Choice::Own {
        let place = row(area, line);
        let typing = context.focused && at == FocusStop::OwnClass;
        context.click_targets.add(place, ClickTarget::Field(step.number_of(FocusStop::OwnClass)));
        let label_style = if typing { ui.theme.accent } else { ui.theme.text };
        draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(" class ", label_style))]);
        let field = Rect { x: place.x + 8, width: place.width.saturating_sub(8), ..place };
        step.own.draw(frame, field.intersection(place), typing, "my_project.samples:MySample", ui);
        let problem = own_class_problem(step.own.value().trim()).filter(|_| !step.own.is_empty());
        let words = problem.map(|p| format!("   {} {p}", ui.glyphs.cross)).unwrap_or_default();
        let words = text::fit_end(&words, usize::from(area.width), ui.glyphs);
        draw_lines(frame.buffer_mut(), row(area, line + 1), [Line::from(Span::styled(words, ui.theme.error))]);
        line += 2;
    }
    if matches!(step.choice, Choice::Known(_) | Choice::Own) {
        draw_lines(frame.buffer_mut(), row(area, line), [heading("Filled by", ui)]);
        let options = [
            (FieldSource::FieldMap, "a field map", "a part or value for each field"),
            (FieldSource::Loader, "sample_loader.py", "deprecated Python template"),
        ];
        for (option, (value, label, note)) in options.into_iter().enumerate() {
            line += 1;
            let target = ClickTarget::Choice(step.number_of(FocusStop::FieldSource), option);
            let is_on = step.field_source == value;
            let is_focused = at == FocusStop::FieldSource && is_on;
            let option = StepOption { target, is_on, label, note, is_focused, label_columns: 17 };
            context.draw_option(frame.buffer_mut(), row(area, line), option);
        }
    }
    if step.choice == Choice::Crude {
        let target = ClickTarget::Switch(step.number_of(FocusStop::Cooker));
        let (label, note) = ("write cooker.py", "a template with your parts");
        let (is_on, is_focused) = (step.cooker, at == FocusStop::Cooker);
        let option = StepOption { target, is_on, label, note, is_focused, label_columns: 17 };
        context.draw_option(frame.buffer_mut(), row(area, 1), option);
    }
}
