use super::*;
use crate::preview::tree::tree_line;

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
fn picture_title_has_its_size_and_a_cut_picture_is_shown_as_bytes() {
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
fn json_is_shown_as_tree_and_damaged_json_as_text_with_the_place() {
    let preview = of("meta.json", br#"{"id": 1, "tags": [1, 2]}"#);
    assert_eq!(preview.title, "meta.json {2 keys} 25 B");
    let Drawable::Tree(lines) = &preview.body else { panic!() };
    assert_eq!(lines.iter().map(tree_line).collect::<Vec<_>>(), ["id: 1", "tags:", "  0: 1", "  1: 2"]);
    let damaged = of("json", b"{\"a\": \n oops}");
    assert_eq!(damaged.notes, ["not valid JSON: expected a value at line 2, column 2"]);
    assert_eq!(text_of(&damaged), "{\"a\": \n oops}");
}

#[test]
fn text_pages_end_at_line_breaks_and_lose_nothing() {
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
fn unknown_content_is_shown_as_text_if_it_is_text_and_as_bytes_otherwise() {
    assert_eq!(text_of(&of("yaml", b"a: 1\nb: 2\n")), "a: 1\nb: 2");
    let binary = of("bin", &[0, 1, 2, 0xff]);
    let Drawable::Hex(view) = &binary.body else { panic!() };
    assert_eq!(view.bytes, [0, 1, 2, 0xff]);
    assert_eq!(text_of(&of("txt", b"")), "(empty)");
    assert_eq!(of("txt", b"").title, "txt empty");
}

#[test]
fn control_and_bidi_characters_are_visible_in_title_and_text() {
    let preview = of("\u{1b}[2J.txt", "a\x1b]0;x\x07\u{202e}b".as_bytes());
    assert_eq!(text_of(&preview), "a␛]0;x␇<U+202E>b");
    assert!(preview.title.starts_with("␛[2J.txt "));
}

#[test]
fn unreadable_part_is_shown_with_the_reason() {
    struct UnreadableBytes;
    impl PartBytes for UnreadableBytes {
        fn len(&self) -> u64 {
            10
        }
        fn read(&self, _: u64, _: usize) -> Outcome<Vec<u8>> {
            Err(gristmill_core::Failure::environment("reading the shard", "input/output error"))
        }
    }
    let preview = part("jpg", &UnreadableBytes, &Cancel::default());
    assert_eq!(preview.notes, ["reading the shard failed: input/output error"]);
}

#[test]
fn videos_in_av1_show_their_first_frame_in_the_colours_of_the_reference() {
    // Colours at the centres of the four quarters, as decoded by FFmpeg.
    const LIMITED: [[u8; 3]; 4] = [[199, 39, 40], [39, 180, 59], [48, 58, 209], [234, 225, 120]];
    const FULL: [[u8; 3]; 4] = [[200, 41, 40], [41, 181, 62], [50, 60, 211], [237, 226, 122]];
    const GREY: [[u8; 3]; 4] = [[40; 3], [180; 3], [60; 3], [225; 3]];
    let cases = [
        ("420_limited.mp4", "64×48 AV1 RGB", LIMITED),
        ("420_10_full.webm", "64×48 AV1 RGB", FULL),
        ("422_12.mp4", "64×48 AV1 RGB", FULL),
        ("444_10.mkv", "64×48 AV1 RGB", [[201, 40, 40], [40, 181, 60], [50, 60, 211], [235, 226, 120]]),
        ("fragments.mp4", "64×48 AV1 RGB", LIMITED),
        ("grey_8.webm", "64×48 AV1 L", GREY),
        ("group.mov", "64×48 AV1 RGB", LIMITED),
        ("large.mkv", "1280×720 AV1 RGB", LIMITED),
    ];
    for (name, facts, wanted) in cases {
        let path = format!("{}/../../tests/golden/media/av1/{name}", env!("CARGO_MANIFEST_DIR"));
        let preview = part(name, &std::fs::read(path).unwrap(), &Cancel::default());
        let Drawable::Picture(picture) = &preview.body else { panic!("{name}: {preview:?}") };
        assert_eq!((picture.facts().as_str(), preview.notes.as_slice()), (facts, &[][..]), "{name}");
        let (w, h) = picture.small().dimensions();
        for ((x, y), wanted) in [(1, 1), (3, 1), (1, 3), (3, 3)].into_iter().zip(wanted) {
            let shown = picture.small().get_pixel(x * w / 4, y * h / 4).0;
            let is_near = shown.iter().zip(wanted).all(|(one, other)| one.abs_diff(other) <= 3);
            assert!(is_near, "{name}: {shown:?}, not {wanted:?}");
        }
    }
}

#[test]
fn video_with_damaged_or_too_large_first_frame_is_shown_with_a_note() {
    let path = format!("{}/../../tests/golden/media/av1/422_12.mp4", env!("CARGO_MANIFEST_DIR"));
    let good = std::fs::read(path).unwrap();
    let first = memchr::memmem::find(&good, b"mdat").unwrap() + 4;
    let note = |bytes: &Vec<u8>| {
        let preview = part("mp4", bytes, &Cancel::default());
        assert!(!matches!(preview.body, Drawable::Picture(_)));
        preview.notes.join("; ")
    };
    let mut odd = good.clone();
    odd[first + 20..first + 90].fill(0xa5);
    assert!(note(&odd).contains("its first picture is not shown: damaged picture"), "{}", note(&odd));
    let mut long = good;
    let sizes = memchr::memmem::find(&long, b"stsz").unwrap() + 16;
    long[sizes..sizes + 4].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
    assert!(note(&long).contains("it ends in the middle of its first picture"), "{}", note(&long));
}
