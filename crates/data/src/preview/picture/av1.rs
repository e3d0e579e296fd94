//! AV1: the picture of an AVIF file, or a frame of a video. The planes are scaled down before the conversion to colours, so that a large
//! picture needs hardly more memory than its decoder.

use super::{scaled_size, Picture, PictureError, MAX_DECODED_BYTES, MAX_PIXELS};
use gristmill_core::text::display_safe;
use gristmill_core::{Cancel, ImageFacts};
use gristmill_media::av::codec::VideoCodec;
use gristmill_media::{image as headers, Reader};
use image::{Rgba, RgbaImage};
use re_rav1d::dav1d::pixel::{MatrixCoefficients as Matrix, YUVRange};
use re_rav1d::dav1d::{Decoder, Error, PixelLayout, PlanarImageComponent as Component, Settings};

type Frame = re_rav1d::dav1d::Picture;

/// Maximum number of times that the decoder is polled for a frame.
const MAX_POLLS: usize = 1000;
/// Estimated bytes per pixel during decoding: usually one full plane and two quarter-size planes, of one or two bytes per value.
const PIXEL_BYTES: u64 = 3;

/// Maximum number of pixels of a video frame, regardless of its depth and layout: three colours of twelve bits take six bytes.
const MAX_VIDEO_PIXELS: u64 = MAX_DECODED_BYTES / 6;
/// Size of the header of a stored configuration; OBUs follow it.
const CONFIG_HEAD: usize = 4;

/// Decodes an AVIF file; `facts` must be those in its header.
pub(super) fn decode_avif(bytes: &[u8], facts: &ImageFacts) -> Result<Picture, PictureError> {
    if u64::from(facts.width) * u64::from(facts.height) * PIXEL_BYTES > MAX_DECODED_BYTES {
        return Err(PictureError::TooLarge { width: facts.width, height: facts.height });
    }
    let cancel = Cancel::default();
    let codes = headers::avif_codes(&mut Reader::new(&bytes, &cancel))
        .map_err(|error| PictureError::Damaged(display_safe(&error.to_string()).into_owned()))?
        .ok_or(PictureError::NotDecoded("an AVIF picture in tiles, which is not supported"))?;
    let decode = |spans: &[(u64, u64)]| {
        let frame = gathered(bytes, spans).and_then(|codes| first_frame(codes, MAX_PIXELS));
        frame.ok_or_else(|| PictureError::Damaged("its data cannot be decoded".into()))
    };
    let colour = decode(&codes.colour)?;
    let alpha = match &codes.alpha {
        Some(spans) => Some(decode(spans)?),
        None => None,
    };
    let mode = if alpha.is_some() { "RGBA" } else { "RGB" };
    let small = small(&colour, alpha.as_ref());
    Ok(Picture { format: "AVIF", width: facts.width, height: facts.height, colour: mode, small })
}

/// Decodes a key frame of a video; `config` is the codec configuration in its container (AV1 in ISO Base Media §2.3.3).
pub(super) fn decode_frame(config: &[u8], bytes: &[u8]) -> Result<Picture, PictureError> {
    let size = VideoCodec::Av1.size_in_packet(bytes).or_else(|| VideoCodec::Av1.size_in_config(config));
    if let Some((width, height)) = size {
        if u64::from(width) * u64::from(height) > MAX_VIDEO_PIXELS {
            return Err(PictureError::TooLarge { width, height });
        }
    }
    let units = config.get(CONFIG_HEAD..).unwrap_or_default();
    let decode = |codes| first_frame(codes, MAX_VIDEO_PIXELS);
    // Frames usually repeat the OBUs of the configuration, which may be damaged, so the frame is also tried alone.
    let whole = decode([units, bytes].concat()).or_else(|| decode(bytes.to_vec()).filter(|_| !units.is_empty()));
    let frame = whole.ok_or_else(|| PictureError::Damaged("its data cannot be decoded".into()))?;
    let (width, height) = (frame.width(), frame.height());
    let colour = if frame.pixel_layout() == PixelLayout::I400 { "L" } else { "RGB" };
    Ok(Picture { format: "AV1", width, height, colour, small: small(&frame, None) })
}

/// Concatenates spans of `bytes`; returns `None` if a span is beyond the end.
fn gathered(bytes: &[u8], spans: &[(u64, u64)]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for &(at, len) in spans {
        let (at, len) = (usize::try_from(at).ok()?, usize::try_from(len).ok()?);
        // Spans may overlap and may be repeated, so their total size is checked.
        if all.len().saturating_add(len) > bytes.len() {
            return None;
        }
        all.extend_from_slice(bytes.get(at..at.checked_add(len)?)?);
    }
    Some(all)
}

/// Decodes the first frame of the data, if it has at most `most_pixels` pixels.
fn first_frame(codes: Vec<u8>, most_pixels: u64) -> Option<Frame> {
    if codes.is_empty() {
        return None;
    }
    let mut settings = Settings::new();
    // A worker is a single thread, so no decoder threads may remain when it ends.
    settings.set_n_threads(1);
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_frame_size_limit(u32::try_from(most_pixels).unwrap_or(u32::MAX));
    let mut decoder = Decoder::with_settings(&settings).ok()?;
    let mut sent = decoder.send_data(codes, None, None, None);
    for _ in 0..MAX_POLLS {
        if sent.is_err_and(|error| !error.is_again()) {
            return None;
        }
        match decoder.get_picture() {
            Ok(frame) => return Some(frame),
            Err(Error::Again) if sent.is_err() => sent = decoder.send_pending_data(),
            Err(_) => return None,
        }
    }
    None
}

/// A plane of coded values, scaled to the size of the scaled picture.
struct Plane {
    numbers: Vec<f32>,
    columns: usize,
}

impl Plane {
    fn of(frame: &Frame, component: Component, (columns, rows): (usize, usize)) -> Self {
        let bytes = frame.plane(component);
        let stride = frame.stride(component) as usize;
        let layout = frame.pixel_layout();
        let is_colour = component != Component::Y;
        let half = |side: u32, is_halved: bool| if is_colour && is_halved { side.div_ceil(2) } else { side } as usize;
        let width = half(frame.width(), matches!(layout, PixelLayout::I420 | PixelLayout::I422));
        let height = half(frame.height(), layout == PixelLayout::I420);
        let size = if frame.bit_depth() > 8 { 2 } else { 1 };
        let mut numbers = Vec::with_capacity(columns * rows);
        for row in 0..rows {
            let lines = part(row, rows, height);
            for column in 0..columns {
                let places = part(column, columns, width);
                let mut sum = 0.0;
                for line in lines.clone() {
                    let from = line * stride + places.start * size;
                    let cut = bytes.get(from..from + places.len() * size).unwrap_or_default();
                    sum += match size {
                        1 => cut.iter().map(|b| f32::from(*b)).sum::<f32>(),
                        _ => cut.chunks_exact(2).map(|b| f32::from(u16::from_ne_bytes([b[0], b[1]]))).sum(),
                    };
                }
                numbers.push(sum / (lines.len() * places.len()).max(1) as f32);
            }
        }
        Self { numbers, columns }
    }

    fn at(&self, column: u32, row: u32) -> f32 {
        self.numbers.get(row as usize * self.columns + column as usize).copied().unwrap_or(0.0)
    }
}

/// Returns the range of `0..all` that belongs to part number `at` of `parts` equal parts; it has at least one element.
fn part(at: usize, parts: usize, all: usize) -> std::ops::Range<usize> {
    let from = (at * all / parts.max(1)).min(all.saturating_sub(1));
    from..((at + 1) * all / parts.max(1)).clamp(from + 1, all.max(from + 1))
}

/// Converts coded values to fractions of their range.
#[derive(Clone, Copy)]
struct Range {
    low: f32,
    white: f32,
    middle: f32,
    wide: f32,
}

impl Range {
    fn of(frame: &Frame) -> Self {
        let step = f32::from(1_u16 << frame.bit_depth().clamp(8, 16).saturating_sub(8));
        let most = 256.0 * step - 1.0;
        match frame.color_range() {
            YUVRange::Limited => {
                Self { low: 16.0 * step, white: 219.0 * step, middle: 128.0 * step, wide: 224.0 * step }
            }
            YUVRange::Full => Self { low: 0.0, white: most, middle: 128.0 * step, wide: most },
        }
    }
    fn luma(self, number: f32) -> f32 {
        (number - self.low) / self.white
    }
    fn chroma(self, number: f32) -> f32 {
        (number - self.middle) / self.wide
    }
}

fn small(frame: &Frame, alpha: Option<&Frame>) -> RgbaImage {
    let (width, height) = scaled_size(frame.width(), frame.height());
    let size = (width as usize, height as usize);
    let luma = Plane::of(frame, Component::Y, size);
    let colours = (frame.pixel_layout() != PixelLayout::I400)
        .then(|| (Plane::of(frame, Component::U, size), Plane::of(frame, Component::V, size)));
    let alpha = alpha.map(|frame| (Plane::of(frame, Component::Y, size), Range::of(frame)));
    let (range, matrix) = (Range::of(frame), frame.matrix_coefficients());
    let byte = |share: f32| (share.clamp(0.0, 1.0) * 255.0).round() as u8;
    RgbaImage::from_fn(width, height, |x, y| {
        let seen = alpha.as_ref().map_or(1.0, |(plane, range)| range.luma(plane.at(x, y)));
        let [r, g, b] = match &colours {
            None => [range.luma(luma.at(x, y)); 3],
            // With the identity matrix, the planes are green, blue and red.
            Some((u, v)) if matrix == Matrix::Identity => {
                [range.luma(v.at(x, y)), range.luma(luma.at(x, y)), range.luma(u.at(x, y))]
            }
            Some((u, v)) => rgb(range.luma(luma.at(x, y)), range.chroma(u.at(x, y)), range.chroma(v.at(x, y)), matrix),
        };
        Rgba([byte(r), byte(g), byte(b), byte(seen)])
    })
}

/// Converts luma and two chroma values to red, green and blue.
fn rgb(y: f32, u: f32, v: f32, matrix: Matrix) -> [f32; 3] {
    let (red, blue) = match matrix {
        Matrix::YCgCo => return [y - u + v, y + u, y - u - v],
        Matrix::BT709 => (0.2126, 0.0722),
        Matrix::ST240M => (0.212, 0.087),
        Matrix::BT2020NonConstantLuminance | Matrix::BT2020ConstantLuminance => (0.2627, 0.0593),
        _ => (0.299, 0.114),
    };
    let (r, b) = (y + 2.0 * (1.0 - red) * v, y + 2.0 * (1.0 - blue) * u);
    [r, (y - red * r - blue * b) / (1.0 - red - blue), b]
}
