use super::*;
use proptest::prelude::*;

fn expr(field: &str, expr: &str) -> FieldExpr {
    FieldExpr { field: field.to_owned(), expr: expr.to_owned() }
}

fn parts(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

#[test]
fn a_guessed_field_map_becomes_working_code() {
    let fields = [expr("image", "jpg"), expr("caption", "detail.json[caption][0],txt")];
    let code = sample_loader_py("CaptioningSample", &fields, &parts(&["jpg", "detail.json", "txt"]));
    assert!(code.contains("\"image\": raw[\"jpg\"],"));
    assert!(code.contains("\"caption\": first_of(raw, (\"detail.json\", \"caption\", \"0\"), (\"txt\",)),"));
    assert!(code.contains("PARTS = {\n    \"jpg\",\n    \"detail.json\",\n    \"txt\",\n}"));
    assert!(code.contains("# torch.Tensor, required\n"));
}

#[test]
fn required_field_without_guess_has_a_placeholder_line_in_the_template() {
    let code = sample_loader_py("VQASample", &[], &parts(&["bin"]));
    assert!(code.contains("# str, required: put its value here, for example raw[\"txt\"]\n        \"context\": None,"));
    assert!(code.contains("# List[str], default None\n        # \"answers\": raw[\"json\"][\"list\"],"));
    assert!(!code.contains("first_of"));
}

#[test]
fn a_part_name_never_becomes_code() {
    let evil = "x\"]\n__import__('os').system('true')#\u{1f600}\u{e9}";
    let code = sample_loader_py("CaptioningSample", &[expr("image", evil)], &parts(&[evil]));
    assert!(code.lines().all(|line| !line.trim_start().starts_with("__import__")));
    assert!(code.contains(r#""x\"]\n__import__('os').system('true')#\U0001f600\xe9""#));
    let cooker = cooker_py(&parts(&[evil, "b", "B", "class", ""]));
    assert!(cooker.lines().all(|line| !line.trim_start().starts_with("__import__")));
    assert!(cooker.contains("    b_=raw.get(\"B\"),") || cooker.contains("        b_=raw.get(\"B\"),"));
    assert!(cooker.contains("part_class=raw.get(\"class\"),"));
}

#[test]
fn cooker_template_has_its_imports_and_registration() {
    let code = cooker_py(&parts(&["jpg", "txt"]));
    for needed in
        ["@stateless", "CaptioningSample(", "basic_sample_keys(raw)", "cookers = [Cooker(cook)]", "has_subflavors"]
    {
        assert!(code.contains(needed), "{needed}");
    }
    assert!(cooker_py(&[]).contains("class CookedSample(Sample):"));
}

/// Compiles generated code with the installed Python; returns `None` if there is no Python.
fn compiles(code: &str) -> Option<bool> {
    use std::io::Write as _;
    let mut child = std::process::Command::new("python3")
        .args(["-c", "import sys; compile(sys.stdin.buffer.read().decode(), 'x', 'exec')"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(code.as_bytes()).ok()?;
    Some(child.wait().ok()?.success())
}

#[test]
fn every_template_is_valid_python() {
    use gristmill_core::sample_type::SAMPLE_TYPES;
    let found = parts(&["jpg", "detail.json", "txt", "we\"ird\n", ""]);
    let fields = [expr("image", "jpg"), expr("caption", "detail.json[a][0],txt"), expr("not an identifier", "x")];
    let mut all = vec![cooker_py(&found), cooker_py(&[]), cooker_py(&parts(&["txt"])), cooker_py(&parts(&["a.png"]))];
    for class in SAMPLE_TYPES.iter().map(|t| t.class).chain(["my.module:Own", "\"\"\"x:\"\"\"", "Sample"]) {
        for fields in [&fields[..], &[]] {
            all.push(sample_loader_py(class, fields, &found));
            all.push(sample_loader_py(class, fields, &[]));
            all.push(cooker_for(class, fields, &found));
        }
    }
    let together = all.iter().map(|code| format!("compile({}, 'x', 'exec')\n", literal(code))).collect::<String>();
    assert_ne!(compiles(&together), Some(false));
    for code in &all {
        assert!(code.ends_with('\n') && !code.contains("\n\n\n\n") && !code.contains('\t'), "{code}");
    }
}

proptest! {
    #[test]
    fn quoted_python_literal_contains_no_unescaped_quote(text in any::<String>()) {
        let quoted = literal(&text);
        prop_assert!(quoted.is_ascii() && !quoted.contains('\n'));
        let inner = &quoted[1..quoted.len() - 1];
        prop_assert!(!inner.replace("\\\\", "").replace("\\\"", "").contains('"'));
    }
}
