//! Copying files and folders.

use super::cli_support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.tar", b"first");
    sandbox.write("in/sub/b.tar", vec![7; 3 << 20]);
    sandbox.write("in/sub/c.txt", b"");
    sandbox
}

#[test]
fn cp_copies_refuses_and_compares_a_folder() {
    let sandbox = sandbox();
    let preview = sandbox.say("cp in out --dry-run").ends(0);
    preview.says("in/sub/b.tar → out/sub/b.tar").says("Would copy 3 files of 3.0 MiB to out. Nothing was written.");
    assert!(!sandbox.has("out"));
    sandbox.say("cp in out").ends(0).says("Copied 3 files of 3.0 MiB to out.").says("gristmill cp in out");
    assert_eq!(sandbox.read("out/sub/b.tar"), sandbox.read("in/sub/b.tar"));
    assert!(!sandbox.has("out/cp.gristmill") && !sandbox.has("out.gristmill"));
    let refused = sandbox.say("cp in out").ends(2);
    refused.complains("there is a file of that name already, and at 2 other targets").complains("--if-changed");
    let skipped = sandbox.say("cp in out --if-changed --json").ends(0).json("ok");
    assert_eq!((&skipped["files"], &skipped["skipped"]["by_content"]), (&0.into(), &3.into()));
    sandbox.write("in/a.tar", b"another");
    sandbox.say("cp in out --if-changed").ends(0).says("Copied 1 file").says("Skipped 2 files with contents equal");
    assert_eq!(sandbox.read("out/a.tar"), b"another");
    sandbox.say("cp in out --force-overwrite").ends(0).says("Copied 3 files");
    sandbox.say("cp in out --force-overwrite --if-changed").ends(2);
}

#[test]
fn target_names_follow_files_globs_and_trailing_slashes() {
    let sandbox = sandbox();
    sandbox.say("cp in/a.tar copy.tar").ends(0).says("Copied 1 file of 5 B to copy.tar");
    sandbox.say("cp in/a.tar into/").ends(0);
    sandbox.say("cp in/a.tar copy.tar several").ends(0);
    sandbox.say("cp in/**/*.tar globs --exclude a*").ends(0);
    for name in ["copy.tar", "into/a.tar", "several/a.tar", "several/copy.tar", "globs/sub/b.tar"] {
        assert!(sandbox.has(name), "{name}");
    }
    assert!(!sandbox.has("globs/a.tar") && !sandbox.has("globs/sub/c.txt"));
    sandbox.say("cp in/*.zip out").ends(2).complains("no file fits the pattern");
    sandbox.say("cp in out --include *.zip").ends(2).complains("no file fits --include and --exclude");
    sandbox.say("cp in out --include a**b").ends(2).complains("'a**b'");
    sandbox.say("cp none out").ends(3).complains("no such file or folder");
    sandbox.say("cp in").ends(2);
    sandbox.say("cp in ftp://host/x").ends(2).complains("there are no addresses of ftp://");
    sandbox.say("cp in hf://datasets/o/n").ends(2).complains("hf:// cannot be written");
    assert!(!sandbox.has("out"));
}

#[test]
fn cp_reports_files_it_cannot_copy_and_copies_the_rest() {
    let sandbox = sandbox();
    std::os::unix::fs::symlink("nowhere", sandbox.path("in/dangling")).unwrap();
    std::fs::create_dir(sandbox.path("in/empty")).unwrap();
    std::fs::create_dir(sandbox.path("in/up")).unwrap();
    std::os::unix::fs::symlink("..", sandbox.path("in/up/link")).unwrap();
    let ran = sandbox.say("cp in out").ends(1);
    let ran = ran.complains("in/up/link: it leads back to").complains("in/empty: it is empty");
    assert!(!ran.err.contains("in/up: it is empty"), "{}", ran.err);
    ran.complains("in/dangling").complains("so it is not copied").says("Copied 3 files");
    sandbox.say("cp in other --problems-ok").ends(0);
    sandbox.say("cp in third --strict").ends(3).complains("in/dangling");
    assert!(!sandbox.has("third") && !sandbox.has("out/empty"));
}

#[test]
fn saved_cp_plan_runs_from_any_folder() {
    let sandbox = sandbox();
    sandbox.say("cp in/a.tar target/ --save-plan cp.yaml --dry-run").ends(0);
    assert!(sandbox.text("cp.yaml").contains("/target/"), "{}", sandbox.text("cp.yaml"));
    sandbox.say("run cp.yaml").ends(0).says("Copied 1 file");
    assert_eq!(sandbox.read("target/a.tar"), b"first");
}
