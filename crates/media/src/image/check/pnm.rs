//! Portable anymaps: checks that all samples are present; samples written as text must be numbers up to the largest value.

use super::super::pnm::header;
use super::{error, truncated};
use crate::{ProbeError, Reader};
use gristmill_core::ImageFacts;

/// Digits of the longest number.
const MAX_DIGITS: usize = 10;
/// Length of the blocks that Pillow reads and validates, in bytes.
const BLOCK_BYTES: u64 = 1 << 20;

pub(super) fn check(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let header = header(reader).map_err(error)?;
    if !header.plain {
        return if u128::from(header.at) + header.bytes > u128::from(reader.len()) {
            Err(truncated(reader))
        } else {
            Ok(())
        };
    }
    let bands = if facts.mode == "RGB" { 3 } else { 1 };
    let all = u64::from(facts.width) * u64::from(facts.height) * bands;
    if header.mode == "1" {
        bits(reader, header.at, all)
    } else {
        numbers(reader, header.at, all, header.most)
    }
}

fn wrong(at: u64) -> ProbeError {
    ProbeError::broken("the portable anymap has something else than a number that is allowed", at)
}

/// Checks zeros and ones, with or without whitespace between them. The block that contains the last one is checked to its end.
fn bits(reader: &mut Reader, start: u64, all: u64) -> Result<(), ProbeError> {
    let (mut at, mut done, mut is_comment) = (start, 0, false);
    while done < all || !(at - start).is_multiple_of(BLOCK_BYTES) {
        let Some(byte) = reader.up_to(at, 1)?.first().copied() else { break };
        match byte {
            b'\r' | b'\n' if is_comment => is_comment = false,
            _ if is_comment => {}
            b'#' => is_comment = true,
            b' ' | 0x09..=0x0d => {}
            b'0' | b'1' => done += 1,
            _ => return Err(wrong(at)),
        }
        at += 1;
    }
    if done < all {
        return Err(truncated(reader));
    }
    Ok(())
}

/// Checks numbers separated by whitespace. Words that are too long are detected only up to the last number.
fn numbers(reader: &mut Reader, start: u64, all: u64, most: i64) -> Result<(), ProbeError> {
    let (mut at, mut done, mut is_comment) = (start, 0, false);
    let mut word = Vec::new();
    loop {
        let byte = reader.up_to(at, 1)?.first().copied();
        at += 1;
        let is_end = match byte {
            Some(b'\r' | b'\n') if is_comment => {
                is_comment = false;
                continue;
            }
            None => true,
            Some(_) if is_comment => continue,
            Some(b'#') => {
                is_comment = true;
                continue;
            }
            Some(b' ' | 0x09..=0x0d) => true,
            Some(byte) => {
                word.push(byte);
                if word.len() > MAX_DIGITS {
                    return Err(wrong(at));
                }
                false
            }
        };
        if is_end && !word.is_empty() {
            let text = std::str::from_utf8(&word).ok();
            // Python accepts an underscore between two digits of a number.
            let plain = |text: &str| text.split('_').all(|digits| !digits.is_empty()).then(|| text.replace('_', ""));
            let value = text.and_then(|text| plain(text)?.parse::<i64>().ok());
            value.filter(|value| (0..=most).contains(value)).ok_or_else(|| wrong(at))?;
            word.clear();
            done += 1;
        }
        if done == all {
            return last_word(reader, start, at);
        }
        if byte.is_none() {
            return Err(truncated(reader));
        }
    }
}

/// Checks the length of a word at the end of the block that contains the last number: Pillow validates it before that number.
fn last_word(reader: &mut Reader, start: u64, at: u64) -> Result<(), ProbeError> {
    let end = (start + (at - start).next_multiple_of(BLOCK_BYTES)).min(reader.len());
    let longest = MAX_DIGITS as u64 + 1;
    if end < at + longest {
        return Ok(());
    }
    let last = reader.up_to(end - longest, MAX_DIGITS + 1)?;
    if last.iter().any(|byte| matches!(byte, b' ' | b'#' | 0x09..=0x0d)) {
        return Ok(());
    }
    Err(wrong(end))
}
