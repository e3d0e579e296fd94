//! Writes a metadataset from a plan, and finds possible members.

use super::aux;
use super::facts::{MixFacts, MixNodeKind};
use super::overlaps::list;
use super::paths::{are_in_one_store, lexically, relative};
use super::sets::{MemberCache, MemberSource, MixFile};
use super::share;
use gristmill_core::mix::{MixAux, MixKind, MixMember, MixPlan};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::metadataset::{
    self, Aux, AuxTarget, Blend, Join, JoinMember, Joiner, Leaf, Mark, Member, Metadataset, Node, Reference, Split,
};
use gristmill_pycompat::Node as Value;
use gristmill_storage::address_secrets::refuse_secrets;
use gristmill_storage::files;
use gristmill_storage::location::{is_remote, RemoteUrl};
use gristmill_storage::run_folder::is_next_to_output;
use gristmill_storage::stores::check_address;
use gristmill_storage::walk::Walk;
use serde::Serialize;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "writing the metadataset";
/// Splits that trainers usually request.
const CONVENTIONAL_SPLITS: [&str; 3] = ["train", "val", "test"];
/// Maximum depth of the search for members, in folders.
const MAX_DEPTH: usize = 3;
/// Maximum number of folder entries that the search reads.
const MAX_ENTRIES: usize = 10_000;

/// A file or folder on disk that can be a member of a metadataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundMember {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Kind of the member.
    pub kind: MixNodeKind,
    /// Total number of samples, if known without reading the data.
    pub samples: Option<u64>,
    /// Names of the splits with their numbers of samples; empty for JSONL, which has no splits.
    pub splits: Vec<(String, u64)>,
    /// Whether the samples are plain maps of parts, so that the member may have aux sources.
    pub is_crude: bool,
}

/// Finds prepared WebDatasets, indexed JSONL files and metadatasets in a folder and the folders below it (3 levels, 10,000 entries), sorted
/// by path. Files and folders that cannot be opened are omitted.
pub fn find_members(folder: &Path) -> Outcome<Vec<FoundMember>> {
    files::read_dir(folder).map(drop).map_err(|error| Failure::io("looking into", folder, &error))?;
    let mut found = Vec::new();
    let mut library = MemberCache::default();
    let mut walk = Walk::new(folder).max_depth(MAX_DEPTH).sorted().into_iter();
    let mut looked = 0;
    while let Some(entry) = walk.next() {
        looked += 1;
        if looked > MAX_ENTRIES {
            break;
        }
        let Ok(entry) = entry else { continue };
        let name = entry.file_name().to_string_lossy();
        let is_folder = entry.kind().is_dir();
        let is_ours = || is_folder && is_next_to_output(entry.path());
        if entry.depth() > 0 && (name.starts_with('.') || name.ends_with(".yaml.cache") || is_ours()) {
            if is_folder {
                walk.skip_folder(&entry);
            }
            continue;
        }
        let is_prepared = is_folder && files::is_dir(entry.path().join(".nv-meta"));
        if is_prepared || (!is_folder && (name.ends_with(".jsonl") || name.ends_with(".yaml"))) {
            found.extend(member_at(&mut library, entry.path()));
        }
        if is_prepared {
            walk.skip_folder(&entry);
        }
    }
    Ok(found)
}

fn member_at(library: &mut MemberCache, path: &Path) -> Option<FoundMember> {
    let found =
        |kind, samples, splits, is_crude| Some(FoundMember { path: path.to_owned(), kind, samples, splits, is_crude });
    match library.open(path).ok()? {
        MemberSource::Jsonl(samples) => found(MixNodeKind::Jsonl, Some(samples), Vec::new(), true),
        MemberSource::Mix(file) => {
            let data = file.data.as_ref().ok()?;
            let splits = data.splits.iter().map(|split| (split.name.clone(), 0)).collect();
            found(MixNodeKind::Metadataset, None, splits, false)
        }
        MemberSource::Web(set) => {
            let names = library.split_names(&set);
            let splits = names.into_iter().filter_map(|name| {
                let view = library.split(&set, None, &name).ok()?;
                Some((name, share::without_excluded(&share::excluded_positions(&set, &view), 0, view.declared())))
            });
            let splits: Vec<(String, u64)> = splits.collect();
            let is_crude = library.is_crude(&set, None).unwrap_or(false);
            // Samples that are excluded or in no split are in no mixture.
            let samples = splits.iter().map(|(_, samples)| samples).sum();
            found(MixNodeKind::WebDataset, Some(samples), splits, is_crude)
        }
    }
}

/// Whether a member may have aux sources: its samples are plain maps of parts, or lines of JSON.
pub fn takes_aux(path: &str) -> bool {
    let Some(path) = lexically(Path::new(path)) else { return false };
    let mut library = MemberCache::default();
    match library.open(&path) {
        Ok(MemberSource::Jsonl(_)) => true,
        Ok(MemberSource::Web(set)) => library.is_crude(&set, None).unwrap_or(false),
        _ => false,
    }
}

/// Renders the text of the file. A plan that cannot be represented is a usage failure: one without members, with a weight that is not above
/// 0, or with a join without a joiner.
pub fn render(plan: &MixPlan) -> Outcome<String> {
    let metadataset = metadataset_of(plan)?;
    let text = metadataset::render(&metadataset);
    // Text that the loader could not read must not be written.
    match metadataset::read(&text) {
        Ok(_) => Ok(text),
        Err(mistakes) => {
            let first = mistakes.into_iter().next();
            let (message, hint) = first.map_or((String::new(), None), |first| (first.message, first.hint));
            let failure = usage(message);
            Err(match hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            })
        }
    }
}

/// Renders a metadataset at `output` that contains a single member in each split.
pub fn render_member(output: &Path, member: &MixMember, splits: &[String]) -> Outcome<String> {
    let output = lexically(output).ok_or_else(|| usage("the metadataset leads above the root folder"))?;
    let reference = reference_of(member, output.parent().unwrap_or(Path::new("/")))?;
    let node = Node::Leaf(Leaf::Reference(reference));
    let split = |name: &String| Split { name: name.clone(), at: Mark::default(), node: node.clone() };
    Ok(metadataset::render(&Metadataset {
        version: 2,
        splits: splits.iter().map(split).collect(),
        remarks: Vec::new(),
    }))
}

/// Returns the facts of the mixture, as [`check`](super::check) reports them for the written file.
pub fn facts_of_plan(plan: &MixPlan, handles: Handles<'_>) -> Outcome<MixFacts> {
    let text = render(plan)?;
    let data = metadataset::read(&text);
    let path = lexically(Path::new(&plan.output)).unwrap_or_else(|| PathBuf::from(&plan.output));
    let file = MixFile { path, shown: plan.output.clone(), data, is_written: false };
    let mut facts = super::check_file(file, handles)?;
    facts.problems.extend(jsonl_note(plan));
    Ok(facts)
}

fn usage(why: impl Into<String>) -> Failure {
    Failure::usage(ACTIVITY, why)
}

fn metadataset_of(plan: &MixPlan) -> Outcome<Metadataset> {
    if plan.version > PLAN_VERSION {
        return Err(usage(format!("the plan has version {}; this program knows up to {PLAN_VERSION}", plan.version)));
    }
    if plan.members.is_empty() {
        return Err(
            usage("there is no member").with_hint("--blend PATH=WEIGHT, --epochized PATH=N or --join NAME=PATH")
        );
    }
    if !plan.output.ends_with(".yaml") {
        return Err(usage("the name of a metadataset must end in .yaml, or the loader does not know it as one")
            .on(Subject::path(&plan.output)));
    }
    let output = lexically(Path::new(&plan.output)).ok_or_else(|| usage("--output leads above the root folder"))?;
    let folder = output.parent().unwrap_or(Path::new("/")).to_owned();
    let all = node_of(plan, &folder)?;
    let splits = match plan.splits.is_empty() {
        true => common_splits(plan)?,
        false => plan.splits.clone(),
    };
    let without_jsonl = node_without(&all, &jsonl_members(plan));
    let mut named = Vec::with_capacity(splits.len());
    for name in splits {
        if name.is_empty() || named.iter().any(|split: &Split| split.name == name) {
            return Err(usage(format!("--split '{name}' is empty or given twice")));
        }
        let node = if named.is_empty() { all.clone() } else { without_jsonl.clone() };
        named.push(Split { name, at: Mark::default(), node });
    }
    Ok(Metadataset { version: 2, splits: named, remarks: Vec::new() })
}

/// Returns, for each member, whether it is a JSONL file that is only part of the first split. This applies to all JSONL files, unless the
/// plan names the splits.
fn jsonl_members(plan: &MixPlan) -> Vec<bool> {
    let mut library = MemberCache::default();
    let mut is_jsonl = |member: &MixMember| {
        let path = lexically(Path::new(&member.path)).filter(|_| plan.splits.is_empty());
        matches!(path.map(|path| library.open(&path)), Some(Ok(MemberSource::Jsonl(_))))
    };
    plan.members.iter().map(&mut is_jsonl).collect()
}

fn node_without(node: &Node, is_left_out: &[bool]) -> Node {
    let mut node = node.clone();
    if let Node::Blend(blend) = &mut node {
        let mut is_left_out = is_left_out.iter();
        blend.members.retain(|_| is_left_out.next() != Some(&true));
    }
    node
}

/// Returns a note about JSONL files that are not part of every split.
fn jsonl_note(plan: &MixPlan) -> Option<Problem> {
    let named = plan.members.iter().zip(jsonl_members(plan)).filter(|(_, is_jsonl)| *is_jsonl);
    let named: Vec<String> = named.map(|(member, _)| format!("'{}'", member.path)).collect();
    let split = common_splits(plan).ok()?.into_iter().next()?;
    let message = match named.len() {
        0 => return None,
        1 => format!("a JSONL file has no splits: {} is part of {split} alone", list(named.into_iter())),
        _ => format!("JSONL files have no splits: {} are part of {split} alone", list(named.into_iter())),
    };
    let hint = "--split NAME, once for each split, writes all members into each of them";
    Some(Problem::note(ProblemKind::Other, Subject::path(&plan.output), message).with_hint(hint))
}

fn node_of(plan: &MixPlan, folder: &Path) -> Outcome<Node> {
    if plan.kind == MixKind::Join {
        return join_of(plan, folder).map(|join| Node::Leaf(Leaf::Join(join)));
    }
    let is_epochized = plan.kind == MixKind::Epochized;
    if plan.joiner.is_some() {
        return Err(usage("--joiner is for --join only"));
    }
    let mut members = Vec::with_capacity(plan.members.len());
    for member in &plan.members {
        if !(member.amount > 0.0 && member.amount.is_finite()) {
            let what = if is_epochized { "repetitions" } else { "weight" };
            return Err(usage(format!("the {what} of a member must be above 0, here it is {}", member.amount))
                .on(Subject::path(&member.path)));
        }
        members.push(Member { amount: member.amount, leaf: Leaf::Reference(reference_of(member, folder)?) });
    }
    Ok(Node::Blend(Blend { at: Mark::default(), is_epochized, members, subset: None }))
}

fn join_of(plan: &MixPlan, folder: &Path) -> Outcome<Join> {
    let Some(joiner) = &plan.joiner else {
        let hint = "--joiner MODULE:FUNCTION, or MODULE:Class of the joined samples";
        return Err(usage("a join needs a joiner").with_hint(hint));
    };
    let named = plan.members.iter().filter(|member| member.name.is_some()).count();
    if named != 0 && named != plan.members.len() {
        return Err(usage("either all members of a join have a name, or none"));
    }
    let mut members: Vec<JoinMember> = Vec::with_capacity(plan.members.len());
    for member in &plan.members {
        if member.name.is_some() && members.iter().any(|other| other.name == member.name) {
            let name = member.name.as_deref().unwrap_or_default();
            return Err(usage(format!("two members of the join are called '{name}'")));
        }
        let reference = reference_of(member, folder)?;
        members.push(JoinMember { name: member.name.clone(), reference, nonmatch: member.nonmatch });
    }
    let joiner = joiner_of(joiner)?;
    let is_named = named > 0;
    Ok(Join { at: Mark::default(), members, is_named, joiner, split_part: None, subflavors: None, subset: None })
}

/// Parses `module:Class` or `module:function`: classes begin with a capital letter.
fn joiner_of(text: &str) -> Outcome<Joiner> {
    let parts = text.rsplit_once(':').filter(|(module, object)| !module.is_empty() && !object.is_empty());
    let Some((module, object)) = parts else {
        return Err(usage(format!("'{text}' does not say a module and what is in it"))
            .with_hint("--joiner MODULE:FUNCTION, for example my_project.join:join_text_and_image"));
    };
    let is_class = object.starts_with(char::is_uppercase);
    Ok(Joiner { at: Mark::default(), module: module.to_owned(), object: object.to_owned(), is_class })
}

fn reference_of(member: &MixMember, folder: &Path) -> Outcome<Reference> {
    let mut aux = Vec::with_capacity(member.aux.len());
    for source in &member.aux {
        if aux.iter().any(|other: &Aux| other.name == source.name) {
            return Err(usage(format!("two aux sources are called '{}'", source.name)));
        }
        let target = aux_target(source, folder)?;
        aux.push(Aux { at: Mark::default(), name: source.name.clone(), target });
    }
    let subflavors = member.subflavors.iter().map(|flavor| (flavor.key.clone(), Value::str(&flavor.value)));
    let subflavors: Vec<_> = subflavors.collect();
    let subset = member.subset.as_ref().map(|[from, to]| {
        metadataset::subset_as_typed(from, to).map_err(|why| {
            usage(format!("the subset {from},{to} cannot be used: {why}"))
                .on(Subject::path(&member.path))
                .with_hint("for example 0%,50% or 0,1000 or 1000,end")
        })
    });
    Ok(Reference {
        path: relative_path(folder, &member.path, member.is_relative)?,
        split_part: member.split_part.clone(),
        subflavors: (!subflavors.is_empty()).then_some(subflavors),
        shuffle_over_epochs: Some(1),
        aux,
        subset: subset.transpose()?,
        ..Reference::default()
    })
}

/// Returns the target of an aux source. A folder of files is also recognised without `filesystem://`.
fn aux_target(source: &MixAux, folder: &Path) -> Outcome<AuxTarget> {
    let path = source.path.strip_prefix("filesystem://");
    let (mut is_folder, path) = (path.is_some(), path.unwrap_or(&source.path));
    refuse_secrets(path)?;
    if !path.contains("://") || is_remote(Path::new(path)) {
        let local = lexically(Path::new(path)).ok_or_else(|| usage(format!("'{path}' leads above the root folder")))?;
        let opened = aux::open_local(&mut MemberCache::default(), local, is_folder).map_err(|why| {
            let failure = usage(why.message).on(Subject::field(format!("--aux {}={}", source.name, source.path)));
            match why.hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })?;
        is_folder = matches!(opened, aux::Source::Folder(_));
    }
    let path = relative_path(folder, path, source.is_relative)?;
    Ok(if is_folder { AuxTarget::Folder(path) } else { AuxTarget::Dataset(path) })
}

/// Returns a path in the form in which it is written to the file: relative to the file's folder. Addresses that only the loader opens are
/// unchanged, and so are absolute paths unless `is_relative` is set. Fails for addresses of stores that the loader does not support.
fn relative_path(folder: &Path, text: &str, is_relative: bool) -> Outcome<String> {
    if text.is_empty() {
        return Err(usage("a path is empty"));
    }
    refuse_secrets(text)?;
    let url = RemoteUrl::parse(Path::new(text));
    let is_of_profile = url.is_some_and(|url| url.scheme.name == "msc");
    if text.starts_with('/') && !is_relative || text.contains("://") && url.is_none() || is_of_profile {
        return Ok(text.to_owned());
    }
    let path = lexically(Path::new(text)).ok_or_else(|| usage(format!("'{text}' leads above the root folder")))?;
    let seen = match (are_in_one_store(folder, &path), url) {
        (true, _) => relative(folder, &path),
        (false, None) => path,
        (false, Some(url)) => {
            // The message must not contain the query of an address or a password.
            check_address(url.scheme, text)?;
            return in_profile(&url).ok_or_else(|| unknown_to_loader(folder, &url));
        }
    };
    let text = seen.to_str().ok_or_else(|| usage("a path that is not UTF-8 cannot be in a metadataset"))?;
    Ok(text.to_owned())
}

/// Returns the address in a profile of multi-storage-client for an address that the loader does not support.
#[cfg(feature = "remote")]
fn in_profile(url: &RemoteUrl<'_>) -> Option<String> {
    gristmill_storage::stores::address_in_profile(url)
}

/// Returns `None`: without the feature `remote`, profiles are unknown.
#[cfg(not(feature = "remote"))]
fn in_profile(_: &RemoteUrl<'_>) -> Option<String> {
    None
}

fn unknown_to_loader(folder: &Path, url: &RemoteUrl<'_>) -> Failure {
    let (scheme, bucket, key) = (url.scheme.name, url.bucket, url.key);
    if bucket.is_empty() {
        return usage("it has no bucket").on(Subject::path(url.to_path())).with_hint(format!("{scheme}://BUCKET/KEY"));
    }
    let unknown = usage(format!("the loader does not know '{scheme}://', only msc:// and local paths"));
    let unknown = unknown.on(Subject::path(url.to_path()));
    if !url.scheme.is_writable {
        return unknown.with_hint("copy it with gristmill cp, to a disk or a store, and name the copy");
    }
    let by_profile =
        format!("name it msc://PROFILE/{key}, with a profile of multi-storage-client that has `base_path: {bucket}`");
    // An output in another bucket has members of that bucket, which would be refused after a change of the output.
    unknown.with_hint(match is_remote(folder) {
        true => by_profile,
        false => format!(
            "write --output {scheme}://{bucket}/NAME.yaml, to which members of the bucket are relative; or {by_profile}"
        ),
    })
}

/// Returns the splits among train, val and test that every member with splits has; only train if no member has splits.
fn common_splits(plan: &MixPlan) -> Outcome<Vec<String>> {
    let is_jsonl = jsonl_members(plan);
    if plan.kind == MixKind::Join || !is_jsonl.is_empty() && is_jsonl.iter().all(|is_jsonl| *is_jsonl) {
        // A join in each split would need one file per split, because the loader keeps one index for all of them.
        return Ok(vec![CONVENTIONAL_SPLITS[0].to_owned()]);
    }
    let mut library = MemberCache::default();
    let has = |library: &mut MemberCache, member: &MixMember, split: &str| {
        let Some(path) = lexically(Path::new(&member.path)) else { return true };
        let split = member.split_part.as_deref().unwrap_or(split);
        match library.open(&path) {
            Ok(MemberSource::Web(set)) => library.split(&set, None, split).is_ok(),
            Ok(MemberSource::Mix(file)) => {
                file.data.as_ref().is_ok_and(|data| data.splits.iter().any(|known| known.name == split))
            }
            // A member that cannot be opened is reported by the check instead of as a missing split.
            Ok(MemberSource::Jsonl(_)) | Err(_) => true,
        }
    };
    let common = CONVENTIONAL_SPLITS
        .into_iter()
        .filter(|split| plan.members.iter().all(|member| has(&mut library, member, split)));
    let common: Vec<String> = common.map(str::to_owned).collect();
    if common.is_empty() {
        return Err(usage("none of train, val and test is a split of every member").with_hint(
            "name the splits to write with --split, and other splits of members with --split-part PATH=SPLIT",
        ));
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_for_a_second_bucket_names_no_output_there() {
        let hint = |folder: &str| {
            let url = RemoteUrl::parse(Path::new("s3://other/coco")).unwrap();
            unknown_to_loader(Path::new(folder), &url).hint.unwrap()
        };
        assert!(hint("/data").starts_with("write --output s3://other/NAME.yaml"));
        assert!(hint("s3://bucket/mixes").starts_with("name it msc://PROFILE/coco"));
    }
}
