//! Every way to leave the program restores the terminal: `q`, Ctrl-C twice, six signals (one of them during a scan, while an editor is
//! open, and while the program is stopped), stop and resume, a panic, a panic of a worker, an editor, and a failing editor.

use super::harness::{StoryOptions, TestHome};
use rustix::process::Signal;

#[test]
fn ctrl_c_twice_is_exit_code_130() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").keys("ctrl-c").wait_for("Ctrl-C again leaves").keys("ctrl-c");
    assert_eq!(story.exit_code(), 130);
    story.assert_restored();
}

#[test]
fn ctrl_c_once_does_not_quit() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/").keys("ctrl-c").wait_for("Ctrl-C again leaves").keys("j").wait_gone("Ctrl-C again");
    story.keys("ctrl-c").wait_for("Ctrl-C again leaves").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn save_plan_without_yes_is_refused_before_screens_open() {
    let test_home = TestHome::furnished();
    for command in [&["prepare", "coco"][..], &["pack", "text.jsonl"], &["dedup", "coco"], &[]] {
        let mut story =
            StoryOptions::new(&test_home).arguments(&[command, &["--save-plan", "plan.yaml"]].concat()).run();
        assert_eq!(story.exit_code(), 2, "{command:?}");
        story.wait_for("press s on the page Review");
    }
}

#[test]
fn sigterm_ends_the_home_screen_with_exit_code_143() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").signal(Signal::TERM);
    assert_eq!(story.exit_code(), 143);
    story.assert_restored();
}

#[test]
fn sighup_ends_the_home_screen_with_exit_code_129() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").signal(Signal::HUP);
    assert_eq!(story.exit_code(), 129);
    story.assert_restored();
}

#[test]
fn sigint_twice_ends_the_home_screen_with_exit_code_130() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").signal(Signal::INT).wait_for("Ctrl-C again leaves").signal(Signal::INT);
    assert_eq!(story.exit_code(), 130);
    story.assert_restored();
}

#[test]
fn panic_restores_the_terminal_before_its_message() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).variable("GRISTMILL_PANIC_ON_KEY", "P").run();
    story.wait_for("coco/").keys("P");
    assert_eq!(story.exit_code(), 101);
    story.wait_for("asked to panic").assert_restored();
}

#[test]
fn ctrl_z_suspends_and_fg_resumes() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).in_a_shell().run();
    story.wait_for("prompt>").type_text("\"$GRISTMILL\"\n").wait_for("▸ coco/").assert_taken();
    for _ in 0..2 {
        story.keys("ctrl-z").wait_until("the shell has the terminal", |screen| {
            !screen.alternate_screen() && screen.contents().contains("Stopped") && !screen.hide_cursor()
        });
        story.type_text("echo still $((40 + 2))\n").wait_for("still 42");
        story.type_text("fg\n").wait_for("▸ coco/").assert_taken();
        story.keys("j").wait_for("▸ corpus.jsonl").keys("k").wait_for("▸ coco/");
    }
    story.keys("q").wait_until("the shell has the terminal", |screen| !screen.alternate_screen());
    story.type_text("echo ended $?\n").wait_for("ended 0");
}

#[test]
fn sigtstp_suspends_and_fg_resumes() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).in_a_shell().run();
    story.wait_for("prompt>").type_text("\"$GRISTMILL\"\n").wait_for("▸ coco/");
    let program = child_of(story.process_id());
    rustix::process::kill_process(program, Signal::TSTP).unwrap();
    story.wait_until("the shell has the terminal", |screen| {
        !screen.alternate_screen() && screen.contents().contains("Stopped")
    });
    story.type_text("fg\n").wait_for("▸ coco/").assert_taken();
    story.keys("q").wait_until("the shell has the terminal", |screen| !screen.alternate_screen());
}

#[test]
fn ctrl_z_without_a_shell_does_not_suspend() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").keys("ctrl-z").wait_for("there is no shell to return to");
    assert_eq!(story.keys("q").exit_code(), 0);
    story.assert_restored();
}

#[test]
fn q_ends_the_home_screen_with_exit_code_0() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn sigquit_ends_the_home_screen_with_exit_code_131() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").signal(Signal::QUIT);
    assert_eq!(story.exit_code(), 131);
    story.assert_restored();
}

#[test]
fn worker_panic_is_a_toast_and_keeps_the_screen() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).variable("GRISTMILL_PANIC_IN_WORKER", "look").run();
    story.wait_for("a worker ended unexpectedly").wait_for("coco/").assert_taken();
    story.keys("j").wait_for("▸ corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn editor_gets_a_restored_terminal_and_the_screen_returns() {
    let test_home = TestHome::furnished();
    let note =
        "#!/bin/sh\nstty -a | grep -q -- ' icanon' && echo \"the line is whole\"\necho editing \"$1\"\nread answer\n";
    let editor = script(&test_home, "editor", note);
    let mut story = StoryOptions::new(&test_home).variable("EDITOR", &editor).run();
    story.wait_for("▸ coco/").keys("j").wait_for("▸ corpus.jsonl").keys("e");
    story.wait_until("the editor has the terminal", |screen| {
        let shown = screen.contents();
        shown.contains("the line is whole") && shown.contains("editing /") && !screen.alternate_screen()
    });
    story.look(|screen| {
        assert!(!screen.bracketed_paste() && !screen.hide_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    });
    story.type_text("\n").wait_for("▸ corpus.jsonl").assert_taken();
    story.keys("k").wait_for("▸ coco/").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn failed_or_missing_editor_is_reported_and_the_terminal_restored() {
    let test_home = TestHome::furnished();
    let failing = script(&test_home, "failing", "#!/bin/sh\nstty raw -echo\nkill -KILL $$\n");
    for (editor, message) in [(failing.as_str(), "ended with"), ("no-such-editor", "could not be started")] {
        let mut story = StoryOptions::new(&test_home).variable("EDITOR", editor).run();
        story.wait_for("▸ coco/").keys("j").wait_for("▸ corpus.jsonl").keys("e").wait_for(message).assert_taken();
        story.keys("q");
        assert_eq!(story.exit_code(), 0);
        story.assert_restored();
    }
}

#[test]
fn sigterm_ends_the_prepare_form_with_exit_code_143() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare", "coco"]).run();
    story.wait_for("▸ Source").signal(Signal::TERM);
    assert_eq!(story.exit_code(), 143);
    story.assert_restored();
}

#[test]
fn panic_with_an_open_popup_restores_the_terminal() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).variable("GRISTMILL_PANIC_ON_KEY", "P").run();
    story.wait_for("coco/").keys("?").wait_for("Help: what works here").keys("P");
    assert_eq!(story.exit_code(), 101);
    story.wait_for("asked to panic").assert_restored();
}

#[test]
fn sigterm_ends_the_program_while_an_editor_is_open() {
    let test_home = TestHome::furnished();
    let content = "#!/bin/sh\ntrap 'echo the editor saved; exit 0' TERM\necho editing\nwhile :; do sleep 0.05; done\n";
    let editor = script(&test_home, "waiting", content);
    let mut story = StoryOptions::new(&test_home).variable("EDITOR", &editor).run();
    story.wait_for("▸ coco/").keys("j").wait_for("▸ corpus.jsonl").keys("e");
    story.wait_until("the editor has the terminal", |screen| {
        screen.contents().contains("editing") && !screen.alternate_screen()
    });
    story.signal(Signal::TERM);
    assert_eq!(story.exit_code(), 143);
    story.wait_for("the editor saved").assert_restored();
}

#[test]
fn sigterm_ends_a_suspended_program_without_touching_the_terminal() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).in_a_shell().run();
    story.wait_for("prompt>").type_text("\"$GRISTMILL\"\n").wait_for("▸ coco/").assert_taken();
    let program = child_of(story.process_id());
    story.keys("ctrl-z").wait_until("the shell has the terminal", |screen| {
        !screen.alternate_screen() && screen.contents().contains("Stopped") && !screen.hide_cursor()
    });
    // A shell does the same to end a stopped job: the signal, then SIGCONT.
    rustix::process::kill_process(program, Signal::TERM).unwrap();
    rustix::process::kill_process(program, Signal::CONT).unwrap();
    story.wait_until("it is gone", |_| rustix::process::test_kill_process(program).is_err());
    story.type_text("wait %1; echo ended $?\n").wait_for("ended 143");
    story.look(|screen| {
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    });
}

/// Writes an executable script, and returns its path.
fn script(test_home: &TestHome, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = test_home.file(&format!("../{name}"), text.as_bytes());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.canonicalize().unwrap().to_string_lossy().into_owned()
}

/// Returns the only child of a process.
fn child_of(parent: u32) -> rustix::process::Pid {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let child = list.split_whitespace().next().and_then(|pid| pid.parse().ok());
    child.and_then(rustix::process::Pid::from_raw).expect("the shell has a child")
}

#[test]
fn browse_of_a_missing_path_fails_before_a_screen_opens() {
    let test_home = TestHome::new();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "nowhere"]).run();
    story.wait_for("no such file or folder");
    assert_eq!(story.exit_code(), 3);
    let raw = story.raw();
    assert!(!raw.windows(8).any(|bytes| bytes == b"\x1b[?1049h"), "{}", String::from_utf8_lossy(&raw));
}

#[test]
fn leaving_the_screen_of_a_command_selects_its_data_set_at_home() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "corpus.jsonl"]).run();
    story.wait_for("▸ browse ▸ corpus.jsonl").keys("esc").wait_for("▸ corpus.jsonl").wait_for("p  write the index");
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
}
