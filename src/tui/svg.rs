//! Renders a drawn screen as an SVG picture that is independent of fonts.
//!
//! Backgrounds, blocks, box drawing and braille become shapes on an integer grid, because fonts may leave gaps in lines; other characters
//! are text elements, stretched to their columns. [`Palette`] has the colours that a terminal would choose itself.

mod glyphs;

use super::theme::Theme;
use gristmill_core::text::display_safe;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr;

/// Width of a cell, in pixels.
const CELL_WIDTH: u32 = 9;
/// Height of a cell, in pixels: about twice its width, as in terminals, so that pictures keep their aspect ratio. Even, for half blocks.
const CELL_HEIGHT: u32 = 20;
/// The text baseline in a cell, from its top.
const BASELINE: u32 = 15;
/// Margin around the screen.
const MARGIN: u32 = 12;

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// The colours of a picture for colours that are defined by the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The colour of text without a colour.
    pub text: Rgb,
    /// The colour of cells without a background.
    pub page: Rgb,
    /// The sixteen named colours: black, red, green, yellow, blue, magenta, cyan, white, and their bright variants.
    pub named: [Rgb; 16],
}

impl Default for Palette {
    /// Returns light text on a dark page.
    fn default() -> Self {
        Self {
            text: [0xd7, 0xda, 0xe0],
            page: [0x1b, 0x1d, 0x23],
            named: [
                [0x1b, 0x1d, 0x23],
                [0xf2, 0x74, 0x80],
                [0x98, 0xc3, 0x79],
                [0xe5, 0xc0, 0x7b],
                [0x82, 0xaa, 0xff],
                [0xc7, 0x92, 0xea],
                [0x61, 0xc7, 0xd4],
                [0xc8, 0xcc, 0xd4],
                [0x5c, 0x63, 0x70],
                [0xff, 0x8f, 0x99],
                [0xb5, 0xe0, 0x90],
                [0xff, 0xd8, 0x90],
                [0x9f, 0xc0, 0xff],
                [0xdd, 0xb0, 0xff],
                [0x80, 0xe0, 0xee],
                [0xff, 0xff, 0xff],
            ],
        }
    }
}

impl Palette {
    /// Returns the palette of a theme, with the page and text colours of the theme if it has them.
    pub fn of(theme: &Theme) -> Self {
        let own = Self::default();
        let colour = |colour: Option<Color>, otherwise| own.colour(colour.unwrap_or(Color::Reset), otherwise);
        Self { text: colour(theme.text.fg, own.text), page: colour(theme.text.bg, own.page), ..own }
    }

    fn colour(&self, colour: Color, otherwise: Rgb) -> Rgb {
        let index = match colour {
            Color::Reset => return otherwise,
            Color::Rgb(r, g, b) => return [r, g, b],
            Color::Indexed(index) => index,
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 8,
            Color::LightRed => 9,
            Color::LightGreen => 10,
            Color::LightYellow => 11,
            Color::LightBlue => 12,
            Color::LightMagenta => 13,
            Color::LightCyan => 14,
            Color::White => 15,
        };
        self.indexed(index)
    }

    fn indexed(&self, index: u8) -> Rgb {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        match index {
            0..16 => self.named[usize::from(index)],
            16..232 => {
                let n = usize::from(index - 16);
                [LEVELS[n / 36], LEVELS[n / 6 % 6], LEVELS[n % 6]]
            }
            grey => [8 + (grey - 232) * 10; 3],
        }
    }
}

/// The style of a cell after resolving reverse video, dim text and default colours.
#[derive(Clone, Copy, PartialEq)]
struct CellStyle {
    fg: Rgb,
    bg: Rgb,
    bold: bool,
    italic: bool,
    underlined: bool,
}

impl CellStyle {
    fn of(cell: &Cell, palette: &Palette) -> Self {
        let has = |modifier| cell.modifier.contains(modifier);
        let (mut fg, mut bg) = (palette.colour(cell.fg, palette.text), palette.colour(cell.bg, palette.page));
        if has(Modifier::REVERSED) {
            std::mem::swap(&mut fg, &mut bg);
        }
        if has(Modifier::DIM) {
            fg = mix(fg, bg);
        }
        if has(Modifier::HIDDEN) {
            fg = bg;
        }
        Self { fg, bg, bold: has(Modifier::BOLD), italic: has(Modifier::ITALIC), underlined: has(Modifier::UNDERLINED) }
    }
}

/// Returns the colour of dim text: three fifths text colour, two fifths background.
fn mix(fg: Rgb, bg: Rgb) -> Rgb {
    let part = |a: u8, b: u8| u8::try_from((u16::from(a) * 3 + u16::from(b) * 2) / 5).unwrap_or(a);
    [part(fg[0], bg[0]), part(fg[1], bg[1]), part(fg[2], bg[2])]
}

/// Shapes of one colour, drawn as one path.
#[derive(Default)]
struct Shapes(Vec<(Rgb, String)>);

impl Shapes {
    fn path(&mut self, colour: Rgb) -> &mut String {
        let at = match self.0.iter().position(|(known, _)| *known == colour) {
            Some(at) => at,
            None => {
                self.0.push((colour, String::new()));
                self.0.len() - 1
            }
        };
        &mut self.0[at].1
    }

    fn rect(&mut self, colour: Rgb, x: u32, y: u32, width: u32, height: u32) {
        let _ = write!(self.path(colour), "M{x} {y}h{width}v{height}h-{width}z");
    }
}

/// Adjacent text of one style in a row.
struct Run {
    cell_style: CellStyle,
    column: u32,
    row: u32,
    columns: u32,
    text: String,
}

/// The elements of a screen, in drawing order.
#[derive(Default)]
struct Picture {
    pages: Shapes,
    shapes: Shapes,
    /// Box drawing: lines along their paths.
    lines: Shapes,
    runs: Vec<Run>,
}

/// Renders `buffer` as an SVG document. `title` describes it, for screen readers.
pub fn draw(buffer: &Buffer, title: &str, palette: &Palette) -> String {
    let mut picture = Picture::default();
    let area = buffer.area;
    for row in 0..area.height {
        let mut column = 0;
        while column < area.width {
            let Some(cell) = buffer.cell((area.x + column, area.y + row)) else { break };
            let columns = u16::try_from(cell.symbol().width().clamp(1, 2)).unwrap_or(1).min(area.width - column);
            picture.cell(cell, u32::from(column), u32::from(row), u32::from(columns), palette);
            column += columns;
        }
    }
    picture.document(u32::from(area.width), u32::from(area.height), title, palette)
}

impl Picture {
    fn cell(&mut self, cell: &Cell, column: u32, row: u32, columns: u32, palette: &Palette) {
        let cell_style = CellStyle::of(cell, palette);
        let (x, y) = (MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT);
        let width = columns * CELL_WIDTH;
        if cell_style.bg != palette.page {
            self.pages.rect(cell_style.bg, x, y, width, CELL_HEIGHT);
        }
        if cell_style.underlined {
            self.shapes.rect(cell_style.fg, x, y + BASELINE + 3, width, 1);
        }
        let symbol = cell.symbol();
        // Pictures of pixels are escape sequences in one cell, which cannot be rendered.
        if symbol.trim().is_empty() || symbol.contains('\x1b') || cell_style.fg == cell_style.bg {
            return;
        }
        let mut chars = symbol.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            if glyphs::draw(c, x, y, cell_style.fg, cell_style.bg, self) {
                return;
            }
        }
        let text = display_safe(symbol);
        let is_plain = text.len() == 1;
        let follows = |run: &Run| {
            run.row == row
                && run.cell_style == cell_style
                && run.text.is_ascii()
                && run.column + run.columns + 1 >= column
        };
        match self.runs.last_mut().filter(|run| is_plain && follows(run)) {
            Some(run) => {
                // A single space between two words does not start a new element.
                let gap = column - (run.column + run.columns);
                run.text.extend(std::iter::repeat_n(' ', gap as usize));
                run.text.push_str(&text);
                run.columns = column + 1 - run.column;
            }
            None => self.runs.push(Run { cell_style, column, row, columns, text: text.into_owned() }),
        }
    }

    fn document(&self, columns: u32, rows: u32, title: &str, palette: &Palette) -> String {
        let (width, height) = (columns * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + 2 * MARGIN);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" xml:space=\"preserve\">\n<title>{}</title>\n<style>text{{font:15px ui-monospace,\"DejaVu Sans Mono\",\
             Menlo,Consolas,monospace;white-space:pre}}.b{{font-weight:bold}}.i{{font-style:italic}}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\"/>\n",
            escaped(&display_safe(title)),
            hex(palette.page)
        );
        for (colour, path) in &self.pages.0 {
            let _ = writeln!(out, "<path fill=\"{}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>", hex(*colour));
        }
        for (colour, path) in &self.shapes.0 {
            let _ = writeln!(out, "<path fill=\"{}\" shape-rendering=\"crispEdges\" d=\"{path}\"/>", hex(*colour));
        }
        for (colour, path) in &self.lines.0 {
            let _ =
                writeln!(out, "<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" d=\"{path}\"/>", hex(*colour));
        }
        for run in &self.runs {
            run.write(&mut out);
        }
        out.push_str("</svg>\n");
        out
    }
}

impl Run {
    fn write(&self, out: &mut String) {
        let (x, y) = (MARGIN + self.column * CELL_WIDTH, MARGIN + self.row * CELL_HEIGHT + BASELINE);
        let class = match (self.cell_style.bold, self.cell_style.italic) {
            (true, true) => " class=\"b i\"",
            (true, false) => " class=\"b\"",
            (false, true) => " class=\"i\"",
            (false, false) => "",
        };
        let length = self.columns * CELL_WIDTH;
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{class} textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            hex(self.cell_style.fg),
            escaped(&self.text)
        );
    }
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
