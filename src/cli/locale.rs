//! The locale of characters, from the environment.

/// Returns the effective locale of characters, if one is set.
pub fn locale() -> Option<String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).map(|value| value.to_string_lossy().into_owned())
}

/// Whether characters of a locale are in UTF-8.
pub fn is_utf8(locale: &str) -> bool {
    let lower = locale.to_ascii_lowercase();
    lower.contains("utf-8") || lower.contains("utf8")
}

/// Whether a locale is set, and it is not UTF-8. Many containers set none, on terminals that draw all characters.
pub fn is_other_than_utf8() -> bool {
    locale().is_some_and(|locale| !is_utf8(&locale))
}
