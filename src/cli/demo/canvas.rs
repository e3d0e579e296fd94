//! A small antialiased canvas for the pictures of the demo.

use image::{ImageFormat, Rgb, RgbImage};
use std::io::Cursor;

/// Width of every demo picture in pixels.
pub const WIDTH: u32 = 256;
/// Height of every demo picture in pixels.
pub const HEIGHT: u32 = 192;

/// A colour, 0 to 255 per channel, fractional while drawing.
pub type Color = [f32; 3];

/// Interpolates between two colours; `t` is clamped to 0–1.
pub fn mix(a: Color, b: Color, t: f32) -> Color {
    let t = t.clamp(0.0, 1.0);
    [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t]
}

/// A shape, defined by the signed distance of each point from its edge, in pixels, negative inside.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// A disc.
    Circle,
    /// A square with round corners.
    Square,
    /// A triangle with a horizontal base.
    Triangle,
    /// A ring.
    Ring,
    /// A hexagon.
    Hexagon,
    /// A diamond.
    Diamond,
}

impl Figure {
    /// Returns the signed distance of a point from the edge of the shape with this radius around the origin.
    fn distance(self, x: f32, y: f32, radius: f32) -> f32 {
        match self {
            Self::Circle => x.hypot(y) - radius,
            Self::Ring => (x.hypot(y) - radius * 0.78).abs() - radius * 0.2,
            Self::Square => {
                let (dx, dy) = (x.abs() - radius * 0.72, y.abs() - radius * 0.72);
                dx.max(0.0).hypot(dy.max(0.0)) + dx.max(dy).min(0.0) - radius * 0.12
            }
            Self::Diamond => (x.abs() + y.abs() - radius) * std::f32::consts::FRAC_1_SQRT_2,
            Self::Hexagon => (x.abs() * 0.866_025 + y.abs() * 0.5).max(y.abs()) - radius * 0.86,
            Self::Triangle => {
                let side = x.abs() * 0.866_025 + (y - radius * 0.3) * 0.5 - radius * 0.42;
                side.max(y - radius * 0.72)
            }
        }
    }
}

/// An image of [`WIDTH`] × [`HEIGHT`] pixels.
pub struct Canvas {
    pixels: Vec<Color>,
}

impl Canvas {
    /// Creates a canvas filled with a vertical gradient.
    pub fn gradient(top: Color, bottom: Color) -> Self {
        let mut pixels = Vec::with_capacity((WIDTH * HEIGHT) as usize);
        for y in 0..HEIGHT {
            let color = mix(top, bottom, y as f32 / (HEIGHT - 1) as f32);
            pixels.extend(std::iter::repeat_n(color, WIDTH as usize));
        }
        Self { pixels }
    }

    /// Blends `color` over one pixel; `cover` from 0 to 1.
    pub fn blend(&mut self, x: u32, y: u32, color: Color, cover: f32) {
        if cover > 0.0 && x < WIDTH && y < HEIGHT {
            let pixel = &mut self.pixels[(y * WIDTH + x) as usize];
            *pixel = mix(*pixel, color, cover);
        }
    }

    /// Replaces the colour of every pixel by the result of `paint` for its coordinates and colour.
    pub fn repaint(&mut self, paint: impl Fn(f32, f32, Color) -> Color) {
        for (i, pixel) in self.pixels.iter_mut().enumerate() {
            let (x, y) = (i as u32 % WIDTH, i as u32 / WIDTH);
            *pixel = paint(x as f32, y as f32, *pixel);
        }
    }

    /// Draws a shape with a soft edge, lit from the upper left.
    pub fn shape(&mut self, shape: Figure, center: (f32, f32), radius: f32, color: Color) {
        self.visit(center, radius + 2.0, |x, y| {
            let cover = (0.5 - shape.distance(x, y, radius)).clamp(0.0, 1.0);
            let light = (-(x + y) / (radius * 2.4)).clamp(-1.0, 1.0);
            let lit = if light > 0.0 {
                mix(color, [255.0; 3], light * 0.35)
            } else {
                mix(color, [20.0, 20.0, 45.0], -light * 0.45)
            };
            (lit, cover)
        });
    }

    /// Draws a soft shadow on the ground.
    pub fn shadow(&mut self, center: (f32, f32), radius: f32) {
        self.visit(center, radius * 1.3, |x, y| {
            let d = x.hypot(y * 3.2) / (radius * 1.2);
            ([15.0, 15.0, 30.0], (1.0 - d).clamp(0.0, 1.0) * 0.5)
        });
    }

    /// Draws a glow that fades with distance.
    pub fn glow(&mut self, center: (f32, f32), radius: f32, color: Color) {
        self.visit(center, radius, |x, y| {
            let t = (1.0 - x.hypot(y) / radius).clamp(0.0, 1.0);
            (color, t * t * 0.85)
        });
    }

    fn visit(&mut self, center: (f32, f32), reach: f32, paint: impl Fn(f32, f32) -> (Color, f32)) {
        let range = |middle: f32, end: u32| {
            let from = (middle - reach).floor().clamp(0.0, end as f32) as u32;
            from..(middle + reach).ceil().clamp(0.0, end as f32) as u32
        };
        for y in range(center.1, HEIGHT) {
            for x in range(center.0, WIDTH) {
                let (color, cover) = paint(x as f32 + 0.5 - center.0, y as f32 + 0.5 - center.1);
                self.blend(x, y, color, cover);
            }
        }
    }

    /// Draws a ridge: everything below `height(x)` gets a colour that fades towards `foot`.
    pub fn ridge(&mut self, height: impl Fn(f32) -> f32, color: Color, foot: Color) {
        for x in 0..WIDTH {
            let top = height(x as f32);
            for y in top.floor().max(0.0) as u32..HEIGHT {
                let cover = (y as f32 + 1.0 - top).clamp(0.0, 1.0);
                let depth = (y as f32 - top) / (HEIGHT as f32 - top).max(1.0);
                self.blend(x, y, mix(color, foot, depth), cover);
            }
        }
    }

    /// Draws a filled rectangle.
    pub fn block(&mut self, x: std::ops::Range<u32>, y: std::ops::Range<u32>, color: Color) {
        for row in y {
            for column in x.clone() {
                self.blend(column, row, color, 1.0);
            }
        }
    }

    /// Encodes the picture as a file.
    pub fn encode(&self, format: ImageFormat) -> image::ImageResult<Vec<u8>> {
        let image = RgbImage::from_fn(WIDTH, HEIGHT, |x, y| {
            let [r, g, b] = self.pixels[(y * WIDTH + x) as usize];
            Rgb([r, g, b].map(|channel| channel.round().clamp(0.0, 255.0) as u8))
        });
        let mut bytes = Cursor::new(Vec::new());
        match format {
            ImageFormat::Jpeg => {
                image.write_with_encoder(image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 88))?;
            }
            other => image.write_to(&mut bytes, other)?,
        }
        Ok(bytes.into_inner())
    }
}
