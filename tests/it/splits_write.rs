//! Faults at any moment while edited splits are written: `split.yaml` is the complete old one or the complete new one.

use crate::support::{assert_same, copy_folder, picture, settled_picture};
use gristmill_core::{ExitClass, RunOptions};
use gristmill_ops::engine::splits::{Edit, ExcludeItem, SplitEditor};
use gristmill_ops::job::splits::{conflict, is_conflict, write, write_on};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::RealFs;
use rustix::io::Errno;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const SPLITS: &str = "# by hand\nsplit_parts:\n  train:\n  - s_{0..3}.tar\n  val: []\nexclude: []\n";

fn data_set(root: &Path) {
    let meta = root.join(".nv-meta");
    std::fs::create_dir(&meta).unwrap();
    let counts: Vec<String> = (0..4).map(|n| format!("\"s_{n}.tar\": 10")).collect();
    std::fs::write(meta.join(".info.json"), format!("{{\"shard_counts\": {{{}}}}}", counts.join(", "))).unwrap();
    std::fs::write(meta.join("split.yaml"), SPLITS).unwrap();
    std::fs::set_permissions(meta.join("split.yaml"), std::fs::Permissions::from_mode(0o640)).unwrap();
}

fn edited(root: &Path) -> SplitEditor {
    let mut editor = SplitEditor::open(root, None).unwrap();
    editor.apply(Edit::MoveShards { shards: vec!["s_3.tar".into()], to: Some("val".into()) }).unwrap();
    editor.apply(Edit::Exclude { items: vec![ExcludeItem::sample("s_0.tar", "k")] }).unwrap();
    editor
}

fn options() -> RunOptions {
    RunOptions::default()
}

#[test]
fn split_edits_are_written_and_the_file_mode_kept() {
    let folder = tempfile::tempdir().unwrap();
    data_set(folder.path());
    let mut editor = edited(folder.path());
    let written = write(folder.path(), &editor, &options(), false).unwrap();
    let path = folder.path().join(".nv-meta/split.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let wanted = SPLITS.replace("{0..3}", "{0..2}").replace("val: []", "val:\n  - s_3.tar");
    assert_eq!(text, wanted.replace("exclude: []", "exclude:\n- s_0.tar/k"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(!folder.path().join(".nv-meta/gristmill").exists(), "nothing of ours is left");
    editor.written(written.bytes);
    assert_eq!(editor.pending(), 0);
    assert!(!editor.splits()[1].shards[0].is_moved);
    assert!(write(folder.path(), &editor, &options(), false).unwrap().nothing_to_do);
}

#[test]
fn externally_changed_split_file_is_not_overwritten_without_consent() {
    let folder = tempfile::tempdir().unwrap();
    data_set(folder.path());
    let editor = edited(folder.path());
    assert!(conflict(folder.path(), &editor).unwrap().is_none());
    let path = folder.path().join(".nv-meta/split.yaml");
    let theirs = SPLITS.replace("# by hand", "# by another hand");
    std::fs::write(&path, &theirs).unwrap();
    let failure = write(folder.path(), &editor, &options(), false).unwrap_err();
    assert!(is_conflict(&failure), "{failure}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), theirs);
    let three = conflict(folder.path(), &editor).unwrap().unwrap();
    assert!(three.not_applied.is_empty() && three.theirs == theirs.as_bytes());
    write(folder.path(), &three.merged.unwrap(), &options(), false).unwrap();
    let merged = std::fs::read_to_string(&path).unwrap();
    assert!(merged.starts_with("# by another hand\n") && merged.ends_with("exclude:\n- s_0.tar/k\n"), "{merged}");
    write(folder.path(), &editor, &options(), true).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("# by hand\n"));
}

fn killed_anywhere(fault: fn(u64) -> Fault) {
    let template = tempfile::tempdir().unwrap();
    data_set(template.path());
    let before = settled_picture(template.path());
    let whole = tempfile::tempdir().unwrap();
    copy_folder(template.path(), whole.path());
    let fs = FaultFs::new(Fault::Nothing);
    write_on(&fs, whole.path(), &edited(whole.path()), &options(), false).unwrap();
    let wanted = settled_picture(whole.path());
    assert!(fs.ops() > 5, "only {} operations are counted", fs.ops());
    for at in 0..fs.ops() {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(template.path(), folder.path());
        let editor = edited(folder.path());
        let result = write_on(&FaultFs::new(fault(at)), folder.path(), &editor, &options(), false);
        let after = settled_picture(folder.path());
        assert!(after == before || after == wanted, "operation {at}: neither old nor new ({result:?})");
        write_on(&RealFs, folder.path(), &editor, &options(), false)
            .unwrap_or_else(|failure| panic!("operation {at}: {failure}"));
        assert_same(&settled_picture(folder.path()), &wanted, &format!("operation {at}"));
    }
}

#[test]
fn split_write_killed_at_any_operation_leaves_the_old_or_new_file() {
    killed_anywhere(|at| Fault::Kill { at });
}

#[test]
fn power_cut_at_any_operation_of_a_split_write_leaves_the_old_or_new_file() {
    killed_anywhere(|at| Fault::PowerCut { at });
}

#[test]
fn splits_written_to_a_full_disk_change_nothing() {
    let mut failed = 0;
    for at in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        data_set(folder.path());
        let before = picture(folder.path());
        let fault = FaultFs::new(Fault::Full { at, errno: Errno::NOSPC });
        if let Err(failure) = write_on(&fault, folder.path(), &edited(folder.path()), &options(), false) {
            assert_eq!(failure.class, ExitClass::Environment, "operation {at}: {failure}");
            assert_same(&picture(folder.path()), &before, &format!("operation {at}: {failure}"));
            failed += 1;
        }
    }
    assert!(failed > 2, "only {failed} writes met the full disk");
}
