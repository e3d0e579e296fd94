//! How a mount ends: by signals, by `umount`, with its process, and in the background.

use super::{is_mounted, prepared, unmount, wait_until_unmounted, Mount};
use rustix::process::{kill_process, Pid, Signal};
use std::io::{BufRead, Read};
use std::process::{Command, Stdio};

fn ends_by(signal: Signal, code: i32) {
    let Some(sandbox) = prepared() else { return };
    let mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    assert!(mount.at.join("a/1.txt").is_file());
    mount.kill(signal);
    assert_eq!(mount.end(), (code, String::new()));
    assert!(!sandbox.has("mnt"));
}

#[test]
fn sigint_ends_a_mount_with_exit_code_130() {
    ends_by(Signal::INT, 130);
}

#[test]
fn sigterm_ends_a_mount_with_exit_code_143() {
    ends_by(Signal::TERM, 143);
}

#[test]
fn sighup_ends_a_mount_with_exit_code_129() {
    ends_by(Signal::HUP, 129);
}

#[test]
fn sigint_ends_energon_mount_with_exit_code_0() {
    let Some(sandbox) = prepared() else { return };
    let mount = Mount::say(&sandbox, "energon mount data far/away/mnt -s", "far/away/mnt");
    assert_eq!(mount.line, "Mounting data at far/away/mnt...\nMount is ready to go.\n");
    mount.kill(Signal::INT);
    assert_eq!(mount.end(), (0, String::new()));
    assert!(!sandbox.has("far"), "folders that were made are removed");
}

#[test]
fn a_killed_process_leaves_no_mount() {
    let Some(sandbox) = prepared() else { return };
    std::fs::create_dir(sandbox.path("mnt")).unwrap();
    let mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    assert!(mount.at.metadata().unwrap().is_dir() && mount.at.join("b.txt").is_file());
    mount.kill(Signal::KILL);
    wait_until_unmounted(&mount.at);
    Mount::say(&sandbox, "mount data mnt", "mnt").unmount();
}

#[test]
fn open_files_can_be_read_after_a_signal() {
    let Some(sandbox) = prepared() else { return };
    let mut mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    let mut file = std::fs::File::open(mount.at.join("a/1.txt")).unwrap();
    mount.kill(Signal::TERM);
    let mut line = String::new();
    mount.err.read_line(&mut line).unwrap();
    assert!(line.contains("is in use"), "{line}");
    wait_until_unmounted(&mount.at);
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "short a/1");
    drop(file);
    assert_eq!(mount.end(), (143, String::new()));
}

#[test]
fn second_signal_ends_a_busy_mount_immediately() {
    let Some(sandbox) = prepared() else { return };
    let mut mount = Mount::say(&sandbox, "mount data mnt", "mnt");
    let file = std::fs::File::open(mount.at.join("b.txt")).unwrap();
    mount.kill(Signal::INT);
    mount.err.read_line(&mut String::new()).unwrap();
    mount.kill(Signal::INT);
    assert_eq!(mount.end().0, 130);
    let error = std::io::copy(&mut &file, &mut std::io::sink()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
}

#[test]
fn detached_mount_is_ready_when_the_command_returns() {
    let Some(sandbox) = prepared() else { return };
    for line in ["mount data mnt --detach", "energon mount -d data mnt"] {
        std::fs::create_dir_all(sandbox.path("mnt")).unwrap();
        let at = sandbox.path("mnt").canonicalize().unwrap();
        let ran = sandbox.say(line).ends(0);
        assert_eq!(ran.err, "");
        assert!(ran.out.contains("umount mnt") || ran.out.ends_with("Mount is ready to go.\n"), "{}", ran.out);
        assert_eq!(ran.out.lines().count(), if line.starts_with("energon") { 2 } else { 1 });
        assert!(is_mounted(&at));
        assert!(std::fs::read_dir(&at).unwrap().count() >= 3);
        unmount(&at);
    }
    let value = sandbox.say("mount data mnt --detach --json").ends(0).json("ok");
    assert_eq!(value["mounted_at"], "mnt");
    unmount(&sandbox.path("mnt").canonicalize().unwrap());
    sandbox.say("mount nothing mnt --detach").ends(3).complains("nothing");
}

#[test]
fn mount_in_use_as_working_folder_ends_after_its_user() {
    let Some(sandbox) = prepared() else { return };
    for signal in [Signal::TERM, Signal::KILL] {
        let mut mount = Mount::say(&sandbox, "mount data mnt", "mnt");
        let mut inside = Command::new("cat");
        let inside = inside.current_dir(mount.at.join("a")).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut inside = inside.spawn().unwrap();
        mount.kill(signal);
        if signal == Signal::TERM {
            let mut line = String::new();
            mount.err.read_line(&mut line).unwrap();
            assert!(line.contains("is in use"), "{line}");
        }
        wait_until_unmounted(&mount.at);
        drop(inside.stdin.take());
        assert!(inside.wait().unwrap().success());
        assert_eq!(mount.end(), (if signal == Signal::TERM { 143 } else { -1 }, String::new()));
    }
}

#[test]
fn later_mount_at_the_same_folder_is_not_unmounted() {
    let Some(sandbox) = prepared() else { return };
    let first = Mount::say(&sandbox, "mount data mnt", "mnt");
    let file = std::fs::File::open(first.at.join("b.txt")).unwrap();
    // As `umount -l` does.
    gristmill_fuse::unmount(&first.at, true).unwrap();
    let second = Mount::say(&sandbox, "energon mount data mnt", "mnt");
    let mut first = first;
    first.kill(Signal::TERM);
    let mut line = String::new();
    first.err.read_line(&mut line).unwrap();
    assert!(line.contains("another mount is over this one"), "{line}");
    assert!(is_mounted(&second.at) && second.at.join("b.txt").is_file());
    drop(file);
    assert_eq!(first.child.wait().unwrap().code(), Some(143));
    assert!(second.at.join("b.txt").is_file());
    second.unmount();
}

#[test]
fn killed_mount_reports_another_mount_over_it() {
    let Some(sandbox) = prepared() else { return };
    std::fs::create_dir(sandbox.path("mnt")).unwrap();
    let mut first = Mount::say(&sandbox, "mount data mnt", "mnt");
    let cover = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&first.at).status().unwrap();
    assert!(cover.success());
    first.kill(Signal::KILL);
    let mut said = String::new();
    first.err.read_to_string(&mut said).unwrap();
    assert!(said.contains("another mount is over it") && said.contains("umount") && said.contains("twice"), "{said}");
    unmount(&first.at);
    let error = std::fs::read_dir(&first.at).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotConnected);
    gristmill_fuse::unmount(&first.at, true).unwrap();
    assert!(!is_mounted(&first.at));
}

#[test]
fn signals_are_passed_to_the_command_of_a_private_mount() {
    let Some(sandbox) = prepared() else { return };
    std::fs::create_dir(sandbox.path("mnt")).unwrap();
    for (signal, code) in [(Signal::INT, 8), (Signal::TERM, 9)] {
        let script = "trap 'exit 8' INT; trap 'exit 9' TERM; echo ready; while read -r line; do :; done; exit 1";
        let mut command = sandbox.command(["mount", "data", "mnt", "--shell", "--", "sh", "-c", script]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Waiting for the process would close its input.
        let input = child.stdin.take();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.ends_with("ready\n") {
            assert!(out.read_line(&mut line).unwrap() > 0, "{line}");
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop(input);
    }
    let ran = sandbox.run(["mount", "data", "mnt", "--shell", "--", "sh", "-c", "kill -TERM $$"]);
    ran.ends(143);
}

#[test]
fn signals_reach_an_unmounting_command_and_end_a_busy_private_mount() {
    let Some(sandbox) = prepared() else { return };
    std::fs::create_dir(sandbox.path("mnt")).unwrap();
    let unmounts = "trap 'exit 9' TERM; umount mnt; echo ready; while read -r line; do :; done; exit 1";
    let leaves = "exec 3<mnt/b.txt 4<&0; (echo ready; exec cat <&4) & exit 0";
    for (script, code) in [(unmounts, 9), (leaves, 143)] {
        let mut command = sandbox.command(["mount", "data", "mnt", "--shell", "--", "sh", "-c", script]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.ends_with("ready\n") {
            assert!(out.read_line(&mut line).unwrap() > 0, "{line}");
        }
        if code == 143 {
            let mut busy = String::new();
            std::io::BufReader::new(child.stderr.take().unwrap()).read_line(&mut busy).unwrap();
            assert!(busy.contains("is in use"), "{busy}");
        }
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop(input);
    }
}

#[test]
fn private_mount_exists_only_for_its_command() {
    let Some(sandbox) = prepared() else { return };
    std::fs::create_dir(sandbox.path("mnt")).unwrap();
    let ran = sandbox.say("mount data mnt --shell -- cat mnt/a/1.txt mnt/b.txt").ends(0);
    assert!(ran.out.ends_with("ends it\nshort a/1short b"), "{}", ran.out);
    let ran = sandbox.run(["mount", "data", "mnt", "--shell", "--", "sh", "-c", "touch mnt/x; exit 7"]).ends(7);
    assert!(ran.err.contains("Read-only file system"), "{}", ran.err);
    assert!(!is_mounted(&sandbox.path("mnt").canonicalize().unwrap()));
}
