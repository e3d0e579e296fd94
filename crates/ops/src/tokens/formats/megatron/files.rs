//! Names of the files of pairs, and of their spools.

use crate::tokens::format::OutputTarget;
use gristmill_core::pack::{MegatronTarget, TextField, TokenType};
use gristmill_core::PackPlan;
use std::path::{Path, PathBuf};

/// The key in file names if a jq program extracts the texts.
const USUAL_KEY: &str = "text";

/// The pairs of a run.
pub(super) struct Pairs {
    /// The output of the plan, or the format's folder in it.
    pub(super) place: PathBuf,
    /// The paths of the pairs of each key, without number and suffix.
    pub(super) prefixes: Vec<PathBuf>,
    pub(super) token: TokenType,
    /// A pair is closed once it has more tokens than this.
    pub(super) max_tokens: Option<u64>,
    /// Number of partitions that documents are assigned to by line number. A pair contains its partitions one after the other.
    pub(super) partitions: u64,
}

/// The spools of a pair, or of one partition of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairSpools {
    /// Index of the key.
    pub(super) key: usize,
    /// Index of the pair among the pairs of the key.
    pub(super) number: u64,
    /// Index of the partition.
    pub(super) partition: u64,
}

/// Returns the keys of the texts, which are part of the file names.
pub(super) fn text_keys<'a>(plan: &'a PackPlan, target: &'a MegatronTarget) -> Vec<&'a str> {
    match &plan.text {
        _ if !target.keys.is_empty() => target.keys.iter().map(String::as_str).collect(),
        TextField::Key(key) => vec![key],
        TextField::Jq(_) => vec![USUAL_KEY],
    }
}

/// Whether the output of a plan is a folder instead of a prefix of file names.
pub(super) fn is_folder(plan: &PackPlan) -> bool {
    plan.output.ends_with('/')
}

/// Returns the path of all pairs of a key, without number and suffix.
pub(super) fn prefix(plan: &PackPlan, key: &str, place: &Path, is_alone: bool) -> PathBuf {
    let name = format!("{key}_document");
    match place.file_name().filter(|_| is_alone && !is_folder(plan)) {
        Some(start) => {
            let mut start = start.to_owned();
            start.push(format!("_{name}"));
            place.with_file_name(start)
        }
        None => place.join(name),
    }
}

impl PairSpools {
    /// Returns the name of the spool of the tokens.
    pub(super) fn tokens(self) -> String {
        self.name("bin")
    }

    /// Returns the name of the spool of the sequence lengths.
    pub(super) fn lengths(self) -> String {
        self.name("lengths")
    }

    /// Returns the name of the spool of the numbers of sequences per document.
    pub(super) fn counts(self) -> String {
        self.name("counts")
    }

    /// Returns the names of all spools.
    pub(super) fn all(self) -> [String; 3] {
        [self.tokens(), self.lengths(), self.counts()]
    }

    fn name(self, what: &str) -> String {
        format!("{}-{}-{}.{what}", self.key, self.number, self.partition)
    }
}

impl Pairs {
    /// Returns the pairs that a plan writes to an output.
    pub(super) fn of(plan: &PackPlan, target: &MegatronTarget, place: OutputTarget, token: TokenType) -> Self {
        let of_key = |key| prefix(plan, key, &place.path, place.is_only_target);
        Self {
            prefixes: text_keys(plan, target).into_iter().map(of_key).collect(),
            token,
            max_tokens: target.max_tokens_per_file,
            partitions: u64::from(target.partitions.unwrap_or(1)).max(1),
            place: place.path,
        }
    }

    /// Returns the path of the token file of a pair.
    pub(super) fn bin(&self, key: usize, number: u64) -> PathBuf {
        self.path(key, number, "bin")
    }

    /// Returns the path of the index of a pair.
    pub(super) fn idx(&self, key: usize, number: u64) -> PathBuf {
        self.path(key, number, "idx")
    }

    /// Returns the indexes of the keys.
    pub(super) fn keys(&self) -> std::ops::Range<usize> {
        0..self.prefixes.len()
    }

    /// Returns the path that readers open: the path of the first pair without a suffix.
    pub(super) fn first(&self) -> PathBuf {
        with_end(self.prefix(0), &self.number(0))
    }

    /// Whether pairs of another key or number could be at this path next to the output.
    pub(super) fn is_pair(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
        let (start, name) = ([&name(&self.place)[..], b"_"].concat(), name(path));
        let is_part = name.ends_with(b".bin") || name.ends_with(b".idx");
        is_part && name.starts_with(&start) && path.parent() == self.place.parent()
    }

    fn prefix(&self, key: usize) -> &Path {
        self.prefixes.get(key).unwrap_or(&self.place)
    }

    fn path(&self, key: usize, number: u64, suffix: &str) -> PathBuf {
        with_end(self.prefix(key), &format!("{}.{suffix}", self.number(number)))
    }

    fn number(&self, number: u64) -> String {
        self.max_tokens.map(|_| format!("_{number:03}")).unwrap_or_default()
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megatron_file_names_have_prefix_key_and_optional_number() {
        let plan = |output: &str| PackPlan::new(vec!["a".into()], "t", output);
        let place = Path::new("/x/web.v2");
        let pairs = |prefix: PathBuf, max_tokens| Pairs {
            place: place.to_owned(),
            prefixes: vec![prefix],
            token: TokenType::U16,
            max_tokens,
            partitions: 1,
        };
        let one = pairs(prefix(&plan("x/web.v2"), "text", place, true), None);
        assert_eq!(one.bin(0, 0), Path::new("/x/web.v2_text_document.bin"));
        assert_eq!(one.first(), Path::new("/x/web.v2_text_document"));
        let in_folder = prefix(&plan("x/web.v2/"), "text", place, true);
        assert_eq!(in_folder, Path::new("/x/web.v2/text_document"));
        let several = pairs(prefix(&plan("x"), "a.b", place, false), Some(9));
        assert_eq!(several.idx(0, 0), Path::new("/x/web.v2/a.b_document_000.idx"));
        assert_eq!(several.bin(0, 1_000), Path::new("/x/web.v2/a.b_document_1000.bin"));
        let is_pair = |path: &str| one.is_pair(Path::new(path));
        assert!(is_pair("/x/web.v2_a_document_003.idx") && is_pair("/x/web.v2_text_document.bin"));
        assert!(!is_pair("/x/y/web.v2_text_document.bin") && !is_pair("/x/web.v2.bin") && !is_pair("/x/web.v2_a.json"));
        let program = PackPlan { text: TextField::Jq(".a/.b".into()), ..plan("x") };
        let keyed = PackPlan { text: TextField::Key("a.b".into()), ..plan("x") };
        let target = MegatronTarget::default();
        assert_eq!((text_keys(&program, &target), text_keys(&keyed, &target)), (vec!["text"], vec!["a.b"]));
        let several = MegatronTarget { keys: vec!["c".into(), "d".into()], ..target };
        assert_eq!(text_keys(&keyed, &several), ["c", "d"]);
    }
}
