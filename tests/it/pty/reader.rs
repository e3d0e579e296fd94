//! Reading texts in the browser, like a user does.

use super::harness::{StoryOptions, TestHome};

#[test]
fn reader_shows_texts_of_consecutive_samples() {
    let test_home = TestHome::new();
    let line = |n: usize| {
        let text = match n {
            2 => (0..40_000).map(|line| format!("row {line}\\n")).collect(),
            n => format!("Text {n} begins.\\n\\nSecond paragraph {n} \\u001b[2Jwith words."),
        };
        format!("{{\"id\": {n}, \"text\": \"{text}\"}}\n")
    };
    let lines: String = (0..500).map(line).collect();
    test_home.file("corpus.jsonl", lines.as_bytes());
    for (columns, rows) in [(100, 30), (80, 24)] {
        let mut story = StoryOptions::new(&test_home).size(columns, rows).arguments(&["browse", "corpus.jsonl"]).run();
        story.wait_for("500 samples").wait_for("Text 1 begins").wait_for("Second paragraph 0");
        story.keys("enter").wait_gone("Samples  #").wait_for("next sample").wait_for("␛[2Jwith words.");
        story.keys("> >").wait_for("row 0").keys("G").wait_for("more");
        story.keys("/").wait_for("find text").type_text("row 39999").keys("enter").wait_for("1 place on this page");
        story.wait_for("row 39999").keys("l").wait_for("Second paragraph 3").keys("<").wait_for("row 0");
        story.keys("#").wait_for("go to number").type_text("77").keys("enter").wait_for("Second paragraph 77");
        story.keys("esc").wait_for("Samples  #77").keys("q");
        assert_eq!(story.exit_code(), 0);
        story.assert_restored();
    }
}

#[test]
fn reader_shows_chats_role_by_role() {
    let test_home = TestHome::new();
    let chat =
        r#"{"messages": [{"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "A\n\ncat."}]}"#;
    test_home.file("chat.jsonl", format!("{chat}\n").as_bytes());
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "chat.jsonl"]).run();
    story.wait_for("▾ user").wait_for("▾ assistant").keys("tab enter").wait_for("▸ messages");
    story.keys("enter").wait_for("▾ user").keys("j j enter").wait_gone("▾ user");
    story.wait_for("What is it?").wait_for("cat.").keys("esc").wait_for("▾ user").keys("q");
    assert_eq!(story.exit_code(), 0);
}
