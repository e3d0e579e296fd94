//! The `keys` of the settings file: a map from context and action to a list of keys.

use super::Mistake;
use crate::tui::keymap::{earlier, Action, Chord, Context, KeyConflict, Keymap, UserKeys};
use crate::tui::theme::file::text_of;
use gristmill_core::did_you_mean::nearest;
use gristmill_pycompat::yaml_read::{Mark, Marked, MarkedValue};

/// Applies the keys of the file to the key table, and reports unusable entries.
pub(super) fn read(value: Marked, keymap: &mut Keymap, mistakes: &mut Vec<Mistake>) {
    let MarkedValue::Map(contexts) = value.value else {
        let hint = "write it like `home:`, below it `prepare: [P]`; `gristmill keys` prints the names".to_owned();
        return mistakes.push(Mistake::new(
            value.at,
            "'keys' names contexts, each with actions and their keys",
            Some(hint),
        ));
    };
    let mut own = Vec::new();
    let mut places = Vec::new();
    for (name, at, actions) in contexts {
        let Some(context) = context_of(&name, at, mistakes) else { continue };
        let MarkedValue::Map(actions) = actions.value else {
            let hint = Some("write an action and its keys, such as `prepare: [P]`".to_owned());
            mistakes.push(Mistake::new(actions.at, format!("nothing is bound in '{name}'"), hint));
            continue;
        };
        for (action_name, at, keys) in actions {
            let named = (name.as_str(), action_name.as_str());
            let Some((context, action)) = action_of(named, context, at, keymap, mistakes) else { continue };
            let Some(keys) = keys_of(&keys, action, context, at, mistakes) else { continue };
            own.push(UserKeys { context, action, keys });
            places.push(at);
        }
    }
    let clashes = keymap.patch(&own);
    for clash in clashes {
        let of_it = |wish: &UserKeys| wish.context == clash.context && wish.action == clash.action;
        let at = own.iter().zip(&places).find(|(wish, _)| of_it(wish)).map_or(Mark::default(), |(_, at)| *at);
        mistakes.push(clash_mistake(&clash, at));
    }
}

fn clash_mistake(clash: &KeyConflict, at: Mark) -> Mistake {
    let (key, context) = (clash.key.label(), clash.context.id());
    let (action, other) = (clash.action.id(), clash.other.id());
    match clash.is_taken {
        true => Mistake::new(
            at,
            format!("{key} in '{context}' moved from '{other}' to '{action}'"),
            Some(format!("give '{other}' another key, or write `{other}: []` to accept this")),
        ),
        false => Mistake::new(
            at,
            format!("{key} in '{context}' is also bound to '{other}', which keeps it"),
            Some("give one of them another key".into()),
        ),
    }
}

fn context_of(name: &str, at: Mark, mistakes: &mut Vec<Mistake>) -> Option<Context> {
    let found = Context::ALL.iter().copied().find(|context| context.id() == name || context.title() == name);
    let found = found.or_else(|| earlier::context(name));
    if found.is_none() {
        let ids: Vec<String> = Context::ALL.iter().map(|context| context.id()).collect();
        let hint = match nearest(name, ids.iter().map(String::as_str)) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("contexts: {}", ids.join(", ")),
        };
        mistakes.push(Mistake::new(at, format!("there is no context '{name}'"), Some(hint)));
    }
    found
}

/// Returns the action of a name and the context in which it is bound. `context_name` is the name of the context in the file.
fn action_of(
    (context_name, name): (&str, &str),
    context: Context,
    at: Mark,
    keymap: &Keymap,
    mistakes: &mut Vec<Mistake>,
) -> Option<(Context, Action)> {
    let known = || Action::ALL.iter().copied().find(|action| action.id() == name);
    let Some(action) = earlier::action(context_name, name).or_else(known) else {
        let here = keymap.entries(context).map(|entry| entry.action.id());
        let hint = match nearest(name, here.chain(Action::ALL.iter().map(|a| a.id()))) {
            Some(near) => format!("did you mean '{near}'?"),
            None => "`gristmill keys` prints the names of all actions".to_owned(),
        };
        mistakes.push(Mistake::new(at, format!("there is no action '{name}'"), Some(hint)));
        return None;
    };
    let context = earlier::moved(context_name, action).unwrap_or(context);
    if !keymap.can_do(context, action) {
        let works = |c: &&Context| keymap.entries(**c).any(|e| e.context == **c && e.action == action);
        let there: Vec<String> = Context::ALL.iter().filter(works).map(|c| c.id()).collect();
        let message = format!("'{name}' does nothing in '{}'", context.id());
        mistakes.push(Mistake::new(at, message, Some(format!("it works in: {}", there.join(", ")))));
        return None;
    }
    Some((context, action))
}

/// Returns the keys of one action; `None` if the whole list is unusable. Unusable keys are skipped.
fn keys_of(
    value: &Marked,
    action: Action,
    context: Context,
    at: Mark,
    mistakes: &mut Vec<Mistake>,
) -> Option<Vec<Chord>> {
    let items: Vec<&Marked> = match &value.value {
        MarkedValue::List(items) => items.iter().collect(),
        MarkedValue::Scalar(_) => vec![value],
        MarkedValue::Nothing | MarkedValue::Map(_) => {
            let hint = "write a list such as [P, ctrl-k], or [] for no key".to_owned();
            mistakes.push(Mistake::new(value.at, format!("the keys of '{}' are missing", action.id()), Some(hint)));
            return None;
        }
    };
    let had_some = !items.is_empty();
    let keys: Vec<Chord> = items.into_iter().filter_map(|item| key_of(item, context, mistakes)).collect();
    if had_some && keys.is_empty() {
        // All entries are mistakes: the action keeps its default keys.
        return None;
    }
    if action == Action::Interrupt && context == Context::Global && keys.is_empty() {
        let hint = Some("give it at least one key".to_owned());
        mistakes.push(Mistake::new(at, "'interrupt' keeps its key: it must always be possible to stop", hint));
        return None;
    }
    Some(keys)
}

fn key_of(item: &Marked, context: Context, mistakes: &mut Vec<Mistake>) -> Option<Chord> {
    let Some(text) = text_of(item) else {
        let hint = "put punctuation in quotes: \"-\", \"~\", \"?\"".to_owned();
        mistakes.push(Mistake::new(item.at, "a key is missing here", Some(hint)));
        return None;
    };
    let chord: Chord = match text.parse() {
        Ok(chord) => chord,
        Err(_) => {
            let hint = match Chord::suggestion(&text) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "write keys like q, G, ctrl-d, enter, f1, or a sequence like g g".to_owned(),
            };
            mistakes.push(Mistake::new(item.at, format!("'{text}' is not a key"), Some(hint)));
            return None;
        }
    };
    if context.takes_text() && chord.types_text() {
        let message = format!("{} is typed text in '{}', so it cannot be bound there", chord.label(), context.id());
        let hint = "take a key with ctrl- or alt-, or a function key".to_owned();
        mistakes.push(Mistake::new(item.at, message, Some(hint)));
        return None;
    }
    Some(chord)
}
