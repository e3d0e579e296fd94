//! Generates the texts of the dedup benches, a fifth of which is repeated. The texts are the same in every run and are generated on demand.
//!
//! One document in 12 is a copy of an earlier one, another one in 12 is a copy with a word changed about every 1.5 KB, and one in eight
//! carries one of 300 notices of 300 to 2,000 bytes, the most common far more often than the others.

#![allow(dead_code)] // Each bench uses a part of this module.

use super::texts::{Dice, Writer};

/// Number of earlier documents from which copies are taken.
const POOL: usize = 4096;
const NOTICES: usize = 300;

/// An endless sequence of documents.
pub struct Corpus {
    writer: Writer,
    dice: Dice,
    pool: Vec<String>,
    notices: Vec<String>,
}

impl Corpus {
    pub fn new(seed: u64) -> Self {
        let (mut writer, mut dice) = (Writer::new(seed), Dice(seed ^ 0xdead));
        let notices = (0..NOTICES)
            .map(|_| {
                let (mut notice, length) = (String::new(), 300 + dice.below(1700));
                while notice.len() < length {
                    writer.sentence(&mut notice);
                    notice.push(' ');
                }
                notice
            })
            .collect();
        Self { writer, dice, pool: Vec::new(), notices }
    }

    /// Writes the next document to `out`, replacing its content.
    pub fn next(&mut self, out: &mut String) {
        match self.dice.below(1000) {
            0..85 if !self.pool.is_empty() => {
                out.clear();
                out.push_str(&self.pool[self.dice.below(self.pool.len())]);
            }
            85..165 if !self.pool.is_empty() => self.near_copy(out),
            number => {
                self.writer.document(false, out);
                if number % 8 == 0 {
                    let notice = &self.notices[self.dice.below(NOTICES) * self.dice.below(NOTICES) / NOTICES];
                    let at = if number % 16 == 0 { 0 } else { out.len() };
                    out.insert_str(at, notice);
                }
                let slot = self.dice.below(4 * POOL);
                if self.pool.len() < POOL {
                    self.pool.push(out.clone());
                } else if let Some(old) = self.pool.get_mut(slot) {
                    old.clone_from(out);
                }
            }
        }
    }

    fn near_copy(&mut self, out: &mut String) {
        out.clear();
        for word in self.pool[self.dice.below(self.pool.len())].split_inclusive(' ') {
            if self.dice.below(250) == 0 {
                out.push_str("another ");
            } else {
                out.push_str(word);
            }
        }
    }

    /// Returns documents of about `bytes` bytes in total, each after a byte 0xFF.
    pub fn tokenized(bytes: usize, seed: u64) -> Vec<u8> {
        let mut corpus = Self::new(seed);
        let (mut text, mut document) = (Vec::with_capacity(bytes + (1 << 20)), String::new());
        while text.len() < bytes {
            corpus.next(&mut document);
            text.push(0xff);
            text.extend_from_slice(document.as_bytes());
        }
        text
    }
}

/// Returns 300,000 documents that contain the same passage of 600 bytes, with different words before and after it: 240 MB.
pub fn hot() -> Vec<u8> {
    let (mut writer, mut passage) = (Writer::new(3), String::new());
    while passage.len() < 600 {
        writer.sentence(&mut passage);
    }
    let end = (600..).find(|end| passage.is_char_boundary(*end)).unwrap_or(600);
    passage.truncate(end);
    let (mut text, mut words) = (Vec::with_capacity(250 << 20), String::new());
    for _ in 0..300_000 {
        for part in 0..2 {
            words.clear();
            writer.sentence(&mut words);
            text.extend_from_slice(if part == 0 { b"\xff" } else { passage.as_bytes() });
            text.extend_from_slice(words.as_bytes());
        }
    }
    text
}

/// Returns one document of 100 MB that repeats after `period` bytes.
pub fn periodic(period: usize) -> Vec<u8> {
    let mut dice = Dice(period as u64);
    let once: Vec<u8> = (0..period).map(|_| b'a' + dice.below(26) as u8).collect();
    std::iter::once(0xff).chain(once.iter().cycle().take(100_000_000).copied()).collect()
}

/// Returns a million copies of a document of 240 bytes and of a document of 700 bytes.
pub fn equal_documents() -> Vec<u8> {
    let mut writer = Writer::new(5);
    let [short, long] = [240, 700].map(|length| {
        let mut page = String::new();
        while page.len() < length {
            writer.sentence(&mut page);
        }
        page
    });
    let pages = [short.as_bytes(), long.as_bytes()];
    (0..2_000_000).flat_map(|number| [b"\xff", pages[number / 3 % 2]].concat()).collect()
}
