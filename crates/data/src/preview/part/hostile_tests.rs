//! Tests that no content can crash a preview, or put unsafe text on the screen.

use super::*;
use crate::preview::tensor::{npy, npz};
use gristmill_core::text::display_safe;
use proptest::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn of(name: &str, content: &[u8]) -> PartPreview {
    part(name, &content.to_vec(), &Cancel::default())
}

/// Returns every text of a preview that a screen shows.
fn texts(preview: &PartPreview) -> Vec<String> {
    let mut out = vec![preview.name.clone(), preview.title.clone()];
    out.extend(preview.notes.iter().cloned());
    out.extend(preview.facts.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
    match &preview.body {
        Drawable::Tokens(tokens) => out.push(tokens.text.to_string()),
        Drawable::Text(text) => out.extend(text.split('\n').map(str::to_owned)),
        Drawable::Reading(page) => out.extend(page.text.split('\n').map(str::to_owned)),
        Drawable::Fact(text) => out.push(text.to_string()),
        Drawable::Tree(lines) => {
            // Texts keep their line breaks.
            out.extend(lines.iter().flat_map(|l| l.value.split('\n').map(str::to_owned).collect::<Vec<_>>()));
            out.extend(lines.iter().filter(|l| l.inside > 0).map(TreeLine::summary));
            out.extend(lines.iter().flat_map(|l| [l.label.clone(), l.title.clone()]));
            out.extend((0..lines.len().min(20)).map(|at| crate::preview::tree::path("x", lines, at)));
        }
        Drawable::Tensors(views) => out.extend(views.iter().flat_map(|v| v.lines(60, false))),
        Drawable::Waveform(wave) => {
            out.push(wave.codec.clone());
            let _ = wave.columns(50);
        }
        Drawable::Hex(view) => {
            let rows = (0..view.rows(16)).filter_map(|row| view.row(row, 16));
            out.extend(rows.flat_map(|(a, b, c)| [a, b, c]));
        }
        Drawable::Picture(picture) => {
            let _ = crate::preview::cells::render(picture, 20, 10, crate::preview::cells::Depth::True);
            out.push(picture.facts());
        }
    }
    out
}

fn is_safe(preview: &PartPreview) -> Result<(), String> {
    match texts(preview).into_iter().find(|text| display_safe(text) != text.as_str()) {
        Some(text) => Err(text.chars().take(200).collect()),
        None => Ok(()),
    }
}

const NAMES: [&str; 22] = [
    "jpg", "png", "gif", "webp", "bmp", "tiff", "jp2", "txt", "json", "cls", "mp", "npy", "npz", "mp3", "wav", "flac",
    "mp4", "avi", "mkv", "ogg", "bin", "json.gz",
];

/// Returns small files of every kind.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut out: Vec<(String, Vec<u8>)> = Vec::new();
    let image =
        image::DynamicImage::from(image::RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8 * 20, y as u8, 7])));
    for (name, format) in [
        ("jpg", image::ImageFormat::Jpeg),
        ("png", image::ImageFormat::Png),
        ("gif", image::ImageFormat::Gif),
        ("webp", image::ImageFormat::WebP),
        ("bmp", image::ImageFormat::Bmp),
        ("tiff", image::ImageFormat::Tiff),
    ] {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        out.push((name.into(), bytes.into_inner()));
    }
    let array = npy::tests::file("'<f4'", "(2, 2)", &[7; 16]);
    out.push(("npz".into(), npz::tests::archive(&[("a.npy", &array, true), ("b.npy", &array, false)])));
    out.push(("npy".into(), array));
    out.push(("json".into(), br#"{"a": [1, 2.5, "\u00e4\u001b"], "b": {"c": null}}"#.to_vec()));
    out.push(("mp".into(), b"\x82\xa1a\x93\x01\xcb\0\0\0\0\0\0\0\0\xc4\x01\xff\xa1b\xa3\x1b[2".to_vec()));
    out.push(("wav".into(), crate::preview::waveform::tests::wav(8_000, &[100; 200])));
    out.push(("txt".into(), "a\u{1b}[31m\u{202e}b\r\n\t\u{feff}\u{e0041}".into()));
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/media"));
    for file in
        ["flac_adts/base.aac", "flac_adts/pic_png.flac", "ogg/o_n1.ogg", "images/bmp_rle8.bmp", "images/apng_RGB.png"]
    {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        out.push((file.rsplit('.').next().unwrap().into(), bytes.into_iter().take(60_000).collect()));
    }
    for (kind, ending) in [("iso", "mp4"), ("matroska", "mkv"), ("mpeg_audio", "mp3"), ("riff", "avi")] {
        let mut files: Vec<_> = std::fs::read_dir(folder.join(kind)).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let file = files.into_iter().find(|p| p.extension().is_some_and(|e| e == ending));
        out.extend(file.map(|p| (ending.to_owned(), std::fs::read(p).unwrap().into_iter().take(60_000).collect())));
    }
    out
}

#[test]
fn whole_files_of_every_kind_are_shown_safely() {
    for (name, bytes) in seeds() {
        let preview = of(&name, &bytes);
        is_safe(&preview).unwrap();
        assert!(!preview.title.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_under_any_name_are_shown_safely(name in 0..NAMES.len(), bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(is_safe(&of(NAMES[name], &bytes)), Ok(()));
    }

    #[test]
    fn random_texts_and_names_are_shown_safely(name in "\\PC{0,12}|.{0,12}", text in ".{0,200}") {
        prop_assert_eq!(is_safe(&of(&name, text.as_bytes())), Ok(()));
        for kind in ["txt", "json", "yaml"] {
            prop_assert_eq!(is_safe(&of(kind, text.as_bytes())), Ok(()));
            let quoted = serde_json::to_string(&[&text, &name]).unwrap();
            prop_assert_eq!(is_safe(&of(kind, quoted.as_bytes())), Ok(()));
        }
    }

    #[test]
    fn damaged_files_of_every_kind_are_shown_safely(
        seed in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        keep in 0..=100_usize,
    ) {
        let seeds = seeds();
        let (name, bytes) = seed.get(&seeds);
        let mut bytes = bytes.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() * keep / 100);
        prop_assert_eq!(is_safe(&of(name, &bytes)), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_av1_videos_are_shown_safely_within_a_time_limit(
        seed in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        keep in 0..=130_usize,
    ) {
        const NAMES: [&str; 6] =
            ["420_limited.mp4", "422_12.mp4", "fragments.mp4", "420_10_full.webm", "444_10.mkv", "grey_8.webm"];
        let name = seed.get(&NAMES);
        let mut bytes = std::fs::read(format!("{}/../../tests/golden/media/av1/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() * keep / 100);
        let started = Instant::now();
        prop_assert_eq!(is_safe(&of(name, &bytes)), Ok(()));
        prop_assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn headers_that_claim_too_many_pixels_are_shown_as_bytes_with_a_note() {
    let mut bmp = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(1, 1).write_to(&mut bmp, image::ImageFormat::Bmp).unwrap();
    let mut bmp = bmp.into_inner();
    bmp[18..22].copy_from_slice(&20_000_i32.to_le_bytes());
    bmp[22..26].copy_from_slice(&20_000_i32.to_le_bytes());
    let preview = of("bmp", &bmp);
    assert!(preview.notes[0].contains("too many to show"), "{:?}", preview.notes);
    assert!(matches!(preview.body, Drawable::Hex(_)));
}

#[test]
fn a_line_of_64_megabytes_is_read_and_shown_in_pages() {
    let line = vec![b'x'; 64 << 20];
    let started = Instant::now();
    let preview = part("txt", &line, &Cancel::default());
    let Drawable::Text(text) = &preview.body else { panic!() };
    assert_eq!(text.len(), PAGE_BYTES);
    assert!(preview.page.has_more());
    let preview = part("json", &line, &Cancel::default());
    assert!(preview.notes[0].starts_with("not valid JSON"));
    let quoted = [b"[\"", &line[..], b"\"]"].concat();
    let preview = part("json", &quoted, &Cancel::default());
    assert!(preview.notes.iter().any(|n| n.starts_with("only the first 16.0 MiB")), "{:?}", preview.notes);
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn deep_documents_become_text_with_a_note() {
    let preview = of("json", "[".repeat(1_000_000).as_bytes());
    assert!(preview.notes[0].contains("nested deeper"), "{:?}", preview.notes);
    assert!(matches!(preview.body, Drawable::Text(_)));
    assert!(of("mp", &b"\x91".repeat(1_000_000)).notes[0].contains("nested deeper"));
}

#[test]
fn compression_bomb_is_shown_up_to_the_limit_with_a_note() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![b' '; 40 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    let preview = of("txt.gz", &bomb);
    assert!(preview.notes.iter().any(|n| n.starts_with("only the first 16.0 MiB")), "{:?}", preview.notes);
    assert!(preview.title.contains("gzip"));
    assert!(of("txt.gz", b"no gzip").notes[0].contains("not gzip"));
}

#[test]
fn only_the_first_picture_of_an_animation_is_decoded() {
    let mut frame = Vec::new();
    {
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut frame);
        let picture = image::RgbaImage::from_pixel(8, 8, image::Rgba([200, 0, 0, 255]));
        for _ in 0..2 {
            encoder.encode_frame(image::Frame::new(picture.clone())).unwrap();
        }
    }
    // Repeats the second frame with its control block many times.
    let lead = memchr::memmem::rfind(&frame, b"\x21\xf9\x04").unwrap();
    let again = frame[lead..frame.len() - 1].to_vec();
    let mut endless = frame[..frame.len() - 1].to_vec();
    while endless.len() < again.len() * 1_000_000 && endless.len() < 40 << 20 {
        endless.extend_from_slice(&again);
    }
    let started = Instant::now();
    assert!(matches!(of("gif", &endless).body, Drawable::Picture(_)));
    assert!(started.elapsed() < Duration::from_secs(20));
}
