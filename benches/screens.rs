//! Measures how long a user waits for the real program in a pseudo-terminal.
//!
//! ```text
//! cargo bench --bench screens                        # everything; makes a set of 10⁷ samples (5 GB) the first time
//! cargo bench --bench screens -- start keys slow picture splits idle   # some of it
//! ```
//!
//! * start: `browse` on 1,000 shards × 10,000 samples, prepared, until a sample of it is on the screen
//! * keys: key press to finished frame while scrolling and jumping through the 10⁷ samples and while a prepare uses both cores; memory
//! * slow: the same on storage that takes 50 ms for every read; how long the content takes to follow
//! * picture: a JPEG of 12 megapixels, from the key press that selects it until it is drawn, and frames meanwhile
//! * splits: a `split.yaml` with 300,000 excludes: opened, edited, written
//! * idle: frames and processor time without input

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
#[allow(dead_code)]
#[path = "../tests/it/pty/harness.rs"]
mod harness;
mod measure;

use generate::Set;
use harness::{Story, StoryOptions, TestHome};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// As many samples as a user may want to browse, in as few bytes as possible.
const SET_B: Set = Set { name: "b", shards: 1_000, samples: 10_000, parts: &[("cls", 0)] };
/// The data set of the prepare that runs at the same time.
const LOAD: &Set = &generate::SET_W;
/// Number of excludes of the large `split.yaml`.
const EXCLUDES: usize = 300_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let benches: [(&str, fn()); 6] =
        [("start", start), ("keys", keys), ("slow", slow), ("picture", picture), ("splits", splits), ("idle", idle)];
    for (name, bench) in benches {
        if wanted(name) {
            bench();
        }
    }
}

fn gristmill(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the large set, prepared.
fn large() -> PathBuf {
    let dir = SET_B.make();
    if !dir.join(".nv-meta/.info.json").exists() {
        let ended = gristmill(&["prepare", "--yes", "--split-ratio", "8,1,1", "--sample-type", "CrudeWebdataset"])
            .arg(&dir)
            .status();
        assert!(ended.unwrap().success(), "the large set can be prepared");
    }
    dir
}

fn key_of(number: u64) -> String {
    format!("{:03}_{:08}", number / 10_000, number % 10_000)
}

fn browse<'a>(test_home: &'a TestHome, path: &Path, variables: &[(&str, &str)]) -> StoryOptions<'a> {
    let start = StoryOptions::new(test_home).arguments(&["browse", &path.to_string_lossy()]);
    variables.iter().fold(start, |start, (name, value)| start.variable(name, value))
}

fn start() {
    let path = large();
    let mut times: Vec<Duration> = (0..7)
        .map(|_| {
            let test_home = TestHome::new();
            let mut story = browse(&test_home, &path, &[]).run();
            story.wait_for(&key_of(0));
            let time = story.elapsed();
            story.keys("q").exit_code();
            time
        })
        .collect();
    println!("start    10^7 samples until the first of them is shown: {}", Spread::of(&mut times));
}

/// A prepare that repeats until this value is dropped.
struct Load {
    child: Child,
}

impl Load {
    fn start() -> Self {
        let dir = LOAD.make();
        let script = format!(
            "while :; do '{}' prepare --yes --force-overwrite --split-ratio 8,1,1 --sample-type CrudeWebdataset --num-workers 2 '{}'; done",
            env!("CARGO_BIN_EXE_gristmill"),
            dir.display()
        );
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(script).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        Self { child: shell.spawn().unwrap() }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Presses keys one by one, each 33 ms after the frame of the previous one, and records how long each frame took.
fn press(story: &mut Story, keys: &str, times: usize, taken: &mut Vec<Duration>) {
    for _ in 0..times {
        // The repeat interval of a key that is held down.
        std::thread::sleep(Duration::from_millis(33));
        let frames = story.frames();
        let begin = Instant::now();
        story.keys(keys);
        story.wait_for_frame(frames);
        taken.push(begin.elapsed());
    }
}

/// Scrolls and jumps up and down the large set.
fn travel(story: &mut Story) -> Vec<Duration> {
    let mut taken = Vec::new();
    for round in 0..4_u64 {
        press(story, "j", 100, &mut taken);
        press(story, "ctrl-d", 50, &mut taken);
        press(story, "G", 1, &mut taken);
        press(story, "k", 50, &mut taken);
        press(story, "ctrl-u", 50, &mut taken);
        press(story, "pageup", 30, &mut taken);
        press(story, "r", 30, &mut taken);
        let number = 1_234_567 + 2_000_000 * round;
        for key in format!(": {} enter", number.to_string().chars().map(|c| format!("{c} ")).collect::<String>())
            .split_whitespace()
        {
            press(story, key, 1, &mut taken);
        }
        press(story, "j", 50, &mut taken);
    }
    taken
}

fn keys() {
    let path = large();
    let test_home = TestHome::new();
    let mut story = browse(&test_home, &path, &[]).run();
    story.wait_for(&key_of(0));
    let mut quiet = travel(&mut story);
    println!("keys     to frame, quiet machine: {}", Spread::of(&mut quiet));
    let load = Load::start();
    let mut busy = travel(&mut story);
    println!("keys     to frame, a prepare on both cores: {}", Spread::of(&mut busy));
    drop(load);
    println!("memory   after browsing 10^7 samples: {} MiB", mib_now(story.process_id()));
    story.keys("q").exit_code();
}

fn slow() {
    let path = large();
    let test_home = TestHome::new();
    let mut story = browse(&test_home, &path, &[("GRISTMILL_SLOW_READS_MS", "50")]).run();
    story.wait_for(&key_of(0));
    println!("slow     first sample on storage of 50 ms: {:.0} ms", story.elapsed().as_secs_f64() * 1e3);
    let mut taken = travel(&mut story);
    println!("slow     key to frame: {}", Spread::of(&mut taken));
    let begin = Instant::now();
    story.keys(": 5 5 5 5 5 5 5 enter").wait_for(&key_of(5_555_555));
    println!("slow     content follows a jump after {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
    story.keys("q").exit_code();
}

fn picture() {
    let test_home = TestHome::new();
    let pixels = image::RgbImage::from_fn(4000, 3000, |x, y| {
        let wave = ((x / 7) ^ (y / 5)) as u8;
        image::Rgb([wave, (x * y / 977) as u8, (x + y) as u8])
    });
    let mut jpeg = std::io::Cursor::new(Vec::new());
    pixels.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
    println!("picture  JPEG of 4000 x 3000 pixels, {:.1} MB", jpeg.get_ref().len() as f64 / 1e6);
    let mut times = Vec::new();
    let mut meanwhile = Vec::new();
    let mut peak = 0;
    for _ in 0..5 {
        let folder = test_home.file("pictures/a.png", harness::TINY_PNG).parent().unwrap().to_owned();
        test_home.file("pictures/b.jpg", jpeg.get_ref());
        test_home.file("pictures/c.png", harness::TINY_PNG);
        let mut story = browse(&test_home, &folder, &[("COLORTERM", "truecolor")]).run();
        story.wait_for("1×1");
        let begin = Instant::now();
        story.keys("j");
        story.wait_until("the picture", |screen| {
            screen.contents().contains("4000×3000") && screen.contents().matches('▀').count() > 200
        });
        times.push(begin.elapsed());
        story.keys("k").wait_for("1×1");
        // Selects another sample before the picture is drawn: the keys must not wait for it.
        press(&mut story, "j", 1, &mut meanwhile);
        press(&mut story, "j", 1, &mut meanwhile);
        press(&mut story, "k", 1, &mut meanwhile);
        peak = peak.max(mib_now(story.process_id()));
        story.keys("q").exit_code();
    }
    println!("picture  key press until it is drawn at 100x30: {}; memory then {peak} MiB", Spread::of(&mut times));
    println!("picture  key to frame while it is decoded: {}", Spread::of(&mut meanwhile));
}

fn splits() {
    let small = Set { name: "x", shards: 40, samples: 10_000, parts: &[("cls", 0)] };
    let path = small.make();
    let mut prepare = gristmill(&[
        "prepare",
        "--yes",
        "--force-overwrite",
        "--reset-excludes",
        "--split-ratio",
        "8,1,1",
        "--sample-type",
        "CrudeWebdataset",
    ]);
    assert!(prepare.arg(&path).status().unwrap().success(), "the set can be prepared");
    let file = path.join(".nv-meta/split.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut excludes = String::from("exclude: # what was left out\n");
    for number in 0..EXCLUDES {
        // Every second sample, so that the samples do not form ranges.
        let sample = number * 2 % 10_000 + usize::from(number >= 200_000);
        let shard = number / 5_000 % 40;
        excludes.push_str(&format!("- shard_{shard:03}.tar/{shard:03}_{sample:08}\n"));
    }
    std::fs::write(&file, text.replace("exclude: []\n", &excludes)).unwrap();
    let test_home = TestHome::new();
    let mut story = StoryOptions::new(&test_home).arguments(&["splits", &path.to_string_lossy()]).run();
    story.wait_for("300,000");
    println!("splits   300,000 excludes, until they are shown: {:.0} ms", story.elapsed().as_secs_f64() * 1e3);
    let mut moved = Vec::new();
    press(&mut story, "j", 20, &mut moved);
    println!("splits   key to frame, moving: {}", Spread::of(&mut moved));
    let mut edits = Vec::new();
    for _ in 0..10 {
        press(&mut story, "x", 1, &mut edits);
        press(&mut story, "u", 1, &mut edits);
    }
    println!("splits   key to frame, excluding and undoing: {}", Spread::of(&mut edits));
    story.keys("x w").wait_for("+1 -0 lines");
    let begin = Instant::now();
    story.keys("enter").wait_for("Written");
    println!(
        "splits   written: {:.0} ms; memory then {} MiB",
        begin.elapsed().as_secs_f64() * 1e3,
        mib_now(story.process_id())
    );
    story.keys("q").exit_code();
}

fn idle() {
    let path = large();
    let test_home = TestHome::new();
    let mut story = browse(&test_home, &path, &[]).run();
    story.wait_for(&key_of(0));
    // Waits for the end of the work that follows the first frame (facts, previews).
    let mut seen = story.frames();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = story.frames();
        if now == seen {
            break;
        }
        seen = now;
    }
    let (frames, ticks) = (story.frames(), cpu_ticks(story.process_id()));
    std::thread::sleep(Duration::from_secs(20));
    let used = (cpu_ticks(story.process_id()) - ticks) as f64 / 100.0 / 20.0;
    println!("idle     20 s: {} frames, {:.2} % of a core", story.frames() - frames, used * 100.0);
    story.keys("q").exit_code();
}

/// Returns the user and system time of a process, in hundredths of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum()
}

/// Returns the current memory of a process in MiB, without mapped files.
fn mib_now(pid: u32) -> u64 {
    measure::memory_kib(pid) / 1024
}

/// Summary of several durations.
struct Spread {
    median: Duration,
    high: Duration,
    worst: Duration,
    count: usize,
}

impl Spread {
    fn of(times: &mut [Duration]) -> Self {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Self { median: at(0.5), high: at(0.99), worst: at(1.0), count: times.len() }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(
            f,
            "p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms ({} times)",
            ms(self.median),
            ms(self.high),
            ms(self.worst),
            self.count
        )
    }
}
