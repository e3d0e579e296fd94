//! Recognises chats in the lines of a tree: lists of messages, each with a role and a content. Must not depend on screens.

use super::tree::{LineKind, TreeLine};
use std::ops::Range;

/// Keys for the author of a message.
const ROLE_KEYS: [&str; 3] = ["role", "from", "speaker"];
/// Keys for the content of a message.
const CONTENT_KEYS: [&str; 7] =
    ["content", "value", "text", "parts", "tool_calls", "function_call", "reasoning_content"];
/// Content keys whose values are shown without the key.
const BARE_KEYS: [&str; 3] = ["content", "value", "text"];
/// Maximum size in bytes of a text that counts as a role.
const MAX_ROLE_BYTES: usize = 40;

/// Sets the title of each message to its role, and the title of each item of a message to its type. `is_list` is whether the top of the
/// tree is a list.
pub(super) fn title_messages(lines: &mut [TreeLine], is_list: bool) {
    if is_list {
        title_items(lines, 0..lines.len());
    }
    for at in 0..lines.len() {
        let inside = lines_inside(lines, at);
        if lines.get(at).is_some_and(|line| line.kind == LineKind::Array) {
            title_items(lines, inside);
        }
    }
}

/// Returns the range of the lines that are inside the line at `at`.
pub(super) fn lines_inside(lines: &[TreeLine], at: usize) -> Range<usize> {
    let count = lines.get(at).map_or(0, |line| line.inside as usize);
    at + 1..(at + 1 + count).min(lines.len())
}

/// Returns the lines of a range that are not inside another line of the range.
fn direct(lines: &[TreeLine], range: Range<usize>) -> Vec<usize> {
    let mut out = Vec::new();
    let mut at = range.start;
    while at < range.end {
        out.push(at);
        at = lines_inside(lines, at).end;
    }
    out
}

fn title_items(lines: &mut [TreeLine], range: Range<usize>) {
    for item in direct(lines, range) {
        if lines.get(item).is_none_or(|line| line.kind != LineKind::Object) {
            continue;
        }
        let children = direct(lines, lines_inside(lines, item));
        let named = |names: &[&str]| {
            let is_named = |at: &&usize| lines.get(**at).is_some_and(|line| names.contains(&line.label.as_str()));
            children.iter().find(is_named).copied()
        };
        let short = |at: &usize| {
            lines.get(*at).is_some_and(|line| line.text.is_some() && (1..=MAX_ROLE_BYTES).contains(&line.value.len()))
        };
        let role = named(&ROLE_KEYS).filter(short).filter(|_| named(&CONTENT_KEYS).is_some());
        let Some(role) = role.or_else(|| named(&["type"]).filter(short).filter(|_| named(&["text"]).is_some())) else {
            continue;
        };
        let bare = named(&BARE_KEYS);
        let title = lines.get_mut(role).map(|line| {
            line.is_hidden = true;
            line.value.clone()
        });
        if let (Some(line), Some(title)) = (lines.get_mut(item), title) {
            line.title = title;
        }
        if let Some(line) = bare.and_then(|at| lines.get_mut(at)) {
            line.is_bare = line.text.is_some();
        }
    }
}
