use super::*;
use crate::operations::{start, CopyFiles};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{ExitClass, ProblemKind, RunOptions, Severity};
use gristmill_storage::fs::RealFs;
use gristmill_storage::memory_store::put;
use gristmill_storage::publish::write_file;
use gristmill_storage::walk::Walk;
use std::collections::BTreeMap;
use std::sync::Arc;

fn plan(sources: &[&Path], target: impl AsRef<Path>) -> CopyPlan {
    CopyPlan {
        version: PLAN_VERSION,
        sources: sources.iter().map(|path| path.to_path_buf()).collect(),
        target: target.as_ref().to_owned(),
        include: Vec::new(),
        exclude: Vec::new(),
        if_changed: false,
        overwrite: false,
    }
}

fn run(plan: &CopyPlan) -> Outcome<CopyReport> {
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    start::<CopyFiles, _>(plan.clone(), false, options, Arc::new(RealFs)).unwrap().wait()
}

/// Returns all files below a folder or an address, by their relative names.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let walk = Walk::new(root).into_iter().map(Result::unwrap).filter(|entry| entry.kind().is_file());
    walk.map(|entry| {
        let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        (name, files::read(entry.path()).unwrap())
    })
    .collect()
}

/// Creates a folder with files in subfolders, one of them larger than the part that is copied at a time.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a.tar", vec![1; 10]), ("sub/b.tar", vec![2; (3 << 20) + 7]), ("sub/c.txt", Vec::new())] {
        let path = dir.path().join("in").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, &path, &bytes, 0o640).unwrap();
    }
    dir
}

fn problems(report: &CopyReport) -> Vec<(Severity, ProblemKind)> {
    report.findings.problems.iter().map(|problem| (problem.severity, problem.kind)).collect()
}

#[test]
fn folders_are_copied_to_a_store_within_it_and_back() {
    let dir = folder();
    let (input, back) = (dir.path().join("in"), dir.path().join("new/back"));
    let (one, two) = (Path::new("mem://cp-trip/one"), Path::new("mem://cp-trip/two"));
    let expected = tree(&input);
    for (from, to) in [(input.as_path(), one), (one, two), (two, &back)] {
        let report = run(&plan(&[from], to)).unwrap();
        assert_eq!((report.files, report.bytes), (3, (3 << 20) + 17), "{}", to.display());
        assert_eq!(tree(to), expected, "{}", to.display());
        assert_eq!(report.findings.problems, []);
    }
    assert_eq!(std::fs::read_dir(back.parent().unwrap()).unwrap().count(), 1, "no run folder is left");
}

#[test]
fn file_is_copied_to_the_target_name_or_into_the_target_folder() {
    let dir = folder();
    let file = dir.path().join("in/a.tar");
    for (target, expected) in [
        ("mem://cp-names/x", "mem://cp-names/x"),
        ("mem://cp-names/y/", "mem://cp-names/y/a.tar"),
        ("mem://cp-names/y", "mem://cp-names/y/a.tar"),
        ("mem://cp-names", "mem://cp-names/a.tar"),
    ] {
        run(&CopyPlan { overwrite: true, ..plan(&[&file], target) }).unwrap();
        assert_eq!(files::read(expected).unwrap(), [1; 10], "{target}");
    }
    run(&plan(&[Path::new("mem://cp-names/x")], dir.path().join("z/"))).unwrap();
    run(&plan(&[Path::new("mem://cp-names/x"), &file], dir.path().join("w"))).unwrap();
    assert_eq!(tree(&dir.path().join("z")).into_keys().collect::<Vec<_>>(), ["x"]);
    assert_eq!(tree(&dir.path().join("w")).into_keys().collect::<Vec<_>>(), ["a.tar", "x"]);
}

#[test]
fn patterns_choose_files_and_keep_their_folders() {
    let dir = folder();
    let input = dir.path().join("in");
    let store = Path::new("mem://cp-globs/in");
    run(&plan(&[&input], store)).unwrap();
    let names = |plan: CopyPlan, target: &str| {
        run(&plan).unwrap();
        tree(Path::new(target)).into_keys().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(plan(&[&store.join("**/*.tar")], "mem://cp-globs/1"), "mem://cp-globs/1"), "a.tar sub/b.tar");
    assert_eq!(names(plan(&[&input.join("*.tar")], "mem://cp-globs/2"), "mem://cp-globs/2"), "a.tar");
    assert_eq!(names(plan(&[&input.join("s*/[bc]*")], "mem://cp-globs/3"), "mem://cp-globs/3"), "sub/b.tar sub/c.txt");
    let chosen =
        CopyPlan { include: vec!["*.tar".into()], exclude: vec!["sub/*".into()], ..plan(&[store], "mem://cp-globs/4") };
    assert_eq!(names(chosen, "mem://cp-globs/4"), "a.tar");
    let of_bucket = plan(&[Path::new("mem://cp-globs/[34]/**")], "mem://cp-globs/5");
    assert_eq!(names(of_bucket, "mem://cp-globs/5"), "3/sub/b.tar 3/sub/c.txt 4/a.tar");
    for wrong in [plan(&[&store.join("*.zip")], "mem://cp-globs/6"), plan(&[&store.join("a**b")], "mem://cp-globs/6")] {
        assert_eq!(run(&wrong).unwrap_err().class, ExitClass::Usage);
    }
    let none = CopyPlan { include: vec!["*.zip".into()], ..plan(&[store], "mem://cp-globs/6") };
    assert!(run(&none).unwrap_err().why.contains("--include"));
    assert!(run(&plan(&[&store.join("none")], "mem://cp-globs/6")).unwrap_err().is_missing());
}

#[test]
fn existing_targets_are_refused_before_writing() {
    let dir = folder();
    let input = dir.path().join("in");
    for target in [dir.path().join("out"), PathBuf::from("mem://cp-refusals/out")] {
        write_folder(&target);
        let failure = run(&plan(&[&input], &target)).unwrap_err();
        assert_eq!(failure.class, ExitClass::Usage, "{failure}");
        assert!(failure.hint.as_deref().unwrap().contains("--if-changed"), "{failure}");
        assert_eq!(tree(&target).into_keys().collect::<Vec<_>>(), ["sub/b.tar"]);
        let report = run(&CopyPlan { overwrite: true, ..plan(&[&input], &target) }).unwrap();
        assert_eq!((report.files, tree(&target)), (3, tree(&input)));
    }
    let refused = |sources: &[&Path], target: &Path, why: &str| {
        let failure = run(&CopyPlan { overwrite: true, ..plan(sources, target) }).unwrap_err();
        assert!(failure.class == ExitClass::Usage && failure.why.contains(why), "{failure}");
    };
    refused(&[&input], &input, "is the source");
    refused(&[&input], &input.join("deeper/still"), "is in it");
    refused(&[&input], &input.join("a.tar"), "is in it");
    refused(&[&input.join("a.tar")], &input, "is the source");
    refused(&[&input], &dir.path().join("out/a.tar"), "not a folder");
    refused(&[&input.join("a.tar")], &dir.path().join("out/a.tar/b"), "is a file");
    refused(&[&input.join("a.tar"), &dir.path().join("out/a.tar")], Path::new("mem://cp-refusals/x"), "both become");
    std::fs::create_dir_all(dir.path().join("folder/a.tar")).unwrap();
    refused(&[&input], &dir.path().join("folder"), "a folder of that name");
    let same = Path::new("mem://cp-refusals/out/a.tar");
    refused(&[same], same, "is the source");
}

fn write_folder(target: &Path) {
    match is_remote(target) {
        true => put(&target.join("sub/b.tar"), b"old"),
        false => {
            std::fs::create_dir_all(target.join("sub")).unwrap();
            write_file(&RealFs, &target.join("sub/b.tar"), b"old", 0o644).unwrap();
        }
    }
}

#[test]
fn if_changed_copies_only_different_files() {
    let dir = folder();
    let (input, target) = (dir.path().join("in"), Path::new("mem://cp-changed/out"));
    let again = CopyPlan { if_changed: true, ..plan(&[&input], target) };
    assert_eq!(run(&again).unwrap().files, 3);
    let report = run(&again).unwrap();
    assert_eq!((report.files, report.skipped.by_size, report.skipped.by_checksum), (0, 3, 0));
    write_file(&RealFs, &input.join("a.tar"), b"longer than it was", 0o640).unwrap();
    let report = run(&again).unwrap();
    assert_eq!((report.files, report.skipped.by_size), (1, 2));
    assert_eq!(tree(target), tree(&input));
    // Of files with equal size, a source that is newer than its target has changed, and an older one counts as equal.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    for (time, files) in [(later, 1), (std::time::UNIX_EPOCH, 0)] {
        write_file(&RealFs, &input.join("a.tar"), b"Longer than it was", 0o640).unwrap();
        std::fs::File::options().write(true).open(input.join("a.tar")).unwrap().set_modified(time).unwrap();
        assert_eq!(run(&again).unwrap().files, files);
    }
    assert_eq!(tree(target), tree(&input));
}

#[test]
fn a_preview_lists_the_files_and_writes_nothing() {
    let dir = folder();
    let (input, target) = (dir.path().join("in"), Path::new("mem://cp-preview/out"));
    let preview =
        |plan: CopyPlan| start::<CopyFiles, _>(plan, true, RunOptions::default(), Arc::new(RealFs)).unwrap().wait();
    let report = preview(plan(&[&input], target)).unwrap();
    assert_eq!(report.planned[1].to, target.join("sub/b.tar"));
    assert_eq!((report.files, report.planned.len(), files::exists(target)), (3, 3, false));
    assert!(preview(plan(&[&input], dir.path().join("out"))).is_ok() && !files::exists(dir.path().join("out")));
    put(&target.join("a.tar"), b"x");
    assert_eq!(preview(plan(&[&input], target)).unwrap_err().class, ExitClass::Usage);
}

#[test]
fn keys_that_are_no_file_names_are_problems_and_other_keys_are_copied() {
    let dir = tempfile::tempdir().unwrap();
    let root = "mem://cp-keys/in";
    let long = "x".repeat(256);
    for key in ["good", "a//b", "x/../y", "both", "both/below", "with\nnewline", long.as_str()] {
        put(Path::new(&format!("{root}/{key}")), key.as_bytes());
    }
    let report = run(&plan(&[Path::new(root)], dir.path().join("out"))).unwrap();
    let copied: Vec<String> = tree(&dir.path().join("out")).into_keys().collect();
    assert_eq!(copied, ["both/below", "good", "with\nnewline"]);
    let kinds = problems(&report);
    assert_eq!(kinds.iter().filter(|(_, kind)| *kind == ProblemKind::Unreadable).count(), 2, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|(_, kind)| *kind == ProblemKind::BadName).count(), 2, "{kinds:?}");
    assert!(kinds.iter().all(|(severity, _)| *severity == Severity::Problem));
    // In stores, a name may be long, and a key may be a prefix of another key.
    let report = run(&plan(&[Path::new(root)], "mem://cp-keys/out")).unwrap();
    assert_eq!((report.files, report.findings.problems.len()), (5, 2));
}

#[test]
fn copy_follows_links_and_names_special_files() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = folder();
    let input = dir.path().join("in");
    std::fs::create_dir(input.join("empty")).unwrap();
    std::os::unix::fs::symlink("a.tar", input.join("link.tar")).unwrap();
    std::os::unix::fs::symlink("nowhere", input.join("dangling")).unwrap();
    std::os::unix::fs::symlink("..", input.join("sub/up")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(input.join("socket")).unwrap();
    write_file(&RealFs, &input.join(std::ffi::OsStr::from_bytes(b"\xff")), b"x", 0o644).unwrap();
    let target = Path::new("mem://cp-links/out");
    let report = run(&plan(&[&input], target)).unwrap();
    assert_eq!(tree(target).into_keys().collect::<Vec<_>>(), ["a.tar", "link.tar", "sub/b.tar", "sub/c.txt"]);
    let mut kinds = problems(&report);
    kinds.sort_unstable();
    let of = |kind| (Severity::Problem, kind);
    let others =
        [of(ProblemKind::NotAFile), of(ProblemKind::Unreadable), of(ProblemKind::BadName), of(ProblemKind::Other)];
    assert_eq!(kinds, [&[(Severity::Note, ProblemKind::Other)][..], &others].concat());
    assert!(
        report.findings.problems.iter().any(|problem| problem.message.contains("leads back")),
        "{:?}",
        report.findings.problems
    );
    // On a disk, names may contain any bytes.
    let report = run(&plan(&[&input], dir.path().join("out"))).unwrap();
    assert_eq!(report.files, 5);
}

#[test]
fn file_is_put_without_the_right_to_look() {
    let dir = folder();
    let (file, target) = (dir.path().join("in/a.tar"), Path::new("mem://hides-cp/x"));
    let failure = run(&plan(&[&file], target)).unwrap_err();
    assert!(failure.hint.unwrap().contains("--force-overwrite puts files without looking"));
    let mut plan = CopyPlan { overwrite: true, ..plan(&[&file], target) };
    assert_eq!(run(&plan).unwrap().files, 1);
    assert_eq!(files::read(target).unwrap(), [1; 10]);
    plan.if_changed = true;
    assert!(run(&plan).is_err(), "it cannot be compared");
}

#[test]
fn files_of_a_killed_copy_are_removed() {
    let dir = folder();
    let out = dir.path().join("out");
    let draft = out.join("cp.gristmill/work/copy-0");
    std::fs::create_dir_all(draft.parent().unwrap()).unwrap();
    write_file(&RealFs, &draft, b"half", 0o600).unwrap();
    // The draft is not copied either.
    run(&plan(&[&out, &dir.path().join("in")], "mem://cp-killed/out")).unwrap();
    run(&plan(&[&dir.path().join("in")], &out)).unwrap();
    for target in [out.as_path(), Path::new("mem://cp-killed/out")] {
        assert_eq!(tree(target), tree(&dir.path().join("in")), "{}", target.display());
    }
    assert!(!files::exists(out.join("cp.gristmill")));
    // The next run has one file to copy, or none.
    for removed in [Some("a.tar"), None] {
        std::fs::create_dir_all(draft.parent().unwrap()).unwrap();
        write_file(&RealFs, &draft, b"half", 0o600).unwrap();
        removed.into_iter().for_each(|name| std::fs::remove_file(out.join(name)).unwrap());
        run(&CopyPlan { if_changed: true, ..plan(&[&dir.path().join("in")], &out) }).unwrap();
        assert_eq!(tree(&out), tree(&dir.path().join("in")));
    }
}

#[test]
fn a_cancelled_copy_leaves_whole_files_only() {
    let dir = folder();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    let task = start::<CopyFiles, _>(plan(&[&input], &out), false, RunOptions::default(), Arc::new(RealFs)).unwrap();
    task.cancel();
    match task.wait() {
        Err(failure) => assert!(failure.is_cancelled() && failure.subject.is_empty(), "{failure}"),
        Ok(report) => assert_eq!(report.files, 3),
    }
    let expected = tree(&input);
    if files::exists(&out) {
        // An unfinished file is in the run folder, for the next run.
        let copied = tree(&out).into_iter().filter(|(name, _)| !name.starts_with("cp.gristmill"));
        assert!(copied.into_iter().all(|(name, bytes)| expected[&name] == bytes));
    }
}

#[test]
fn commit_file_is_copied_only_if_all_files_of_its_set_are() {
    let (dir, out) = (folder(), Path::new("mem://cp-rounds/out"));
    let input = dir.path().join("in");
    std::fs::create_dir_all(input.join(".nv-meta/gristmill/work")).unwrap();
    let meta = |name: &str| input.join(".nv-meta").join(name);
    for name in ["gristmill/lock", "gristmill/journal", "gristmill/work/x", "gristmill/plan.yaml", ".info.json"] {
        write_file(&RealFs, &meta(name), b"{}", 0o644).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", input.join("shard.tar")).unwrap();
    let report = run(&plan(&[&input], out)).unwrap();
    let incomplete =
        report.findings.problems.iter().find(|problem| problem.message.contains("makes a set complete")).unwrap();
    assert!(incomplete.hint.as_deref().unwrap().ends_with("with --if-changed"), "{incomplete:?}");
    let expected = [".nv-meta/gristmill/plan.yaml", "a.tar", "sub/b.tar", "sub/c.txt"];
    assert_eq!(tree(out).into_keys().collect::<Vec<_>>(), expected);
    std::fs::remove_file(input.join("shard.tar")).unwrap();
    let report = run(&CopyPlan { if_changed: true, ..plan(&[&input], out) }).unwrap();
    assert_eq!((report.files, report.findings.problems.len()), (1, 0));
    assert!(files::exists(out.join(".nv-meta/.info.json")));
}

#[test]
fn local_files_of_equal_size_are_compared_by_content() {
    let dir = folder();
    let (input, out) = (dir.path().join("in"), dir.path().join("out"));
    run(&plan(&[&input], &out)).unwrap();
    write_file(&RealFs, &input.join("a.tar"), &[9; 10], 0o640).unwrap();
    let report = run(&CopyPlan { if_changed: true, ..plan(&[&input], &out) }).unwrap();
    assert_eq!((report.files, report.skipped.by_content, report.skipped.by_size), (1, 2, 0));
    assert_eq!(tree(&out), tree(&input));
}

#[test]
fn run_folders_of_other_commands_are_kept() {
    let dir = folder();
    let file = dir.path().join("in/a.tar");
    let journal = |name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        write_file(&RealFs, &folder.join("journal"), b"units", 0o600).unwrap();
        folder.join("journal")
    };
    let of_file = journal("x.pbin.gristmill");
    run(&plan(&[&file], dir.path().join("x.pbin"))).unwrap();
    assert_eq!(files::read(of_file).unwrap(), b"units");
    let of_folder = journal("out/cp.gristmill");
    let failure = run(&plan(&[&dir.path().join("in")], dir.path().join("out"))).unwrap_err();
    assert_eq!((failure.class, failure.why.contains("another command")), (ExitClass::Environment, true), "{failure}");
    assert_eq!(files::read(of_folder).unwrap(), b"units");
}

#[test]
fn target_names_may_have_the_maximum_length_of_the_system() {
    let dir = tempfile::tempdir().unwrap();
    let source = PathBuf::from(format!("mem://cp-long/{}", "s".repeat(300)));
    put(&source, b"x");
    for length in [245, 246, 255] {
        let target = dir.path().join("t".repeat(length));
        assert_eq!(run(&plan(&[&source], &target)).unwrap().files, 1, "{length}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3, "no run folder is left");
}

#[test]
fn many_files_are_copied_below_a_key_that_is_an_object() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..40 {
        write_file(&RealFs, &dir.path().join(number.to_string()), b"x", 0o644).unwrap();
    }
    let out = Path::new("mem://cp-object/out");
    put(out, b"an object");
    assert_eq!(run(&plan(&[dir.path()], out)).unwrap().files, 40);
}
