use super::*;
use crate::preview::text::tree_line;

fn of(name: &str, content: &[u8]) -> PartPreview {
    part(name, &content.to_vec(), &Cancel::default())
}

fn text_of(preview: &PartPreview) -> &str {
    match &preview.body {
        Drawable::Text(text) | Drawable::Fact(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_picture_is_shown_with_its_measures() {
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(40, 30).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let preview = of("png", png.get_ref());
    assert!(preview.title.starts_with("png 40×30 RGB "), "{}", preview.title);
    assert!(matches!(preview.body, Drawable::Picture(_)));
    let cut = of("png", &png.get_ref()[..60]);
    assert!(cut.notes[0].contains("damaged"), "{:?}", cut.notes);
    assert!(matches!(cut.body, Drawable::Hex(_)));
}

#[test]
fn json_is_a_tree_and_damaged_json_is_text_with_the_place() {
    let preview = of("meta.json", br#"{"id": 1, "tags": [1, 2]}"#);
    assert_eq!(preview.title, "meta.json {2 keys} 25 B");
    let Drawable::Tree(lines) = &preview.body else { panic!() };
    assert_eq!(lines.iter().map(tree_line).collect::<Vec<_>>(), ["id: 1", "tags:", "  0: 1", "  1: 2"]);
    let damaged = of("json", b"{\"a\": \n oops}");
    assert_eq!(damaged.notes, ["not valid JSON: a value is missing at line 2, column 2"]);
    assert_eq!(text_of(&damaged), "{\"a\": \n oops}");
}

#[test]
fn text_comes_in_pages_that_end_at_lines_and_lose_nothing() {
    let whole: Vec<u8> = (0..20_000).flat_map(|i| format!("line {i} äöü\n").into_bytes()).collect();
    let (mut from, mut pages, mut all) = (0, 0, String::new());
    loop {
        let preview = page("txt", &whole, from, &Cancel::default());
        all.push_str(text_of(&preview));
        all.push('\n');
        pages += 1;
        from = preview.page.to;
        if !preview.page.has_more() {
            break;
        }
    }
    assert!(pages > 3);
    assert_eq!(all.as_bytes(), whole);
    let one_line = "ä".repeat(100_000).into_bytes();
    let first = page("txt", &one_line, 0, &Cancel::default());
    assert!(text_of(&first).chars().all(|c| c == 'ä'));
    assert!(page("txt", &one_line, first.page.to, &Cancel::default()).page.from == first.page.to);
}

#[test]
fn unknown_content_is_text_when_it_reads_as_text_and_bytes_otherwise() {
    assert_eq!(text_of(&of("yaml", b"a: 1\nb: 2\n")), "a: 1\nb: 2");
    let binary = of("bin", &[0, 1, 2, 0xff]);
    let Drawable::Hex(view) = &binary.body else { panic!() };
    assert_eq!(view.bytes, [0, 1, 2, 0xff]);
    assert_eq!(text_of(&of("txt", b"")), "(empty)");
    assert_eq!(of("txt", b"").title, "txt empty");
}

#[test]
fn escapes_and_bidi_become_visible_everywhere() {
    let preview = of("\u{1b}[2J.txt", "a\x1b]0;x\x07\u{202e}b".as_bytes());
    assert_eq!(text_of(&preview), "a␛]0;x␇<U+202E>b");
    assert!(preview.title.starts_with("␛[2J.txt "));
}

#[test]
fn a_part_that_cannot_be_read_says_why() {
    struct Gone;
    impl PartBytes for Gone {
        fn len(&self) -> u64 {
            10
        }
        fn read(&self, _: u64, _: usize) -> Outcome<Vec<u8>> {
            Err(crate::model::Failure::environment("reading the shard", "input/output error"))
        }
    }
    let preview = part("jpg", &Gone, &Cancel::default());
    assert_eq!(preview.notes, ["reading the shard failed: input/output error"]);
}
