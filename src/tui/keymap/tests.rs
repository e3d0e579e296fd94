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
        assert!(action.id().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{action:?}");
        assert_eq!(ids.insert(action.id(), action), None, "{action:?} shares its id");
    }
}

#[test]
fn every_action_has_a_key_somewhere() {
    for &action in Action::ALL {
        assert!(BINDINGS.iter().any(|b| b.action == action), "{action:?}");
    }
}

#[test]
fn every_key_of_the_table_can_be_read() {
    for binding in BINDINGS {
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
        for binding in BINDINGS.iter().filter(|b| b.context == context) {
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
fn an_action_stands_once_in_a_context() {
    let mut seen = std::collections::HashSet::new();
    for binding in BINDINGS {
        assert!(seen.insert((binding.context, binding.action)), "{binding:?}");
    }
}

#[test]
fn every_context_can_quit_its_way_out_and_find_help() {
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
fn the_nearest_layer_wins() {
    let keymap = Keymap::default();
    let ctrl_p = KeyEvent::new(KeyCode::Char('p'), KeyModifiers::CONTROL);
    assert_eq!(keymap.meaning(Context::Home, &[ctrl_p]), Meaning::Do(Action::Palette));
    assert_eq!(keymap.meaning(Context::HomeFilter, &[ctrl_p]), Meaning::Do(Action::Up));
}

#[test]
fn shift_is_ignored_where_the_character_says_it_already() {
    let keymap = Keymap::default();
    let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
    assert_eq!(keymap.meaning(Context::Home, &[shifted]), Meaning::Do(Action::Last));
    let backtab = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(keymap.meaning(Context::Prepare, &[backtab]), Meaning::Do(Action::PreviousField));
}

#[test]
fn chords_are_read_and_shown() {
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
fn a_text_field_takes_letters_and_editing_keys_but_not_commands() {
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    let ctrl = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert!(is_for_text_field(&plain(KeyCode::Char('q'))));
    assert!(is_for_text_field(&plain(KeyCode::Backspace)));
    assert!(is_for_text_field(&ctrl('w')));
    assert!(!is_for_text_field(&ctrl('c')));
    assert!(!is_for_text_field(&plain(KeyCode::Enter)));
    assert!(!is_for_text_field(&plain(KeyCode::Esc)));
}
