//! `keys`: prints the key bindings, including those of the user's settings.

use super::context::Context;
use super::exit::{CommandResult, CommandSuccess};
use super::printer::{paint, Tone};
use crate::tui::keymap::{Context as Place, Keymap};
use gristmill_core::table::{Align, Table};
use serde_json::{json, Map, Value};

/// Prints the key table.
pub fn run(context: &Context) -> CommandResult {
    let settings = context.settings();
    for (notice, hint) in settings.notices() {
        context.printer.warning(&notice, hint.as_deref());
    }
    let ascii = context.globals.ascii || settings.config.ascii.unwrap_or(false);
    let sections: Vec<Value> =
        Place::ALL.iter().filter_map(|place| section(*place, &settings.config.keymap, ascii, context)).collect();
    context.printer.line("Use the context names in brackets and the action names below `keys:` in the settings file.");
    context.printer.line(format!("The file: {}", gristmill_core::text::display_safe(&settings.path.to_string_lossy())));
    Ok(CommandSuccess::ok(Map::from_iter([("keys".to_owned(), Value::Array(sections))])))
}

/// Prints the bindings of one context; `None` if there are none.
fn section(place: Place, keymap: &Keymap, ascii: bool, context: &Context) -> Option<Value> {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    let mut entries = Vec::new();
    for entry in keymap.entries(place).filter(|entry| entry.context == place) {
        let keys: Vec<String> = entry.keys.iter().map(|key| key.label_in(ascii)).collect();
        let shown = if keys.is_empty() { "(none)".to_owned() } else { keys.join(" ") };
        table.row([shown, entry.action.id().to_owned(), entry.action.help().to_owned()]);
        entries.push(json!({ "action": entry.action.id(), "keys": keys, "label": entry.action.label() }));
    }
    if table.is_empty() {
        return None;
    }
    let id = place.id();
    let name = if id == place.title() { String::new() } else { format!(" ({id})") };
    context.printer.line(format!("{}{name}", paint(Tone::Strong, place.title())));
    for line in table.lines() {
        context.printer.line(line);
    }
    context.printer.line("");
    Some(json!({ "where": place.title(), "context": id, "keys": entries }))
}
