use super::*;
use crate::tui::testing::{self, Size};
use crate::tui::theme::ColourMode;
use crate::tui::widgets::draw_panel;
use gristmill_core::Cancel;
use gristmill_data::preview::cells::Depth;
use gristmill_data::preview::{page, part};
use ratatui::backend::TestBackend;
use ratatui::Terminal;

fn of(name: &str, content: &[u8]) -> PreviewState {
    let mut state = PreviewState::default();
    state.show(Arc::new(part(name, &content.to_vec(), &Cancel::default())));
    state
}

/// Draws the pane as the browser does, in a colour mode.
fn pane(state: &mut PreviewState, size: Size, colour: ColourMode) -> Terminal<TestBackend> {
    let depth = if size.2 { Depth::Ascii } else { Depth::Shades };
    let mut pixels = Pixels::default();
    testing::terminal(size, colour, |frame, area, ui| {
        let inner = draw_panel(frame, area, &state.title(ui), true, ui);
        state.draw(frame.buffer_mut(), inner, true, &mut pixels, &PreviewOptions { ui, depth });
    })
}

fn shown(state: &mut PreviewState, columns: u16, rows: u16, ascii: bool) -> String {
    testing::text_of(&pane(state, (columns, rows, ascii), ColourMode::Sixteen))
}

/// The sizes of the pane in windows of 80×24 and 100×30, and the smallest one.
const SIZES: [Size; 4] = [(38, 20, false), (55, 26, false), (38, 20, true), (20, 8, false)];

fn compare(name: &str, state: &mut PreviewState) {
    testing::compare(&format!("preview_{name}"), &SIZES, |size| {
        let (columns, rows, ascii) = size;
        let drawn = shown(state, columns, rows, ascii);
        // Without colours, no cell may have one: an empty colour sequence would reset bold and reverse.
        let plain = pane(state, size, ColourMode::None);
        let has_colour =
            |cell: &ratatui::buffer::Cell| [cell.fg, cell.bg].iter().any(|c| *c != ratatui::style::Color::Reset);
        assert!(!plain.backend().buffer().content().iter().any(has_colour), "{name} {columns}x{rows}");
        drawn
    });
}

fn picture() -> Vec<u8> {
    let image = image::RgbImage::from_fn(64, 48, |x, y| image::Rgb([(x * 4) as u8, (y * 5) as u8, 128]));
    let mut out = std::io::Cursor::new(Vec::new());
    image::DynamicImage::from(image).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

const META: &str = r#"{"id": 391895000000000000001, "url": "http://images.example/a/very/long/path/that/does/not/fit/into/one/line.jpg",
"size": [640, 427], "caption": {"long": "A man riding a wave on top of a surfboard.", "tags": ["sea", "man"]}, "empty": {}, "none": null,
"boxes": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42]}"#;

#[test]
fn previews_of_all_part_kinds_are_drawn() {
    compare("picture", &mut of("png", &picture()));
    compare("picture_damaged", &mut of("png", &picture()[..90]));
    compare("json", &mut of("json", META.as_bytes()));
    compare("json_damaged", &mut of("json", b"{\"a\": 1,\n \"b\": [1, 2,, 3]}"));
    compare(
        "text",
        &mut of(
            "txt",
            "A man riding a wave on top of a surfboard.\n\n\u{1b}[31mred\u{202e} 日本語のテキスト\n"
                .repeat(20)
                .as_bytes(),
        ),
    );
    compare("msgpack", &mut of("mp", b"\x83\xa2id\xcd\x01\x00\xa4tags\x92\xa1a\xc0\xa3bin\xc4\x03abc"));
    let floats: Vec<u8> = (0..300).flat_map(|i| ((i as f32 / 20.0).sin()).to_le_bytes()).collect();
    compare("array", &mut of("npy", &npy("'<f4'", "(3, 100)", &floats)));
    compare("array_objects", &mut of("npy", &npy("'|O'", "(3,)", b"cos\nsystem\n")));
    let samples: Vec<i16> = (0..8_000_i32).map(|i| ((i * 37 % 400 - 200) * (i / 100) / 2) as i16).collect();
    compare("sound", &mut of("wav", &wav(8_000, &samples)));
    compare("bytes", &mut of("bin", &(0..=255).cycle().take(3_000).collect::<Vec<u8>>()));
    compare("empty", &mut of("txt", b""));
}

fn npy(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn wav(rate: u32, samples: &[i16]) -> Vec<u8> {
    let size = samples.len() as u32 * 2;
    let mut out = [b"RIFF", &(36 + size).to_le_bytes()[..], b"WAVEfmt \x10\0\0\0\x01\0\x01\0"].concat();
    out.extend([rate.to_le_bytes(), (rate * 2).to_le_bytes(), *b"\x02\0\x10\0", *b"data", size.to_le_bytes()].concat());
    out.extend(samples.iter().flat_map(|s| s.to_le_bytes()));
    out
}

#[test]
fn tree_preview_folds_and_shows_path_and_value() {
    let mut state = of("json", META.as_bytes());
    let first = shown(&mut state, 60, 20, false);
    assert!(first.contains("boxes: [42 items]"), "{first}");
    // The long value above has several rows.
    (0..4).for_each(|_| assert!(state.handle_action(Action::Down)));
    assert_eq!(state.selected_path().unwrap(), "json[size]");
    assert_eq!(state.selected_value().unwrap(), "  0: 640\n  1: 427");
    assert!(state.handle_action(Action::Toggle));
    assert!(shown(&mut state, 60, 20, false).contains("size: [2 items]"));
    state.handle_action(Action::Right);
    let open = shown(&mut state, 60, 20, false);
    assert!(!open.contains("size: [2 items]"), "{open}");
    state.handle_action(Action::Down);
    assert_eq!(
        (state.selected_path().unwrap(), state.selected_value().unwrap()),
        ("json[size][0]".into(), "640".into())
    );
    state.handle_action(Action::Left);
    assert_eq!(state.selected_path().unwrap(), "json[size]");
    state.handle_action(Action::Last);
    assert_eq!(state.selected_path().unwrap(), "json[boxes]");
    state.fold_all(false);
    shown(&mut state, 60, 20, false);
    state.handle_action(Action::Last);
    assert_eq!(state.selected_path().unwrap(), "json[boxes][41]");
    assert!(!state.handle_action(Action::Quit));
}

#[test]
fn search_in_previews_finds_text_and_unfolds_matches() {
    let mut json = of("json", META.as_bytes());
    shown(&mut json, 60, 20, false);
    json.fold_all(true);
    shown(&mut json, 60, 20, false);
    assert_eq!(json.find("SEA"), 1);
    assert_eq!(json.selected_path().unwrap(), "json[caption][tags][0]");
    let mut text = of("txt", "one\ntwo\n".repeat(200).as_bytes());
    shown(&mut text, 30, 10, false);
    assert_eq!(text.find("two"), 200);
    assert_eq!(text.find_next(true), Some((2, 200)));
    assert_eq!(text.find_next(false), Some((1, 200)));
    assert_eq!(text.find_next(false), Some((200, 200)));
    let end = shown(&mut text, 30, 10, false);
    assert!(!end.contains("↓") && text.find_next(true) == Some((1, 200)));
    assert_eq!(text.find("nothing"), 0);
    assert_eq!(text.find_next(true), None);
    let mut bytes = of("bin", &[0, 1, 0xff, 0xd8, 0, b'a', b'B']);
    shown(&mut bytes, 60, 10, false);
    assert_eq!((bytes.find("ff d8"), bytes.find("AB"), bytes.find("")), (1, 1, 0));
}

#[test]
fn next_and_previous_pages_are_requested_at_page_ends() {
    let content: Vec<u8> = (0..30_000).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
    let mut state = of("txt", &content);
    shown(&mut state, 40, 10, false);
    state.handle_action(Action::Last);
    assert_eq!(state.take_page_request(), None, "the end of the page is looked at first");
    let end = shown(&mut state, 40, 10, false);
    assert!(end.contains("KiB more"), "{end}");
    state.handle_action(Action::Down);
    let Some(ReadFrom::Page(from)) = state.take_page_request() else { panic!("no page is wanted") };
    assert_eq!(state.take_page_request(), None);
    state.show_page(Arc::new(page("txt", &content, from, &Cancel::default())));
    let second = shown(&mut state, 40, 10, false);
    let number: u32 = second
        .lines()
        .nth(1)
        .unwrap()
        .trim_matches('│')
        .trim_start_matches("line ")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(number > 5_000);
    state.handle_action(Action::Up);
    assert_eq!(state.take_page_request(), Some(ReadFrom::Page(0)));
    state.show_page(Arc::new(page("txt", &content, 0, &Cancel::default())));
    assert!(shown(&mut state, 40, 10, false).contains(&format!("line {}", number - 1)));
}

#[test]
fn previews_draw_at_any_size() {
    for (name, content) in
        [("png", picture()), ("json", META.into()), ("txt", META.into()), ("wav", wav(8_000, &[9; 99]))]
    {
        let mut state = of(name, &content);
        for (columns, rows) in [(1, 1), (2, 2), (3, 5), (5, 3), (200, 2), (1, 40), (120, 60)] {
            shown(&mut state, columns, rows, false);
            for action in [Action::PageDown, Action::Last, Action::Up, Action::First] {
                state.handle_action(action);
            }
            state.scroll(-3);
            state.scroll(1_000);
            state.click(1);
        }
    }
    shown(&mut PreviewState::default(), 20, 5, false);
}

#[test]
fn search_text_applies_to_the_next_part() {
    let mut state = of("txt", b"a wave");
    shown(&mut state, 20, 5, false);
    assert_eq!(state.find("wave"), 1);
    state.show(Arc::new(part("txt", &b"wave wave".to_vec(), &Cancel::default())));
    assert_eq!(state.matches(), 2);
}
