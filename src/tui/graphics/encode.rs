//! Pictures as real pixels, for terminals with kitty, iTerm2 or sixel graphics.
//!
//! This module does not query the terminal. The environment determines which protocol is safe; `GRISTMILL_PICTURES` overrides it (`auto`,
//! `cells`, `kitty`, `iterm2`, `sixel`). If the environment is inconclusive, the terminal UI may query the terminal, except inside a
//! multiplexer, whose answer may be wrong.

use gristmill_data::preview::picture::Picture;
use image::DynamicImage;
use ratatui_image::picker::{Picker, ProtocolType};
use ratatui_image::protocol::Protocol;
use ratatui_image::{FontSize, Resize};

/// Graphics protocol of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphics {
    /// No safe protocol; pictures are drawn as cells.
    Cells,
    /// The kitty protocol.
    Kitty,
    /// The iTerm2 protocol.
    Iterm2,
    /// Sixel.
    Sixel,
}

impl Graphics {
    /// Decides from environment variables. Inside tmux, screen or zellij pixels are used only if set explicitly.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        match variable("GRISTMILL_PICTURES").as_deref() {
            Some("kitty") => return Self::Kitty,
            Some("iterm2") => return Self::Iterm2,
            Some("sixel") => return Self::Sixel,
            Some("cells") => return Self::Cells,
            _ => {}
        }
        if Self::is_multiplexed(&variable) {
            return Self::Cells;
        }
        let term = variable("TERM").unwrap_or_default();
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        // Whether another terminal supports graphics is known only by querying it.
        match (term.as_str(), program.as_str()) {
            ("xterm-kitty" | "xterm-ghostty", _) | (_, "ghostty") => Self::Kitty,
            _ => Self::Cells,
        }
    }

    /// Whether a multiplexer is between this program and the terminal.
    pub fn is_multiplexed(variable: impl Fn(&str) -> Option<String>) -> bool {
        let term = variable("TERM").unwrap_or_default();
        let inside = ["TMUX", "STY", "ZELLIJ"].iter().any(|name| variable(name).is_some());
        inside || term.starts_with("tmux") || term.starts_with("screen")
    }
}

/// Encodes a picture for a box of cells, keeping its aspect ratio. Returns `None` if pixels cannot be used. Takes milliseconds, so it must
/// be called on a worker. `cell` is the size of one cell in pixels.
pub fn encode(
    picture: &Picture,
    columns: u16,
    rows: u16,
    graphics: Graphics,
    cell: Option<(u16, u16)>,
) -> Option<Protocol> {
    let protocol = match graphics {
        Graphics::Cells => return None,
        Graphics::Kitty => ProtocolType::Kitty,
        Graphics::Iterm2 => ProtocolType::Iterm2,
        Graphics::Sixel => ProtocolType::Sixel,
    };
    let (width, height) = cell.filter(|&(w, h)| w > 0 && h > 0)?;
    if columns == 0 || rows == 0 {
        return None;
    }
    // The replacement recommended by the library queries the terminal, which must not happen here.
    #[expect(deprecated, reason = "the only constructor that takes a known cell size without a query")]
    let mut picker = Picker::from_fontsize(FontSize::new(width, height));
    picker.set_protocol_type(protocol);
    let image = DynamicImage::ImageRgba8(picture.small().clone());
    picker.new_protocol(image, (columns, rows).into(), Resize::Scale(None)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn detect(variables: &[(&str, &str)]) -> Graphics {
        let map: HashMap<_, _> = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Graphics::detect(|name| map.get(name).cloned())
    }

    #[test]
    fn multiplexer_uses_cells_unless_protocol_is_set() {
        assert_eq!(detect(&[("TERM", "xterm-kitty")]), Graphics::Kitty);
        assert_eq!(detect(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")]), Graphics::Cells);
        assert_eq!(detect(&[("TERM", "tmux-256color"), ("TERM_PROGRAM", "WezTerm")]), Graphics::Cells);
        assert_eq!(detect(&[("TERM", "tmux-256color"), ("GRISTMILL_PICTURES", "sixel")]), Graphics::Sixel);
    }

    #[test]
    fn known_terminals_get_their_protocol_and_unknown_ones_cells() {
        assert_eq!(detect(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "ghostty")]), Graphics::Kitty);
        assert_eq!(detect(&[("TERM", "foot")]), Graphics::Cells);
        assert_eq!(detect(&[("TERM", "foot"), ("GRISTMILL_PICTURES", "sixel")]), Graphics::Sixel);
        assert_eq!(detect(&[("TERM", "xterm-256color")]), Graphics::Cells);
        assert_eq!(detect(&[]), Graphics::Cells);
    }

    #[test]
    fn a_picture_is_encoded_only_when_the_size_of_a_cell_is_known() {
        let picture = Picture::from_pixels("PNG", "RGB", image::RgbaImage::new(8, 8));
        assert!(encode(&picture, 10, 5, Graphics::Cells, Some((8, 16))).is_none());
        assert!(encode(&picture, 10, 5, Graphics::Kitty, None).is_none());
        let protocol = encode(&picture, 10, 5, Graphics::Kitty, Some((8, 16))).unwrap();
        assert!(protocol.size().width <= 10 && protocol.size().height <= 5);
    }
}
