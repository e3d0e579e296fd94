//! The header of a numpy array file: type and shape, without the data.

use super::Value;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Returns type and shape from the header. Arrays of Python objects are refused: reading them runs code.
pub(super) fn header(bytes: &[u8]) -> Result<Value, String> {
    let broken = || "its numpy header cannot be read".to_owned();
    if !bytes.starts_with(MAGIC) {
        return Err("it is not a numpy array file".into());
    }
    let (length, start) = match bytes.get(6) {
        Some(1) => (bytes.get(8..10).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]]))), 10),
        Some(2 | 3) => (bytes.get(8..12).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize), 12),
        _ => return Err("its numpy version is not known".into()),
    };
    let end = length.and_then(|l| l.checked_add(start)).ok_or_else(broken)?;
    let text = bytes.get(start..end).and_then(|b| std::str::from_utf8(b).ok()).ok_or_else(broken)?;
    let dtype = quoted_after(text, "'descr':").ok_or_else(broken)?;
    if dtype.contains('O') {
        return Err("it is an array of Python objects, which the trainer refuses".into());
    }
    let shape = shape_after(text, "'shape':").ok_or_else(broken)?;
    Ok(Value::Array { dtype, shape })
}

/// Returns the quoted text after `key`, or for structured types the text up to the next key.
fn quoted_after(text: &str, key: &str) -> Option<String> {
    let rest = text[text.find(key)? + key.len()..].trim_start();
    match rest.strip_prefix('\'') {
        Some(inner) => Some(inner[..inner.find('\'')?].to_owned()),
        None => Some(rest[..rest.find(']')? + 1].to_owned()),
    }
}

fn shape_after(text: &str, key: &str) -> Option<Vec<u64>> {
    let rest = text[text.find(key)? + key.len()..].trim_start().strip_prefix('(')?;
    let inner = &rest[..rest.find(')')?];
    inner.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().ok()).collect()
}
