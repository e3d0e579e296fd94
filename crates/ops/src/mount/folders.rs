//! The folders of a layout: the root, and folders of shards and splits. Their number depends on the shards, not on the samples.

use super::selection::Selection;
use gristmill_fuse::{names, Node};
use std::collections::HashMap;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The samples that a folder shows, in addition to its subfolders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Files `KEY.PART` of these samples, in the order of the data set.
    Flat(Range<u64>, Selection),
    /// A folder for each sample.
    Folders(Selection),
    /// Files and folders according to the slashes in keys.
    Keys(Selection),
    /// Folders of numbered files.
    Lines,
}

/// A folder that the layout creates, such as that of a shard or split.
#[derive(Debug, Default)]
pub(super) struct Folder {
    /// The name of the folder as a directory entry.
    pub(super) name: String,
    /// The index of the folder in its parent folder.
    pub(super) place: usize,
    /// The inode numbers of the subfolders.
    pub(super) folders: Vec<u64>,
    by_name: HashMap<String, u64>,
    /// The samples that the folder shows.
    pub(super) content: Option<Content>,
}

/// All folders by inode number.
#[derive(Debug)]
pub(super) struct Folders(HashMap<u64, Folder>);

pub(super) fn root_inode() -> u64 {
    Node::Root.inode().unwrap_or_default()
}

impl Folders {
    /// Creates the root folder with its content.
    pub(super) fn new(content: Option<Content>) -> Self {
        Self(HashMap::from([(root_inode(), Folder { content, ..Folder::default() })]))
    }

    /// Adds the folder at this path, and its missing parent folders. Names are not escaped yet. Inode numbers depend only on the path, so
    /// they remain valid when splits change.
    pub(super) fn add<'a>(&mut self, path: impl IntoIterator<Item = &'a str>, content: Option<Content>) {
        let (mut inode, mut above) = (root_inode(), String::new());
        for name in path {
            // Folder names do not contain this character.
            above.push('\0');
            above.push_str(name);
            inode = self.child(inode, &above, names::shorten(names::escape(name)));
        }
        if let (Some(folder), Some(content)) = (self.0.get_mut(&inode), content) {
            folder.content = Some(content);
        }
    }

    /// Returns the subfolder with this name; creates it if it does not exist.
    fn child(&mut self, parent: u64, path: &str, name: String) -> u64 {
        let inode = Node::Fixed(xxh3_64(path.as_bytes())).inode().unwrap_or_default();
        if let Some(parent) = self.0.get_mut(&parent).filter(|parent| !parent.by_name.contains_key(&name)) {
            let place = parent.folders.len();
            parent.folders.push(inode);
            parent.by_name.insert(name.clone(), inode);
            self.0.insert(inode, Folder { name, place, ..Folder::default() });
        }
        inode
    }

    pub(super) fn get(&self, inode: u64) -> Option<&Folder> {
        self.0.get(&inode)
    }
}

impl Folder {
    /// Returns the inode number of the folder of this name.
    pub(super) fn named(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_their_parent_folders() {
        let mut folders = Folders::new(None);
        folders.add(["shards", "a", "0.tar"], Some(Content::Lines));
        folders.add(["shards", "a", "1.tar"], None);
        folders.add(["shards", "a"], None);
        folders.add(["shards", "", "..", "x/y"], None);
        let inode_of = |path: &str| path.split('/').try_fold(root_inode(), |at, name| folders.get(at)?.named(name));
        let of = |path: &str| inode_of(path).and_then(|inode| folders.get(inode));
        assert_eq!((of("shards").unwrap().folders.len(), of("shards/a").unwrap().folders.len()), (2, 2));
        assert_eq!(
            (of("shards/a/1.tar").unwrap().place, &of("shards/a/0.tar").unwrap().content),
            (1, &Some(Content::Lines))
        );
        assert!(of("shards/%/%2E%2E/x%2Fy").is_some() && of("shards/b").is_none());
        let mut others = Folders::new(None);
        others.add(["shards", "a", "1.tar"], None);
        assert!(others.get(inode_of("shards/a/1.tar").unwrap()).is_some(), "a number depends on the path only");
    }
}
