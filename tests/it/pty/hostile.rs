//! Names that are commands to a terminal: wherever they are shown, the state of the terminal does not change.

use super::harness::{run_plainly, Story, StoryOptions, TestHome};

/// Names of files and folders, each of which would change the state of a terminal that interprets it.
const EVIL: [&str; 8] = [
    "a\x1b[2J\x1b[H",
    "b\x1b[?1049l\x1b[?25h",
    "c\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07",
    "d\u{9b}31m\u{9d}0;owned\u{9c}",
    "e\x1b[?1000l\x1b[?2004l\x1b[?1h\x1b=",
    "f\u{202e}rat.2000\u{2066}",
    "g\x1bc\x1b(0\x0e",
    "h\u{200b}\u{e0041}\u{fe0f}\u{fe0f}\u{fe0f}",
];

/// Returns the state that a name could change.
fn state(story: &Story) -> String {
    story.look(|screen| {
        format!(
            "{:?}",
            (
                screen.alternate_screen(),
                screen.application_keypad(),
                screen.application_cursor(),
                screen.bracketed_paste(),
                screen.mouse_protocol_mode(),
                screen.mouse_protocol_encoding(),
                screen.size(),
            )
        )
    })
}

fn furnish(test_home: &TestHome) {
    for (number, name) in EVIL.into_iter().enumerate() {
        test_home.shard(&format!("{name}/{name}.tar"), number * 10, 2);
        test_home.file(&format!("{name}.jsonl"), format!("{{\"{}\": \"x\"}}\n", "k\\u001b[2J").as_bytes());
    }
}

#[test]
fn hostile_names_do_not_change_the_state_of_the_terminal() {
    let test_home = TestHome::new();
    furnish(&test_home);
    let mut story = StoryOptions::new(&test_home).run();
    // The list is complete: no name has cleared it or left the screen.
    story.wait_for("▸ a␛[2J␛[H").wait_for("g␛c␛(0␎").wait_for("? help");
    let before = state(&story);
    for _ in 0..EVIL.len() * 2 {
        story.keys("j");
    }
    story.wait_for("▸ h<U+200B><U").keys("gg").wait_for("▸ a␛[2J␛[H").wait_for("p  prepare");
    story.keys("i").wait_for("▸ info ▸ a␛[2J").keys("esc").wait_gone("▸ info ▸").wait_for("p  prepare");
    assert_eq!(state(&story), before, "the home screen, its facts and info");
    story.keys("p").wait_for("▸ prepare ▸ a␛[2J").wait_for("▸ Source").wait_for("2 samples");
    story.keys("alt-2").wait_for("How should").keys("esc").wait_for("▸ Source");
    assert_eq!(state(&story), before, "the guided prepare");
    story
        .keys("esc")
        .wait_gone("▸ Source")
        .wait_for("p  prepare")
        .keys("J")
        .wait_for("no running or interrupted jobs")
        .keys("esc");
    assert_eq!(state(&story), before);
    let odd = story.screen().chars().find(|&c| c != '\n' && (c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')));
    assert_eq!(odd, None, "{}", story.screen());
    story.wait_for("? help").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn commands_escape_hostile_names_on_the_terminal() {
    let test_home = TestHome::new();
    furnish(&test_home);
    for name in EVIL {
        let answers = ["prepare", name, "--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"];
        assert_eq!(run_plainly(&test_home, &answers), Some(0), "{name:?}");
        let index = format!("{name}.jsonl");
        let gone = format!("{name}-gone");
        let commands: [&[&str]; 5] = [
            &["info", name],
            &["lint", name],
            &["lint", &index],
            &["info", &gone],
            &["prepare", name, "--color", "always"],
        ];
        for arguments in commands {
            let mut story = StoryOptions::new(&test_home).arguments(arguments).arguments(&["--yes"]).run();
            story.exit_code();
            story.assert_restored();
            story.wait_until("something is said, and still there", |screen| !screen.contents().trim().is_empty());
            let shown = story.screen();
            let odd = shown.chars().find(|&c| c != '\n' && (c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')));
            assert_eq!(odd, None, "{arguments:?}: {shown}");
            story.look(|screen| assert!(!screen.application_keypad() && !screen.application_cursor()));
        }
    }
}

/// Returns a picture whose header states 100,000 × 100,000 pixels.
fn huge_picture() -> Vec<u8> {
    let mut bytes = super::harness::TINY_PNG.to_vec();
    bytes[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
    bytes[20..24].copy_from_slice(&100_000_u32.to_be_bytes());
    bytes
}

#[test]
fn hostile_parts_are_browsed_without_changing_the_terminal_state() {
    let test_home = TestHome::new();
    let deep = "[".repeat(200_000).into_bytes();
    let escapes = b"\x1b[2J\x1b]0;owned\x07\xc2\x9b31m\xe2\x80\xae \x1b[?1049l".to_vec();
    let parts: [(&str, Vec<u8>); 7] = [
        ("a\x1b[2J.jpg", huge_picture()),
        ("b\nb.json", deep),
        ("c\u{202e}c.txt", escapes.clone()),
        ("d.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '|O',\n".to_vec()),
        ("e.msgpack", vec![0xdd; 4_096]),
        ("f.wav", b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff".to_vec()),
        ("g\x1bc.cls", escapes),
    ];
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in &parts {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &bytes[..]).unwrap();
    }
    test_home.file("bad/shard_0.tar", &builder.into_inner().unwrap());
    let mut line = b"{\"text\": \"\x1b[2J".to_vec();
    line.resize(64 << 20, b'x');
    line.extend(b"\"}\n{\"text\": \"the next one\"}\n");
    test_home.file("long.jsonl", &line);
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "bad"]).run();
    story.wait_for("7 samples").wait_for("▸ a␛[2J").wait_for("? help");
    let before = state(&story);
    for (number, part) in parts.iter().enumerate() {
        story.wait_for(&format!("Samples  #{number}")).wait_gone(" reading").keys("v");
        story.wait_for("As the loader gets it").keys("o").wait_for("Location").keys("esc").wait_gone("Location");
        assert_eq!(state(&story), before, "{:?}", part.0);
        let odd = story.screen().chars().find(|&c| c != '\n' && (c.is_control() || c == '\u{202e}'));
        assert_eq!(odd, None, "{}", story.screen());
        story.keys("j");
    }
    story.keys("c").wait_for("seed").keys("esc").wait_gone("seed").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "long.jsonl"]).run();
    story.wait_for("2 samples").wait_for("Samples  #0").wait_gone(" reading").keys("j").wait_for("the next one");
    assert_eq!(state(&story), before);
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}
