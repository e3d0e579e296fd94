//! The last writes of the process, which invalidate cached answers about the written objects only.

use gristmill_core::Mutex;
use std::collections::VecDeque;

/// Maximum number of stored keys.
const MAX_KEPT: usize = 256;

/// Writes that the process has started or finished, in all stores: several addresses can lead to one object.
static WRITES: Mutex<Writes> = Mutex::new(Writes { count: 0, keys: VecDeque::new() });

struct Writes {
    count: u64,
    /// Keys of the last writes.
    keys: VecDeque<String>,
}

/// Returns the number of writes so far.
pub(super) fn count() -> u64 {
    WRITES.lock().count
}

/// Adds a write of a key.
pub(super) fn add(key: &str) {
    let mut writes = WRITES.lock();
    writes.count += 1;
    writes.keys.push_back(key.to_owned());
    if writes.keys.len() > MAX_KEPT {
        writes.keys.pop_front();
    }
}

/// Discards the keys: any object may have been written, also by other processes.
pub(super) fn forget_all() {
    let mut writes = WRITES.lock();
    writes.count += 1;
    writes.keys.clear();
}

/// Whether one of the writes after the first `count` ones concerned, or may have concerned, a matching key.
pub(super) fn has_any_since(count: u64, is_such: impl FnMut(&String) -> bool) -> bool {
    let writes = WRITES.lock();
    let since = usize::try_from(writes.count - count).unwrap_or(usize::MAX);
    since > writes.keys.len() || writes.keys.iter().rev().take(since).any(is_such)
}

/// Whether one of the writes after the first `count` ones concerned, or may have concerned, a key or a key below it.
pub(super) fn has_changed_since(count: u64, key: &str) -> bool {
    has_any_since(count, |written| {
        written.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_changes_its_key_and_its_parent_folders() {
        let before = count();
        add("writes/a/b");
        for (key, expected) in
            [("writes/a/b", true), ("writes/a", true), ("writes", true), ("writes/a/", false), ("writes/a/bc", false)]
        {
            assert_eq!(has_changed_since(before, key), expected, "{key}");
        }
        assert!(!has_changed_since(count(), "writes/a/b"));
        forget_all();
        add("writes/b");
        assert!(has_changed_since(before, "writes/z") && !has_changed_since(count(), "writes/z"));
        (0..=MAX_KEPT).for_each(|number| add(&format!("many/{number}")));
        assert!(has_changed_since(before, "writes/z"), "too many to know");
    }
}
