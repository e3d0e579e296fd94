use super::*;
use crate::tui::keymap::{Action, Chord, Context};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;

/// Returns the mistakes as shown to the user.
fn messages_of(text: &str) -> Vec<String> {
    let describe = |m: &Mistake| {
        format!("{}:{} {} -> {}", m.at.line, m.at.column, m.message, m.hint.as_deref().unwrap_or_default())
    };
    read(text).1.iter().map(describe).collect()
}

fn keys(config: &Config, context: Context, action: Action) -> Vec<String> {
    let entry = config.keymap.entries(context).find(|e| e.action == action);
    entry.map(|e| e.keys.iter().map(Chord::label).collect()).unwrap_or_default()
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, path, text.as_bytes(), 0o644).unwrap();
}

#[test]
fn settings_file_with_every_setting_is_read() {
    let text = "\
# mine
theme: dark
pictures: cells
mouse: no
ascii: true
title: no
bell: yes
keys:
  home:
    prepare: [P, ctrl-k]
    mix: []
    info: I
  global:
    help: [\"?\", F1, ctrl-g]
  moving:
    down: [n, down]
";
    let (config, mistakes) = read(text);
    assert_eq!(mistakes, []);
    assert_eq!(config.theme.as_ref().map(|(at, name)| (at.line, name.as_str())), Some((2, "dark")));
    assert_eq!((config.pictures, config.mouse, config.ascii), (Some("cells"), Some(false), Some(true)));
    assert_eq!((config.title, config.bell), (Some(false), Some(true)));
    assert_eq!(keys(&config, Context::Home, Action::Prepare), ["P", "Ctrl-k"]);
    assert_eq!(keys(&config, Context::Home, Action::Mix), Vec::<String>::new());
    assert_eq!(keys(&config, Context::Home, Action::Info), ["I"], "one key needs no list");
    assert_eq!(keys(&config, Context::Global, Action::Help), ["?", "F1", "Ctrl-g"]);
    assert_eq!(keys(&config, Context::List, Action::Down), ["n", "↓"], "a place may be called by its title");
    assert_eq!(keys(&config, Context::Home, Action::Media), ["m"], "the rest stays");
}

#[test]
fn old_names_of_contexts_and_actions_are_accepted() {
    let text = "keys:\n  pack-text:\n    go-tokenizer: [ctrl-t]\n  form:\n    copy: [c]\n    save-plan: [w]\n  form-text:\n    save-plan: [alt-w]\n";
    let (config, mistakes) = read(text);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert_eq!(keys(&config, Context::GuidedText, Action::GoStep3), ["Ctrl-t"]);
    assert_eq!(keys(&config, Context::GuidedReview, Action::Copy), ["c"]);
    assert_eq!(keys(&config, Context::Guided, Action::SavePlan), ["w"]);
    assert_eq!(keys(&config, Context::GuidedText, Action::SavePlan), ["Alt-w"]);
}

#[test]
fn an_empty_file_changes_nothing() {
    for text in ["", "# nothing\n", "keys: {}\n", "\u{feff}theme: light\n"] {
        assert_eq!(messages_of(text), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn settings_mistakes_have_position_and_suggestion() {
    let text = "\
tehme: dark
pictures: kity
mouse: maybe
keys:
  hom:
    prepare: [P]
  home:
    prepar: [P]
    cancel-job: [X]
    mix: [entr, gg, \"\"]
    info:
    facts: [~]
  home-filter:
    close: [x]
  list: [a]
  global:
    interrupt: []
";
    assert_eq!(
        messages_of(text),
        [
            "1:1 there is no setting 'tehme' -> did you mean 'theme'?",
            "2:11 pictures cannot be shown by 'kity' -> did you mean 'kitty'?",
            "3:8 'mouse' is true or false -> ",
            "5:3 there is no context 'hom' -> did you mean 'home'?",
            "8:5 there is no action 'prepar' -> did you mean 'prepare'?",
            "9:5 'cancel-job' does nothing in 'home' -> it works in: jobs, dedup, run",
            "10:11 'entr' is not a key -> did you mean 'enter'?",
            "10:17 'gg' is not a key -> did you mean 'g g'?",
            "10:21 '' is not a key -> write keys like q, G, ctrl-d, enter, f1, or a sequence like g g",
            "11:9 the keys of 'info' are missing -> write a list such as [P, ctrl-k], or [] for no key",
            "12:13 a key is missing here -> put punctuation in quotes: \"-\", \"~\", \"?\"",
            "14:13 x is typed text in 'home-filter', so it cannot be bound there -> take a key with ctrl- or alt-, or a function key",
            "15:9 nothing is bound in 'list' -> write an action and its keys, such as `prepare: [P]`",
            "17:5 'interrupt' keeps its key: it must always be possible to stop -> give it at least one key",
        ]
    );
}

#[test]
fn invalid_settings_get_defaults_and_valid_settings_apply() {
    let (config, mistakes) = read("mouse: 7\nascii: true\nkeys:\n  home:\n    mix: [entr]\n    prepare: [P, nokey]\n");
    assert_eq!(mistakes.len(), 3);
    assert_eq!((config.mouse, config.ascii), (None, Some(true)));
    assert_eq!(keys(&config, Context::Home, Action::Mix), ["x"]);
    assert_eq!(keys(&config, Context::Home, Action::Prepare), ["P"]);
}

#[test]
fn key_bound_to_two_actions_is_reported_with_correction() {
    assert_eq!(
        messages_of("keys:\n  home:\n    prepare: [m]\n"),
        ["3:5 m in 'home' moved from 'media' to 'prepare' -> give 'media' another key, or write `media: []` to accept this"]
    );
    assert_eq!(messages_of("keys:\n  home:\n    prepare: [m]\n    media: []\n"), Vec::<String>::new());
    assert_eq!(
        messages_of("keys:\n  home:\n    prepare: [z]\n    media: [z]\n"),
        ["4:5 z in 'home' is also bound to 'prepare', which keeps it -> give one of them another key"]
    );
}

#[test]
fn invalid_yaml_settings_are_reported_with_line() {
    for (text, place) in [
        ("theme: [dark\n", "1:8 unclosed bracket"),
        ("mouse: true\nmouse: false\n", "2:1 duplicate key 'mouse'"),
        ("theme: !tag dark\n", "1:13 a tag"),
        ("theme: *x\n", "1:8 an alias"),
        ("- theme\n", "1:1 the settings file is a list of `name: value` lines"),
        ("hello\n", "1:1 the settings file is a list of `name: value` lines"),
    ] {
        let messages = messages_of(text);
        assert!(messages.len() == 1 && messages[0].starts_with(place), "{text:?}: {messages:?}");
        assert!(!messages[0].contains("loader"), "{messages:?}");
    }
}

#[test]
fn number_of_reported_settings_mistakes_is_limited() {
    let text: String = (0..5_000).map(|n| format!("key{n}: 1\n")).collect();
    assert_eq!(read(&text).1.len(), MAX_MISTAKES);
}

#[test]
fn missing_or_invalid_settings_file_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let settings = load(dir.path());
    assert!(!settings.is_there && settings.mistakes.is_empty());
    // First a folder at the path of the file, then a file that is not UTF-8.
    std::fs::create_dir(dir.path().join("config.yaml")).unwrap();
    assert_eq!(load(dir.path()).notices()[0].0, "config.yaml: it is a folder, not a file");
    std::fs::remove_dir(dir.path().join("config.yaml")).unwrap();
    write_file(&RealFs, &dir.path().join("config.yaml"), b"theme: \xff\n", 0o644).unwrap();
    assert_eq!(load(dir.path()).notices()[0].0, "config.yaml: it is not UTF-8 text");
}

#[test]
fn user_theme_is_found_by_name_and_its_mistakes_name_its_file() {
    let dir = tempfile::tempdir().unwrap();
    put(&dir.path().join("config.yaml"), "theme: dusk\n");
    put(&dir.path().join("themes/dusk.yaml"), "base: dark\naccent: magenta\nok: grene\n");
    let settings = load(dir.path());
    assert_eq!(settings.theme.as_ref().unwrap().accent, ratatui::style::Style::new().magenta());
    assert_eq!(settings.notices()[0].0, "dusk.yaml, line 3, column 5: 'grene' is neither a colour nor an attribute");
    put(&dir.path().join("config.yaml"), "theme: duks\n");
    let (message, hint) = load(dir.path()).notices().remove(0);
    assert_eq!(message, "config.yaml, line 1, column 8: there is no theme 'duks'");
    assert_eq!(hint.as_deref(), Some("did you mean 'dusk'?"));
}

#[test]
fn settings_examples_of_documentation_are_valid() {
    let page = include_str!("../../../docs/settings.md");
    let blocks: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2, "an example of settings, one of a theme");
    assert_eq!(messages_of(blocks[0]), Vec::<String>::new());
    assert_eq!(crate::tui::theme::file::read(blocks[1]).1, []);
}
