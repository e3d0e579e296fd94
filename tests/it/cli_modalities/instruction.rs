//! Conversations rendered with a chat template.

use super::{case, expected, golden, replayed};

#[test]
fn prepared_instruction_data_equal_those_of_modalities() {
    for (name, folder) in [
        ("instruction_tuning", "chat_b8419ad"),
        ("instruction_tuning_references", "chat_b8419ad"),
        ("instruction_tuning_special_tokens", "chat_7f5409d"),
    ] {
        is_prepared_as_there(name, folder);
    }
}

fn is_prepared_as_there(case_name: &str, folder: &str) {
    let sandbox = case(case_name);
    replayed(&sandbox, case_name, "prepare_instruction_tuning_data", "");
    let mut names: Vec<_> = std::fs::read_dir(golden(case_name).join("expected").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 13);
    for name in &names {
        let file = format!("{folder}/{name}");
        assert_eq!(sandbox.read(&format!("expected/{file}")), expected(case_name, &file), "{case_name} {name}");
    }
    let mut made: Vec<_> = std::fs::read_dir(sandbox.path("expected").join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".gristmill"))
        .collect();
    made.sort();
    assert_eq!(made, names);
}

#[test]
fn template_with_only_empty_texts_is_named_as_a_reason() {
    let sandbox = case("instruction_tuning");
    let config = sandbox.text("input/it.yaml");
    let (before, rest) = config.split_once("jinja2_chat_template: ").unwrap();
    let (_, after) = rest.split_once("chat_template_data:").unwrap();
    sandbox.write(
        "input/it.yaml",
        format!("{before}jinja2_chat_template: '{{{{ missing }}}}'\nchat_template_data:{after}"),
    );
    sandbox.say("modalities instruction input/it.yaml").ends(1).complains("jq_pattern in input/pack.yaml");
}

#[test]
fn invalid_conversations_are_skipped_or_end_the_run() {
    let sandbox = case("instruction_tuning");
    let good = sandbox.text("input/chat.jsonl");
    let bad = "{\"id\": 1}\nnot json\n{\"conversations\": [{\"from\": \"stranger\", \"value\": \"x\"}]}\n";
    sandbox.write("input/chat.jsonl", format!("{good}{bad}"));
    let command = "modalities data prepare_instruction_tuning_data --config_file_path input/it.yaml";
    let ran = sandbox.say(command).ends(0).complains("role mapping");
    assert!(ran.err.contains("line 13") && ran.err.contains("no 'conversations'"), "{}", ran.err);
    let train = "expected/chat_b8419ad/chat_out_train.b8419ad.jsonl";
    assert_eq!(sandbox.read(train), expected("instruction_tuning", "chat_b8419ad/chat_out_train.b8419ad.jsonl"));
    let result = sandbox.say("modalities instruction input/it.yaml --json").ends(1).json("problems");
    let of_kind =
        |kind: &str| result["problems"].as_array().unwrap().iter().filter(|problem| problem["kind"] == kind).count();
    assert_eq!((of_kind("bad-conversation"), of_kind("bad-line")), (2, 1), "{result:#}");
    sandbox.say(&format!("{command} --compat")).ends(1).complains("line 13");
}
