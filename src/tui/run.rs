//! The event loop, which owns the terminal: waits for an event, handles all waiting events, draws once.

use super::app::{App, Request};
use super::event::Event;
use super::graphics;
use super::input::{Reader, SignalListener};
use super::screen::{TerminalProgram, UiEnv};
use super::screens::Home;
use super::term::{install_panic_hook, RawTerminal};
use super::title::Title;
use super::widgets::toast::Level;
use super::widgets::Toast;
use gristmill_core::{Failure, Outcome};
use gristmill_ops::engine::browse::TokenView;
use gristmill_ops::operations::AnyPlan;
use ratatui::layout::Rect;
use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The screen that the UI starts with.
pub enum FirstScreen {
    /// The home screen, on a folder (`None`: the current one).
    Home(Option<PathBuf>),
    /// The editor of the splits and excludes of a prepared data set; the home screen is below it.
    Splits(PathBuf),
    /// The browser of a data set, from a given sample, with a view of packed tokens; the home screen is below it.
    Browse(PathBuf, super::screens::browse::BrowseStart, TokenView),
    /// The form of an operation with the answers already given; the home screen is below it.
    Form(Box<dyn AnyPlan>),
}

/// How the UI ended.
pub struct UiEnd {
    /// The exit code of the program.
    pub code: u8,
    /// Titles of the jobs that continue without the UI, with their processes.
    pub left_jobs: Vec<(String, u32)>,
}

/// Time between two ticks while something runs.
const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum time between two frames.
const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(16);
/// Time between two checks whether a program that uses the terminal has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(30);
/// How long to wait for a terminating signal after the program was continued.
const END_REQUEST_TIMEOUT: Duration = Duration::from_millis(200);
/// How long cancelled jobs may take to clean up when the UI has to end.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of copied text in bytes: many terminals truncate longer text.
const CLIPBOARD_LIMIT: usize = 50_000;

/// Runs the terminal UI until the user quits or a signal arrives. The exit code is 0 after `q`, or that of
/// the failure of the screen that the command opened; 130 after Ctrl-C twice; 143 and 129 after SIGTERM and SIGHUP. The terminal is
/// restored in every case.
pub fn run(start: FirstScreen, env: UiEnv) -> Outcome<UiEnd> {
    let (sender, events) = channel();
    env.wake.connect(sender.clone());
    let mut app = build(start, &env);
    if !env.mistakes.is_empty() {
        app.push(Box::new(super::screens::settings_page(&env.mistakes)));
    }
    let panics = sender.clone();
    install_panic_hook(std::thread::current().id(), move |message| {
        let _ = panics.send(Event::WorkerPanicked(message));
    });
    let signals = SignalListener::start(sender.clone()).map_err(|e| terminal_failure(&e))?;
    let mut term = RawTerminal::enter(env.mouse, env.title, env.wake.clone()).map_err(|e| terminal_failure(&e))?;
    let asks = graphics::may_query_terminal(&env);
    let reader = Reader::start(sender, asks).map_err(|e| terminal_failure(&e))?;
    let code = EventLoop {
        app: &mut app,
        term: &mut term,
        reader: &reader,
        events: &events,
        continued: 0,
        later: Vec::new(),
        queries_terminal: asks,
        pixels: Vec::new(),
        title: Title::default(),
    }
    .run()?;
    app.close();
    // Further input is for the shell.
    reader.pause();
    term.restore_terminal();
    if app.jobs().running() > 0 {
        app.jobs().cancel_all();
        app.jobs().wait_all(CLEANUP_TIMEOUT);
    }
    drop(signals);
    Ok(UiEnd { code, left_jobs: app.take_left_jobs() })
}

fn terminal_failure(error: &std::io::Error) -> Failure {
    Failure::environment("using the terminal", error.to_string())
        .with_hint("use flags and --yes, or --plain, where there is no full screen")
}

fn build(start: FirstScreen, env: &UiEnv) -> App {
    let open = super::form::open_prepare;
    match start {
        FirstScreen::Home(folder) => App::new(env.clone(), Box::new(Home::new(folder, env.clone())), Box::new(open)),
        FirstScreen::Splits(path) => {
            let mut app = open_home_below(&path, env);
            app.push(super::screens::splits::open(path, env.clone()));
            app
        }
        FirstScreen::Browse(path, at, view) => {
            let mut app = open_home_below(&path, env);
            app.push_command_screen(super::screens::browse::open_tokens(path, at, view, env.clone()));
            app
        }
        FirstScreen::Form(plan) => {
            let first = plan.inputs().into_iter().next().map_or_else(|| PathBuf::from("."), PathBuf::from);
            let mut app = open_home_below(&first, env);
            app.push(super::form::open(plan, env.clone()));
            app
        }
    }
}

/// Returns a frame with the home screen on the parent folder of a data set, onto which another screen can be pushed.
fn open_home_below(path: &Path, env: &UiEnv) -> App {
    let home = Home::below_entry(path, env.clone());
    super::recent::add(&env.state_dir, path);
    App::new(env.clone(), Box::new(home), Box::new(super::form::open_prepare))
}

struct EventLoop<'a> {
    app: &'a mut App,
    term: &'a mut RawTerminal,
    reader: &'a Reader,
    events: &'a Receiver<Event>,
    /// Number of expected SIGCONT signals that follow suspends by this program; they are ignored.
    continued: u32,
    /// Events received while another program used the terminal.
    later: Vec<Event>,
    /// Whether the terminal is to be queried after the first frame.
    queries_terminal: bool,
    /// Areas drawn with pixels, which stay on the terminal until they are erased.
    pixels: Vec<Rect>,
    title: Title,
}

impl EventLoop<'_> {
    fn run(&mut self) -> Outcome<u8> {
        let mut last_draw: Option<Instant> = None;
        let mut next_tick = Instant::now() + TICK_INTERVAL;
        let mut failures = 0_u32;
        loop {
            // An exit code or a request may have been set while the last frame was delayed.
            if self.app.exit_code().is_none() && self.app.has_no_requests() {
                self.wait(&mut next_tick);
            }
            self.serve();
            self.update_title();
            if let Some(code) = self.app.exit_code() {
                return Ok(code);
            }
            let due = last_draw.map_or(Instant::now(), |at| at + MIN_FRAME_INTERVAL);
            if !self.app.is_changed() || !self.term.is_free() {
                continue;
            }
            self.gather_until(due);
            if !self.app.take_changed() || self.app.exit_code().is_some() {
                continue;
            }
            let app = &mut *self.app;
            match self.term.draw(|frame| app.draw(frame)) {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    tracing::error!(%error, "a frame could not be drawn");
                    if failures >= 10 {
                        return Err(terminal_failure(&error));
                    }
                }
            }
            last_draw = Some(Instant::now());
            self.update_pixels();
        }
    }

    /// Queries the terminal's graphics after the first frame, and erases pixels that are no longer visible.
    fn update_pixels(&mut self) {
        if std::mem::take(&mut self.queries_terminal) {
            // A write error is noticed with the next frame; a terminal without graphics does not answer.
            let _ = self.term.send_query(graphics::QUESTION);
            self.reader.resume();
        }
        let drawn = graphics::take_drawn();
        if graphics::has_stale_pixels(&self.pixels, &drawn) {
            self.term.invalidate();
            self.app.request_frame();
        }
        self.pixels = drawn;
    }

    /// Updates the title of the window.
    fn update_title(&mut self) {
        if self.app.exit_code().is_some() || !self.term.is_free() {
            // The terminal has not accepted the last frame; an event arrives when it has.
            self.title.update_at = None;
            return;
        }
        if let Some(title) = self.title.next(Instant::now(), || self.app.window_title()) {
            // A write error is noticed with the next frame.
            let _ = self.term.set_title(&title);
        }
    }

    /// Waits for an event, or for the next tick while something runs, then handles all waiting events.
    fn wait(&mut self, next_tick: &mut Instant) {
        // No frame can be drawn until the terminal has accepted the last one, which causes an event.
        if self.app.is_changed() && self.term.is_free() {
            return self.drain();
        }
        if self.app.needs_tick() {
            let now = Instant::now();
            if *next_tick > now + TICK_INTERVAL {
                *next_tick = now + TICK_INTERVAL;
            }
            match self.events.recv_timeout(next_tick.saturating_duration_since(now)) {
                Ok(event) => self.app.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if Instant::now() >= *next_tick {
                self.app.tick();
                *next_tick = Instant::now() + TICK_INTERVAL;
            }
        } else if let Some(until) = self.app.notice_ends().into_iter().chain(self.title.update_at).min() {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(event) => self.app.handle(event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => self.app.expire(),
            }
        } else {
            match self.events.recv() {
                Ok(event) => self.app.handle(event),
                // All senders are dropped: no event can arrive.
                Err(_) => self.app.handle(Event::InputLost("no more events".into())),
            }
        }
        self.drain();
    }

    /// Handles waiting events, for at most the time of a frame: a flood of keys must not block drawing.
    fn drain(&mut self) {
        let end = Instant::now() + MIN_FRAME_INTERVAL;
        while self.app.exit_code().is_none() && self.app.has_no_requests() && Instant::now() < end {
            match self.events.try_recv() {
                Ok(event) => self.app.handle(event),
                Err(_) => return,
            }
        }
    }

    /// Handles further events until the next frame may be drawn.
    fn gather_until(&mut self, due: Instant) {
        while self.app.exit_code().is_none() && self.app.has_no_requests() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            match self.events.recv_timeout(left) {
                Ok(event) => self.app.handle(event),
                Err(_) => return,
            }
        }
    }

    /// Performs the requests that need the terminal.
    fn serve(&mut self) {
        for request in self.app.take_requests() {
            let was_away = matches!(request, Request::Run(_) | Request::Suspend | Request::Retake);
            let done = match request {
                Request::Copy(text) => self.copy(&text),
                Request::Ring => self.term.ring(),
                Request::Redraw => {
                    self.term.invalidate();
                    // A frame may have been drawn since the request.
                    self.app.request_frame();
                    Ok(())
                }
                Request::Run(program) => self.run_program(&program),
                Request::Suspend => self.suspend(),
                Request::Retake => self.retake(),
            };
            if let Err(error) = done {
                self.app.notify(Toast::failure(&terminal_failure(&error)));
            }
            if was_away {
                self.title = Title::default();
                self.app.resumed();
                for event in std::mem::take(&mut self.later) {
                    self.app.handle(event);
                }
            }
        }
    }

    fn copy(&mut self, text: &str) -> std::io::Result<()> {
        if text.len() > CLIPBOARD_LIMIT {
            self.app.notify(Toast::new(Level::Warn, "too long for the terminal's clipboard"));
            return Ok(());
        }
        self.term.copy(text)?;
        self.app.notify(Toast::new(Level::Ok, "copied, if the terminal supports it"));
        Ok(())
    }

    fn retake(&mut self) -> std::io::Result<()> {
        if self.continued > 0 {
            self.continued -= 1;
            return Ok(());
        }
        // The process that stopped this one may have changed the terminal modes: restore them before taking the terminal again.
        self.term.restore_terminal();
        self.term.reenter()
    }

    fn suspend(&mut self) -> std::io::Result<()> {
        if !can_be_continued_by_shell() {
            self.app.notify(Toast::new(Level::Warn, "there is no shell to return to"));
            return Ok(());
        }
        self.reader.pause();
        self.term.restore_terminal();
        self.continued += 1;
        // Stops the whole process group, as the terminal does for Ctrl-Z, so that a launcher in the same group is stopped too.
        let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
        if stopped.is_err() {
            self.continued -= 1;
        }
        // Continued by a process that ends it, not by `fg`: the terminal belongs to the shell, and taking it would stop this process again.
        if !has_the_terminal() && self.wait_for_end_request(Instant::now() + END_REQUEST_TIMEOUT) {
            return Ok(());
        }
        let taken = self.term.reenter();
        self.reader.resume();
        taken
    }

    /// Waits for a program that uses the terminal. A request to end is passed on to it, and the program has a grace period to exit.
    fn wait_for(&mut self, mut child: Child) -> std::io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if !self.wait_for_end_request(Instant::now() + POLL_INTERVAL) {
                continue;
            }
            let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                // An error means that the program has already exited.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let end = Instant::now() + CLEANUP_TIMEOUT;
            while child.try_wait()?.is_none() && Instant::now() < end {
                std::thread::park_timeout(POLL_INTERVAL);
            }
            // An editor that does not exit keeps the terminal, so that no unsaved text is lost.
            return child.try_wait().map(Option::unwrap_or_default);
        }
    }

    /// Waits until `until` for an event that ends the program. Returns whether one arrived; all other events are stored for later.
    fn wait_for_end_request(&mut self, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event @ Event::Signal(SIGTERM | SIGHUP | SIGQUIT)) => self.app.handle(event),
                // One stored wake-up event is enough; an editor may be open for hours.
                Ok(Event::Woken) if self.later.iter().any(|event| matches!(event, Event::Woken)) => {}
                Ok(event) => self.later.push(event),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => std::thread::park_timeout(left),
            }
            if self.app.exit_code().is_some() {
                return true;
            }
        }
    }

    fn run_program(&mut self, program: &TerminalProgram) -> std::io::Result<()> {
        let Some((name, arguments)) = program.argv.split_first() else { return Ok(()) };
        self.reader.pause();
        self.term.restore_terminal();
        let stdin = rustix::stdio::stdin();
        let modes = rustix::termios::tcgetattr(stdin);
        let status = Command::new(name).args(arguments).spawn().and_then(|child| self.wait_for(child));
        // A killed program may have left other terminal modes.
        if let Ok(modes) = modes {
            let _ = rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &modes);
        }
        if self.app.exit_code().is_some() {
            return Ok(());
        }
        let taken = self.term.reenter();
        self.reader.resume();
        let name = name.to_string_lossy();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => self.app.notify(Toast::new(Level::Warn, format!("{name} ended with {status}"))),
            Err(error) => self.app.notify(Toast::new(Level::Error, format!("{name} could not be started: {error}"))),
        }
        taken
    }
}

/// Whether this process group is the foreground group of the terminal, and not the shell or another of its jobs.
fn has_the_terminal() -> bool {
    match rustix::termios::tcgetpgrp(rustix::stdio::stdin()) {
        Ok(group) => group == rustix::process::getpgrp(),
        // Without a controlling terminal, no other process can own it.
        Err(_) => true,
    }
}

/// Whether another process can continue this one after a stop: a parent in the same session but in another process group.
fn can_be_continued_by_shell() -> bool {
    // Raw numbers, because the kernel returns 0 for a parent or a session outside the process namespace (in a container).
    use nix::unistd::{getpgid, getppid, getsid};
    let parent = getppid();
    if parent.as_raw() == 0 {
        return false;
    }
    match (getsid(None), getsid(Some(parent)), getpgid(None), getpgid(Some(parent))) {
        (Ok(ours), Ok(theirs), Ok(our_group), Ok(their_group)) => {
            // A parent in the same group (a launcher) is stopped, too; there is a shell above it if the leader of the terminal's session is
            // in another group.
            ours == theirs && (our_group != their_group || our_group != ours)
        }
        _ => false,
    }
}
