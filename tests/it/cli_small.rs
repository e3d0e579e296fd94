//! The small commands: keys, doctor, bug report, completions, manual pages, jobs.

use super::cli_support::Sandbox;
use std::io::Read;
use std::process::Stdio;

#[test]
fn keys_command_lists_bindings_by_context() {
    let sandbox = Sandbox::new();
    sandbox.say("keys").ends(0).says("everywhere").says("Ctrl-c");
    let value = sandbox.say("keys --json").ends(0).json("ok");
    let sections = value["keys"].as_array().unwrap();
    assert!(sections.iter().any(|s| s["where"] == "home"));
    assert!(sections.iter().all(|s| !s["keys"].as_array().unwrap().is_empty()));
}

#[test]
fn keys_can_be_drawn_in_ascii() {
    let ran = Sandbox::new().say("keys --ascii").ends(0);
    assert!(ran.out.is_ascii(), "{}", ran.out.lines().find(|line| !line.is_ascii()).unwrap_or_default());
}

#[test]
fn completions_exist_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        sandbox.run(["completions", shell]).ends(0).says("gristmill").says("field-map");
    }
    let bash = sandbox.say("completions bash").ends(0);
    for names in ["CrudeWebdataset TextSample", "CaptioningSample", "high-contrast", "nanosets splits"] {
        assert!(names.split(' ').all(|name| bash.out.contains(name)), "{names}");
    }
    sandbox.say("completions klingon").ends(2).complains("bash");
}

#[test]
fn manual_pages_exist_for_the_program_and_each_command() {
    let sandbox = Sandbox::new();
    sandbox.say("man").ends(0).says(".TH gristmill 1").says("prepare");
    sandbox.say("man prepare").ends(0).says(".TH gristmill-prepare 1").says("split\\-ratio");
    sandbox.say("man splits").ends(0).says(".TH gristmill-splits 1");
    sandbox.say("man browse").ends(0).says(".TH gristmill-browse 1");
    sandbox.say("man frobnicate").ends(2).complains("no such command");
}

#[test]
fn a_manual_page_lists_the_options_of_every_command_below_it() {
    let sandbox = Sandbox::new();
    let splits = sandbox.say("man splits").ends(0);
    splits.says("GRISTMILL SPLITS MOVE").says("\\-\\-pattern").says("GRISTMILL SPLITS CHECK").says("excludes\\-to");
    sandbox.say("man splits move").ends(0).says(".TH gristmill-splits-move 1").leaves_out("excludes\\-to");
    let program = sandbox.say("man").ends(0).says("GRISTMILL MIX NEW").says("GRISTMILL PACK").says("minlen");
    assert_eq!(
        program.out.matches("\n\\fB\\-\\-break\\-lock").count(),
        1,
        "an option that holds everywhere is listed once"
    );
}

#[test]
fn help_command_prints_the_same_as_the_help_flag() {
    let sandbox = Sandbox::new();
    for command in ["", "prepare", "splits move", "mix", "energon prepare"] {
        let help = sandbox.say(&format!("help {command}")).ends(0);
        let flag = sandbox.say(&format!("{command} --help")).ends(0);
        assert!(help.out.contains("Usage:"), "{}", help.out);
        assert_eq!(help.out, flag.out, "{command}");
    }
    sandbox.say("help prepar").ends(2).complains("did you mean 'prepare'?");
    sandbox.say("help splits mvoe").ends(2).complains("did you mean 'move'?");
}

#[test]
fn mistyped_commands_get_a_suggestion() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    for (line, meant) in [
        ("prepar data", "did you mean 'prepare'?"),
        ("splits mvoe", "did you mean 'gristmill splits move'?"),
        ("mix chek a.yaml", "did you mean 'check'?"),
        ("nanosets mrge x", "did you mean 'merge'?"),
        ("energon prepar data", "did you mean 'prepare'?"),
        ("modalities data create_raw_idx", "did you mean 'create_raw_index'?"),
        ("man splits mvoe", "did you mean 'move'?"),
    ] {
        let ran = sandbox.say(line);
        assert!(ran.code == 2 || line == "splits mvoe", "{line}: {}", ran.code);
        ran.complains(meant);
    }
    sandbox.say("splits dta").ends(3).complains("no such file");
    sandbox.say("mix frobnicate").ends(2).complains("the commands are new, index, check");
}

#[test]
fn doctor_checks_access_rights_of_an_address() {
    let sandbox = Sandbox::new();
    let ran = sandbox.say("doctor mem://doctor/set").ends(0).leaves_out("program:").says("latency: ");
    let ran = ran.says("list: yes").says("read: it has no object").says("write: yes");
    ran.says("delete: yes");
    let value = sandbox.say("doctor mem://doctor/set --read-only --json").ends(0).json("ok");
    let checks: Vec<&str> = value["checks"].as_array().unwrap().iter().map(|c| c["check"].as_str().unwrap()).collect();
    assert_eq!(checks, ["latency", "list", "read", "unfinished uploads"]);
    sandbox.say("doctor mem://doctor/set --abort-uploads --yes").ends(0).says("No upload is older than");
    sandbox.say("doctor --abort-uploads").ends(2).complains("it belongs to the address of a store");
    sandbox.say("doctor work --read-only").ends(2).complains("'--read-only'");
    sandbox.say("doctor mem://b --abort-uploads --older-than 3").ends(2).complains("an age such as 30m");
    sandbox.say("browse mem://").ends(0);
    sandbox.say("info mem://").ends(0);
    sandbox.say("ls").ends(2).complains("gristmill browse PATH opens a data set");
    sandbox.say("doctor mem://").ends(2).complains("it has no bucket");
}

#[test]
fn doctor_checks_machine_and_data_set() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("doctor").says("terminal:").says("scratch folder:").says("open files:");
    let value = sandbox.say("doctor data --json").ends(0).json("ok");
    let checks: Vec<&str> = value["checks"].as_array().unwrap().iter().map(|c| c["check"].as_str().unwrap()).collect();
    assert!(
        checks.contains(&"lock") && checks.contains(&"write access") && checks.contains(&"interrupted publication"),
        "{checks:?}"
    );
    sandbox.say("doctor nowhere").ends(3).complains("nowhere");
}

#[test]
fn bug_report_has_versions_and_no_private_names() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let output = sandbox
        .command(["bug-report"])
        .env("SSH_TTY", "/dev/pts/secret")
        .env("TMUX", "/tmp/secret,1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("sqlite: 3.") && text.contains("energon: 7.4.1"), "{text}");
    assert!(text.contains("TMUX: set") && !text.contains("secret"), "{text}");
    assert!(!text.contains(sandbox.path("").to_str().unwrap()));
    sandbox.say("bug-report --json").ends(0).json("ok");
}

#[test]
fn jobs_without_runs_are_an_empty_list() {
    let sandbox = Sandbox::new();
    sandbox.say("jobs").ends(0).says("No running or interrupted jobs");
    assert_eq!(sandbox.say("jobs --json").ends(0).json("ok")["jobs"].as_array().unwrap().len(), 0);
}

#[test]
fn closed_stdout_is_not_an_error() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.command(["keys"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{err}");
    assert!(err.is_empty(), "{err}");
}

#[test]
fn a_full_disk_at_stdout_is_reported() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let output = Sandbox::new().command(["keys"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("writing the output"));
}

#[test]
fn log_is_written_only_with_log_level() {
    let sandbox = Sandbox::new();
    let plain = sandbox.say("keys").ends(0);
    let log = sandbox.path("../home/state/gristmill/log");
    assert!(!log.exists());
    let ran = sandbox.say("keys --log-level debug").ends(0);
    assert!(ran.out == plain.out && ran.err.is_empty(), "nothing of it on the terminal");
    let file = std::fs::read_dir(&log).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(file).unwrap().contains("started"));
}
