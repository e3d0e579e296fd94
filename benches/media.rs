//! Benchmarks media metadata in whole processes: a folder of 20,000 JPEGs of 12 KB, the same in tars, and a folder of 10⁶ tiny files.
//!
//! ```text
//! cargo bench --bench media                     # folder, decode, tars
//! cargo bench --bench media -- decode           # one of: folder, decode, tars, million
//! THREADS=1 RUNS=5 cargo bench --bench media    # default: 2 threads and 3 runs; reports the best run
//! ```
//!
//! The reference program needs 27 CPU s for the folder (it always decodes), and 14.3 CPU s for the tars with `prepare`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
mod measure;

use generate::home;
use image::codecs::jpeg::JpegEncoder;
use measure::Cost;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PICTURES: usize = 20_000;
const PER_SHARD: usize = 2_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.iter().any(|word| word == name) || words.is_empty() && name != "million";
    let by_extension = "--media-metadata-by-extension";
    if wanted("folder") || wanted("decode") {
        let dir = folder();
        if wanted("folder") {
            println!("folder  {}", best(|| media(&dir, &[by_extension])));
        }
        if wanted("decode") {
            println!("decode  {}", best(|| media(&dir, &[by_extension, "--decode"])));
        }
    }
    if wanted("tars") {
        let dir = tars();
        println!("tars    {}", best(|| prepare(&dir, &[by_extension])));
        println!("  without media {}", best(|| prepare(&dir, &[])));
    }
    if wanted("million") {
        let dir = million();
        println!("million {}", best(|| media(&dir, &[by_extension, "--problems-ok"])));
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn best(mut run: impl FnMut() -> Cost) -> Cost {
    (0..setting("RUNS", 3)).map(|_| run()).min_by_key(|cost| cost.cpu).unwrap()
}

fn command(name: &str, dir: &Path, flags: &[&str]) -> Command {
    let _ = std::fs::remove_dir_all(dir.join(".nv-meta"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    command.arg(name).arg(dir).args(flags).args(["--threads", &setting("THREADS", 2).to_string()]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn media(dir: &Path, flags: &[&str]) -> Cost {
    let cost = measure::run(&mut command("prepare-media", dir, flags));
    assert!(dir.join(".nv-meta/index.sqlite").is_file(), "prepare-media made no database");
    cost
}

fn prepare(dir: &Path, flags: &[&str]) -> Cost {
    let mut command = command("prepare", dir, flags);
    command.args(["--yes", "--split-ratio", "8,1,1", "--skip-dataset-yaml"]);
    measure::run(&mut command)
}

/// Returns a JPEG of about 12 KB, different for each number.
fn jpeg(number: usize) -> Vec<u8> {
    let mut state = number as u32 | 1;
    let picture = image::RgbImage::from_fn(256, 192, |x, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = (state >> 29) as u8;
        image::Rgb([(x as u8).wrapping_add(noise * 5), (y as u8) ^ noise, (number as u8).wrapping_add(noise * 9)])
    });
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 72).encode_image(&picture).unwrap();
    bytes
}

/// Returns a folder that is created once; `fill` writes its files.
fn made(name: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let dir = home().join(name);
    let done = home().join(format!("{name}.done"));
    if !done.exists() {
        std::fs::create_dir_all(&dir).unwrap();
        fill(&dir);
        std::fs::write(done, b"").unwrap();
    }
    dir
}

fn folder() -> PathBuf {
    made("jpegs", |dir| {
        for number in 0..PICTURES {
            let sub = dir.join(format!("{:02}", number / 1000));
            std::fs::create_dir_all(&sub).unwrap();
            std::fs::write(sub.join(format!("{number:06}.jpg")), jpeg(number)).unwrap();
        }
    })
}

fn tars() -> PathBuf {
    made("jpeg-tars", |dir| {
        for shard in 0..PICTURES / PER_SHARD {
            let mut tar = tar::Builder::new(std::fs::File::create(dir.join(format!("s_{shard:02}.tar"))).unwrap());
            for number in shard * PER_SHARD..(shard + 1) * PER_SHARD {
                let bytes = jpeg(number);
                let mut header = tar::Header::new_ustar();
                header.set_size(bytes.len() as u64);
                header.set_mode(0o644);
                tar.append_data(&mut header, format!("{number:06}.jpg"), bytes.as_slice()).unwrap();
            }
            tar.into_inner().unwrap();
        }
    })
}

fn million() -> PathBuf {
    let tiny = {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::DynamicImage::new_luma8(1, 1).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    };
    made("million", |dir| {
        for number in 0..1_000_000 {
            let sub = dir.join(format!("{:03}", number / 1000));
            if number % 1000 == 0 {
                std::fs::create_dir_all(&sub).unwrap();
            }
            std::fs::write(sub.join(format!("picture-number-{number:07}.png")), &tiny).unwrap();
        }
    })
}
