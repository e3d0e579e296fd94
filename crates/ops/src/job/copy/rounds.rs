//! The order of the copies. Readers must not find a set complete before all of its files are copied.

use super::CopyItem;
use gristmill_data::formats::completes_set;
use std::collections::HashSet;
use std::path::Path;

/// Files that can be copied in any order.
pub(super) type CopyRound<'a> = Vec<&'a CopyItem>;

/// Returns the files to copy first, and the commit files, which are only copied if all others were.
pub(super) fn rounds(items: &[CopyItem]) -> [CopyRound<'_>; 2] {
    let targets: HashSet<&Path> = items.iter().map(|item| item.to.as_path()).collect();
    let (last, first) = items.iter().partition(|item| completes_set(&item.to, |path| targets.contains(path)));
    [first, last]
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::files::FileInfo;

    #[test]
    fn commit_files_of_a_set_are_copied_last() {
        let names = [
            "s/.nv-meta/.info.json",
            "s/.nv-meta/.info.yaml",
            "s/.nv-meta/split.yaml",
            "s/.info.json",
            "s/a.tar",
            "s/a.tar.idx",
            "t/x.bin",
            "t/x.idx",
            "t/y.idx",
            "n/00000.ds",
            "n/00000.ds.index",
            "n/00000.ds.metadata",
            "m/index.json",
            "m/shard.00000.mds",
        ];
        let item = |name: &&str| CopyItem { from: "x".into(), to: name.into(), info: FileInfo::of_prefix() };
        let items: Vec<CopyItem> = names.iter().map(item).collect();
        let [first, last] = rounds(&items);
        assert_eq!(first.len() + last.len(), names.len());
        let last: Vec<&str> = last.into_iter().filter_map(|item| item.to.to_str()).collect();
        assert_eq!(last, [0, 1, 7, 11, 12].map(|at: usize| names[at]));
    }
}
