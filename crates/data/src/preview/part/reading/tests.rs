use super::*;
use crate::preview::tree::tree_line;

fn shown(name: &str, content: &[u8], from: &ReadFrom) -> (ReadingText, Page) {
    let preview = read(name, &content.to_vec(), from, &Cancel::default());
    let Drawable::Reading(reading) = &preview.body else { panic!("{:?} {:?}", preview.body, preview.notes) };
    (reading.as_ref().clone(), preview.page)
}

/// Returns all pages in order.
fn pages(name: &str, content: &[u8]) -> Vec<(String, Page)> {
    let (mut out, mut from) = (Vec::new(), 0);
    loop {
        let (reading, page) = shown(name, content, &ReadFrom::Page(from));
        assert_eq!(page.from, from);
        out.push((reading.text, page));
        if !page.has_more() {
            return out;
        }
        assert!(page.to > from && page.to - from <= PAGE_BYTES as u64 + 1, "{page:?}");
        from = page.to;
    }
}

fn record(text: &str) -> String {
    serde_json::json!({"id": 7, "text": text, "url": "http://example/a"}).to_string()
}

#[test]
fn long_text_is_shown_in_pages_without_loss() {
    let lines: String = (0..100_000).map(|n| format!("line {n} \u{1f600} of \"many\"\n")).collect();
    let lines = lines.trim_end();
    for content in [record(lines), record(lines).replace('\u{1f600}', "\\ud83d\\ude00")] {
        let pages = pages("json", content.as_bytes());
        assert!(pages.len() > 20);
        let whole: Vec<&str> = pages.iter().map(|(text, _)| text.as_str()).collect();
        assert!(whole.join("\n") == lines, "the pages are not the text");
    }
}

#[test]
fn text_without_a_break_is_cut_between_characters() {
    let text = "日本語".repeat(60_000);
    let escaped: String = text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    for content in [record(&text), format!("{{\"text\":\"{escaped}\"}}")] {
        let whole: String = pages("json", content.as_bytes()).into_iter().map(|(text, _)| text).collect();
        assert!(whole == text);
    }
}

#[test]
fn previous_page_ends_where_the_current_page_begins() {
    let words: String = (0..60_000).map(|n| format!("word{n} ")).collect();
    let unbroken: String = (0..40_000).map(|n| format!("\\u4e{:02x}", n % 256)).collect();
    for content in [record(&words), record(&words.replace(' ', "\n")), format!("{{\"text\":\"{unbroken}\"}}")] {
        let forward = pages("json", content.as_bytes());
        let mut at = forward.last().unwrap().1.from;
        while at > 0 {
            let (reading, page) = shown("json", content.as_bytes(), &ReadFrom::Before(at));
            assert_eq!(page.to, at, "{page:?}");
            assert!(page.from < at && !reading.text.contains('\u{fffd}') && !reading.text.contains("\\u"));
            at = page.from;
        }
    }
}

#[test]
fn search_finds_words_on_other_pages_and_wraps_around() {
    let mut lines: Vec<String> = (0..60_000).map(|n| format!("line {n}")).collect();
    lines[3] = "the Needle".into();
    lines[50_000] = "a NEEDLE".into();
    let content = record(&lines.join("\n"));
    let find = |page, is_forward| {
        let from = ReadFrom::Find { words: "needle".into(), page, is_forward };
        let (reading, page) = shown("json", content.as_bytes(), &from);
        (reading.start.map(|at| reading.text[at..at + 6].to_owned()), page.from)
    };
    let (first, far) = find(0, true);
    assert_eq!(first.as_deref(), Some("NEEDLE"));
    assert!(far > 300_000);
    assert_eq!(find(far, true), (Some("Needle".into()), 0), "around the end");
    assert_eq!(find(far, false), (Some("Needle".into()), 0));
    assert_eq!(find(0, false), (Some("NEEDLE".into()), far), "around the beginning");
    let none = shown("json", content.as_bytes(), &ReadFrom::Find { words: "hay".into(), page: 0, is_forward: true });
    assert_eq!((none.0.start, none.1.from), (None, 0));
}

#[test]
fn text_longer_than_the_read_part_of_a_record_has_further_pages() {
    let text = "many words ".repeat((17 << 20) / 11);
    let content = record(&text);
    let (reading, page) = shown("json", content.as_bytes(), &ReadFrom::Before(content.len() as u64 - 200));
    assert!(reading.text.ends_with(' ') && page.from > 16 << 20, "{page:?}");
    let (last, page) = shown("json", content.as_bytes(), &ReadFrom::Page(page.to));
    assert!(text.ends_with(&last.text) && !page.has_more(), "{:?}", last.text);
}

const CHAT: &str = r#"{"id": "c1", "messages": [{"role": "system", "content": "Be brief."},
{"role": "user", "content": [{"type": "text", "text": "What is\nthis?"}, {"type": "image_url", "image_url": {"url": "a.png"}}]},
{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]},
{"role": "tool", "content": "a cat"}, {"role": "assistant", "content": ""}]}"#;

#[test]
fn chat_is_divided_into_headings_of_its_roles() {
    let (reading, _) = shown("json", CHAT.as_bytes(), &ReadFrom::Page(0));
    let headings: Vec<&str> = reading.headings.iter().map(|at| &reading.text[at.clone()]).collect();
    assert_eq!(headings, ["system", "user", "assistant", "tool", "assistant"]);
    assert!(reading.text.starts_with("system\nBe brief.\n\nuser\nWhat is\nthis?\n\n"), "{}", reading.text);
    assert!(reading.text.contains("messages.2.tool_calls.0.function.name: look"), "{}", reading.text);
    let other = r#"{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}]}"#;
    assert_eq!(shown("json", other.as_bytes(), &ReadFrom::Page(0)).0.text, "human\nhi\n\ngpt\nho");
    let list = r#"[{"role": "user", "content": "hi"}]"#;
    assert_eq!(shown("json", list.as_bytes(), &ReadFrom::Page(0)).0.text, "user\nhi");
    let packed = b"\x81\xa8messages\x91\x82\xa4role\xa4user\xa7content\xa2hi";
    assert_eq!(shown("mp", packed, &ReadFrom::Page(0)).0.text, "user\nhi");
}

#[test]
fn chat_tree_shows_roles_instead_of_list_indices() {
    let preview = crate::preview::part("json", &CHAT.as_bytes().to_vec(), &Cancel::default());
    let Drawable::Tree(lines) = &preview.body else { panic!() };
    let roles: Vec<&str> = lines.iter().map(|line| line.title.as_str()).filter(|title| !title.is_empty()).collect();
    assert_eq!(roles, ["system", "user", "text", "assistant", "tool", "assistant"]);
    assert!(lines.iter().filter(|line| line.is_hidden).all(|line| matches!(line.label.as_str(), "role" | "type")));
    // Table rows with a role but without content are not messages.
    let table = crate::preview::part("json", &br#"[{"role": "admin", "name": "x"}]"#.to_vec(), &Cancel::default());
    let Drawable::Tree(lines) = &table.body else { panic!() };
    assert_eq!(lines.iter().map(tree_line).collect::<Vec<_>>(), ["0:", "  role: admin", "  name: x"]);
    assert!(lines.iter().all(|line| line.title.is_empty() && !line.is_hidden));
}

#[test]
fn several_texts_have_their_keys_as_headings_and_a_line_is_jumped_to() {
    let content = r#"{"instruction": "Add.", "input": "1 1", "output": "2", "source": "web"}"#;
    let (reading, _) = shown("json", content.as_bytes(), &ReadFrom::Line(2));
    assert_eq!(reading.text, "instruction\nAdd.\n\ninput\n1 1\n\noutput\n2");
    assert!(reading.text[reading.start.unwrap()..].starts_with("output"));
    let numbers = br#"{"id": 7, "size": [1, 2]}"#;
    assert_eq!(shown("json", numbers, &ReadFrom::Page(0)).0.text, "id: 7\nsize.0: 1\nsize.1: 2");
}

#[test]
fn content_without_text_is_shown_as_bytes_and_control_characters_are_visible() {
    let preview = read("bin", &vec![0, 1, 2, 255], &ReadFrom::Page(0), &Cancel::default());
    assert!(matches!(preview.body, Drawable::Hex(_)));
    let (reading, _) = shown("json", br#"{"text": "\u001b[31mred\u202e\r\n\tx\ud800 \q"}"#, &ReadFrom::Page(0));
    // An invalid escape makes the document invalid JSON, so it is shown unchanged.
    assert!(reading.text.contains("\\q"), "{}", reading.text);
    let (reading, _) = shown("json", br#"{"text": "\u001b[31mred\u202e\r\n\tx\ud800"}"#, &ReadFrom::Page(0));
    assert_eq!(reading.text, "␛[31mred<U+202E>\n    x\u{fffd}");
    let (reading, _) = shown("json", br#"  "one\ntext alone""#, &ReadFrom::Page(0));
    assert_eq!(reading.text, "one\ntext alone");
}

#[test]
fn lead_is_the_beginning_of_the_text_of_a_record() {
    assert_eq!(lead("json", CHAT.as_bytes()), "What is this?");
    let asked = r#"{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "What\n is it?"}]}"#;
    assert_eq!(lead("json", asked.as_bytes()), "What is it?");
    let long = record(&"many words ".repeat(10_000));
    let first = lead("json", &long.as_bytes()[..LEAD_BYTES]);
    assert!(first.starts_with("many words many") && first.chars().count() == 200);
    assert_eq!(lead("json", br#"{"id": 7, "size": [1, 2]}"#), "id: 7 size: [2 items] 0: 1 1: 2");
    assert_eq!(lead("json", b"no \x1b json"), "no ␛ json");
    assert_eq!(lead("txt", b"  a cat\nsat"), "a cat sat");
}
