//! Slow lines, and large amounts of input over them.

use super::harness::{deadline, StoryOptions, TestHome};
use std::time::Instant;

#[test]
fn slow_terminal_line_does_not_delay_quit() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).bytes_per_second(1024).run();
    story.wait_for("coco/");
    // The screen is still being drawn: it consists of thousands of bytes.
    story.keys("j j k ? ");
    let asked = Instant::now();
    story.keys("ctrl-c ctrl-c");
    assert_eq!(story.exit_code(), 130);
    let took = asked.elapsed();
    let most = deadline() / 4;
    assert!(took < most, "the end took {took:?}");
    story.assert_restored();
}

#[test]
fn paste_of_ten_megabytes_is_cut() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/").keys("/").wait_for("Enter accept");
    story.paste(&"paste this 漢字\n".repeat(600_000));
    story.wait_for("no name like that").keys("esc").wait_gone("Enter accept").keys("esc").wait_for("▸ coco/");
    // Where no text can be entered, pasted text is discarded.
    story.paste(&"q".repeat(10 << 20)).keys("j").wait_for("▸ corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn fifty_thousand_keys_are_processed_before_the_next_screen() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/");
    for _ in 0..50 {
        story.type_text(&"jk".repeat(500));
    }
    story.keys("J").wait_for("no running or interrupted jobs").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

/// Returns how often the threads of a process have started to wait, in total.
#[cfg(target_os = "linux")]
fn waits(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    statuses.map(|status| waits_in(&status).expect("the kernel counts them")).sum()
}

#[cfg(target_os = "linux")]
fn waits_in(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

#[cfg(target_os = "linux")]
#[test]
fn without_input_no_thread_wakes() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "coco"]).run();
    story.wait_for("000000").wait_for("a cat");
    let end = Instant::now() + deadline();
    loop {
        let (frames, before) = (story.frames(), waits(story.process_id()));
        std::thread::sleep(std::time::Duration::from_secs(1));
        let woken = waits(story.process_id()) - before;
        if woken <= 2 && story.frames() == frames {
            break;
        }
        assert!(Instant::now() < end, "{woken} times in a second");
    }
    story.keys("j").wait_for("▸ 000001").keys("q");
    assert_eq!(story.exit_code(), 0);
}
