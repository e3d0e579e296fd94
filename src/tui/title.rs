//! Decides when to write the title of the terminal's window: when it has changed, at most once a second.

use std::time::{Duration, Instant};

/// Minimum time between two titles.
const TITLE_INTERVAL: Duration = Duration::from_secs(1);

/// The title last written, and when it was last checked.
#[derive(Debug, Default)]
pub(super) struct Title {
    written: Option<String>,
    checked: Option<Instant>,
    /// When to compute the title again, if events have arrived since it was last computed.
    pub(super) update_at: Option<Instant>,
}

impl Title {
    /// Returns the title to write now, if any.
    pub(super) fn next(&mut self, now: Instant, wanted: impl FnOnce() -> String) -> Option<String> {
        self.update_at = self.checked.map(|checked| checked + TITLE_INTERVAL).filter(|due| now < *due);
        if self.update_at.is_some() {
            return None;
        }
        self.checked = Some(now);
        let wanted = wanted();
        if self.written.as_ref() == Some(&wanted) {
            return None;
        }
        self.written = Some(wanted.clone());
        Some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_title_changes_at_most_once_a_second() {
        let start = Instant::now();
        let after = |millis: u64| start + Duration::from_millis(millis);
        let mut title = Title::default();
        assert_eq!(title.next(start, || "a".into()), Some("a".into()));
        assert_eq!((title.next(after(999), || "b".into()), title.update_at), (None, Some(after(1_000))));
        assert_eq!((title.next(after(1_000), || "b".into()), title.update_at), (Some("b".into()), None));
        assert_eq!((title.next(after(5_000), || "b".into()), title.update_at), (None, None));
        assert_eq!((title.next(after(5_400), || "c".into()), title.update_at), (None, Some(after(6_000))));
        assert_eq!(title.next(after(6_000), || "c".into()), Some("c".into()));
    }
}
