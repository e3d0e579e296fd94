use super::*;
use crate::tui::keymap::Action;
use crate::tui::theme::Glyphs;

#[test]
fn names_are_cut_in_the_middle_by_display_width() {
    let g = Glyphs::new(false);
    assert_eq!(text::fit_middle("short", 8, &g), "short");
    assert_eq!(text::fit_middle("shard_000123.tar", 9, &g), "shar….tar");
    assert_eq!(text::fit_end("A man riding a wave", 8, &g), "A man r…");
    let wide = text::fit_middle("数据数据数据", 7, &g);
    assert!(text::width(&wide) <= 7, "{wide}");
    assert_eq!(text::fit_middle("abcdef", 0, &g), "");
    assert_eq!(text::fit_middle("abcdef", 1, &g), "…");
    assert_eq!(text::fit_middle("abcdefgh", 6, &Glyphs::new(true)), "ab..gh");
}

#[test]
fn text_from_the_data_is_made_safe_before_it_is_cut() {
    let g = Glyphs::new(false);
    assert_eq!(text::fit_end("a\x1b[31mb", 20, &g), "a␛[31mb");
    assert!(text::fit_end("a\u{202e}b", 20, &g).contains("<U+202E>"));
}

#[test]
fn long_text_wraps_at_spaces_and_never_loses_a_word() {
    assert_eq!(text::wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(text::wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(text::wrap("", 5), [""]);
    assert_eq!(text::wrap("  one two three", 12), ["  one two", "  three"]);
}

#[test]
fn list_window_contains_the_selected_row() {
    let mut list = ListState::new(100);
    for row in [0, 50, 99, 3, 97] {
        list.select(row);
        let window = list.window(10);
        assert!(window.contains(&row), "{row} in {window:?}");
        assert_eq!(window.len(), 10);
    }
    list.set_len(5);
    assert_eq!(list.window(10), 0..5);
    assert_eq!(list.selected, 4);
    list.set_len(0);
    assert_eq!(list.window(10), 0..0);
    assert_eq!(list.get(), None);
}

#[test]
fn selection_moves_in_a_list_of_a_million_rows() {
    let mut list = ListState::new(1_000_000);
    list.window(20);
    assert!(list.handle_action(Action::Last));
    assert_eq!(list.selected, 999_999);
    assert!(list.handle_action(Action::HalfUp));
    assert_eq!(list.selected, 999_989);
    assert!(list.handle_action(Action::First));
    assert!(!list.handle_action(Action::Up));
    assert!(!list.handle_action(Action::Quit));
}

#[test]
fn wheel_scrolls_the_list_and_keeps_the_selection_visible() {
    let mut list = ListState::new(100);
    list.window(10);
    list.scroll(30);
    let window = list.window(10);
    assert!(window.contains(&list.selected) && window.start >= 29, "{window:?}");
    list.scroll(-1000);
    assert_eq!(list.window(10).start, 0);
}

#[test]
fn progress_bar_is_full_only_at_100_percent() {
    let g = Glyphs::new(true);
    assert_eq!(progress_bar(0.0, 4, &g), "....");
    assert_eq!(progress_bar(0.999, 4, &g), "###.");
    assert_eq!(progress_bar(1.0, 4, &g), "####");
    assert_eq!(progress_bar(f64::NAN, 4, &g), "....");
    assert_eq!(split_bar(0.0001, 4, &g), "#   ");
    assert_eq!(split_bar(0.0, 4, &g), "    ");
    assert_eq!(text::width(&progress_bar(0.37, 10, &Glyphs::new(false))), 10);
}

#[test]
fn pasted_text_becomes_one_line_without_control_characters() {
    let mut field = TextField::new("a");
    assert!(field.paste("b\r\nc\x1b[31m\n"));
    assert_eq!(field.value(), "ab  c[31m");
    field.set("x\ny");
    assert_eq!(field.value(), "x y");
    field.paste(&"z".repeat(100_000));
    assert!(field.value().chars().count() <= 4096);
}

#[test]
fn selection_keeps_bars_and_inverts_plain_text_only() {
    use crate::tui::theme::{Theme, BAR, BUILT_IN};
    use ratatui::style::{Color, Modifier};
    use ratatui::text::{Line, Span};
    let themes = BUILT_IN.iter().filter_map(|(name, _)| Some((*name, Theme::built_in(name)?)));
    for ((name, theme), ascii) in themes.flat_map(|theme| [(theme.clone(), false), (theme, true)]) {
        let (glyphs, keymap) = (Glyphs::new(ascii), crate::tui::keymap::Keymap::default());
        let ui = crate::tui::ui::Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
        let row = |_, _| {
            Line::from(vec![
                Span::styled("! warn ", theme.warn),
                Span::styled("dim ", theme.muted),
                Span::styled(split_bar(0.055, 12, &glyphs), theme.bar(0)),
                Span::raw(" 5.5 %"),
            ])
        };
        let area = ratatui::layout::Rect::new(0, 0, 40, 2);
        let drawn = |selected: usize, focused: bool| {
            let mut buffer = ratatui::buffer::Buffer::empty(area);
            let mut list = ListState::new(2);
            list.select(selected);
            draw_list(&mut buffer, area, &mut list, focused, &ui, row);
            buffer
        };
        let (on, off) = (drawn(0, true), drawn(1, true));
        let bar = |buffer: &ratatui::buffer::Buffer| -> Vec<_> {
            let cells = buffer.content()[..40].iter();
            cells.filter(|cell| cell.modifier.contains(BAR)).cloned().collect()
        };
        assert_eq!(bar(&on).len(), 12, "{name}");
        assert_eq!(bar(&on), bar(&off), "{name}: a bar on a selected row");
        assert_eq!(bar(&drawn(0, false)), bar(&off), "{name}: without the focus");
        let others: Vec<_> = on.content()[..40].iter().filter(|cell| !cell.modifier.contains(BAR)).collect();
        let is_inverted = theme.selected.add_modifier.contains(Modifier::REVERSED);
        for cell in others {
            assert_eq!(cell.modifier.contains(Modifier::REVERSED), is_inverted, "{name}");
            assert!(!is_inverted || (cell.fg == Color::Reset && !cell.modifier.contains(Modifier::DIM)), "{name}");
        }
    }
}

#[test]
fn table_cuts_names_and_never_numbers() {
    use ratatui::layout::Constraint;
    let shown = |columns: u16| {
        crate::tui::testing::shown((columns, 3, false), |frame, area, ui| {
            let table = [
                Column { title: "", width: Constraint::Fill(1), align: Align::Name },
                Column { title: "", width: Constraint::Length(6), align: Align::Number },
                Column { title: "", width: Constraint::Length(0), align: Align::Number },
            ];
            let rows = |at: usize| {
                vec!["a_long_name_of_a_shard.tar".into(), ["9.0 GiB", "1,023.9 GiB"][at].into(), "9".into()]
            };
            draw_table(frame.buffer_mut(), area, &mut ListState::new(2), &table, true, ui, rows);
        })
    };
    for columns in [24, 30, 60] {
        let drawn = shown(columns);
        assert!(drawn.contains(" 9.0 GiB") && drawn.contains(" 1,023.9 GiB"), "{drawn}");
    }
    assert!(shown(30).contains("▸ a_lon…d.tar "), "{}", shown(30));
}

#[test]
fn completion_is_shown_until_text_changes_and_accepted_once() {
    let mut field = TextField::new("tok");
    field.show_completion("enizer.json".to_owned());
    let shown = |field: &TextField| {
        super::super::testing::shown((30, 1, false), |frame, area, ui| field.draw(frame, area, true, "", ui))
    };
    assert_eq!(shown(&field), "tokenizer.json");
    assert_eq!(field.value(), "tok");
    assert!(field.complete() && !field.complete());
    assert_eq!(field.value(), "tokenizer.json");
    field.set("tok");
    field.show_completion("enizer.json".to_owned());
    field.paste("y");
    assert_eq!(shown(&field), "toky");
    assert!(!field.complete());
}
