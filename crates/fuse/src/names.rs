//! Names of entries: encodes any text as a valid file name, reversibly.
//!
//! `/`, bytes below 32 and 127 are `%XX`; an empty name is `%`; `.` and `..` are `%2E` and `%2E%2E`; a `%` before two hex digits or `~`, or
//! at the end, is `%25`; all other bytes are unchanged. A `%` at the end of a longer name is therefore available to mark a folder that has
//! the name of a file next to it. A name of more than 255 bytes is cut, and ends with `%~`, a hash of the whole name, and its extension.

/// Maximum length of the name of an entry, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// Maximum length of an extension that a shortened name keeps, in bytes, including the dot.
const MAX_EXTENSION_BYTES: usize = 17;
/// Suffix of a folder that has the name of a file next to it.
const FOLDER_MARK: char = '%';
/// Text before the hash of a shortened name.
const CUT: &str = "%~";
const HASH_DIGITS: usize = 16;

/// Encodes a name as an entry, of any length.
pub fn escape(name: &str) -> String {
    use std::fmt::Write as _;
    match name {
        "" => return "%".to_owned(),
        "." | ".." => return "%2E".repeat(name.len()),
        _ => {}
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        if matches!(c, '/' | '\0'..='\x1f' | '\x7f') || c == '%' && needs_escape(rest.as_str()) {
            let _ = write!(escaped, "%{:02X}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Whether a `%` before this text would have another meaning.
fn needs_escape(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('~') || escaped_byte(rest).is_some()
}

/// Returns the byte whose hex digits are the first two characters.
fn escaped_byte(rest: &str) -> Option<u8> {
    let digits = rest.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// Returns the name that [`escape`] has encoded as this entry; `None` if there is none.
pub fn undo(entry: &str) -> Option<String> {
    let name = undo_prefix(entry)?;
    (escape(&name) == entry).then_some(name)
}

/// Decodes the first characters of an entry; the result is the beginning of the name.
pub fn undo_prefix(entry: &str) -> Option<String> {
    if entry == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(entry.len());
    let mut rest = entry;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match (c, escaped_byte(after)) {
            ('%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Marks a folder that has the name of a file next to it.
pub fn mark_folder(mut entry: String) -> String {
    entry.push(FOLDER_MARK);
    entry
}

/// Returns the entry without its mark; `None` if it has no mark.
pub fn unmark_folder(entry: &str) -> Option<&str> {
    entry.strip_suffix(FOLDER_MARK).filter(|rest| !rest.is_empty())
}

/// Shortens an entry that is too long for a name.
pub fn shorten(entry: String) -> String {
    if entry.len() <= MAX_NAME_BYTES {
        return entry;
    }
    let extension = entry.rfind('.').and_then(|dot| entry.get(dot..)).unwrap_or_default();
    let extension = if extension.len() <= MAX_EXTENSION_BYTES { extension } else { "" };
    let room = MAX_NAME_BYTES - CUT.len() - HASH_DIGITS - extension.len();
    let hash = fnv_1a(entry.as_bytes());
    format!("{}{CUT}{hash:016x}{extension}", entry.get(..cut_within(&entry, room)).unwrap_or_default())
}

/// Returns the end of the last complete character, escaped or not, within the first `room` bytes.
fn cut_within(entry: &str, room: usize) -> usize {
    let mut end = 0;
    while let Some(c) = entry.get(end..).and_then(|rest| rest.chars().next()) {
        let after = end + c.len_utf8();
        let is_escaped = c == '%' && entry.get(after..).is_some_and(|rest| escaped_byte(rest).is_some());
        let next = if is_escaped { after + 2 } else { after };
        if next > room {
            break;
        }
        end = next;
    }
    end
}

/// Returns the part of a shortened entry before the hash; `None` if the entry is not shortened.
pub fn beginning_before_hash(entry: &str) -> Option<&str> {
    let at = entry.rfind(CUT)?;
    let rest = entry.get(at + CUT.len()..)?;
    let (hash, extension) = (rest.get(..HASH_DIGITS)?, rest.get(HASH_DIGITS..)?);
    let is_hash = hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_hash && (extension.is_empty() || extension.starts_with('.'))).then(|| entry.get(..at)).flatten()
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_file_names_are_escaped_and_restored() {
        for (name, entry) in [
            ("", "%"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("...", "..."),
            ("a/b", "a%2Fb"),
            ("a\n\x7f", "a%0A%7F"),
            ("100%", "100%25"),
            ("%", "%25"),
            ("%41", "%2541"),
            ("%4", "%4"),
            ("%~", "%25~"),
            ("50% of", "50% of"),
            ("% é", "% é"),
            ("%%", "%%25"),
            ("sp ace", "sp ace"),
        ] {
            assert_eq!(escape(name), entry);
            assert_eq!(undo(entry).as_deref(), Some(name));
        }
        for other in ["%2f", "a%41", "%2E.", "a%", "%FF", "%7e"] {
            assert_eq!(undo(other), None, "{other}");
        }
    }

    #[test]
    fn long_names_keep_their_beginning_and_extension() {
        let name = shorten(escape(&format!("{}/é.json", "é".repeat(200))));
        assert!(name.len() <= MAX_NAME_BYTES && name.ends_with(".json"), "{name}");
        assert_eq!(beginning_before_hash(&name).unwrap(), "é".repeat(116));
        let slashes = shorten(escape(&"/".repeat(100)));
        assert_eq!(beginning_before_hash(&slashes).unwrap(), "%2F".repeat(79));
        let long_extension = shorten(escape(&format!("a.{}", "b".repeat(300))));
        assert_eq!((long_extension.len(), beginning_before_hash(&long_extension).unwrap().len()), (255, 237));
        assert_eq!(shorten("a".repeat(255)), "a".repeat(255));
        assert_ne!(shorten("a".repeat(256)), shorten("a".repeat(257)));
        assert_eq!(beginning_before_hash("a%25~0123456789abcdef"), None);
    }

    #[test]
    fn fnv_1a_gives_the_published_values() {
        assert_eq!(
            [fnv_1a(b""), fnv_1a(b"a"), fnv_1a(b"foobar")],
            [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
        );
    }

    #[test]
    fn folder_mark_is_removed_from_a_name() {
        assert_eq!(unmark_folder("a.txt%"), Some("a.txt"));
        assert_eq!((unmark_folder("%"), unmark_folder("a")), (None, None));
    }

    /// Texts with many special characters.
    fn text() -> impl Strategy<Value = String> {
        let unit = prop_oneof!["[%~/.a-fA-F0-9\\x00-\\x1f\\x7f]", any::<char>().prop_map(String::from)];
        proptest::collection::vec(unit, 0..400).prop_map(|units| units.concat())
    }

    proptest! {
        #[test]
        fn every_escaped_name_is_restored(name in text()) {
            let entry = escape(&name);
            prop_assert_eq!(undo(&entry), Some(name));
            let is_entry = !entry.is_empty() && entry != "." && entry != ".." && !entry.bytes().any(|b| b == b'/' || b < 32);
            prop_assert!(is_entry, "{}", entry);
            prop_assert!(entry == "%" || unmark_folder(&entry).is_none());
            prop_assert!(beginning_before_hash(&entry).is_none());
        }

        #[test]
        fn shortened_name_keeps_the_beginning_of_the_name(name in text()) {
            let (entry, short) = (escape(&name), shorten(escape(&name)));
            prop_assert!(short.len() <= MAX_NAME_BYTES);
            if short != entry {
                let begins = undo_prefix(beginning_before_hash(&short).unwrap()).unwrap();
                prop_assert!(name.starts_with(&begins));
            }
        }

        #[test]
        fn escaping_a_restored_name_gives_the_same_entry(entry in text()) {
            if let Some(name) = undo(&entry) {
                prop_assert_eq!(escape(&name), entry);
            }
        }
    }
}
