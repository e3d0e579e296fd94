//! What the terminal can show besides text: asked once, after the first frame, and never waited for by the screen.
//!
//! The question goes out with the first frame; the thread that reads keys listens for a tenth of a second and passes on
//! what was typed meanwhile ([`sieve`]). Answers that come later are swallowed ([`late`]). Inside a multiplexer, and where a
//! person said how pictures are to be shown, nothing is asked.

pub mod encode;
pub(super) mod escape_parser;
pub(super) mod stale_replies;

use super::screen::UiEnv;
use super::theme::ColourMode;
use encode::Graphics;
use escape_parser::{EscapeParser, ParsedEvent};
use ratatui::crossterm::event::Event as TerminalEvent;
use ratatui::layout::Rect;
use std::io::IsTerminal as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for a reply of the terminal.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_millis(100);
/// How long the rest of something that has begun is waited for besides.
const REST: Duration = Duration::from_millis(30);
/// How often the terminal is checked for a reply.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Whether kitty's graphics are known, how large a cell is, and what kind of terminal it is. Every terminal answers the
/// last question, so its answer ends the waiting.
pub(super) const QUESTION: &[u8] = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c";

/// What the terminal said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalReply {
    /// How it shows pixels.
    pub graphics: Graphics,
    /// Pixels of one cell, if it told.
    pub cell: Option<(u16, u16)>,
}

/// There is one terminal to a process.
static ANSWER: Mutex<Option<TerminalReply>> = Mutex::new(None);
/// Where pixels were drawn since the last frame began.
static DRAWN: Mutex<Vec<Rect>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the terminal said, once it has; `None` also where nothing was asked.
pub fn answer() -> Option<TerminalReply> {
    *lock(&ANSWER)
}

/// Remembers where pixels are in the frame that is being drawn.
pub fn drawn(area: Rect) {
    lock(&DRAWN).push(area);
}

/// Where pixels are in the frame that was drawn; the next frame begins without any.
pub(super) fn take_drawn() -> Vec<Rect> {
    std::mem::take(&mut lock(&DRAWN))
}

/// Whether pixels that were there have to be wiped off: sixel and iTerm2 graphics stay where no text takes their place.
pub(super) fn leaves_ghosts(before: &[Rect], now: &[Rect]) -> bool {
    before.iter().any(|area| !now.contains(area))
}

/// How the terminal shows pictures as pixels, if it does, and how large its cells are. Asks the terminal nothing.
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

/// Pixels of one cell, as the system knows them.
fn cell_size() -> Option<(u16, u16)> {
    let size = ratatui::crossterm::terminal::window_size().ok()?;
    let cell = (size.width.checked_div(size.columns)?, size.height.checked_div(size.rows)?);
    Some(cell).filter(|&(w, h)| w > 0 && h > 0)
}

/// Whether the terminal is to be asked: only where nothing is known and an answer would be used.
pub(super) fn is_to_be_asked(env: &UiEnv) -> bool {
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

/// What listening left.
pub(super) struct ProbeReply {
    /// Pixels can be shown now that could not before.
    pub(super) is_new: bool,
    /// An answer had begun and did not end.
    pub(super) is_inside: bool,
}

/// Listens for the answers. What is typed meanwhile goes to `pass` at once.
pub(super) fn listen(mut pass: impl FnMut(TerminalEvent)) -> ProbeReply {
    let stdin = rustix::stdio::stdin();
    let read = |buffer: &mut [u8]| -> Option<usize> {
        match rustix::io::ioctl_fionread(stdin) {
            Ok(0) => Some(0),
            Ok(_) => rustix::io::read(stdin, buffer).ok(),
            Err(_) => None,
        }
    };
    listen_to(read, REPLY_TIMEOUT, &mut pass)
}

/// As [`listen`], to anything: `read` gives what is there without waiting, `None` when it can give nothing any more.
fn listen_to(
    mut read: impl FnMut(&mut [u8]) -> Option<usize>,
    patience: Duration,
    pass: &mut dyn FnMut(TerminalEvent),
) -> ProbeReply {
    let (mut sieve, started) = (EscapeParser::default(), Instant::now());
    let (mut is_kitty, mut cell, mut attributes) = (false, None, None);
    let mut last = started;
    let mut buffer = [0; 1024];
    while let Some(count) = read(&mut buffer) {
        sieve.take(buffer.get(..count).unwrap_or_default(), &mut |found| match found {
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
        if is_over && (!sieve.has_rest() || now - last >= REST) {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let is_inside = sieve.finish(pass);
    let graphics = match (is_kitty, attributes) {
        (true, _) => Graphics::Kitty,
        (false, Some(true)) => Graphics::Sixel,
        _ => Graphics::Cells,
    };
    let answer = TerminalReply { graphics, cell: cell_size().or(cell.filter(|&(w, h)| w > 0 && h > 0)) };
    let is_new = graphics != Graphics::Cells && answer.cell.is_some();
    if is_new {
        *lock(&ANSWER) = Some(answer);
    }
    ProbeReply { is_new, is_inside }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    /// What is typed and found when these pieces arrive one after the other.
    fn heard(pieces: &[&[u8]]) -> (Vec<KeyEvent>, ProbeReply) {
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
        let heard = listen_to(read, Duration::from_millis(20), &mut pass);
        (keys, heard)
    }

    #[test]
    fn keys_between_the_answers_are_passed_on_and_answers_are_not() {
        let (keys, heard) = heard(&[b"j\x1b_Gi=31;EN", b"OENT\x1b\\k\x1b[6;16;8t", b"\x1b[?62;22cl"]);
        let codes: Vec<KeyCode> = keys.iter().map(|k| k.code).collect();
        assert_eq!(codes, [KeyCode::Char('j'), KeyCode::Char('k'), KeyCode::Char('l')]);
        assert!(!heard.is_new && !heard.is_inside);
    }

    #[test]
    fn silence_ends_the_waiting_and_loses_no_key() {
        let started = Instant::now();
        let (keys, heard) = heard(&[b"x", b"\x1b"]);
        assert_eq!(keys.iter().map(|k| k.code).collect::<Vec<_>>(), [KeyCode::Char('x'), KeyCode::Esc]);
        assert!(!heard.is_inside && started.elapsed() < Duration::from_secs(5));
        assert!(super::tests::heard(&[b"\x1b_Gi=31;O"]).1.is_inside);
    }

    #[test]
    fn pixels_that_moved_have_to_be_wiped_off() {
        let (a, b) = (Rect::new(0, 0, 5, 5), Rect::new(1, 0, 5, 5));
        assert!(leaves_ghosts(&[a], &[b]) && leaves_ghosts(&[a], &[]));
        assert!(!leaves_ghosts(&[a], &[b, a]) && !leaves_ghosts(&[], &[a]));
    }
}
