//! The endings of English words after an apostrophe.

/// Returns the length in bytes of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at the offset of an apostrophe; 0 if there is none.
#[inline]
pub(super) fn small(text: &[u8], at: usize) -> usize {
    match text.get(at + 1).copied() {
        Some(b's' | b't' | b'm' | b'd') => 2,
        Some(b'r' | b'v') if text.get(at + 2) == Some(&b'e') => 3,
        Some(b'l') if text.get(at + 2) == Some(&b'l') => 3,
        _ => 0,
    }
}

/// Like [`small`], ignoring case. The long s counts as an `s`.
#[inline]
pub(super) fn any_case(text: &[u8], at: usize) -> usize {
    let is = |offset: usize, letter: u8| text.get(at + offset).is_some_and(|byte| byte.eq_ignore_ascii_case(&letter));
    match text.get(at + 1).map(u8::to_ascii_lowercase) {
        Some(b's' | b't' | b'm' | b'd') => 2,
        Some(b'r' | b'v') if is(2, b'e') => 3,
        Some(b'l') if is(2, b'l') => 3,
        Some(0xc5) if text.get(at + 2) == Some(&0xbf) => 3,
        _ => 0,
    }
}
