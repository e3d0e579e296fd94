//! Maps combinations of TIFF tags to Pillow modes.

/// The tags that describe a pixel.
pub(super) struct Pixel<'a> {
    /// Whether numbers are big-endian.
    pub(super) big: bool,
    /// Photometric interpretation.
    pub(super) photo: i64,
    /// Format of the samples: 1 unsigned, 2 signed, 3 floating-point.
    pub(super) sample_format: i64,
    /// Order of pixels in a byte: with 1 the first pixel is in the highest bits, with 2 in the lowest.
    pub(super) fill_order: i64,
    /// Bits of each sample.
    pub(super) bits: &'a [i64],
    /// Meanings of the samples after the colours.
    pub(super) extra: &'a [i64],
}

/// Returns the mode; `None` if Pillow has none.
pub(super) fn mode(pixel: &Pixel) -> Option<&'static str> {
    if pixel.fill_order != 1 && pixel.fill_order != 2 {
        return None;
    }
    match pixel.photo {
        0 | 1 => grey(pixel),
        2 => rgb(pixel),
        3 => palette(pixel),
        5 => cmyk(pixel),
        6 | 8 => other(pixel),
        _ => None,
    }
}

fn grey(p: &Pixel) -> Option<&'static str> {
    let first = p.fill_order == 1;
    match (p.photo, p.sample_format, p.bits, p.extra) {
        (_, 1, [1], []) => Some("1"),
        (_, 1, [2 | 4 | 8], []) => Some("L"),
        (1, 2, [8], []) if first => Some("L"),
        (1, 1, [12], []) if first && !p.big => Some("I;16"),
        (0, 1, [16], []) if first && !p.big => Some("I;16"),
        (1, 1, [16], []) if !p.big => Some("I;16"),
        (1, 1, [16], []) if first => Some("I;16B"),
        (1, 2, [16], []) if first => Some("I"),
        (_, 3, [32], []) if first => Some("F"),
        (1, 1, [32], []) if first && !p.big => Some("I"),
        (1, 2, [32], []) if first => Some("I"),
        (1, 1, [8, 8], [0]) if first => Some("L"),
        (1, 1, [8, 8], [1]) if first => Some("La"),
        (1, 1, [8, 8], [2]) if first => Some("LA"),
        _ => None,
    }
}

fn rgb(p: &Pixel) -> Option<&'static str> {
    if p.sample_format != 1 {
        return None;
    }
    if p.fill_order == 2 {
        return (p.bits == [8, 8, 8] && p.extra.is_empty()).then_some("RGB");
    }
    match (p.bits, p.extra) {
        ([8, 8, 8] | [16, 16, 16], []) => Some("RGB"),
        // The meaning of the fourth sample may be missing.
        ([8, 8, 8, 8] | [16, 16, 16, 16], [] | [1 | 2]) => Some("RGBA"),
        ([8, 8, 8, 8] | [16, 16, 16, 16], [0]) => Some("RGB"),
        ([8, 8, 8, 8], [999]) => Some("RGBA"),
        ([8, 8, 8, 8, 8], [0, 0]) | ([8, 8, 8, 8, 8, 8], [0, 0, 0]) => Some("RGB"),
        ([8, 8, 8, 8, 8], [1 | 2, 0]) | ([8, 8, 8, 8, 8, 8], [1 | 2, 0, 0]) => Some("RGBA"),
        _ => None,
    }
}

fn palette(p: &Pixel) -> Option<&'static str> {
    match (p.sample_format, p.bits, p.extra) {
        (1, [1 | 2 | 4 | 8], []) => Some("P"),
        (1, [8, 8], [0]) if p.fill_order == 1 => Some("P"),
        (1, [8, 8], [2]) if p.fill_order == 1 => Some("PA"),
        _ => None,
    }
}

fn cmyk(p: &Pixel) -> Option<&'static str> {
    let known = matches!(
        (p.bits, p.extra),
        ([8, 8, 8, 8] | [16, 16, 16, 16], []) | ([8, 8, 8, 8, 8], [0]) | ([8, 8, 8, 8, 8, 8], [0, 0])
    );
    (known && p.sample_format == 1 && p.fill_order == 1).then_some("CMYK")
}

fn other(p: &Pixel) -> Option<&'static str> {
    if p.sample_format != 1 || p.fill_order != 1 || !p.extra.is_empty() {
        return None;
    }
    match (p.photo, p.bits) {
        (6, [8]) => Some("L"),
        (6, [8, 8, 8]) => Some("YCbCr"),
        (8, [8, 8, 8]) => Some("LAB"),
        _ => None,
    }
}
