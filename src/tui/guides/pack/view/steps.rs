//! Draws the steps of the form of pack.

use crate::tui::form::{draw_below, draw_fields, from_row, label_columns, Field, Form, MouseTarget};
use crate::tui::guides::pack::guide::{plan_of, PackGuide, FILES, FOUND, JQ, KEYS, TOKENIZER};
use crate::tui::guides::pack::pack_facts::TokenizerPreview;
use crate::tui::guides::pack::probe::{size_words, template_words};
use crate::tui::guides::text_files::{file_line, listing_lines};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{failure_lines, reason_lines, waiting, wrapped};
use crate::tui::widgets::preview::token_line;
use crate::tui::widgets::text;
use gristmill_core::pack::TextField;
use gristmill_core::text::{agree, bytes, count, grouped, percent};
use gristmill_data::preview::text::wrap_ranges;
use gristmill_data::preview::tokens::TokenText;
use gristmill_ops::operations::pack::lines_of_choices;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Maximum number of documents whose text is shown.
const SHOWN_DOCUMENTS: usize = 3;
/// Maximum number of lines of each document.
const DOCUMENT_LINES: usize = 3;
/// Height of the list of tokenizers, in rows.
const FOUND_ROWS: usize = 5;
/// Height of the list of keys, in rows.
const KEY_ROWS: usize = 8;

/// Draws the fields of the step Source, and the files.
pub fn draw_source(guide: &PackGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let fields: Vec<Field> = form.fields().iter().copied().filter(|field| *field != FILES).collect();
    let line = draw_fields(form, frame, area, 0, &fields, ui) + 1;
    let (files, plan) = (guide.known.files.clone(), plan_of(form));
    let choices = lines_of_choices(&guide.known.choices);
    let choices: Vec<_> = choices.iter().flat_map(|(_, line)| wrapped(line, columns, ui.theme.text)).collect();
    let listing = listing_lines(files.as_deref(), columns, ui, |found| {
        let words = format!("{} {} {}", count(found.total, "file"), ui.glyphs.dot, bytes(found.bytes));
        let mut lines = vec![heading(&words, ui)];
        lines.extend(found.format_lines(&plan).iter().flat_map(|words| wrapped(words, columns, ui.theme.muted)));
        lines.extend(found.problems.iter().take(8).flat_map(|problem| problem_lines(problem, columns, ui)));
        lines.push(Line::default());
        lines.extend(found.shown.iter().map(|file| file_line(file, columns, ui)));
        if let Some(more) = found.total.checked_sub(found.shown.len() as u64).filter(|more| *more > 0) {
            lines.push(Line::from(Span::styled(format!("and {} more", grouped(more)), ui.theme.muted)));
        }
        lines
    });
    let lines = choices.into_iter().chain(listing).collect();
    draw_below(form, frame, from_row(area, line), lines, ui);
}

/// Draws the keys of real documents, and the text of some of them.
pub fn draw_text_field(guide: &mut PackGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let Some(documents) = guide.known.documents.clone() else {
        let words = match guide.known.files.as_deref() {
            Some(Err(_)) => "there are no files to read".to_owned(),
            _ => format!("{} reading the first files", ui.spinner()),
        };
        return draw_lines(frame.buffer_mut(), area, [Line::from(Span::styled(words, ui.theme.muted))]);
    };
    let columns = usize::from(area.width);
    let words = format!("Text of a document  ({} examined)", count(documents.lines.len() as u64, "document"));
    draw_lines(frame.buffer_mut(), area, [heading(&words, ui)]);
    let height = guide.keys.len.min(KEY_ROWS).min(usize::from(area.height / 2));
    let place = Rect { height: u16::try_from(height).unwrap_or(0), ..from_row(area, 1) };
    draw_keys(guide, form, frame, place, documents.lines.len(), ui);
    let mut line = height + 1;
    if form.fields().contains(&JQ) {
        line = draw_fields(form, frame, area, line, &[JQ], ui);
    }
    let mut lines = Vec::new();
    for why in &documents.failures {
        lines.extend(wrapped(&format!("{} {why}", ui.glyphs.warn), columns, ui.theme.warn));
    }
    match guide.known.extracted.clone().filter(|found| found.field == plan_of(form).text) {
        None => lines.push(Line::from(Span::styled(format!("{} reading", ui.spinner()), ui.theme.muted))),
        Some(found) => {
            if let Some(failure) = &found.failure {
                lines.extend(failure_lines(failure, columns, ui));
            } else {
                let (with, all) = (found.with_text(), found.texts.len());
                let style = if with == 0 {
                    ui.theme.error
                } else if with < all {
                    ui.theme.warn
                } else {
                    ui.theme.ok
                };
                lines.push(Line::from(Span::styled(
                    format!(
                        "{with} of {} {} text there",
                        count(all as u64, "document"),
                        agree(with as u64, "has", "have")
                    ),
                    style,
                )));
                if let Some(why) = guide.known.text_blocker() {
                    lines.extend(reason_lines(&why, columns, ui));
                }
                // Documents without text come first, because they need attention.
                let mut order: Vec<usize> = (0..all).collect();
                order.sort_by_key(|at| found.texts.get(*at).is_some_and(Result::is_ok));
                order.rotate_left((all - with).saturating_sub(1).min(all));
                for at in order.into_iter().take(SHOWN_DOCUMENTS) {
                    let (Some((file, number, _)), Some(extracted)) = (documents.lines.get(at), found.texts.get(at))
                    else {
                        continue;
                    };
                    lines.push(Line::from(Span::styled(format!("{}:{number}", text::safe(file)), ui.theme.title)));
                    match extracted {
                        Ok(words) => {
                            let shown: String = words.chars().take(columns * DOCUMENT_LINES + 8).collect();
                            let shown = text::wrap(&shown.replace('\n', " "), columns.saturating_sub(2));
                            lines.extend(shown.into_iter().take(DOCUMENT_LINES).map(|l| Line::from(format!("  {l}"))));
                        }
                        Err(why) => {
                            lines.push(Line::from(Span::styled(format!("  {} {why}", ui.glyphs.cross), ui.theme.warn)));
                        }
                    }
                }
            }
        }
    }
    draw_below(form, frame, from_row(area, line + 1), lines, ui);
}

fn draw_keys(guide: &mut PackGuide, form: &mut Form, frame: &mut Frame, area: Rect, documents: usize, ui: &Ui) {
    form.mouse_areas.add(area, MouseTarget::Field(KEYS));
    let focused = form.is_focused(KEYS);
    let keys = guide.known.keys().to_vec();
    let widest = keys.iter().map(|key| text::width(&text::safe(&key.name))).max().unwrap_or(4).clamp(4, 24);
    let chosen = match plan_of(form).text {
        TextField::Key(name) if !guide.is_program => keys.iter().position(|key| key.name == name),
        _ => Some(keys.len()),
    };
    draw_list(frame.buffer_mut(), area, &mut guide.keys, focused, ui, |index, columns| {
        let sign = if chosen == Some(index) { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
        let Some(key) = keys.get(index) else {
            let words = "a jq program's first output";
            return Line::from(vec![Span::raw(format!("{sign} ")), Span::styled(words, ui.theme.text)]);
        };
        let name = text::pad_end(&text::fit_end(&key.name, widest, ui.glyphs), widest);
        let share = text::pad_start(&percent(key.documents as f64 / documents.max(1) as f64), 6);
        let room = columns.saturating_sub(widest + 14);
        let quote = if key.is_text { "\"" } else { "" };
        let example = text::fit_end(&key.example.replace('\n', " "), room.saturating_sub(2 * quote.len()), ui.glyphs);
        let style = if key.is_text { ui.theme.text } else { ui.theme.muted };
        Line::from(vec![
            Span::styled(format!("{sign} {name}"), style),
            Span::styled(format!(" {share}  {quote}{example}{quote}"), ui.theme.muted),
        ])
    });
}

/// Draws the tokenizer, the tokenizers that were found, and a real document token by token.
pub fn draw_tokenizer(guide: &mut PackGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let mut line = draw_fields(form, frame, area, 0, &[TOKENIZER], ui);
    let rows = guide.found.len.min(FOUND_ROWS).min(usize::from(area.height / 4));
    if rows > 0 {
        let place = Rect { height: u16::try_from(rows).unwrap_or(0), ..from_row(area, line) };
        let indent = label_columns(form, area.width).saturating_sub(2).min(place.width);
        let place = Rect { x: place.x + indent, width: place.width - indent, ..place };
        draw_found(guide, form, frame, place, ui);
        line += rows;
    }
    let is_drawn = |field: &Field| [TOKENIZER, FOUND].contains(field);
    let others: Vec<Field> = form.fields().iter().copied().filter(|field| !is_drawn(field)).collect();
    line = draw_fields(form, frame, area, line, &others, ui) + 1;
    let mut lines = Vec::new();
    let name = plan_of(form).tokenizer;
    match guide.known.tokenizer_of(&name) {
        None if name.is_empty() => {
            let or = if guide.found.len > 0 { ", or choose one from the list" } else { "" };
            let words = format!("Type a path or a name{or}; a document from your data is then shown token by token.");
            lines.extend(wrapped(&words, columns, ui.theme.muted));
        }
        None => lines.push(waiting("loading", ui)),
        Some(Err(failure)) => lines = failure_lines(failure, columns, ui),
        Some(Ok(preview)) => lines = tokenizer_lines(preview, columns, ui),
    }
    draw_below(form, frame, from_row(area, line), lines, ui);
}

fn draw_found(guide: &mut PackGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    form.mouse_areas.add(area, MouseTarget::Field(FOUND));
    let focused = form.is_focused(FOUND);
    let names = guide.known.tokenizers.clone();
    let chosen = plan_of(form).tokenizer;
    draw_list(frame.buffer_mut(), area, &mut guide.found, focused, ui, |index, columns| {
        let name = names.get(index).map(String::as_str).unwrap_or_default();
        let style = if name == chosen { ui.theme.ok } else { ui.theme.muted };
        Line::from(Span::styled(text::fit_middle(name, columns, ui.glyphs), style))
    });
}

fn tokenizer_lines(preview: &TokenizerPreview, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(text::fit_end(&size_words(preview), columns, ui.glyphs))];
    let template = text::safe(&format!("template: {}", template_words(&preview.template)));
    lines.extend(wrapped(&template, columns, ui.theme.text));
    if !preview.specials.is_empty() {
        let words = text::fit_end(&format!("special tokens: {}", preview.specials.join(" ")), columns, ui.glyphs);
        lines.push(Line::from(Span::styled(words, ui.theme.muted)));
    }
    for warning in &preview.warnings {
        lines.extend(wrapped(&format!("{} {warning}", ui.glyphs.warn), columns, ui.theme.warn));
    }
    let Some(shown) = &preview.text else { return lines };
    lines.push(Line::default());
    let (tokens, characters) = preview.size;
    let words = format!("A real document: {}, {}", count(tokens, "token"), count(characters, "character"));
    lines.push(heading(&words, ui));
    lines.extend(token_lines(shown, columns, 5, ui));
    if let Some(ids) = &preview.ids {
        lines.push(heading("Its ids", ui));
        lines.extend(token_lines(ids, columns, 40, ui));
    }
    lines
}

fn token_lines(tokens: &TokenText, columns: usize, most: usize, ui: &Ui) -> Vec<Line<'static>> {
    let ranges = wrap_ranges(&tokens.text, columns);
    ranges.into_iter().take(most).map(|range| token_line(tokens, range, &[], ui)).collect()
}

/// Returns the lines below the fields of the formats: errors in the answers.
pub fn formats_foot(guide: &PackGuide, form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let plan = plan_of(form);
    let mut wrong = match gristmill_ops::tokens::formats::names(&plan).is_empty() {
        true => Vec::new(),
        false => form.plan().check(false),
    };
    wrong.extend(guide.format_without_files(&plan));
    wrong.iter().take(2).flat_map(|problem| problem_lines(problem, columns, ui)).collect()
}
