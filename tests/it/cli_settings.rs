//! Effects of settings and themes on commands.

use super::cli_support::{RunOutput, Sandbox};

/// Runs a command with this settings file.
fn with_settings(sandbox: &Sandbox, text: &str, args: &[&str]) -> RunOutput {
    sandbox.write("config/gristmill/config.yaml", text);
    let mut command = sandbox.command(args);
    command.env("XDG_CONFIG_HOME", sandbox.path("config"));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    RunOutput { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn keys_prints_user_bindings() {
    let sandbox = Sandbox::new();
    let ran = with_settings(&sandbox, "keys:\n  home:\n    prepare: [Z, ctrl-k]\n    mix: []\n", &["keys"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let line =
        |id: &str| ran.out.lines().find(|l| l.split_whitespace().any(|w| w == id)).unwrap_or_default().to_owned();
    assert!(line("prepare").contains("Z Ctrl-k"), "{}", ran.out);
    assert!(line("mix").contains("(none)"), "{}", ran.out);
}

#[test]
fn headings_of_printed_keys_are_unique() {
    let ran = Sandbox::new().say("keys").ends(0);
    let mut headings: Vec<&str> =
        ran.out.split("\n\n").filter_map(|section| section.lines().next()).filter(|line| !line.is_empty()).collect();
    let before = headings.len();
    headings.sort_unstable();
    headings.dedup();
    assert_eq!(headings.len(), before, "{headings:?}");
    assert!(headings.contains(&"prepare: text (prepare-text)"), "{headings:?}");
}

#[test]
fn settings_mistakes_are_reported_by_keys_and_doctor() {
    let sandbox = Sandbox::new();
    let text = "tehme: dark\nkeys:\n  home:\n    prepare: [entr]\n    info: [I]\n";
    let ran = with_settings(&sandbox, text, &["keys"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("config.yaml, line 1, column 1: there is no setting 'tehme'"), "{}", ran.err);
    assert!(ran.err.contains("hint: did you mean 'theme'?"), "{}", ran.err);
    assert!(ran.out.lines().any(|l| l.trim_start().starts_with("I ") && l.contains(" info ")), "{}", ran.out);
    let ran = with_settings(&sandbox, text, &["doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("config.yaml, line 4, column 15: 'entr' is not a key"), "{}", ran.out);
    assert!(ran.out.contains("did you mean 'enter'?"), "{}", ran.out);
    let ran = with_settings(&sandbox, "theme: dark\n", &["doctor"]);
    assert!(ran.out.contains("ok   settings: in "), "{}", ran.out);
    // Broken settings do not stop a run without a screen.
    sandbox.ten_shards();
    let yes = ["prepare", "data", "--yes", "--split-ratio", "8,1,1", "--sample-type", "CrudeWebdataset"];
    assert_eq!(with_settings(&sandbox, "]]: [[", &yes).code, 0);
}

#[test]
fn unknown_picture_protocol_is_reported_by_doctor() {
    let sandbox = Sandbox::new();
    let doctor = |way: &str| {
        let output = sandbox.command(["doctor"]).env("GRISTMILL_PICTURES", way).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let said = doctor("kity");
    assert!(said.contains("GRISTMILL_PICTURES: pictures cannot be shown by 'kity'"), "{said}");
    assert!(said.contains("did you mean 'kitty'?"), "{said}");
    for way in ["kitty", "auto", ""] {
        assert!(!doctor(way).contains("GRISTMILL_PICTURES"), "{way}");
    }
}

#[test]
fn a_hostile_settings_file_is_printed_safely() {
    let sandbox = Sandbox::new();
    let text = "\"\\e]0;x\\a\\u202e\": 1\ntheme: \"\\e[2J\"\nkeys: {home: {\"\\e[31m\": [\"\\x9b\"]}}\n";
    for args in [["keys"], ["doctor"]] {
        let ran = with_settings(&sandbox, text, &args);
        for printed in [&ran.out, &ran.err] {
            let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!printed.chars().any(bad), "{printed:?}");
        }
        assert!((ran.out + &ran.err).contains('␛'));
    }
}
