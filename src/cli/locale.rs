//! The character locale, from the environment.

/// Returns the character locale, if one is set.
pub fn locale() -> Option<String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).map(|value| value.to_string_lossy().into_owned())
}

/// Whether a locale uses UTF-8.
pub fn is_utf8(locale: &str) -> bool {
    let lower = locale.to_ascii_lowercase();
    lower.contains("utf-8") || lower.contains("utf8")
}

/// Whether a locale is set that does not use UTF-8. Many containers set none, although the terminal displays all characters.
pub fn is_other_than_utf8() -> bool {
    locale().is_some_and(|locale| !is_utf8(&locale))
}
