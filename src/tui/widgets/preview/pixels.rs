//! Pictures on the screen: as pixels if the terminal supports it and they are already encoded, otherwise as cells.

use crate::tui::graphics::encode::{encode, Graphics};
use crate::tui::graphics::{self, TerminalReply};
use gristmill_data::preview::cells::{self, CellColour, CellGrid, Depth};
use gristmill_data::preview::picture::Picture;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::Widget;
use ratatui_image::protocol::Protocol;
use std::sync::Arc;

/// Maximum number of cached encoded pictures; the oldest are dropped first.
const MAX_KEPT_PICTURES: usize = 24;
/// Maximum number of cached pictures in cells; the oldest are dropped first.
const KEPT_GRIDS: usize = 12;

/// A request to encode a picture for a box of cells.
#[derive(Clone, Debug)]
pub struct PictureRequest {
    picture: Arc<Picture>,
    columns: u16,
    rows: u16,
    /// The terminal's answer, if it arrived after the worker was started.
    answer: Option<TerminalReply>,
}

impl PictureRequest {
    fn is(&self, picture: &Arc<Picture>, columns: u16, rows: u16) -> bool {
        Arc::ptr_eq(&self.picture, picture) && (self.columns, self.rows) == (columns, rows)
    }
}

/// A picture that is encoded for the terminal; without a protocol, it is drawn as cells.
#[derive(Clone)]
pub struct EncodedPicture {
    request: PictureRequest,
    protocol: Option<Protocol>,
}

impl std::fmt::Debug for EncodedPicture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} encoded: {}", self.request, self.protocol.is_some())
    }
}

/// The graphics capabilities of the terminal, and the cached pictures.
#[derive(Clone, Debug)]
pub struct Pixels {
    graphics: Graphics,
    /// Width and height of a cell in pixels; `None` if they are unknown.
    cell: Option<(u16, u16)>,
    ready: Vec<EncodedPicture>,
    requests: Vec<PictureRequest>,
    grids: Vec<(PictureRequest, Depth, Arc<CellGrid>)>,
}

impl Default for Pixels {
    fn default() -> Self {
        Self { graphics: Graphics::Cells, cell: None, ready: Vec::new(), requests: Vec::new(), grids: Vec::new() }
    }
}

impl Pixels {
    /// Creates a cache for a terminal that supports `graphics`, with cells of `cell` pixels.
    pub fn new(graphics: Graphics, cell: Option<(u16, u16)>) -> Self {
        Self { graphics, cell, ..Self::default() }
    }

    /// Returns the current protocol and cell size, which may come from an answer of the terminal after the start.
    fn graphics(&self) -> (Graphics, Option<(u16, u16)>) {
        match self.answer() {
            Some(answer) => (answer.graphics, answer.cell),
            None => (self.graphics, self.cell),
        }
    }

    fn answer(&self) -> Option<TerminalReply> {
        graphics::answer().filter(|_| self.graphics == Graphics::Cells)
    }

    /// Returns the encoded picture for a box; requests it if it is missing.
    pub fn get(&mut self, picture: &Arc<Picture>, columns: u16, rows: u16) -> Option<&Protocol> {
        let (graphics, cell) = self.graphics();
        if graphics == Graphics::Cells || cell.is_none() {
            return None;
        }
        let answer = self.answer();
        let found = self.ready.iter().position(|e| e.request.is(picture, columns, rows));
        match found {
            Some(at) => self.ready.get(at).and_then(|e| e.protocol.as_ref()),
            None => {
                if !self.requests.iter().any(|w| w.is(picture, columns, rows)) {
                    self.requests.push(PictureRequest { picture: Arc::clone(picture), columns, rows, answer });
                }
                None
            }
        }
    }

    /// Removes and returns the requests for [`encode`](Self::encode).
    pub fn take_requests(&mut self) -> Vec<PictureRequest> {
        std::mem::take(&mut self.requests)
    }

    /// Encodes pictures for a terminal that supports `graphics`, or for the protocol that its later answer reports. Takes milliseconds per
    /// picture, so it must run on a worker.
    pub fn encode(wanted: Vec<PictureRequest>, graphics: Graphics, cell: Option<(u16, u16)>) -> Vec<EncodedPicture> {
        let encode_one = |wanted: PictureRequest| {
            let (graphics, cell) = wanted.answer.map_or((graphics, cell), |answer| (answer.graphics, answer.cell));
            EncodedPicture {
                protocol: encode(&wanted.picture, wanted.columns, wanted.rows, graphics, cell),
                request: wanted,
            }
        };
        wanted.into_iter().map(encode_one).collect()
    }

    /// Stores encoded pictures.
    pub fn insert(&mut self, encoded: Vec<EncodedPicture>) {
        self.ready.extend(encoded);
        let too_many = self.ready.len().saturating_sub(MAX_KEPT_PICTURES);
        self.ready.drain(..too_many);
    }

    /// Draws a picture at the top left of `area`, keeping its aspect ratio. Returns its width and height in cells.
    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, picture: &Arc<Picture>, depth: Depth) -> (u16, u16) {
        let (columns, rows) = cells::fitted_cells(picture, area.width, area.height);
        let stays = matches!(self.graphics().0, Graphics::Sixel | Graphics::Iterm2);
        if let Some(protocol) = self.get(picture, columns, rows) {
            let size = protocol.size();
            let place = Rect { width: size.width, height: size.height, ..area }.intersection(area);
            ratatui_image::Image::new(protocol).render(place, buffer);
            if stays {
                graphics::drawn(place);
            }
            return (columns, rows);
        }
        let grid = self.grid(picture, area, depth);
        for (y, row) in (area.y..area.bottom()).zip(grid.rows()) {
            for (x, cell) in (area.x..area.right()).zip(row) {
                let style = Style { fg: cell.fg.map(colour), bg: cell.bg.map(colour), ..Style::new() };
                if let Some(target) = buffer.cell_mut((x, y)) {
                    target.set_symbol(cell.symbol).set_style(style);
                }
            }
        }
        (columns, rows)
    }

    /// Returns the cells of a picture for a box; cached.
    fn grid(&mut self, picture: &Arc<Picture>, area: Rect, depth: Depth) -> Arc<CellGrid> {
        let known = self.grids.iter().find(|(w, d, _)| *d == depth && w.is(picture, area.width, area.height));
        if let Some((_, _, grid)) = known {
            return Arc::clone(grid);
        }
        let grid = Arc::new(cells::render(picture, area.width, area.height, depth));
        let wanted =
            PictureRequest { picture: Arc::clone(picture), columns: area.width, rows: area.height, answer: None };
        self.grids.push((wanted, depth, Arc::clone(&grid)));
        let too_many = self.grids.len().saturating_sub(KEPT_GRIDS);
        self.grids.drain(..too_many);
        grid
    }
}

fn colour(colour: CellColour) -> Color {
    match colour {
        CellColour::Rgb(r, g, b) => Color::Rgb(r, g, b),
        CellColour::Index(index) => Color::Indexed(index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Arc<Picture> {
        Arc::new(Picture::from_pixels("PNG", "RGB", image::RgbaImage::new(8, 8)))
    }

    #[test]
    fn picture_is_requested_once_per_box_size() {
        let cell = Some((8, 16));
        let (mut pixels, picture) = (Pixels::new(Graphics::Kitty, cell), picture());
        assert!(pixels.get(&picture, 10, 5).is_none());
        assert!(pixels.get(&picture, 10, 5).is_none());
        let wanted = pixels.take_requests();
        assert_eq!(wanted.len(), 1);
        pixels.insert(Pixels::encode(wanted, Graphics::Kitty, cell));
        assert!(pixels.get(&picture, 10, 5).is_some());
        assert!(pixels.take_requests().is_empty());
        assert!(pixels.get(&picture, 11, 5).is_none(), "another box is another picture");
    }

    #[test]
    fn terminal_without_graphics_requests_no_pictures() {
        for mut pixels in [Pixels::default(), Pixels::new(Graphics::Kitty, None)] {
            assert!(pixels.get(&picture(), 10, 5).is_none());
            assert!(pixels.take_requests().is_empty());
        }
    }

    #[test]
    fn number_of_cached_pictures_is_limited() {
        let mut pixels = Pixels::new(Graphics::Kitty, Some((1, 2)));
        for columns in 1..60 {
            pixels.get(&picture(), columns, 5);
            let wanted = pixels.take_requests();
            pixels.insert(Pixels::encode(wanted, Graphics::Kitty, Some((1, 2))));
        }
        assert_eq!(pixels.ready.len(), MAX_KEPT_PICTURES);
    }
}
