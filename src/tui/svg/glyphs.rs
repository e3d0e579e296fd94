//! Draws characters as shapes: box drawing, blocks, shades, braille.

use super::{mix, Picture, Rgb, CELL_HEIGHT as H, CELL_WIDTH as W};
use std::fmt::Write as _;

/// Bits for the lines of a box drawing character that go from its middle to the left, right, top and bottom.
const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

/// Draws the shape of a character in the cell at (`x`, `y`). Returns `false` if the character has no shape.
pub(super) fn draw(c: char, x: u32, y: u32, fg: Rgb, bg: Rgb, picture: &mut Picture) -> bool {
    match c {
        '╭' | '╮' | '╰' | '╯' => corner(c, x, y, fg, picture),
        '\u{2580}'..='\u{259f}' => block(c, x, y, fg, bg, picture),
        '\u{2801}'..='\u{28ff}' => braille(c, x, y, fg, picture),
        c => return lines(c, x, y, fg, picture),
    }
    true
}

fn lines(c: char, x: u32, y: u32, fg: Rgb, picture: &mut Picture) -> bool {
    let arms = match c {
        '─' | '━' | '═' | '╌' | '┄' | '┈' => LEFT | RIGHT,
        '│' | '┃' | '║' | '╎' | '┆' | '┊' => UP | DOWN,
        '┌' | '┏' | '╔' => RIGHT | DOWN,
        '┐' | '┓' | '╗' => LEFT | DOWN,
        '└' | '┗' | '╚' => RIGHT | UP,
        '┘' | '┛' | '╝' => LEFT | UP,
        '├' | '┣' | '╠' => RIGHT | UP | DOWN,
        '┤' | '┫' | '╣' => LEFT | UP | DOWN,
        '┬' | '┳' | '╦' => LEFT | RIGHT | DOWN,
        '┴' | '┻' | '╩' => LEFT | RIGHT | UP,
        '┼' | '╋' | '╬' => LEFT | RIGHT | UP | DOWN,
        _ => return false,
    };
    let path = picture.lines.path(fg);
    let (middle_x, middle_y) = (format_middle(x, W), format_middle(y, H));
    let from_x = if arms & LEFT != 0 { x.to_string() } else { middle_x.clone() };
    let to_x = if arms & RIGHT != 0 { (x + W).to_string() } else { middle_x.clone() };
    if from_x != to_x {
        let _ = write!(path, "M{from_x} {middle_y}H{to_x}");
    }
    let from_y = if arms & UP != 0 { y.to_string() } else { middle_y.clone() };
    let to_y = if arms & DOWN != 0 { (y + H).to_string() } else { middle_y };
    if from_y != to_y {
        let _ = write!(path, "M{middle_x} {from_y}V{to_y}");
    }
    true
}

/// Returns the middle of a cell as text, with halves of units.
fn format_middle(from: u32, size: u32) -> String {
    match size % 2 {
        0 => (from + size / 2).to_string(),
        _ => format!("{}.5", from + size / 2),
    }
}

fn corner(c: char, x: u32, y: u32, fg: Rgb, picture: &mut Picture) {
    let (middle_x, middle_y) = (format_middle(x, W), format_middle(y, H));
    let end_x = if matches!(c, '╭' | '╰') { x + W } else { x };
    let end_y = if matches!(c, '╭' | '╮') { y + H } else { y };
    let _ = write!(picture.lines.path(fg), "M{end_x} {middle_y}Q{middle_x} {middle_y} {middle_x} {end_y}");
}

fn block(c: char, x: u32, y: u32, fg: Rgb, bg: Rgb, picture: &mut Picture) {
    let number = c as u32;
    let shapes = &mut picture.shapes;
    match c {
        '▀' => shapes.rect(fg, x, y, W, H / 2),
        '\u{2581}'..='\u{2588}' => {
            let height = H * (number - 0x2580) / 8;
            shapes.rect(fg, x, y + H - height, W, height);
        }
        // Eighths of the width are not whole numbers: they are rounded up, to at least 1.
        '\u{2589}'..='\u{258f}' => shapes.rect(fg, x, y, (W * (0x2590 - number)).div_ceil(8).max(1), H),
        '▐' => shapes.rect(fg, x + W / 2, y, W - W / 2, H),
        // Shades are drawn as a single mixed colour.
        '░' => shapes.rect(mix(mix(fg, bg), bg), x, y, W, H),
        '▒' => shapes.rect(mix(fg, bg), x, y, W, H),
        '▓' => shapes.rect(mix(fg, mix(fg, bg)), x, y, W, H),
        '▔' => shapes.rect(fg, x, y, W, H / 8),
        '▕' => shapes.rect(fg, x + W - 1, y, 1, H),
        _ => {
            // The filled quadrants of each character, as bits: upper left, upper right, lower left, lower right.
            const QUADRANTS: [u8; 10] =
                [0b0010, 0b0001, 0b1000, 0b1011, 0b1001, 0b1110, 0b1101, 0b0100, 0b0110, 0b0111];
            let bits = QUADRANTS.get((number - 0x2596) as usize).copied().unwrap_or(0);
            let places = [(0b1000, 0, 0), (0b0100, W / 2, 0), (0b0010, 0, H / 2), (0b0001, W / 2, H / 2)];
            for (bit, right, down) in places {
                if bits & bit != 0 {
                    let width = if right == 0 { W / 2 } else { W - W / 2 };
                    shapes.rect(fg, x + right, y + down, width, H / 2);
                }
            }
        }
    }
}

fn braille(c: char, x: u32, y: u32, fg: Rgb, picture: &mut Picture) {
    const DOTS: [(u32, u32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let bits = c as u32 - 0x2800;
    for (bit, (right, down)) in DOTS.into_iter().enumerate() {
        if bits & (1 << bit) != 0 {
            picture.shapes.rect(fg, x + 1 + right * 4, y + 2 + down * 6, 2, 2);
        }
    }
}
