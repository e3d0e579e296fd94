use super::*;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    DynamicImage::new_rgb8(width, height).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

#[test]
fn large_picture_keeps_its_size_in_facts_and_is_scaled_down() {
    let picture = decode(&png(1300, 650)).unwrap();
    assert_eq!(picture.facts(), "1300×650 PNG RGB");
    assert_eq!(picture.small().dimensions(), (640, 320));
}

#[test]
fn small_picture_is_not_scaled() {
    assert_eq!(decode(&png(3, 2)).unwrap().small().dimensions(), (3, 2));
}

#[test]
fn bytes_without_picture_have_unknown_format() {
    for bytes in [&b""[..], b"plain text", b"<svg xmlns='http://www.w3.org/2000/svg'/>"] {
        assert_eq!(decode(bytes), Err(PictureError::UnknownFormat));
    }
}

#[test]
fn a_picture_that_is_cut_short_is_damaged() {
    let whole = png(64, 64);
    let error = decode(&whole[..whole.len() / 2]).unwrap_err();
    assert!(matches!(error, PictureError::Damaged(_)), "{error}");
}

#[test]
fn a_header_that_claims_billions_of_pixels_is_refused_before_decoding() {
    let mut bytes = png(1, 1);
    bytes[16..20].copy_from_slice(&60_000u32.to_be_bytes());
    bytes[20..24].copy_from_slice(&60_000u32.to_be_bytes());
    let crc = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    assert!(decode(&bytes).is_err());
    let mut bmp = Cursor::new(Vec::new());
    DynamicImage::new_rgb8(1, 1).write_to(&mut bmp, image::ImageFormat::Bmp).unwrap();
    let mut bmp = bmp.into_inner();
    bmp[18..22].copy_from_slice(&30_000i32.to_le_bytes());
    bmp[22..26].copy_from_slice(&30_000i32.to_le_bytes());
    assert_eq!(decode(&bmp), Err(PictureError::TooLarge { width: 30_000, height: 30_000 }));
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    })
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../tests/golden/media/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Returns the colours at the centres of the four quarters.
fn quarters(picture: &Picture) -> [[u8; 4]; 4] {
    let (w, h) = picture.small().dimensions();
    [(1, 1), (3, 1), (1, 3), (3, 3)].map(|(x, y)| picture.small().get_pixel(x * w / 4, y * h / 4).0)
}

fn is_near(one: [u8; 4], other: [u8; 4]) -> bool {
    one.iter().zip(other).all(|(a, b)| a.abs_diff(b) <= 3)
}

#[test]
fn avif_and_jpeg_2000_have_the_colours_that_pillow_shows() {
    const PURE: [[u8; 3]; 4] = [[255, 0, 0], [0, 255, 0], [0, 0, 253], [255, 255, 255]];
    let opaque = PURE.map(|[r, g, b]| [r, g, b, 255]);
    let alphas = [68, 68, 196, 196];
    let clear: [[u8; 4]; 4] = std::array::from_fn(|at| [PURE[at][0], PURE[at][1], PURE[at][2], alphas[at]]);
    let grey = [66, 66, 194, 194].map(|level| [level, level, level, 255]);
    let cases = [
        ("quarters_420.avif", "48×32 AVIF RGB", (48, 32), opaque),
        ("large_444.avif", "1300×650 AVIF RGB", (640, 320), opaque),
        ("alpha.avif", "48×32 AVIF RGBA", (48, 32), clear),
        ("grey.avif", "32×64 AVIF RGB", (32, 64), grey),
        ("quarters.jp2", "48×32 JPEG2000 RGB", (48, 32), opaque),
        ("large.j2k", "1300×650 JPEG2000 RGB", (640, 320), opaque),
        ("alpha.jp2", "48×32 JPEG2000 RGBA", (48, 32), clear),
        ("grey.jp2", "32×64 JPEG2000 L", (32, 64), grey),
    ];
    for (name, facts, size, wanted) in cases {
        let picture = decode(&golden(&format!("preview/{name}"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((picture.facts().as_str(), picture.small().dimensions()), (facts, size), "{name}");
        for (shown, wanted) in quarters(&picture).into_iter().zip(wanted) {
            assert!(is_near(shown, wanted), "{name}: {shown:?}, not {wanted:?}");
        }
    }
    let mixed = decode(&golden("images/avif_RGBA.avif")).unwrap();
    assert!(is_near(mixed.small().get_pixel(20, 15).0, [72, 51, 82, 61]), "{:?}", mixed.small().get_pixel(20, 15));
}

#[test]
fn damaged_avif_is_reported_and_cut_avif_and_jpeg_2000_do_not_panic() {
    for name in ["images/avif_alpha.avif", "images/avif_codes.avif"] {
        assert!(matches!(decode(&golden(name)), Err(PictureError::Damaged(_))), "{name}");
    }
    for name in ["preview/alpha.avif", "preview/quarters.jp2", "images/j2k_I16.j2k"] {
        let whole = golden(name);
        for len in (0..whole.len()).step_by(61) {
            // A truncated codestream is decoded as far as possible.
            let _ = decode(&whole[..len]);
        }
        for at in (0..whole.len()).step_by(47) {
            let mut odd = whole.clone();
            odd[at] ^= 0xff;
            let _ = std::panic::catch_unwind(|| decode(&odd));
        }
    }
}

#[test]
fn sizes_are_checked_before_anything_is_decoded() {
    let mut avif = golden("preview/quarters_420.avif");
    let at = memchr::memmem::find(&avif, b"ispe").unwrap() + 8;
    avif[at..at + 8].copy_from_slice(&[0, 0, 0x9c, 0x40, 0, 0, 0x9c, 0x40]);
    assert_eq!(decode(&avif), Err(PictureError::TooLarge { width: 40_000, height: 40_000 }));
    let mut jp2 = golden("preview/large.j2k");
    // Overwrites the width and height in the codestream, which follow its marker, length and capabilities.
    jp2[8..16].copy_from_slice(&[0, 0, 0x9c, 0x40, 0, 0, 0x9c, 0x40]);
    assert_eq!(decode(&jp2), Err(PictureError::TooLarge { width: 40_000, height: 40_000 }));
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
    assert_eq!(decode(heic), Err(PictureError::UnknownFormat));
}

#[test]
fn portable_maps_are_shown() {
    let ppm = decode(b"P6 2 1 255\n\xff\0\0\0\0\xff").unwrap();
    assert_eq!((ppm.facts().as_str(), ppm.small().get_pixel(1, 0).0), ("2×1 PPM RGB", [0, 0, 255, 255]));
    let pgm = decode(b"P2\n# a comment\n2 1 15\n0 15\n").unwrap();
    assert_eq!((pgm.colour, pgm.small().get_pixel(1, 0).0), ("L", [255, 255, 255, 255]));
    assert_eq!(decode(b"P1 2 1\n1 0\n").unwrap().small().get_pixel(0, 0).0, [0, 0, 0, 255]);
    assert!(matches!(decode(b"P6 2 2 255\nxyz"), Err(PictureError::Damaged(_))));
    assert_eq!(decode(b"P6 60000 60000 255\n"), Err(PictureError::TooLarge { width: 60_000, height: 60_000 }));
}
