use super::*;
use crate::tui::keymap::Action;
use crate::tui::theme::Glyphs;

#[test]
fn names_are_cut_in_the_middle_by_what_they_take_on_the_screen() {
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
fn the_selected_row_is_always_in_view() {
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
fn a_list_of_a_million_rows_moves_like_a_short_one() {
    let mut list = ListState::new(1_000_000);
    list.window(20);
    assert!(list.act(Action::Last));
    assert_eq!(list.selected, 999_999);
    assert!(list.act(Action::HalfUp));
    assert_eq!(list.selected, 999_989);
    assert!(list.act(Action::First));
    assert!(!list.act(Action::Up));
    assert!(!list.act(Action::Quit));
}

#[test]
fn the_wheel_moves_the_view_and_keeps_the_selection_in_it() {
    let mut list = ListState::new(100);
    list.window(10);
    list.scroll(30);
    let window = list.window(10);
    assert!(window.contains(&list.selected) && window.start >= 29, "{window:?}");
    list.scroll(-1000);
    assert_eq!(list.window(10).start, 0);
}

#[test]
fn a_bar_is_full_only_when_everything_is_done() {
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
fn a_field_takes_pasted_text_as_one_clean_line() {
    let mut field = TextField::new("a");
    assert!(field.paste("b\r\nc\x1b[31m\n"));
    assert_eq!(field.value(), "ab  c[31m");
    field.set("x\ny");
    assert_eq!(field.value(), "x y");
    field.paste(&"z".repeat(100_000));
    assert!(field.value().chars().count() <= 4096);
}
