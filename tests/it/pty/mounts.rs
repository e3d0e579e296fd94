//! Mounts a data set with a key.

use super::harness::{run_plainly, StoryOptions, TestHome};
use crate::cli_mount::has_device;

#[test]
fn key_mounts_and_unmounts_the_browsed_data_set() {
    if !has_device() {
        return;
    }
    let test_home = TestHome::new();
    test_home.shard("big/a.tar", 0, 4);
    assert_eq!(
        run_plainly(&test_home, &["prepare", "big", "--yes", "--split-ratio", "1,0,0", "--skip-dataset-yaml"]),
        Some(0)
    );
    let runtime = test_home.home().join("runtime");
    let mounted = runtime.join("gristmill/big");
    let start = StoryOptions::new(&test_home).arguments(&["browse", "big"]);
    let mut story = start.variable("XDG_RUNTIME_DIR", runtime.to_str().unwrap()).run();
    story.wait_for("▸ 000000").wait_for("jpg txt json").keys("M").wait_for("mounted at");
    assert_eq!(std::fs::read(mounted.join("000000.txt")).unwrap(), b"a cat");
    story.keys("M").wait_for("unmounted");
    assert!(!mounted.join("000000.txt").exists());
    assert_eq!(story.keys("q").exit_code(), 0);
}
