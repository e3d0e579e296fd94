//! The graphics capabilities of the terminal: queried once, after the first frame, without delaying the screen.
//!
//! The query is sent with the first frame; the thread that reads keys waits for the answer for a tenth of a second and passes on keys typed
//! meanwhile ([`escape_parser`]). Later answers are dropped ([`stale_replies`]). There is no query inside a multiplexer, or if the user has
//! set the picture protocol.

pub mod encode;
pub(super) mod escape_parser;
pub(super) mod stale_replies;

use super::screen::UiEnv;
use super::theme::ColourMode;
use encode::Graphics;
use escape_parser::{EscapeParser, ParsedEvent};
use gristmill_core::Mutex;
use ratatui::crossterm::event::Event as TerminalEvent;
use ratatui::layout::Rect;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// How long to wait for a reply of the terminal.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_millis(100);
/// How much longer to wait for the rest of an incomplete answer.
const REPLY_REST_TIMEOUT: Duration = Duration::from_millis(30);
/// How often the terminal is checked for a reply.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The query for kitty graphics, the size of a cell, and the device attributes. Every terminal answers the last part, so its answer ends
/// the wait.
pub(super) const QUESTION: &[u8] = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c";

/// The terminal's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalReply {
    /// The graphics protocol it supports.
    pub graphics: Graphics,
    /// Width and height of one cell in pixels; `None` if not reported.
    pub cell: Option<(u16, u16)>,
}

/// The terminal's answer; a static variable, because a process has only one terminal.
static ANSWER: Mutex<Option<TerminalReply>> = Mutex::new(None);
/// Areas of pixels drawn in the current frame.
static DRAWN: Mutex<Vec<Rect>> = Mutex::new(Vec::new());

/// Returns the terminal's answers, once received; `None` also if there was no query.
pub fn answer() -> Option<TerminalReply> {
    *ANSWER.lock()
}

/// Records an area of pixels in the current frame.
pub fn drawn(area: Rect) {
    DRAWN.lock().push(area);
}

/// Removes and returns the areas of pixels of the drawn frame.
pub(super) fn take_drawn() -> Vec<Rect> {
    std::mem::take(&mut DRAWN.lock())
}

/// Whether old pixels must be erased: sixel and iTerm2 graphics remain in cells without new text.
pub(super) fn has_stale_pixels(before: &[Rect], now: &[Rect]) -> bool {
    before.iter().any(|area| !now.contains(area))
}

/// Returns the terminal's graphics protocol, if any, and the size of its cells. Sends no query.
pub fn graphics_of(env: &UiEnv) -> (Graphics, Option<(u16, u16)>) {
    if env.ascii || env.colour == ColourMode::None {
        return (Graphics::Cells, None);
    }
    let graphics = Graphics::detect(|name| env.variable(name));
    if graphics == Graphics::Cells {
        return (graphics, None);
    }
    (graphics, cell_size())
}

/// Returns the size of one cell in pixels, as reported by the operating system.
fn cell_size() -> Option<(u16, u16)> {
    let size = ratatui::crossterm::terminal::window_size().ok()?;
    let cell = (size.width.checked_div(size.columns)?, size.height.checked_div(size.rows)?);
    Some(cell).filter(|&(w, h)| w > 0 && h > 0)
}

/// Whether to query the terminal: only if the answer is unknown and would be used.
pub(super) fn may_query_terminal(env: &UiEnv) -> bool {
    let wish = env.variable("GRISTMILL_PICTURES");
    let term = env.variable("TERM").unwrap_or_default();
    !env.ascii
        && env.colour != ColourMode::None
        && wish.is_none_or(|wish| wish == "auto" || wish.is_empty())
        && !Graphics::is_multiplexed(|name| env.variable(name))
        && !matches!(term.as_str(), "" | "dumb" | "linux" | "vt100" | "vt220" | "cons25")
        && Graphics::detect(|name| env.variable(name)) == Graphics::Cells
        && std::io::stdin().is_terminal()
}

/// The result of waiting for answers.
pub(super) struct ProbeReply {
    /// Whether the answer makes it possible to show pixels.
    pub(super) is_new: bool,
    /// Whether the last answer is incomplete.
    pub(super) is_inside: bool,
}

/// Waits for the answers. Keys typed meanwhile are passed to `pass` immediately.
pub(super) fn listen(mut pass: impl FnMut(TerminalEvent)) -> ProbeReply {
    let stdin = rustix::stdio::stdin();
    let read = |buffer: &mut [u8]| -> Option<usize> {
        match rustix::io::ioctl_fionread(stdin) {
            Ok(0) => Some(0),
            Ok(_) => rustix::io::read(stdin, buffer).ok(),
            Err(_) => None,
        }
    };
    read_replies(read, REPLY_TIMEOUT, &mut pass)
}

/// Like [`listen`], for any input: `read` returns the available bytes without waiting, or `None` at the end of the input.
fn read_replies(
    mut read: impl FnMut(&mut [u8]) -> Option<usize>,
    patience: Duration,
    pass: &mut dyn FnMut(TerminalEvent),
) -> ProbeReply {
    let (mut parser, started) = (EscapeParser::default(), Instant::now());
    let (mut is_kitty, mut cell, mut attributes) = (false, None, None);
    let mut last = started;
    let mut buffer = [0; 1024];
    while let Some(count) = read(&mut buffer) {
        parser.push_bytes(buffer.get(..count).unwrap_or_default(), &mut |found| match found {
            ParsedEvent::Typed(event) => pass(event),
            ParsedEvent::Kitty(is_fine) => is_kitty |= is_fine,
            ParsedEvent::CellSize(width, height) => cell = Some((width, height)),
            ParsedEvent::Attributes(has_sixel) => attributes = Some(has_sixel),
        });
        let now = Instant::now();
        if count > 0 {
            last = now;
            continue;
        }
        let is_over = attributes.is_some() || now - started >= patience;
        if is_over && (!parser.has_rest() || now - last >= REPLY_REST_TIMEOUT) {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let is_inside = parser.finish(pass);
    let graphics = match (is_kitty, attributes) {
        (true, _) => Graphics::Kitty,
        (false, Some(true)) => Graphics::Sixel,
        _ => Graphics::Cells,
    };
    let answer = TerminalReply { graphics, cell: cell_size().or(cell.filter(|&(w, h)| w > 0 && h > 0)) };
    let is_new = graphics != Graphics::Cells && answer.cell.is_some();
    if is_new {
        *ANSWER.lock() = Some(answer);
    }
    ProbeReply { is_new, is_inside }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    /// Returns the keys and the answers in pieces of input that arrive one after another.
    fn reply_to(pieces: &[&[u8]]) -> (Vec<KeyEvent>, ProbeReply) {
        let mut pieces = pieces.iter();
        let mut keys = Vec::new();
        let read = |buffer: &mut [u8]| {
            let piece = pieces.next().copied().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(piece);
            Some(piece.len())
        };
        let mut pass = |event| {
            if let TerminalEvent::Key(key) = event {
                keys.push(key);
            }
        };
        let reply = read_replies(read, Duration::from_millis(20), &mut pass);
        (keys, reply)
    }

    #[test]
    fn keys_between_terminal_replies_are_forwarded() {
        let (keys, reply) = reply_to(&[b"j\x1b_Gi=31;EN", b"OENT\x1b\\k\x1b[6;16;8t", b"\x1b[?62;22cl"]);
        let codes: Vec<KeyCode> = keys.iter().map(|k| k.code).collect();
        assert_eq!(codes, [KeyCode::Char('j'), KeyCode::Char('k'), KeyCode::Char('l')]);
        assert!(!reply.is_new && !reply.is_inside);
    }

    #[test]
    fn timeout_ends_wait_without_losing_keys() {
        let started = Instant::now();
        let (keys, reply) = reply_to(&[b"x", b"\x1b"]);
        assert_eq!(keys.iter().map(|k| k.code).collect::<Vec<_>>(), [KeyCode::Char('x'), KeyCode::Esc]);
        assert!(!reply.is_inside && started.elapsed() < Duration::from_secs(5));
        assert!(super::tests::reply_to(&[b"\x1b_Gi=31;O"]).1.is_inside);
    }

    #[test]
    fn erases_moved_pixels() {
        let (a, b) = (Rect::new(0, 0, 5, 5), Rect::new(1, 0, 5, 5));
        assert!(has_stale_pixels(&[a], &[b]) && has_stale_pixels(&[a], &[]));
        assert!(!has_stale_pixels(&[a], &[b, a]) && !has_stale_pixels(&[], &[a]));
    }
}
