//! Checks that `docs/commands.md` contains the help of every command, as the program prints it. `UPDATE_DOCS=1` writes the page.

use super::cli_support::Sandbox;
use std::fmt::Write as _;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md");

const HEAD: &str = "# Commands\n\n\
    The help of every command, as `gristmill COMMAND --help` prints it. The page is generated:\n\
    `UPDATE_DOCS=1 cargo test --test it commands_page` writes it.\n";

#[test]
fn the_page_holds_the_help_of_every_command() {
    let sandbox = Sandbox::new();
    let mut page = String::from(HEAD);
    add_command(&sandbox, &[], &mut page);
    assert!(page.matches("\n## ").count() > 40, "too few commands: {page}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    for (number, (line, wanted)) in written.lines().zip(page.lines()).enumerate() {
        assert_eq!(line, wanted, "docs/commands.md:{}: run this test with UPDATE_DOCS=1", number + 1);
    }
    assert_eq!(written.len(), page.len(), "docs/commands.md is incomplete: run this test with UPDATE_DOCS=1");
}

/// Adds the help of a command and of all commands below it.
fn add_command(sandbox: &Sandbox, command: &[String], page: &mut String) {
    let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let help = sandbox.run(arguments).ends(0).out;
    let name = ["gristmill"].into_iter().chain(command.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    // One heading level for all, so that `mix` and `mix index` are found in the same way.
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
    for below in commands_of(&help) {
        add_command(sandbox, &[command, &[below]].concat(), page);
    }
}

/// Returns the names of the commands that a help text lists.
fn commands_of(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A line that continues a description has a deeper indentation.
    let names = list.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    names.filter_map(|line| line.split([' ', ',']).next()).filter(|name| *name != "help").map(str::to_owned).collect()
}
