use super::*;
use std::collections::HashMap;

fn press(text: &str) -> Vec<KeyEvent> {
    text.chars().map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)).collect()
}

#[test]
fn every_action_has_an_id_a_label_and_a_help_sentence_of_its_own() {
    let mut ids = HashMap::new();
    for &action in Action::ALL {
        assert!(!action.id().is_empty() && !action.label().is_empty(), "{action:?}");
        assert!(action.label().len() <= 16, "{action:?}: the label is for the bottom bar");
        assert!(action.help().ends_with('.') && action.help().len() > 15, "{action:?}");
        assert!(action.id().chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{action:?}");
        assert_eq!(ids.insert(action.id(), action), None, "{action:?} shares its id");
    }
}

#[test]
fn every_action_has_a_default_key() {
    for &action in Action::ALL {
        assert!(bindings().any(|b| b.action == action), "{action:?}");
    }
}

#[test]
fn default_keys_parse_as_chords() {
    for binding in bindings() {
        assert!(!binding.keys.is_empty(), "{binding:?}");
        for key in binding.keys {
            assert!(key.parse::<Chord>().is_ok(), "{key} of {binding:?}");
        }
    }
}

#[test]
fn no_two_actions_of_one_context_share_a_key() {
    for &context in Context::ALL {
        let mut seen: Vec<(Chord, Action)> = Vec::new();
        for binding in bindings().filter(|b| b.context == context) {
            for key in binding.keys {
                let chord: Chord = key.parse().unwrap();
                for (other, action) in &seen {
                    let clash = *other == chord || other.starts_with(&chord) || chord.starts_with(other);
                    assert!(!clash, "{context:?}: {key} is {action:?} and {:?}", binding.action);
                }
                seen.push((chord, binding.action));
            }
        }
    }
}

#[test]
fn actions_are_unique_within_a_context() {
    let mut seen = std::collections::HashSet::new();
    for binding in bindings() {
        assert!(seen.insert((binding.context, binding.action)), "{binding:?}");
    }
}

#[test]
fn every_context_has_keys_for_help_interrupt_and_close() {
    let keymap = Keymap::default();
    for &context in Context::ALL {
        for action in [Action::Help, Action::Interrupt, Action::Suspend, Action::Palette] {
            assert!(keymap.key_for(context, action).is_some(), "{context:?} {action:?}");
        }
        if !matches!(context, Context::Global | Context::List) {
            assert!(keymap.key_for(context, Action::Close).is_some(), "{context:?} has no way back");
        }
    }
}

#[test]
fn a_sequence_waits_for_its_second_key() {
    let keymap = Keymap::default();
    assert_eq!(keymap.meaning(Context::Home, &press("g")), Meaning::More);
    assert_eq!(keymap.meaning(Context::Home, &press("gg")), Meaning::Do(Action::First));
    assert_eq!(keymap.meaning(Context::Home, &press("gx")), Meaning::Nothing);
}

#[test]
fn binding_of_inner_context_takes_precedence() {
    let keymap = Keymap::default();
    let ctrl_p = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
    assert_eq!(keymap.meaning(Context::Home, &[ctrl_p]), Meaning::Do(Action::Palette));
    assert_eq!(keymap.meaning(Context::HomeFilter, &[ctrl_p]), Meaning::Do(Action::Up));
}

#[test]
fn ignores_shift_if_character_implies_it() {
    let keymap = Keymap::default();
    let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(keymap.meaning(Context::Home, &[shifted]), Meaning::Do(Action::Last));
    let backtab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(keymap.meaning(Context::Prepare, &[backtab]), Meaning::Do(Action::PreviousField));
}

#[test]
fn chords_are_parsed_and_labelled() {
    let label = |text: &str| text.parse::<Chord>().unwrap().label();
    assert_eq!(label("ctrl-d"), "Ctrl-d");
    assert_eq!(label("g g"), "gg");
    assert_eq!(label("backtab"), "Shift-Tab");
    assert_eq!(label("f1"), "F1");
    assert_eq!(label("f"), "f");
    assert!("f99".parse::<Chord>().is_err());
    assert!("".parse::<Chord>().is_err());
    assert!("hello".parse::<Chord>().is_err());
}

#[test]
fn text_field_gets_letters_and_editing_keys_only() {
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    let ctrl = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert!(is_for_text_field(&plain(KeyCode::Char('q'))));
    assert!(is_for_text_field(&plain(KeyCode::Backspace)));
    assert!(is_for_text_field(&ctrl('w')));
    assert!(!is_for_text_field(&ctrl('c')));
    assert!(!is_for_text_field(&plain(KeyCode::Enter)));
    assert!(!is_for_text_field(&plain(KeyCode::Esc)));
}

fn own(context: Context, action: Action, keys: &[&str]) -> UserKeys {
    UserKeys { context, action, keys: keys.iter().map(|k| k.parse().unwrap()).collect() }
}

#[test]
fn user_keys_replace_default_keys() {
    let mut keymap = Keymap::default();
    let clashes = keymap.patch(&[own(Context::Home, Action::Prepare, &["P", "ctrl-k"])]);
    assert_eq!(clashes, []);
    assert_eq!(keymap.meaning(Context::Home, &press("P")), Meaning::Do(Action::Prepare));
    assert_eq!(keymap.meaning(Context::Home, &press("p")), Meaning::Nothing);
    assert_eq!(keymap.key_for(Context::Home, Action::Prepare).unwrap().label(), "P");
}

#[test]
fn user_binding_can_remove_all_keys_of_an_action() {
    let mut keymap = Keymap::default();
    assert_eq!(keymap.patch(&[own(Context::Global, Action::Jobs, &[])]), []);
    assert_eq!(keymap.meaning(Context::Home, &press("J")), Meaning::Nothing);
    assert_eq!(keymap.key_for(Context::Home, Action::Jobs), None);
    assert!(keymap.can_do(Context::Home, Action::Jobs), "the palette still finds it");
}

#[test]
fn user_bindings_can_swap_two_keys() {
    let mut keymap = Keymap::default();
    let swapped = [own(Context::Home, Action::Prepare, &["m"]), own(Context::Home, Action::Media, &["p"])];
    assert_eq!(keymap.patch(&swapped), []);
    assert_eq!(keymap.meaning(Context::Home, &press("m")), Meaning::Do(Action::Prepare));
    assert_eq!(keymap.meaning(Context::Home, &press("p")), Meaning::Do(Action::Media));
}

#[test]
fn user_key_of_another_action_is_moved_and_reported() {
    let mut keymap = Keymap::default();
    let clashes = keymap.patch(&[own(Context::List, Action::Up, &["g"])]);
    let key: Chord = "g".parse().unwrap();
    let clash = KeyConflict { context: Context::List, key, action: Action::Up, other: Action::First, is_taken: true };
    assert_eq!(clashes, [clash]);
    assert_eq!(keymap.meaning(Context::Home, &press("g")), Meaning::Do(Action::Up));
    let home = KeyEvent::new(KeyCode::Home, KeyModifiers::NONE);
    assert_eq!(keymap.meaning(Context::Home, &[home]), Meaning::Do(Action::First), "its other key stays");
}

#[test]
fn first_user_binding_of_a_key_wins() {
    let mut keymap = Keymap::default();
    let wishes = [own(Context::Home, Action::Prepare, &["z"]), own(Context::Home, Action::Media, &["z"])];
    let clashes = keymap.patch(&wishes);
    assert_eq!(clashes.iter().map(|c| (c.action, c.is_taken)).collect::<Vec<_>>(), [(Action::Media, false)]);
    assert_eq!(keymap.meaning(Context::Home, &press("z")), Meaning::Do(Action::Prepare));
}

#[test]
fn global_action_can_have_an_additional_key_in_one_context() {
    let mut keymap = Keymap::default();
    assert_eq!(keymap.patch(&[own(Context::Jobs, Action::Help, &["h"])]), []);
    assert_eq!(keymap.meaning(Context::Jobs, &press("h")), Meaning::Do(Action::Help));
    assert_eq!(keymap.meaning(Context::Run, &press("h")), Meaning::Nothing);
    assert_eq!(keymap.meaning(Context::Jobs, &press("?")), Meaning::Do(Action::Help));
}

#[test]
fn chord_spellings_are_equivalent() {
    let same = |a: &str, b: &str| assert_eq!(a.parse::<Chord>().unwrap(), b.parse::<Chord>().unwrap(), "{a} {b}");
    same("Ctrl-D", "ctrl-d");
    same("Alt-ctrl-x", "ctrl-alt-x");
    same("Shift-Tab", "backtab");
    same("PgUp", "pageup");
    same("Enter", "return");
    same("↑", "up");
    same("Space", "space");
    same("F5", "f5");
    same("ctrl--", "ctrl--");
    assert_ne!("g".parse::<Chord>(), "G".parse::<Chord>());
    assert_eq!("-".parse::<Chord>().unwrap().label(), "-");
    assert_eq!("ctrl--".parse::<Chord>().unwrap().label(), "Ctrl--");
    for binding in bindings() {
        for key in binding.keys {
            let chord: Chord = key.parse().unwrap();
            if let [_] = chord.pairs() {
                assert_eq!(chord.label().parse::<Chord>().as_ref(), Ok(&chord), "the label of {key} reads back");
            }
        }
    }
}

#[test]
fn invalid_chord_has_a_suggestion() {
    let meant = |text: &str| Chord::suggestion(text);
    assert_eq!(meant("gg").as_deref(), Some("g g"));
    assert_eq!(meant("entr").as_deref(), Some("enter"));
    assert_eq!(meant("ctrl-pgeup").as_deref(), Some("ctrl-pageup"));
    assert_eq!(meant("whatever"), None);
}

#[test]
fn every_context_has_a_name_and_a_title_of_its_own() {
    let (mut ids, mut titles) = (std::collections::HashSet::new(), std::collections::HashSet::new());
    for context in Context::ALL {
        assert!(ids.insert(context.id()) && titles.insert(context.title()), "{context:?}");
    }
    assert_eq!(Context::PrepareShards.id(), "prepare-shards");
}

#[test]
fn default_keys_of_text_contexts_type_no_text() {
    for binding in bindings().filter(|b| b.context.takes_text()) {
        for key in binding.keys {
            assert!(!key.parse::<Chord>().unwrap().types_text(), "{key} of {binding:?}");
        }
    }
}

#[test]
fn digits_jump_only_in_the_list_of_steps_and_with_alt_everywhere() {
    let jumps = |action: &Action| action.id().starts_with("go-") && *action != Action::GoToNumber;
    for binding in bindings().filter(|binding| jumps(&binding.action)) {
        let is_rail = matches!(binding.context, Context::PrepareRail | Context::GuidedRail);
        let is_digit = |key: &&str| key.len() == 1;
        assert_eq!(binding.keys.iter().any(is_digit), is_rail, "{binding:?}");
        assert!(binding.keys.iter().any(|key| key.starts_with("alt-")), "{binding:?}");
    }
}
