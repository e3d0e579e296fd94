//! Pictures as terminal cells: two pixels per cell with the upper half block, or shades without colours.

use super::picture::Picture;
use image::imageops::{self, FilterType};
use image::{Rgba, RgbaImage};

/// Colour support of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// 24 bits.
    True,
    /// The 256-colour palette.
    Indexed,
    /// No colours: shades with block characters.
    Shades,
    /// No colours and no block characters: shades with ASCII.
    Ascii,
}

impl Depth {
    /// Determines the support from `TERM` and `COLORTERM`, unless colours or block characters are switched off.
    pub fn detect(colours: bool, ascii: bool, term: Option<&str>, colorterm: Option<&str>) -> Self {
        if ascii {
            return Self::Ascii;
        }
        if !colours {
            return Self::Shades;
        }
        let term = term.unwrap_or_default();
        if matches!(colorterm, Some("truecolor" | "24bit")) || term.ends_with("-direct") || term == "xterm-kitty" {
            Self::True
        } else if term.contains("256color") {
            Self::Indexed
        } else {
            Self::Shades
        }
    }
}

/// A colour of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellColour {
    /// Red, green, blue.
    Rgb(u8, u8, u8),
    /// An entry of the 256-colour palette.
    Index(u8),
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Symbol, one column wide.
    pub symbol: &'static str,
    /// Foreground; `None` is the terminal's own.
    pub fg: Option<CellColour>,
    /// Background; `None` is the terminal's own.
    pub bg: Option<CellColour>,
}

/// A rectangle of cells, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellGrid {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// `width × height` cells.
    pub cells: Vec<Cell>,
}

impl CellGrid {
    /// Returns the rows from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks(usize::from(self.width.max(1)))
    }
}

/// Scales a picture into at most `columns × rows` cells, keeping its aspect ratio. Empty when there is no room.
pub fn render(picture: &Picture, columns: u16, rows: u16, depth: Depth) -> CellGrid {
    let (width, height) = fitted_cells(picture, columns, rows);
    if width == 0 || height == 0 {
        return CellGrid { width: 0, height: 0, cells: Vec::new() };
    }
    let small = imageops::resize(picture.small(), u32::from(width), u32::from(height) * 2, FilterType::Triangle);
    let mut cells = Vec::with_capacity(usize::from(width) * usize::from(height));
    for row in 0..u32::from(height) {
        for column in 0..u32::from(width) {
            cells.push(cell(&small, column, row * 2, depth));
        }
    }
    CellGrid { width, height, cells }
}

/// Returns the columns and rows that a picture fills in a box, assuming that a cell is twice as high as wide.
pub fn fitted_cells(picture: &Picture, columns: u16, rows: u16) -> (u16, u16) {
    let (w, h) = (f64::from(picture.width.max(1)), f64::from(picture.height.max(1)));
    if columns == 0 || rows == 0 {
        return (0, 0);
    }
    let scale = (f64::from(columns) / w).min(f64::from(rows) * 2.0 / h);
    let width = (w * scale).round().clamp(1.0, f64::from(columns));
    let height = (h * scale / 2.0).round().clamp(1.0, f64::from(rows));
    // The values are between 1 and the maximum of a u16.
    (width as u16, height as u16)
}

fn cell(image: &RgbaImage, x: u32, y: u32, depth: Depth) -> Cell {
    let upper = over_grey(*image.get_pixel(x, y));
    let lower = over_grey(*image.get_pixel(x, y + 1));
    match depth {
        Depth::True => Cell {
            symbol: "▀",
            fg: Some(CellColour::Rgb(upper[0], upper[1], upper[2])),
            bg: Some(CellColour::Rgb(lower[0], lower[1], lower[2])),
        },
        Depth::Indexed => Cell {
            symbol: "▀",
            fg: Some(CellColour::Index(palette(upper))),
            bg: Some(CellColour::Index(palette(lower))),
        },
        Depth::Shades => shaded_cell(upper, lower, &[" ", "░", "▒", "▓", "█"]),
        Depth::Ascii => shaded_cell(upper, lower, &[" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"]),
    }
}

/// Blends transparent pixels with a middle grey, which is legible on light and dark terminals.
fn over_grey(pixel: Rgba<u8>) -> [u8; 3] {
    let alpha = u32::from(pixel[3]);
    let mix = |c: u8| ((u32::from(c) * alpha + 0x60 * (255 - alpha)) / 255).min(255) as u8;
    [mix(pixel[0]), mix(pixel[1]), mix(pixel[2])]
}

fn shaded_cell(upper: [u8; 3], lower: [u8; 3], ramp: &[&'static str]) -> Cell {
    let level = (luminance(upper) + luminance(lower)) / 2;
    let step = (level as usize * ramp.len() / 256).min(ramp.len().saturating_sub(1));
    Cell { symbol: ramp.get(step).copied().unwrap_or(" "), fg: None, bg: None }
}

fn luminance([r, g, b]: [u8; 3]) -> u32 {
    (u32::from(r) * 299 + u32::from(g) * 587 + u32::from(b) * 114) / 1000
}

/// Returns the nearest colour of the 6×6×6 cube and the 24 greys.
fn palette([r, g, b]: [u8; 3]) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |c: u8| (0..6usize).min_by_key(|&i| c.abs_diff(LEVELS[i])).unwrap_or(0);
    let (cr, cg, cb) = (nearest(r), nearest(g), nearest(b));
    let grey_step = (luminance([r, g, b]).saturating_sub(8) / 10).min(23) as u8;
    let grey = 8 + grey_step * 10;
    let distance = |x: [u8; 3]| {
        let d = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        d(r, x[0]) + d(g, x[1]) + d(b, x[2])
    };
    if distance([grey; 3]) < distance([LEVELS[cr], LEVELS[cg], LEVELS[cb]]) {
        232 + grey_step
    } else {
        // The value is at most 16 + 215.
        (16 + 36 * cr + 6 * cg + cb) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, at: impl Fn(u32, u32) -> [u8; 4]) -> Picture {
        Picture::from_pixels("PNG", "RGBA", RgbaImage::from_fn(width, height, |x, y| Rgba(at(x, y))))
    }

    #[test]
    fn picture_fits_its_cells_and_keeps_its_aspect_ratio() {
        let wide = picture(200, 100, |_, _| [0; 4]);
        assert_eq!(fitted_cells(&wide, 20, 20), (20, 5));
        assert_eq!(fitted_cells(&wide, 80, 4), (16, 4));
        let tall = picture(10, 1000, |_, _| [0; 4]);
        assert_eq!(fitted_cells(&tall, 20, 10), (1, 10));
        assert_eq!(fitted_cells(&tall, 0, 10), (0, 0));
        assert!(render(&tall, 0, 3, Depth::True).cells.is_empty());
    }

    #[test]
    fn a_cell_shows_two_pixels_one_above_the_other() {
        let flag = picture(2, 2, |_, y| if y == 0 { [255, 0, 0, 255] } else { [0, 0, 255, 255] });
        let grid = render(&flag, 2, 1, Depth::True);
        assert_eq!((grid.width, grid.height), (2, 1));
        assert_eq!(grid.cells[0].fg, Some(CellColour::Rgb(255, 0, 0)));
        assert_eq!(grid.cells[0].bg, Some(CellColour::Rgb(0, 0, 255)));
    }

    #[test]
    fn depth_without_colours_shows_brightness_as_shades() {
        let halves = picture(2, 2, |x, _| if x == 0 { [0, 0, 0, 255] } else { [255; 4] });
        for (depth, dark, bright) in [(Depth::Shades, " ", "█"), (Depth::Ascii, " ", "@")] {
            let grid = render(&halves, 2, 1, depth);
            assert_eq!((grid.cells[0].symbol, grid.cells[1].symbol), (dark, bright));
            assert!(grid.cells.iter().all(|c| c.fg.is_none() && c.bg.is_none()));
        }
    }

    #[test]
    fn the_palette_takes_the_nearest_entry() {
        assert_eq!(palette([255, 0, 0]), 196);
        assert_eq!(palette([0, 0, 0]), 16);
        assert_eq!(palette([255, 255, 255]), 231);
        assert_eq!(palette([128, 128, 128]), 244);
    }

    #[test]
    fn colour_depth_is_detected_from_the_terminal() {
        assert_eq!(Depth::detect(true, false, Some("xterm-256color"), Some("truecolor")), Depth::True);
        assert_eq!(Depth::detect(true, false, Some("screen-256color"), None), Depth::Indexed);
        assert_eq!(Depth::detect(true, false, Some("vt100"), None), Depth::Shades);
        assert_eq!(Depth::detect(false, false, Some("xterm-256color"), Some("truecolor")), Depth::Shades);
        assert_eq!(Depth::detect(true, true, Some("xterm-256color"), Some("truecolor")), Depth::Ascii);
    }
}
