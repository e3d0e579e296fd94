//! Names of token files, in both generations of the writer (docs/formats/nanosets.md §1).

use gristmill_core::pack::NameProfile;

/// The last step that determined the order of the tokens in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Whole documents were permuted.
    Documents,
    /// Chunks of equal length were permuted.
    Chunks,
}

/// Returns `[prefix_]RRRRR_unshuffled.ds`: the documents of one task in the order in which they were read. `RRRRR` is the rank of the
/// task.
pub fn unshuffled(prefix: Option<&str>, rank: u32) -> String {
    join(prefix, &format!("{rank:05}_unshuffled.ds"))
}

/// Returns `[prefix_]RRRRR_SSSSS_doc_shuffled.ds` or its variants: sub-file `sub` of a shuffled task.
pub fn shuffled(profile: NameProfile, prefix: Option<&str>, rank: u32, sub: u64, step: Step) -> String {
    let word = match (profile, step) {
        (NameProfile::Classic, _) => "shuffled",
        (NameProfile::Modern, Step::Documents) => "doc_shuffled",
        (NameProfile::Modern, Step::Chunks) => "chunk_shuffled",
    };
    join(prefix, &format!("{rank:05}_{sub:05}_{word}.ds"))
}

/// Returns `FFF_NAME.ds`: one file of a merge.
pub fn merged(name: &str, file: u64) -> String {
    format!("{file:03}_{name}.ds")
}

/// Returns `NAME.ds.metadata`: the grand total of a merge, the only metadata file without data.
pub fn merged_total(name: &str) -> String {
    format!("{name}.ds.metadata")
}

fn join(prefix: Option<&str>, rest: &str) -> String {
    match prefix {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}_{rest}"),
        _ => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ds_file_names_match_those_of_the_reference_writers() {
        assert_eq!(unshuffled(None, 0), "00000_unshuffled.ds");
        assert_eq!(unshuffled(Some("web"), 12), "web_00012_unshuffled.ds");
        let name = |profile, step| shuffled(profile, None, 1, 2, step);
        assert_eq!(name(NameProfile::Modern, Step::Documents), "00001_00002_doc_shuffled.ds");
        assert_eq!(name(NameProfile::Modern, Step::Chunks), "00001_00002_chunk_shuffled.ds");
        assert_eq!(name(NameProfile::Classic, Step::Chunks), "00001_00002_shuffled.ds");
        assert_eq!(shuffled(NameProfile::Classic, Some("web"), 0, 0, Step::Documents), "web_00000_00000_shuffled.ds");
        assert_eq!(merged("all", 7), "007_all.ds");
        assert_eq!(merged_total("all"), "all.ds.metadata");
    }
}
