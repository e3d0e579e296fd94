//! Keys and part names of files and rows: divides paths, and refuses invalid names.

use gristmill_core::shard_plan::KeyRule;
use gristmill_data::source::tar::is_reserved;
use memchr::{memchr, memrchr};

/// Maximum length of a folder name, in bytes.
const MAX_FOLDER_BYTES: usize = 255;
/// Maximum length of an entry name, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 4_096;

/// Divides a path into key and part at a dot of its last component; `None` if the component has no dot.
pub(super) fn divide(path: &[u8], rule: KeyRule) -> Option<(Vec<u8>, &[u8])> {
    let start = memrchr(b'/', path).map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at(start);
    let dot = match rule {
        KeyRule::FirstDot => memchr(b'.', name)?,
        KeyRule::LastDot => memrchr(b'.', name)?,
    };
    let (stem, part) = (&name[..dot], &name[dot + 1..]);
    Some(([folder, &without_dots(stem)].concat(), part))
}

/// Returns the text with each dot of its last component replaced by `_`.
pub(super) fn key_of_text(text: &[u8]) -> Vec<u8> {
    let start = memrchr(b'/', text).map_or(0, |slash| slash + 1);
    let (folder, name) = text.split_at(start);
    [folder, &without_dots(name)].concat()
}

fn without_dots(stem: &[u8]) -> Vec<u8> {
    stem.iter().map(|byte| if *byte == b'.' { b'_' } else { *byte }).collect()
}

/// Returns the last extension of a path; `None` if its last component has no dot, or ends with one.
pub(super) fn extension(path: &[u8]) -> Option<&[u8]> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    let dot = memrchr(b'.', name).filter(|dot| *dot > 0)?;
    name.get(dot + 1..).filter(|extension| !extension.is_empty())
}

/// Returns the reason why a key is invalid; `None` if it is valid.
pub(super) fn refusal(key: &[u8]) -> Option<&'static str> {
    let components = || key.split(|byte| *byte == b'/');
    match key {
        b"" => Some("its key is empty"),
        _ if std::str::from_utf8(key).is_err() => Some("its key is not UTF-8"),
        _ if key.iter().any(u8::is_ascii_control) => Some("its key has a control character"),
        _ if key.starts_with(b"/") => Some("its key begins with a slash"),
        _ if components().any(|component| component == b"..") => Some("its key has a component '..'"),
        _ if components().next_back().is_some_and(<[u8]>::is_empty) => Some("its key ends in a slash"),
        _ if components().count() > 1 && is_reserved(key) => Some("readers skip keys whose first folder is __…__"),
        _ if key.len() > MAX_NAME_BYTES => Some("its key has more than 4,096 bytes"),
        _ => None,
    }
}

/// Returns the reason why a text is not a valid split name; `None` if it is valid.
pub(super) fn split_refusal(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("the name of its split is empty"),
        _ if name.starts_with('.') => Some("the name of its split begins with a dot"),
        _ if name.contains('/') => Some("the name of its split has a slash"),
        _ if name.len() > MAX_FOLDER_BYTES => Some("the name of its split has more than 255 bytes"),
        _ if name.chars().any(char::is_control) => Some("the name of its split has a control character"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_divided_into_key_and_part_at_a_dot_of_its_last_component() {
        let divided = |path: &str, rule| {
            let (key, part) = divide(path.as_bytes(), rule)?;
            Some((String::from_utf8(key).unwrap(), String::from_utf8(part.to_vec()).unwrap()))
        };
        let pair = |key: &str, part: &str| Some((key.to_owned(), part.to_owned()));
        assert_eq!(divided("v1.0/a.seg.png", KeyRule::FirstDot), pair("v1.0/a", "seg.png"));
        assert_eq!(divided("v1.0/a.seg.png", KeyRule::LastDot), pair("v1.0/a_seg", "png"));
        assert_eq!(divided("v1.0/noext", KeyRule::FirstDot), None);
        assert_eq!(divided("a.", KeyRule::FirstDot), pair("a", ""));
    }

    #[test]
    fn extension_is_read_from_the_last_path_component() {
        assert_eq!(extension(b"a.b/c"), None);
        assert_eq!(extension(b"a/c.tar.gz"), Some(&b"gz"[..]));
        assert_eq!(extension(b"a/.hidden"), None);
        assert_eq!(extension(b"a/c."), None);
    }

    #[test]
    fn keys_that_webdataset_readers_refuse_are_refused() {
        for key in ["", "a/../b", "a\nb", "/a", "a/", "__meta__/x", &"k".repeat(5_000)] {
            assert!(refusal(key.as_bytes()).is_some(), "{key:?}");
        }
        for key in ["a", "a b/c..d/e", "üñí/键", "__x__"] {
            assert_eq!(refusal(key.as_bytes()), None, "{key:?}");
        }
        assert!(refusal(b"\xff").is_some());
    }
}
