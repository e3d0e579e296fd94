//! Names of the files of pairs, and of their spools.

use gristmill_core::pack::{TextField, TokenType};
use gristmill_core::PackPlan;
use std::path::{Path, PathBuf};

/// The key in names if a jq program makes the texts.
const USUAL_KEY: &str = "text";

/// The pairs of a run.
pub(super) struct Pairs {
    /// The output of the plan, or the folder of the format in it.
    pub(super) place: PathBuf,
    /// The paths of all pairs without number and suffix.
    pub(super) prefix: PathBuf,
    pub(super) token: TokenType,
    /// Closes a pair once it has more tokens than this.
    pub(super) max_tokens: Option<u64>,
}

/// Returns the key of the text, which is part of the names.
pub(super) fn text_key(plan: &PackPlan) -> &str {
    match &plan.text {
        TextField::Key(key) => key,
        TextField::Jq(_) => USUAL_KEY,
    }
}

/// Whether the output of a plan is a folder and not the beginning of file names.
pub(super) fn is_folder(plan: &PackPlan) -> bool {
    plan.output.ends_with('/')
}

/// Returns the path of all pairs without number and suffix.
pub(super) fn prefix(plan: &PackPlan, place: &Path, is_alone: bool) -> PathBuf {
    let name = format!("{}_document", text_key(plan));
    match place.file_name().filter(|_| is_alone && !is_folder(plan)) {
        Some(start) => {
            let mut start = start.to_owned();
            start.push(format!("_{name}"));
            place.with_file_name(start)
        }
        None => place.join(name),
    }
}

/// Returns the spool of the tokens of a pair.
pub(super) fn tokens_spool(number: u64) -> String {
    format!("{number}.bin")
}

/// Returns the spool of the lengths of the documents of a pair.
pub(super) fn lengths_spool(number: u64) -> String {
    format!("{number}.lengths")
}

impl Pairs {
    /// Returns the path of the tokens of a pair.
    pub(super) fn bin(&self, number: u64) -> PathBuf {
        self.path(number, "bin")
    }

    /// Returns the path of the index of a pair.
    pub(super) fn idx(&self, number: u64) -> PathBuf {
        self.path(number, "idx")
    }

    /// Returns the path that readers open: that of the first pair without a suffix.
    pub(super) fn first(&self) -> PathBuf {
        with_end(&self.prefix, &self.number(0))
    }

    /// Whether pairs of another key or number could be at this path next to the output.
    pub(super) fn is_pair(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
        let (start, name) = ([&name(&self.place)[..], b"_"].concat(), name(path));
        let is_part = name.ends_with(b".bin") || name.ends_with(b".idx");
        is_part && name.starts_with(&start) && path.parent() == self.place.parent()
    }

    fn path(&self, number: u64, suffix: &str) -> PathBuf {
        with_end(&self.prefix, &format!("{}.{suffix}", self.number(number)))
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
    fn names_have_the_prefix_the_key_and_a_number_if_there_may_be_several() {
        let plan = |output: &str| PackPlan::new(vec!["a".into()], "t", output);
        let place = Path::new("/x/web.v2");
        let pairs =
            |prefix: PathBuf, max_tokens| Pairs { place: place.to_owned(), prefix, token: TokenType::U16, max_tokens };
        let one = pairs(prefix(&plan("x/web.v2"), place, true), None);
        assert_eq!(one.bin(0), Path::new("/x/web.v2_text_document.bin"));
        assert_eq!(one.first(), Path::new("/x/web.v2_text_document"));
        let in_folder = prefix(&plan("x/web.v2/"), place, true);
        assert_eq!(in_folder, Path::new("/x/web.v2/text_document"));
        let keyed = PackPlan { text: TextField::Key("a.b".into()), ..plan("x") };
        let several = pairs(prefix(&keyed, place, false), Some(9));
        assert_eq!(several.idx(0), Path::new("/x/web.v2/a.b_document_000.idx"));
        assert_eq!(several.bin(1_000), Path::new("/x/web.v2/a.b_document_1000.bin"));
        let is_pair = |path: &str| one.is_pair(Path::new(path));
        assert!(is_pair("/x/web.v2_a_document_003.idx") && is_pair("/x/web.v2_text_document.bin"));
        assert!(!is_pair("/x/y/web.v2_text_document.bin") && !is_pair("/x/web.v2.bin") && !is_pair("/x/web.v2_a.json"));
        let program = PackPlan { text: TextField::Jq(".a/.b".into()), ..plan("x") };
        assert_eq!(text_key(&program), "text");
    }
}
