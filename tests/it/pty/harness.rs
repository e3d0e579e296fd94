//! Starts the program in a separate PTY, types, and reads the screen.

use portable_pty::{native_pty_system, Child, CommandBuilder, MasterPty, PtySize, SlavePty};
use rustix::process::{kill_process, Pid, Signal};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Time limit for each wait of a story, without `GRISTMILL_TEST_PATIENCE`.
const DEADLINE: Duration = Duration::from_secs(20);

/// Returns the deadline on this machine.
pub fn deadline() -> Duration {
    let patience = std::env::var("GRISTMILL_TEST_PATIENCE").ok().and_then(|p| p.parse::<f64>().ok());
    DEADLINE.mul_f64(patience.filter(|p| p.is_finite() && *p > 0.0).unwrap_or(1.0))
}

/// A separate home for each story, with a folder of data.
pub struct TestHome {
    root: tempfile::TempDir,
}

impl TestHome {
    /// Returns an empty home.
    pub fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    /// Returns a home with the usual data: `coco` (4 shards), `corpus.jsonl`, `notes`.
    pub fn furnished() -> Self {
        let test_home = Self::new();
        for number in 0..4 {
            test_home.shard(&format!("coco/shard_{number:04}.tar"), number * 100, 3);
        }
        test_home.file("corpus.jsonl", b"{\"text\":\"a\"}\n");
        test_home.file("notes/readme.txt", b"read me\n");
        test_home
    }

    /// Returns the home folder of the user.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Returns the folder of data; the program is started in it.
    pub fn data(&self) -> PathBuf {
        let dir = self.home().join("data");
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Writes a file below the data folder.
    #[expect(clippy::disallowed_methods, reason = "test data need not be published")]
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a shard of captioned samples, with keys numbered from `first`.
    pub fn shard(&self, name: &str, first: usize, samples: usize) -> PathBuf {
        let mut builder = tar::Builder::new(Vec::new());
        for index in first..first + samples {
            let json = format!("{{\"caption\":{{\"long\":\"caption {index}\"}},\"n\":{index}}}");
            for (part, bytes) in [("jpg", TINY_PNG.to_vec()), ("txt", b"a cat".to_vec()), ("json", json.into_bytes())] {
                let mut header = tar::Header::new_ustar();
                header.set_size(bytes.len() as u64);
                header.set_mode(0o644);
                builder.append_data(&mut header, format!("{index:06}.{part}"), &bytes[..]).unwrap();
            }
        }
        self.file(name, &builder.into_inner().unwrap())
    }
}

/// Runs the program to its end without a terminal, in the data folder, and returns its exit code.
pub fn run_plainly(test_home: &TestHome, arguments: &[&str]) -> Option<i32> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gristmill"));
    command.args(arguments).current_dir(test_home.data()).env("HOME", test_home.home());
    for (name, folder) in FOLDERS {
        command.env(name, test_home.home().join(folder));
    }
    command.output().unwrap().status.code()
}

/// Folders of the program's own files, for each story.
const FOLDERS: [(&str, &str); 4] = [
    ("XDG_STATE_HOME", "state"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_DATA_HOME", "share"),
];

/// A complete picture of one pixel, with correct checksums.
pub const TINY_PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4, 0x89, 0x00, 0x00, 0x00, 0x0d, 0x49,
    0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x38, 0x11, 0xa0, 0xf1, 0x1f, 0x00, 0x05, 0x64, 0x02, 0x40, 0x64, 0x52, 0x9c,
    0x3a, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// Settings with which a story starts the program.
pub struct StoryOptions<'a> {
    test_home: &'a TestHome,
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    size: (u16, u16),
    bytes_per_second: Option<u32>,
}

impl<'a> StoryOptions<'a> {
    /// Returns settings for the program without arguments, at 100×30.
    pub fn new(test_home: &'a TestHome) -> Self {
        Self {
            test_home,
            program: PathBuf::from(env!("CARGO_BIN_EXE_gristmill")),
            arguments: Vec::new(),
            variables: Vec::new(),
            size: (100, 30),
            bytes_per_second: None,
        }
    }

    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&a| a.to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the terminal's columns and rows.
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    /// Limits the speed of the terminal.
    pub fn bytes_per_second(mut self, bytes: u32) -> Self {
        self.bytes_per_second = Some(bytes);
        self
    }

    /// Runs a copy of the program as a user who owns none of the files, if the tests run as root.
    pub fn without_rights(mut self) -> Self {
        let copy = self.test_home.root.path().join("gristmill");
        // Another process writes the copy: a child that this process forks at the same time would keep it open, and the copy could not be
        // run.
        assert!(std::process::Command::new("cp").args([&self.program, &copy]).status().unwrap().success());
        for (path, mode) in [(self.test_home.root.path(), 0o755), (&copy, 0o755), (&self.test_home.home(), 0o777)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        if rustix::process::geteuid().is_root() {
            let first = ["--reuid=65534", "--regid=65534", "--clear-groups", &copy.to_string_lossy()];
            self.arguments.splice(..0, first.map(str::to_owned));
            self.program = "setpriv".into();
        } else {
            self.program = copy;
        }
        self
    }

    /// Starts a shell instead of the program; the variable `$GRISTMILL` contains the path of the program.
    pub fn in_a_shell(mut self) -> Self {
        let bash = Path::new("/bin/bash");
        let (shell, arguments): (&Path, &[&str]) =
            if bash.exists() { (bash, &["--norc", "--noprofile", "-i"]) } else { (Path::new("/bin/sh"), &["-i"]) };
        let program = std::mem::replace(&mut self.program, shell.to_owned());
        self.arguments = arguments.iter().map(|&a| a.to_owned()).collect();
        self.variable("GRISTMILL", &program.to_string_lossy()).variable("PS1", "prompt> ")
    }

    pub fn run(self) -> Story {
        let (columns, rows) = self.size;
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let home = self.test_home.home();
        let mut command = CommandBuilder::new(&self.program);
        command.args(&self.arguments);
        command.env_clear();
        command.cwd(self.test_home.data());
        command.env("PATH", std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into()));
        command.env("HOME", &home);
        for (name, folder) in FOLDERS {
            command.env(name, home.join(folder));
        }
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        let before = modes(pair.master.as_ref());
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        let emulator = Arc::new(Emulator::new(rows, columns));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let shown = Arc::clone(&emulator);
        let rate = self.bytes_per_second;
        std::thread::spawn(move || shown.read(&mut reader, rate));
        let writer = pair.master.take_writer().unwrap();
        let line = pair.master.tty_name().and_then(|name| {
            let flags = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
            std::fs::OpenOptions::new().read(true).custom_flags(flags).open(name).ok()
        });
        let (master, _slave) = (pair.master, pair.slave);
        Story { child, master, _slave, line, is_after_esc: false, writer, emulator, before, started }
    }
}

/// Returns the line settings of a terminal, for comparison.
fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

/// Returns a size in the type that the emulator requires.
fn nonzero(size: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(size).expect("a terminal has a size")
}

/// The bytes that the program writes after each frame: the end of a synchronized update.
const FRAME_END: &[u8] = b"\x1b[?2026l";

/// State of the terminal emulator.
struct Emulator {
    parser: Mutex<vt100::Parser>,
    changed: Condvar,
    frames: AtomicU64,
    /// Every byte received, in order.
    raw: Mutex<Vec<u8>>,
}

impl Emulator {
    fn new(rows: u16, columns: u16) -> Self {
        Self {
            parser: Mutex::new(vt100::Parser::new(nonzero(rows), nonzero(columns), 0)),
            changed: Condvar::new(),
            frames: AtomicU64::new(0),
            raw: Mutex::new(Vec::new()),
        }
    }

    fn read(&self, reader: &mut dyn Read, bytes_per_second: Option<u32>) {
        /// Reads per second on a slow line.
        const STEPS: u32 = 16;
        let mut buffer = [0; 4096];
        let size = bytes_per_second.map_or(buffer.len(), |rate| (rate / STEPS).max(1) as usize);
        // Number of bytes of [`FRAME_END`] that the last bytes match: the end may be split between reads.
        let mut matched = 0;
        while let Ok(count) = reader.read(&mut buffer[..size]) {
            if count == 0 {
                return;
            }
            if bytes_per_second.is_some() {
                // Simulates the time that these bytes take on the line.
                std::thread::park_timeout(Duration::from_secs(1) / STEPS);
            }
            self.raw.lock().unwrap().extend_from_slice(&buffer[..count]);
            let mut parser = self.parser.lock().unwrap();
            parser.process(&buffer[..count]);
            for byte in &buffer[..count] {
                matched = if *byte == FRAME_END[matched] { matched + 1 } else { usize::from(*byte == FRAME_END[0]) };
                if matched == FRAME_END.len() {
                    self.frames.fetch_add(1, Ordering::Relaxed);
                    matched = 0;
                }
            }
            drop(parser);
            self.changed.notify_all();
        }
    }
}

/// The program running in a terminal.
pub struct Story {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    /// Kept open, so that the terminal's settings can be read after the program has ended.
    _slave: Box<dyn SlavePty + Send>,
    /// The program's side of the terminal, to count typed bytes that are not read yet.
    line: Option<std::fs::File>,
    /// Whether Esc was the last typed key.
    is_after_esc: bool,
    writer: Box<dyn Write + Send>,
    emulator: Arc<Emulator>,
    before: String,
    started: Instant,
}

impl Story {
    /// Returns the screen as text.
    pub fn screen(&self) -> String {
        self.emulator.parser.lock().unwrap().screen().contents()
    }

    /// Returns every byte that the program has sent to the terminal so far.
    pub fn raw(&self) -> Vec<u8> {
        self.emulator.raw.lock().unwrap().clone()
    }

    /// Passes the screen of the terminal emulator to a function.
    pub fn look<T>(&self, ask: impl FnOnce(&vt100::Screen) -> T) -> T {
        ask(self.emulator.parser.lock().unwrap().screen())
    }

    /// Waits until the screen satisfies `is_so`; fails with the screen at the deadline.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) -> &mut Self {
        let end = Instant::now() + deadline();
        let mut parser = self.emulator.parser.lock().unwrap();
        while !is_so(parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let screen = parser.screen().contents();
                drop(parser);
                let state = self.child.try_wait();
                panic!("{what}: not within {:?}; program: {state:?}; screen:\n{screen}\n", deadline());
            }
            parser = self.emulator.changed.wait_timeout(parser, left.min(Duration::from_millis(200))).unwrap().0;
        }
        drop(parser);
        self
    }

    /// Waits until the program has written these bytes, whether or not they are visible on the screen.
    #[track_caller]
    pub fn wait_for_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let emulator = Arc::clone(&self.emulator);
        self.wait_until(&format!("waiting for the bytes '{}'", bytes.escape_ascii()), move |_| {
            emulator.raw.lock().unwrap().windows(bytes.len()).any(|window| window == bytes)
        })
    }

    /// Returns the number of frames drawn so far.
    pub fn frames(&self) -> u64 {
        self.emulator.frames.load(Ordering::Relaxed)
    }

    /// Waits until more than `frames` frames are drawn.
    #[track_caller]
    pub fn wait_for_frame(&mut self, frames: u64) -> &mut Self {
        let emulator = Arc::clone(&self.emulator);
        self.wait_until("waiting for a frame", move |_| emulator.frames.load(Ordering::Relaxed) > frames)
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("waiting for '{text}'"), |screen| screen.contents().contains(text))
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub fn wait_gone(&mut self, text: &str) -> &mut Self {
        self.wait_until(&format!("waiting for '{text}' to go"), |screen| !screen.contents().contains(text))
    }

    /// Types characters unchanged.
    pub fn type_text(&mut self, text: &str) -> &mut Self {
        if std::mem::replace(&mut self.is_after_esc, text == "\x1b") {
            self.wait_until_read();
        }
        self.writer.write_all(text.as_bytes()).unwrap();
        self.writer.flush().unwrap();
        self
    }

    /// Waits until the program has read the typed bytes: Esc and the next key together are an Alt key to every program.
    fn wait_until_read(&self) {
        let end = Instant::now() + deadline() / 10;
        let waits = |line| rustix::io::ioctl_fionread(line).is_ok_and(|count| count > 0);
        // Input in transfer through the kernel is not counted yet, and no user presses two keys in so short a time.
        std::thread::sleep(Duration::from_millis(50));
        while self.line.as_ref().is_some_and(waits) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Presses keys by name, separated by spaces: `j`, `enter`, `ctrl-c`.
    #[track_caller]
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            let bytes = match key {
                "enter" => "\r".to_owned(),
                "esc" => "\x1b".to_owned(),
                "tab" => "\t".to_owned(),
                "backtab" => "\x1b[Z".to_owned(),
                "backspace" => "\x7f".to_owned(),
                "space" => " ".to_owned(),
                "up" => "\x1b[A".to_owned(),
                "down" => "\x1b[B".to_owned(),
                "right" => "\x1b[C".to_owned(),
                "left" => "\x1b[D".to_owned(),
                "home" => "\x1b[H".to_owned(),
                "end" => "\x1b[F".to_owned(),
                "pageup" => "\x1b[5~".to_owned(),
                "pagedown" => "\x1b[6~".to_owned(),
                "delete" => "\x1b[3~".to_owned(),
                "f1" => "\x1bOP".to_owned(),
                "f3" => "\x1bOR".to_owned(),
                "f5" => "\x1b[15~".to_owned(),
                key => match key.strip_prefix("ctrl-") {
                    Some(letter) => char::from(letter.as_bytes()[0] & 0x1f).to_string(),
                    None => key.replace("alt-", "\x1b"),
                },
            };
            self.type_text(&bytes);
        }
        self
    }

    /// Pastes a text, as a terminal with bracketed paste does.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.type_text(&format!("\x1b[200~{text}\x1b[201~"))
    }

    /// Clicks with the left button; the first column and row are 0.
    pub fn click(&mut self, column: usize, row: usize) -> &mut Self {
        let (x, y) = (column + 1, row + 1);
        self.type_text(&format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"))
    }

    /// Turns the wheel down by `steps` steps over a cell.
    pub fn wheel(&mut self, column: usize, row: usize, steps: usize) -> &mut Self {
        let (x, y) = (column + 1, row + 1);
        self.type_text(&format!("\x1b[<65;{x};{y}M").repeat(steps))
    }

    /// Changes the terminal's size.
    pub fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.emulator.parser.lock().unwrap().screen_mut().set_size(nonzero(rows), nonzero(columns));
        self.master.resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
        self
    }

    /// Sends the program a signal.
    pub fn signal(&mut self, signal: Signal) -> &mut Self {
        let pid = self.child.process_id().and_then(|p| i32::try_from(p).ok()).and_then(Pid::from_raw);
        kill_process(pid.expect("the program runs"), signal).unwrap();
        self
    }

    /// Returns the process id of the program.
    pub fn process_id(&self) -> u32 {
        self.child.process_id().expect("the program runs")
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for the end and returns the exit code.
    #[track_caller]
    pub fn exit_code(&mut self) -> u32 {
        let end = Instant::now() + deadline();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            if Instant::now() > end {
                panic!("the program did not end within {:?}; screen:\n{}\n", deadline(), self.screen());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Checks that the terminal has the same state as before the program started.
    #[track_caller]
    pub fn assert_restored(&mut self) {
        self.wait_until("the terminal is given back", |screen| {
            !screen.alternate_screen()
                && !screen.bracketed_paste()
                && !screen.hide_cursor()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        assert_eq!(modes(self.master.as_ref()), self.before, "the line settings are not restored");
    }

    /// Checks that the program controls the terminal: full screen, keys read one by one.
    #[track_caller]
    pub fn assert_taken(&mut self) {
        self.wait_until("the terminal is taken", |screen| screen.alternate_screen() && screen.bracketed_paste());
        assert_ne!(modes(self.master.as_ref()), self.before, "the line settings are the shell's");
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
