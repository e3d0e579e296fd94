//! The plan of a join: its samples and shards, and the path at which the loader looks for its index.

use super::sets::{quoted, MixFile, SplitView, UnusableMember, WebSet};
use gristmill_core::mix::Nonmatch;
use gristmill_data::formats::energon::join_idx::JoinIdx;
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::metadataset::Mark;
use gristmill_storage::files;
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Maximum number of file names for one join index; see [`names`].
const MAX_NAMES: usize = 24;

/// One member of a join.
#[derive(Clone, Debug)]
pub struct JoinInput {
    /// Path of the member as written. Raw.
    pub label: String,
    /// Folder of the member.
    pub root: PathBuf,
    /// The treatment of samples that this member lacks.
    pub nonmatch: Nonmatch,
    /// Shards of its split in order, including excluded ones, as positions in the index.
    pub order: Vec<u32>,
    /// Excluded shards, as positions in the index; sorted.
    pub excluded_shards: Vec<u32>,
    /// Individually excluded samples: position of the shard in the index, and key; sorted.
    pub excluded: Vec<(u32, String)>,
    /// Number of samples of the split that are not excluded, if known.
    pub samples: Option<u64>,
    uuid: String,
    exclude_items: Vec<String>,
}

impl JoinInput {
    /// Returns the path of the member's sample tables.
    pub fn database(&self) -> PathBuf {
        layout::in_nv_meta(&self.root, layout::INDEX_SQLITE)
    }
}

/// A join of a metadataset.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// The metadataset that contains the join; absolute.
    pub file: PathBuf,
    /// The name of the metadataset in messages. Raw.
    pub shown: String,
    /// The split that contains the join. Raw.
    pub split: String,
    /// Line and column of the join in the metadataset.
    pub at: Mark,
    /// Paths at which the loader may look for the index; it is written to all of them.
    pub names: Vec<PathBuf>,
    /// Whether the loader may also look for other names; see [`names`].
    pub has_other_names: bool,
    /// The members; the first determines the order.
    pub inputs: Vec<JoinInput>,
}

impl JoinPlan {
    /// Returns the path at which the loader looks first.
    pub fn index(&self) -> &Path {
        self.names.first().map_or(&self.file, PathBuf::as_path)
    }

    /// Returns the number of rows of the index; `None` if it does not exist or is incomplete.
    pub fn rows(&self) -> Option<u64> {
        let index = JoinIdx::open(self.index()).ok()?;
        (index.columns() == self.inputs.len()).then(|| index.rows())
    }

    /// Returns the number of rows of the index that lack at least one member; `None` if unknown.
    pub fn filled(&self) -> Option<u64> {
        let fills = self.inputs.iter().any(|input| input.nonmatch == Nonmatch::None);
        let index = JoinIdx::open(self.index()).ok().filter(|index| fills && index.columns() == self.inputs.len())?;
        index.rows_with_nothing().ok()
    }

    /// Returns the number of rows that the index will have; `None` if samples may be omitted because other members lack them.
    pub fn rows_expected(&self) -> Option<u64> {
        let skips = self.inputs.iter().skip(1).any(|input| input.nonmatch == Nonmatch::Skip);
        self.inputs.first().filter(|_| !skips)?.samples
    }

    /// Whether another join with the same index name has the same rows.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.inputs.len() == other.inputs.len()
            && self.inputs.iter().zip(&other.inputs).all(|(a, b)| a.root == b.root && a.order == b.order)
    }
}

/// Returns the folder next to a metadataset in which the loader looks for join indexes.
pub fn cache_folder(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".cache");
    file.with_file_name(name)
}

/// Collects the data of a member. Fails unless its `index.uuid` and tables exist and no shard occurs twice in its split.
pub(super) fn input(
    set: &WebSet,
    view: &SplitView,
    nonmatch: Nonmatch,
    label: &str,
    samples: Option<u64>,
) -> Result<JoinInput, UnusableMember> {
    let again = || format!("gristmill prepare {} --tar-index-only", quoted(&set.root));
    let lacks = |name: &str| {
        let message = format!("{} has no .nv-meta/{name}, which a join needs", set.root.display());
        UnusableMember::new(message).hint(again())
    };
    if !files::is_file(layout::in_nv_meta(&set.root, layout::INDEX_SQLITE)) {
        return Err(lacks(layout::INDEX_SQLITE));
    }
    let uuid = gristmill_storage::read::read_whole(&layout::in_nv_meta(&set.root, layout::INDEX_UUID), 1 << 16)?;
    let uuid = uuid.ok_or_else(|| lacks(layout::INDEX_UUID))?;
    // Python reads text with universal newlines, so line ends are normalized before hashing.
    let uuid = String::from_utf8(uuid).map(|text| text.replace("\r\n", "\n").replace('\r', "\n"));
    let uuid = uuid.map_err(|_| UnusableMember::new("its index.uuid is not text").hint(again()))?;
    let mut seen = HashSet::new();
    if let Some((twice, _, _)) = view.shards.iter().find(|(id, _, _)| !seen.insert(*id)) {
        let name = set.info.shard_counts.get(*twice as usize).map_or("", |(name, _)| name.as_str());
        let message = format!("the shard '{name}' is listed twice in the split, and such a split cannot be joined");
        return Err(UnusableMember::new(message).hint(format!("correct {}/.nv-meta/split.yaml", set.root.display())));
    }
    let mut excluded_shards: Vec<u32> = view.shards.iter().filter(|(_, _, out)| *out).map(|(id, _, _)| *id).collect();
    excluded_shards.sort_unstable();
    Ok(JoinInput {
        label: label.to_owned(),
        root: set.root.clone(),
        nonmatch,
        order: view.shards.iter().map(|(id, _, _)| *id).collect(),
        excluded_shards,
        excluded: view.excluded.clone(),
        samples,
        uuid,
        exclude_items: view.exclude_items.clone(),
    })
}

/// Builds the plan of a join.
pub(super) fn plan(file: &MixFile, split: &str, at: Mark, inputs: Vec<JoinInput>) -> JoinPlan {
    let (names, is_certain) = names(&inputs);
    let folder = cache_folder(&file.path);
    JoinPlan {
        file: file.path.clone(),
        shown: file.shown.clone(),
        split: split.to_owned(),
        at,
        names: names.into_iter().map(|name| folder.join(name)).collect(),
        has_other_names: !is_certain,
        inputs,
    }
}

/// Returns the names under which the loader may look for an index, and whether the list is complete.
///
/// The name contains a hash over the sample excludes *in the order of a Python set*, which differs between processes. So with two excludes
/// in one member there are two names, with three there are six. All names are returned if there are few; otherwise, only the name for the
/// sorted order.
fn names(inputs: &[JoinInput]) -> (Vec<String>, bool) {
    let mut count = 1usize;
    for input in inputs {
        for factor in 2..=input.exclude_items.len() {
            count = count.saturating_mul(factor);
        }
    }
    let is_certain = count <= MAX_NAMES;
    let mut hashes = vec![Sha256::new()];
    for input in inputs {
        let orders = match is_certain {
            true => permutations(&input.exclude_items),
            false => vec![input.exclude_items.iter().map(String::as_str).collect()],
        };
        let with = |hash: &Sha256, order: &[&str]| {
            let mut hash = hash.clone();
            hash.update(b"\0uuid=");
            hash.update(input.uuid.as_bytes());
            hash.update(b"\0excludes=");
            for item in order {
                hash.update(item.as_bytes());
                hash.update(b"\0");
            }
            hash.update(format!("\0nonmatch={}\0", input.nonmatch.name()).as_bytes());
            hash
        };
        hashes = hashes.iter().flat_map(|hash| orders.iter().map(move |order| with(hash, order))).collect();
    }
    let name = |hash: Sha256| {
        let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("join_index_{hex}.bin")
    };
    (hashes.into_iter().map(name).collect(), is_certain)
}

/// Returns all permutations of a few items, starting with the given order.
fn permutations(items: &[String]) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    for item in items {
        let longer = all.iter().flat_map(|order| {
            (0..=order.len()).rev().map(|place| {
                let mut longer = order.clone();
                longer.insert(place, item.as_str());
                longer
            })
        });
        all = longer.collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input_with(uuid: &str, items: &[&str], nonmatch: Nonmatch) -> JoinInput {
        JoinInput {
            label: String::new(),
            root: PathBuf::new(),
            nonmatch,
            order: Vec::new(),
            excluded_shards: Vec::new(),
            excluded: Vec::new(),
            samples: None,
            uuid: uuid.into(),
            exclude_items: items.iter().map(|item| (*item).to_owned()).collect(),
        }
    }

    #[test]
    fn join_index_name_is_the_hash_of_the_loader() {
        // The name is hashlib.sha256(b"\0uuid=u1\0excludes=\0nonmatch=error\0\0uuid=u2\0excludes=a.tar/x\0\0nonmatch=skip\0").
        let inputs = [input_with("u1", &[], Nonmatch::Error), input_with("u2", &["a.tar/x"], Nonmatch::Skip)];
        let (names, is_certain) = names(&inputs);
        assert!(is_certain);
        assert_eq!(names, ["join_index_0fd5dd26909cfce4b4767b93fd03a4632097ce247b98a39cddd881d58a176459.bin"]);
    }

    #[test]
    fn join_with_few_excludes_has_a_name_for_every_exclude_order() {
        let (all, is_certain) = names(&[input_with("u", &["a/1", "a/2", "a/3"], Nonmatch::Error)]);
        assert_eq!((all.len(), is_certain), (6, true));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 6);
        let two = input_with("u", &["a/1", "a/2"], Nonmatch::Error);
        assert_eq!(names(&[two.clone(), two]).0.len(), 4);
        let many: Vec<String> = (0..5).map(|n| format!("a/{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (one, is_certain) = names(&[input_with("u", &many, Nonmatch::Error)]);
        assert_eq!((one.len(), is_certain), (1, false));
    }

    #[test]
    fn join_cache_folder_is_next_to_its_metadataset() {
        assert_eq!(cache_folder(Path::new("/d/mix.yaml")), Path::new("/d/mix.yaml.cache"));
    }
}
