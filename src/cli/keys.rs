//! `keys`: which key does what, from the table that the screens use.

use super::context::Context;
use super::end::{Done, Finished};
use super::printer::{paint, Look};
use super::table::{Align, Table};
use crate::tui::keymap::{Context as Place, Keymap};
use serde_json::{json, Map, Value};

/// Prints the key table.
pub fn run(context: &Context) -> Finished {
    let keymap = Keymap::default();
    let mut sections = Vec::new();
    for place in Place::ALL {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
        let mut entries = Vec::new();
        for entry in keymap.entries(*place).filter(|entry| entry.context == *place) {
            let keys: Vec<String> = entry.keys.iter().map(|key| key.label_in(context.globals.ascii)).collect();
            table.row([keys.join(" "), entry.action.label().to_owned(), entry.action.help().to_owned()]);
            entries.push(json!({ "action": entry.action.id(), "keys": keys, "label": entry.action.label() }));
        }
        if table.is_empty() {
            continue;
        }
        context.printer.line(paint(Look::Strong, place.title()));
        for line in table.lines() {
            context.printer.line(line);
        }
        context.printer.line("");
        sections.push(json!({ "where": place.title(), "keys": entries }));
    }
    Ok(Done::ok(Map::from_iter([("keys".to_owned(), Value::Array(sections))])))
}
