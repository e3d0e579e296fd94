//! Refusals before the mount.

use super::{prepared, Mount};
use std::process::Command;

#[test]
fn a_mount_point_must_be_an_empty_folder_outside_of_the_data() {
    let Some(sandbox) = prepared() else { return };
    sandbox.write("full/file", "");
    sandbox.write("file", "");
    for (line, why, hint) in [
        ("mount data none/here", "nor its parent", "mkdir -p none/here"),
        ("mount data file", "not a folder", ""),
        ("mount data full", "not empty", "--nonempty"),
        ("mount data .", "hide the data set", "outside"),
        ("mount data data", "hide the data set", "outside"),
        ("mount data data/inside", "inside of the data set", "outside"),
        ("mount data s3://bucket/x", "not supported", ""),
    ] {
        sandbox.say(line).ends(2).complains(why).complains(hint);
    }
    let mount = Mount::say(&sandbox, "mount data full --nonempty", "full");
    assert!(mount.at.join("b.txt").exists() && !mount.at.join("file").exists());
    sandbox.say("mount data full").ends(2).complains("is mounted there").complains("umount full");
    mount.unmount();
    assert!(sandbox.has("full/file"));
}

#[test]
fn data_that_cannot_be_mounted_is_refused() {
    let Some(sandbox) = prepared() else { return };
    sandbox.tar("raw/0.tar", ["a"]);
    sandbox.write("lines.jsonl", "{}\n");
    sandbox.say("mount none mnt").ends(3).complains("none");
    sandbox.say("mount data mnt --split none").ends(1).complains("no split 'none'").complains("train");
    sandbox.say("mount lines.jsonl mnt --layout all").ends(2).complains("--layout");
    sandbox.say("mount lines.jsonl mnt --split a").ends(2).complains("--split");
    for flags in ["--layout all", "--split train"] {
        let ran = sandbox.say(&format!("mount raw mnt {flags}")).ends(2);
        ran.complains("not prepared").complains("hint: gristmill prepare ");
    }
    sandbox.write("media/a.txt", "");
    sandbox.say("mount media mnt --layout folders").ends(2).complains("loose files");
    sandbox.say("mount data mnt --detach --shell").ends(2);
    for data in ["raw", "lines.jsonl", "none"] {
        let ran = sandbox.say(&format!("energon mount {data} mnt")).ends(1);
        assert!(data == "none" || ran.err.contains(&format!("gristmill mount {data} mnt")), "{}", ran.err);
    }
    sandbox.say("energon mount raw mnt").complains("it is not prepared; this command");
    sandbox.say("energon mount lines.jsonl mnt").complains("its kind is 'JSONL'");
    assert!(!sandbox.has("mnt"), "nothing was made");
}

#[test]
fn mount_of_a_split_states_the_number_of_its_samples() {
    let Some(sandbox) = prepared() else { return };
    sandbox.write(
        "data/.nv-meta/split.yaml",
        "split_parts:\n  train:\n  - 0.tar\n  - 1.tar\n  val: []\nexclude:\n- 1.tar\n- 0.tar/a/1\n",
    );
    sandbox.say("mount data mnt --split train --dry-run").ends(0).says("split train, 1 sample)");
    sandbox
        .say("mount data mnt --split val --dry-run")
        .ends(0)
        .says("split val, 0 samples)")
        .complains("has no samples");
    sandbox.say("mount data mnt --dry-run").ends(0).says("3 samples)");
}

#[test]
fn empty_data_are_refused_and_dry_run_mounts_nothing() {
    let Some(sandbox) = super::prepared() else { return };
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.say("mount empty mnt").ends(1).complains("nothing to show");
    for flags in ["", " --detach"] {
        sandbox.say(&format!("mount data mnt --dry-run{flags}")).ends(0).says("would mount data");
    }
    assert!(!sandbox.has("mnt"));
}

#[test]
fn wrong_fuse_device_is_reported_with_a_hint() {
    let Some(sandbox) = prepared() else { return };
    let inner = sandbox.command(["mount", "data", "mnt"]);
    let script = "mount --bind /dev/null /dev/fuse && exec \"$0\" \"$@\"";
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "sh", "-c", script]).arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(inner.get_current_dir().unwrap());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let ran = outer.output().unwrap();
    let printed = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(3), "{printed}");
    assert!(printed.contains("/dev/fuse is not the device of FUSE") && printed.contains("mknod"), "{printed}");
}

#[test]
fn media_folders_are_mounted_without_the_folders_above_and_name_what_is_left_out() {
    let Some(sandbox) = super::sandbox() else { return };
    sandbox.write("all/media/a.txt", "a");
    sandbox.write("all/b.txt", "b");
    std::os::unix::fs::symlink("..", sandbox.path("all/media/up")).unwrap();
    std::os::unix::fs::symlink("nowhere", sandbox.path("all/media/gone.txt")).unwrap();
    let ran = sandbox.say("mount all/media mnt --dry-run").ends(1).says("1 sample)");
    ran.complains("1 entry that is no file, such as 'gone.txt'");
}
