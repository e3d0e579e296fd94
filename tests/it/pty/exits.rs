//! Every way out leaves the terminal as it was.

use super::harness::{House, Start};
use rustix::process::Signal;

#[test]
fn ctrl_c_twice_is_exit_code_130() {
    let house = House::furnished();
    let mut story = Start::new(&house).run();
    story.wait_for("coco/").keys("ctrl-c").wait_for("Ctrl-C again leaves").keys("ctrl-c");
    assert_eq!(story.exit_code(), 130);
    story.assert_restored();
}

#[test]
fn ctrl_c_once_stays() {
    let house = House::furnished();
    let mut story = Start::new(&house).run();
    story.wait_for("▸ coco/").keys("ctrl-c").wait_for("Ctrl-C again leaves").keys("j").wait_gone("Ctrl-C again");
    story.keys("ctrl-c").wait_for("Ctrl-C again leaves").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn a_request_to_terminate_is_exit_code_143() {
    let house = House::furnished();
    let mut story = Start::new(&house).run();
    story.wait_for("coco/").signal(Signal::TERM);
    assert_eq!(story.exit_code(), 143);
    story.assert_restored();
}

#[test]
fn a_lost_connection_is_exit_code_129() {
    let house = House::furnished();
    let mut story = Start::new(&house).run();
    story.wait_for("coco/").signal(Signal::HUP);
    assert_eq!(story.exit_code(), 129);
    story.assert_restored();
}

#[test]
fn an_interrupt_from_outside_twice_is_exit_code_130() {
    let house = House::furnished();
    let mut story = Start::new(&house).run();
    story.wait_for("coco/").signal(Signal::INT).wait_for("Ctrl-C again leaves").signal(Signal::INT);
    assert_eq!(story.exit_code(), 130);
    story.assert_restored();
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_says_why() {
    let house = House::furnished();
    let mut story = Start::new(&house).variable("GRISTMILL_PANIC_ON_KEY", "P").run();
    story.wait_for("coco/").keys("P");
    assert_eq!(story.exit_code(), 101);
    story.wait_for("asked to panic").assert_restored();
}

#[test]
fn ctrl_z_sleeps_and_fg_comes_back() {
    let house = House::furnished();
    let mut story = Start::new(&house).in_a_shell().run();
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
fn a_stop_from_outside_and_fg_come_back_too() {
    let house = House::furnished();
    let mut story = Start::new(&house).in_a_shell().run();
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
fn without_a_shell_there_is_no_sleep() {
    let house = House::furnished();
    let mut story = Start::new(&house).run();
    story.wait_for("coco/").keys("ctrl-z").wait_for("there is no shell to return to");
    assert_eq!(story.keys("q").exit_code(), 0);
    story.assert_restored();
}

/// The only child of a process.
fn child_of(parent: u32) -> rustix::process::Pid {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let child = list.split_whitespace().next().and_then(|pid| pid.parse().ok());
    child.and_then(rustix::process::Pid::from_raw).expect("the shell has a child")
}
