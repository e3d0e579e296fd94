//! The parts of a plan that have no effect on a JSONL file.

use gristmill_core::plan::DATASET_YAML;
use gristmill_core::{Duplicates, Failure, Loading, Outcome, PreparePlan, Rerun, Scope, SplitPlan, Subject, Tgz};
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::source::jsonl::Packed;
use gristmill_storage::read::open_read;
use std::path::Path;

/// Flags that have no effect on a JSONL file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnusedFlags {
    /// Flags about media, which are refused even under a drop-in name.
    pub media: Vec<&'static str>,
    /// The other flags.
    pub others: Vec<&'static str>,
}

/// Returns the flags of a plan that have no effect here.
pub fn given(plan: &PreparePlan) -> UnusedFlags {
    let splits = match plan.splits {
        SplitPlan::Unset => None,
        SplitPlan::Ratio(_) => Some("--split-ratio"),
        SplitPlan::Patterns(_) => Some("--split-parts"),
        SplitPlan::Listed(_) => Some("--splits-from"),
    };
    let loading = match plan.loading {
        Loading::Unset => None,
        Loading::NoDatasetYaml => Some("--skip-dataset-yaml"),
        _ => Some("--sample-type"),
    };
    let scope = match plan.scope {
        Scope::Full => None,
        Scope::TarIndexOnly => Some("--tar-index-only"),
        Scope::WithoutSampleTables => Some("--skip-sample-tables"),
    };
    let when = |is_given: bool, flag| is_given.then_some(flag);
    let others = [
        splits,
        loading,
        scope,
        when(plan.rerun == Rerun::Update, "--update"),
        when(plan.reset_excludes, "--reset-excludes"),
        when(!plan.exclude_shards.is_empty(), "--exclude"),
        // The excludes of a `split.yaml` are part of it, not of the flag.
        when(!plan.excludes.is_empty() && !matches!(plan.splits, SplitPlan::Listed(_)), "--exclude-sample"),
        when(plan.skip_bad_lines && !plan.path.ends_with(".jsonl"), "--skip-bad-lines"),
        when(plan.shuffle_tars, "--shuffle-tars"),
        when(plan.allow_empty_splits, "--allow-empty-splits"),
        when(plan.dataset_yaml_name != DATASET_YAML, "--dataset-yaml-name"),
        when(plan.duplicates != Duplicates::Fail, "--duplicates"),
        when(plan.tgz != Tgz::Skip, "--tgz"),
    ];
    let media = plan.media.as_ref().map(|media| match media.filter {
        gristmill_core::MediaFilter::Extension => "--media-metadata-by-extension",
        gristmill_core::MediaFilter::Header => "--media-metadata-by-header",
        gristmill_core::MediaFilter::Glob(_) => "--media-metadata-by-glob",
    });
    UnusedFlags { media: media.into_iter().collect(), others: others.into_iter().flatten().collect() }
}

/// Refuses compressed JSONL files and JSONL files with another suffix, with a hint how to convert each.
pub fn refuse_packed(path: &str) -> Outcome<()> {
    let is_file = Path::new(path).is_file();
    let lower = path.to_ascii_lowercase();
    let quoted = shell_quote(path);
    if let Some(packed) = Packed::of_name(lower.as_bytes()).filter(|_| is_file) {
        let name = lower.strip_suffix(packed.suffix).unwrap_or(&lower);
        if name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".ndjson") {
            // Fails for a Git LFS pointer, which is not compressed in spite of its name.
            open_read(Path::new(path))?;
            let why = format!(
                "it is compressed with {}, and a loader cannot jump to a line of a compressed file",
                packed.name
            );
            return Err(Failure::data("reading the lines", why)
                .on(Subject::path(path))
                .with_hint(format!("unpack it first: {} {quoted}", packed.command)));
        }
    }
    let is_misnamed = lower.ends_with(".jsonl") || lower.ends_with(".ndjson") || lower.ends_with(".json");
    if is_file && is_misnamed && !path.ends_with(".jsonl") {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let hint = format!("if it holds one object a line: mv {quoted} {}", shell_quote(&format!("{stem}.jsonl")));
        return Err(Failure::usage("opening the data set", "loaders know JSONL files by a name that ends in .jsonl")
            .on(Subject::path(path))
            .with_hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{MediaFilter, MediaPlan};

    #[test]
    fn flags_that_mean_nothing_are_named() {
        let mut plan = PreparePlan::new("a.jsonl");
        assert_eq!(given(&plan), UnusedFlags::default());
        plan.rerun = Rerun::Overwrite;
        plan.compat = true;
        assert_eq!(given(&plan), UnusedFlags::default(), "an index is replaced in any case");
        plan.splits = SplitPlan::Ratio("8,1,1".into());
        plan.loading = Loading::Crude { cooker: false };
        plan.excludes = vec!["a/b".into()];
        plan.tgz = Tgz::Rewrite;
        plan.media = Some(MediaPlan { filter: MediaFilter::Header, decode: false });
        let given = given(&plan);
        assert_eq!(given.others, ["--split-ratio", "--sample-type", "--exclude-sample", "--tgz"]);
        assert_eq!(given.media, ["--media-metadata-by-header"]);
    }
}
