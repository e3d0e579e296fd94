//! Drops answers of the terminal that arrive after the wait: the event library parses them as keys.

use super::super::event::Event;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::{Duration, Instant};

/// How long after the query an answer is expected.
const REPLY_WINDOW: Duration = Duration::from_secs(10);
/// Maximum time between two keys of one answer.
const MAX_KEY_GAP: Duration = Duration::from_millis(100);

/// Drops late answers about kitty graphics: `ESC _ … ESC \`, which are parsed as Alt-_, letters, Alt-\. The answers to the other queries
/// are never parsed as keys.
#[derive(Default)]
pub(in crate::tui) struct StaleReplies {
    /// The time until which answers may arrive.
    until: Option<Instant>,
    /// The time of the last key of an answer, while the answer is incomplete.
    last_key: Option<Instant>,
}

impl StaleReplies {
    /// Starts when the wait ends; `is_inside` is whether an answer was incomplete then.
    pub(in crate::tui) fn after(is_inside: bool, now: Instant) -> Self {
        Self { until: Some(now + REPLY_WINDOW), last_key: is_inside.then_some(now) }
    }

    /// Returns the event unless it is part of an answer.
    pub(in crate::tui) fn pass(&mut self, event: Event, now: Instant) -> Option<Event> {
        let Event::Key(key) = event else { return Some(event) };
        if self.last_key.is_some_and(|last| now.saturating_duration_since(last) <= MAX_KEY_GAP) {
            self.last_key = (!is(&key, '\\')).then_some(now);
            return None;
        }
        self.last_key = None;
        if is(&key, '_') && self.until.is_some_and(|until| now < until) {
            self.last_key = Some(now);
            return None;
        }
        Some(Event::Key(key))
    }
}

fn is(key: &KeyEvent, character: char) -> bool {
    key.code == KeyCode::Char(character) && key.modifiers == KeyModifiers::ALT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alt(c: char) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT))
    }

    fn plain(c: char) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))
    }

    #[test]
    fn drops_late_reply_and_keeps_typed_keys() {
        let now = Instant::now();
        let mut late = StaleReplies::after(false, now);
        let events = [plain('j'), alt('_'), plain('G'), plain('i'), plain('q'), alt('\\'), plain('k')];
        let passed: Vec<_> = events.into_iter().filter_map(|e| late.pass(e, now)).collect();
        assert_eq!(format!("{passed:?}"), format!("{:?}", [plain('j'), plain('k')]));
        let mut begun = StaleReplies::after(true, now);
        assert!(begun.pass(plain('K'), now).is_none());
        assert!(begun.pass(alt('\\'), now).is_none());
        assert!(begun.pass(plain('x'), now).is_some());
    }

    #[test]
    fn drops_replies_for_limited_time() {
        let now = Instant::now();
        let mut late = StaleReplies::after(false, now);
        assert!(late.pass(alt('_'), now).is_none());
        assert!(late.pass(plain('q'), now + MAX_KEY_GAP * 2).is_some(), "a pause ends an answer");
        assert!(late.pass(alt('_'), now + REPLY_WINDOW).is_some(), "much later it is a key");
        assert!(StaleReplies::default().pass(alt('_'), now).is_some());
    }
}
