//! Takes and restores the terminal: raw mode, alternate screen, mouse, bracketed paste, cursor.
//!
//! Both operations are idempotent, and any thread can restore the terminal, so that a panic, a signal and a normal exit use the same
//! function.

use super::grapheme_backend::{ClusterBackend, GraphemeBackend};
use super::terminal_writer::{self, TerminalWriter, WriterStatus};
use super::work::Wake;
use gristmill_core::catch_panic::is_caught;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste};
use ratatui::crossterm::style::{Print, ResetColor};
use ratatui::crossterm::terminal::{
    disable_raw_mode, enable_raw_mode, BeginSynchronizedUpdate, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
    EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

/// Whether the terminal is in raw mode, and not restored.
static IS_RAW: AtomicBool = AtomicBool::new(false);
/// Whether mouse events are enabled in raw mode.
static MOUSE: AtomicBool = AtomicBool::new(true);

/// Whether the title of the terminal's window is set in raw mode.
static HAS_TITLE: AtomicBool = AtomicBool::new(false);

/// Saves the title of the window and the name of its icon on the terminal's stack of titles.
const KEEP_TITLE: &str = "\x1b[22;0t";
/// Restores them from the stack.
const RESTORE_TITLE: &str = "\x1b[23;0t";

/// Enables reports of presses and the wheel, with coordinates of any size (modes 1000 and 1006). Moves and drags are not enabled: they
/// would flood a slow connection.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1006h";

/// Sets up raw mode, unless it is already set up.
fn enter_raw_mode() -> io::Result<()> {
    if IS_RAW.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    enable_raw_mode()?;
    // Text that a terminal considers wider than the last column must not wrap to the next line.
    execute!(io::stdout(), EnterAlternateScreen, DisableLineWrap, EnableBracketedPaste, Hide)?;
    if MOUSE.load(Ordering::SeqCst) {
        execute!(io::stdout(), Print(MOUSE_ON))?;
    }
    if HAS_TITLE.load(Ordering::SeqCst) {
        execute!(io::stdout(), Print(KEEP_TITLE))?;
    }
    Ok(())
}

/// Restores the terminal, unless it is already restored. Errors are ignored, so that each step is tried.
pub fn restore() {
    if !IS_RAW.swap(false, Ordering::SeqCst) {
        return;
    }
    // Output that a slow terminal has not accepted is discarded.
    let was_cut = terminal_writer::clear();
    let _ = disable_raw_mode();
    let mut out = io::stdout();
    if was_cut {
        let _ = out.write_all(terminal_writer::CUT);
    }
    let _ = queue!(out, EndSynchronizedUpdate, EnableLineWrap, LeaveAlternateScreen);
    if HAS_TITLE.load(Ordering::SeqCst) {
        let _ = queue!(out, Print(RESTORE_TITLE));
    }
    let _ = queue!(out, DisableMouseCapture, DisableBracketedPaste, ResetColor, Show);
    let _ = out.flush();
}

/// The terminal in raw mode. Dropping it restores the terminal.
pub struct RawTerminal {
    terminal: Terminal<ClusterBackend<TerminalWriter>>,
    clusters: GraphemeBackend,
    free: WriterStatus,
    /// Whether the content of the screen is unknown: the next frame draws everything.
    forgotten: bool,
}

impl RawTerminal {
    /// Takes the terminal, and its mouse and title if requested. Sends the frame an event when the terminal has accepted the output.
    pub fn enter(mouse: bool, title: bool, wake: Wake) -> io::Result<Self> {
        MOUSE.store(mouse, Ordering::SeqCst);
        // The Linux console has no window title, and some of its versions misinterpret the sequences.
        let has_window = std::env::var_os("TERM").is_none_or(|term| term != "linux");
        HAS_TITLE.store(title && has_window && io::stdout().is_terminal(), Ordering::SeqCst);
        let line = TerminalWriter::start(io::stdout(), wake)?;
        let free = line.status_handle();
        let backend = ClusterBackend::new(line);
        let terminal = Terminal::new(backend)?;
        if let Err(error) = enter_raw_mode() {
            restore();
            return Err(error);
        }
        Ok(Self { terminal, clusters: GraphemeBackend::default(), free, forgotten: false })
    }

    /// Restores the terminal until [`reenter`](Self::reenter).
    pub fn restore_terminal(&mut self) {
        restore();
    }

    /// Takes the terminal again; the next frame draws everything.
    pub fn reenter(&mut self) -> io::Result<()> {
        self.forgotten = true;
        enter_raw_mode()
    }

    /// Whether the terminal accepted the last frame completely. The next frame must not be drawn before.
    pub fn is_free(&self) -> bool {
        self.free.is_free()
    }

    /// Draws one frame, as a synchronized update if the terminal supports it.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        let cleared = if std::mem::take(&mut self.forgotten) { self.clear() } else { Ok(()) };
        let drawn = cleared.and_then(|()| self.draw_all(render));
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()?;
        drawn
    }

    fn draw_all(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        let Self { terminal, clusters, .. } = self;
        let drawn = terminal.draw(|frame| {
            render(frame);
            clusters.mark_changed(frame.buffer_mut());
        });
        drawn.map(|_| ())
    }

    /// Puts a text into the clipboard by the terminal (OSC 52).
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        write!(backend, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
        Write::flush(backend)
    }

    /// Sets the title of the window (OSC 2) if titles are enabled. `title` must not contain control characters.
    pub(super) fn set_title(&mut self, title: &str) -> io::Result<()> {
        if !HAS_TITLE.load(Ordering::SeqCst) {
            return Ok(());
        }
        let backend = self.terminal.backend_mut();
        write!(backend, "\x1b]2;{title}\x1b\\")?;
        Write::flush(backend)
    }

    /// Rings the terminal's bell.
    pub(super) fn ring(&mut self) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(b"\x07")?;
        Write::flush(backend)
    }

    /// Sends a query to the terminal; the answer arrives as input.
    pub(super) fn send_query(&mut self, question: &[u8]) -> io::Result<()> {
        let backend = self.terminal.backend_mut();
        backend.write_all(question)?;
        Write::flush(backend)
    }

    /// Marks the content of the screen as unknown, so that the next frame draws everything.
    pub fn invalidate(&mut self) {
        self.forgotten = true;
    }

    /// Clears the screen and Ratatui's copy of its content. `Terminal::clear` would query the position of the cursor and wait for an answer
    /// that the input thread may consume; a resize to the same size sends no query.
    fn clear(&mut self) -> io::Result<()> {
        self.clusters.mark_cleared();
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        self.restore_terminal();
    }
}

/// Installs a panic hook. A panic on the UI's thread restores the terminal, then prints the message as usual. A panic on another thread (a
/// worker) must not write over the screen: it goes to the log and to `report`.
pub fn install_panic_hook(ui_thread: ThreadId, report: impl Fn(String) + Send + Sync + 'static) {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if is_caught() {
            tracing::warn!(%info, "a reader of others gave up");
        } else if std::thread::current().id() == ui_thread || !IS_RAW.load(Ordering::SeqCst) {
            restore();
            previous(info);
        } else {
            tracing::error!(%info, "a worker panicked");
            report(info.to_string());
        }
    }));
}

/// Encodes in base 64, for OSC 52.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place)) & 63;
            out.push(if place <= chunk.len() { char::from(DIGITS[digit as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn clipboard_text_is_base_64() {
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(base64(b"foo"), "Zm9v");
        assert_eq!(base64(b"foobar!"), "Zm9vYmFyIQ==");
    }
}
