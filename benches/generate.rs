//! The data sets of the benches, created once and reused (`GRISTMILL_BENCH_DIR`, default below `target/tmp`).
//!
//! * Set W: 20 tars × 10,000 samples × (jpg 2,048 B, txt 100 B, json 300 B), 922 MB: like a small picture data set.
//! * Set T: 100 tars × 100,000 samples × one empty member, 10⁷ members in 5.1 GB: only headers and keys.

#![allow(dead_code)] // Each bench uses a part of this module.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const BLOCK: usize = 512;

/// A data set to create.
pub struct Set {
    /// Folder name.
    pub name: &'static str,
    /// Number of tar files.
    pub shards: usize,
    /// Samples in each tar file.
    pub samples: usize,
    /// Names and content sizes of the parts.
    pub parts: &'static [(&'static str, usize)],
}

/// Pictures with captions and JSON facts.
pub const SET_W: Set =
    Set { name: "w", shards: 20, samples: 10_000, parts: &[("jpg", 2_048), ("txt", 100), ("json", 300)] };

/// A very large number of empty members.
pub const SET_T: Set = Set { name: "t", shards: 100, samples: 100_000, parts: &[("cls", 0)] };

/// One shard of set W, for benches that repeat often.
pub const ONE_SHARD: Set = Set { name: "one", shards: 1, ..SET_W };

/// Returns the folder of all data sets.
pub fn home() -> PathBuf {
    std::env::var_os("GRISTMILL_BENCH_DIR")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench"), PathBuf::from)
}

impl Set {
    /// Creates the data set unless it exists, and returns its folder.
    pub fn make(&self) -> PathBuf {
        let dir = home().join(self.name);
        std::fs::create_dir_all(&dir).expect("the bench folder can be made");
        for shard in 0..self.shards {
            let path = dir.join(format!("shard_{shard:03}.tar"));
            if std::fs::metadata(&path).is_ok_and(|facts| facts.len() == self.shard_bytes()) {
                continue;
            }
            self.write_shard(&path, shard).expect("the bench data can be written");
        }
        dir
    }

    /// Returns the size of each tar in bytes: headers, padded contents, two end blocks.
    pub fn shard_bytes(&self) -> u64 {
        let sample: usize = self.parts.iter().map(|(_, size)| BLOCK + size.next_multiple_of(BLOCK)).sum();
        (self.samples * sample + 2 * BLOCK) as u64
    }

    fn write_shard(&self, path: &Path, shard: usize) -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let most = self.parts.iter().map(|part| part.1).max().unwrap_or(0).next_multiple_of(BLOCK);
        // The contents are not read, but a zero block in them would look like the end of the archive.
        let content: Vec<u8> = (0..most).map(|i| (i * 31 % 251) as u8 + 1).collect();
        for sample in 0..self.samples {
            for (part, size) in self.parts {
                out.write_all(&header(&format!("{shard:03}_{sample:08}.{part}"), *size))?;
                out.write_all(&content[..size.next_multiple_of(BLOCK)])?;
            }
        }
        out.write_all(&[0; 2 * BLOCK])?;
        out.flush()
    }
}

/// Returns a ustar header.
pub fn header(name: &str, size: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..108].copy_from_slice(b"0000644\0");
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[148..156].fill(b' ');
    block[156] = b'0';
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}
