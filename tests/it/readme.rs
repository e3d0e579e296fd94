//! The README says what is true: its pictures are there, its commands take the flags they show.

use std::path::Path;
use std::process::Command;

fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn every_picture_is_shown_and_every_shown_picture_is_there() {
    let readme = file("README.md");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let shown = |name: &String| readme.contains(&format!("](docs/pictures/{name})"));
    assert!(names.len() >= 3 && names.iter().all(shown), "{names:?}");
    assert_eq!(readme.matches("](docs/pictures/").count(), names.len());
}

/// Commands of the console blocks, continued lines joined.
fn commands() -> Vec<String> {
    let joined = file("README.md").replace("\\\n", " ");
    joined.lines().filter_map(|line| line.strip_prefix("$ gristmill")).map(str::to_owned).collect()
}

#[test]
fn every_flag_in_a_command_is_a_flag_of_that_command() {
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
        let Some(name) = words.first().filter(|word| !word.starts_with('-')) else { continue };
        // Of some the second word is a command, too.
        let has_second = *name == "mix" || (*name == "splits" && words.get(1) != Some(&"coco"));
        let name_and_more = words.iter().take(if has_second { 2 } else { 1 }).copied().chain(["--help"]);
        let help = Command::new(env!("CARGO_BIN_EXE_gristmill")).args(name_and_more).output().unwrap();
        assert!(help.status.success(), "gristmill {name} --help");
        let help = String::from_utf8(help.stdout).unwrap();
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "gristmill {name} does not know {flag}");
        }
    }
}

#[test]
fn every_exit_code_of_the_program_is_in_the_table() {
    use gristmill::model::ExitClass;
    let readme = file("README.md");
    for class in [ExitClass::Data, ExitClass::Usage, ExitClass::Environment, ExitClass::Interrupted] {
        let code = class.code();
        assert!(readme.contains(&format!("| {code} |")) || readme.contains(&format!("| {code}, ")), "exit code {code}");
    }
}
