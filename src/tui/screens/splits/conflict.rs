//! The popup shown when another process changed the file after it was opened: it offers three solutions, each shown as a diff before it is
//! applied.

use super::choice::{Choice, ChoiceOption};
use super::session::SplitSession;
use crate::tui::screen::{Effect, Screen};
use crate::tui::widgets::{Level, Toast};
use gristmill_core::text::count;
use gristmill_ops::job::splits::ThreeWayMerge;

/// Counts the lines that the other process added and removed.
fn changed_lines(three: &ThreeWayMerge) -> (u64, u64) {
    use gristmill_ops::engine::splits::{diff_of, DiffKind};
    let (base, theirs) = (String::from_utf8_lossy(&three.base), String::from_utf8_lossy(&three.theirs));
    let lines = diff_of(&base, &theirs);
    let of = |kind| lines.iter().filter(|line| line.kind == kind).count() as u64;
    (of(DiffKind::Added), of(DiffKind::Removed))
}

/// Opens the popup.
pub fn open(session: SplitSession, three: ThreeWayMerge) -> Box<dyn Screen> {
    let (added, removed) = changed_lines(&three);
    let mut lines = vec![if three.theirs.is_empty() {
        "The file was removed after it was opened. Nothing was written.".to_owned()
    } else {
        format!(
            "The file has changed since it was opened: {} added, {} removed. Nothing was written.",
            count(added, "line"),
            count(removed, "line")
        )
    }];
    if let Some(unreadable) = &three.unreadable {
        lines.push(format!("It cannot be read as it is now: {}", unreadable.why));
    }
    for lost in three.not_applied.iter().take(3) {
        lines.push(format!("This change can no longer be applied: {}: {}", lost.edit.title(), lost.failure.why));
    }
    let pending = count(session.pending() as u64, "change");
    let without = three.merged.is_none().then(|| "it cannot be read".to_owned());
    let offers = vec![
        ChoiceOption::new("their file with my changes applied", format!("{pending} on the file as it is; shown first"))
            .disabled_if(without),
        ChoiceOption::new("mine", "overwrites their changes"),
        ChoiceOption::new("neither", "nothing is written; the changes stay unwritten"),
    ];
    let mut merged = three.merged;
    let chosen = move |row| match row {
        0 => {
            let Some(editor) = merged.take() else { return Vec::new() };
            session.adopt(editor);
            let message = "these are your changes on their file; review and write them";
            vec![Effect::Toast(Toast::new(Level::Info, message))]
        }
        1 => {
            session.write_now(true);
            Vec::new()
        }
        _ => vec![Effect::Toast(Toast::new(Level::Info, "nothing was written"))],
    };
    Box::new(Choice::new("The file has changed", lines, offers, chosen))
}
