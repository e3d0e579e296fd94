//! Names of inputs, and of files that are derived from them.

use gristmill_core::PackPlan;
use gristmill_data::source::documents::{Packing, TextFile};
use gristmill_storage::remote::{address_of, is_hub_url, RepositoryUrl};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Returns the name of an input file for files that list their sources: its path, starting with the name of the input in the plan.
pub(crate) fn source_name(plan: &PackPlan, path: &Path) -> String {
    let is_local = plan.inputs.iter().any(|input| path.starts_with(input));
    if let Some(address) = address_of(path).filter(|_| !is_local) {
        return named_address(plan, &address).unwrap_or(address);
    }
    let named = plan.inputs.iter().zip(&plan.input_names).find_map(|(input, name)| {
        let rest = path.strip_prefix(input).ok()?;
        let is_input = rest.as_os_str().is_empty();
        Some(if is_input { name.into() } else { Path::new(name).join(rest) })
    });
    named.as_deref().unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the address of a file of the hub, starting with the name of the input if the plan names it.
fn named_address(plan: &PackPlan, address: &str) -> Option<String> {
    let file = RepositoryUrl::parse(address).ok()?;
    plan.inputs.iter().zip(&plan.input_names).filter(|(input, _)| is_hub_url(input)).find_map(|(input, name)| {
        let url = RepositoryUrl::parse(input).ok().filter(|url| url.name == file.name)?;
        let rest = Path::new(&file.path).strip_prefix(&url.path).ok()?;
        let is_input = rest.as_os_str().is_empty();
        Some(if is_input { name.clone() } else { Path::new(name).join(rest).to_string_lossy().into_owned() })
    })
}

/// Returns the parent folder of a file as a name prefix; empty if the relative name already has a folder.
pub(crate) fn folder_prefix(file: &TextFile) -> String {
    let parent = (!file.name.contains('/')).then(|| file.path.parent()).flatten();
    let folder = parent.and_then(|parent| parent.file_name());
    folder.map(|name| format!("{}-", name.to_string_lossy())).unwrap_or_default()
}

/// Returns unique names: duplicates in `short` are replaced by their `long` names, and remaining duplicates are numbered.
pub(crate) fn unique_names(short: &[String], long: impl Fn(usize) -> String) -> Vec<String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in short {
        *count.entry(name).or_default() += 1;
    }
    let mut taken: HashSet<String> =
        short.iter().filter(|name| count.get(name.as_str()) == Some(&1)).cloned().collect();
    let mut names = Vec::with_capacity(short.len());
    for (at, name) in short.iter().enumerate() {
        if count.get(name.as_str()) == Some(&1) {
            names.push(name.clone());
            continue;
        }
        let wanted = long(at);
        let (mut name, mut number) = (wanted.clone(), 2);
        while !taken.insert(name.clone()) {
            name = match wanted.rsplit_once('.') {
                Some((stem, end)) => format!("{stem}-{number}.{end}"),
                None => format!("{wanted}-{number}"),
            };
            number += 1;
        }
        names.push(name);
    }
    names
}

/// Returns the name without a compression suffix.
pub(crate) fn name_without_compression(file: &TextFile) -> &str {
    let name = file.name.as_str();
    match name.rsplit_once('.') {
        Some((rest, _)) if file.packing != Packing::Plain && Packing::of_name(name) != Packing::Plain => rest,
        _ => name,
    }
}

/// Returns a name without its last suffix, like Python's `Path.stem`.
pub(crate) fn stem(name: &str) -> &str {
    let bare = name.rfind('/').map_or(0, |at| at + 1);
    match name.get(bare..).unwrap_or_default().rfind('.') {
        Some(dot) if dot > 0 && bare + dot + 1 < name.len() => name.get(..bare + dot).unwrap_or(name),
        _ => name,
    }
}

/// Returns inputs with these relative names, for tests.
#[cfg(test)]
pub(crate) fn files_named(names: &[&str]) -> Vec<TextFile> {
    let file = |name: &&str| TextFile {
        path: std::path::Path::new("/in/put").join(name),
        name: (*name).to_owned(),
        bytes: 0,
        stamp: gristmill_core::FileStamp::default(),
        packing: Packing::of_name(name),
        source: &gristmill_data::source::documents::Jsonl,
        rows: None,
        damaged: Vec::new(),
    };
    names.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::source_name;
    use gristmill_core::PackPlan;
    use std::path::Path;

    #[test]
    fn source_names_start_with_the_given_input_names() {
        let mut plan = PackPlan::new(vec!["/d/web".into(), "/d/a.jsonl".into()], "t", "o");
        let name = |plan: &PackPlan, path: &str| source_name(plan, Path::new(path));
        assert_eq!(name(&plan, "/d/web/x.jsonl"), "/d/web/x.jsonl");
        plan.input_names = vec!["web/".into(), "./a.jsonl".into()];
        assert_eq!(name(&plan, "/d/web/s/x.jsonl"), "web/s/x.jsonl");
        assert_eq!(name(&plan, "/d/a.jsonl"), "./a.jsonl");
        assert_eq!(name(&plan, "/d/webs/x.jsonl"), "/d/webs/x.jsonl");
        let cached = "/hub/datasets--o--n/snapshots/c0ffee/data/x.jsonl";
        let mut plan = PackPlan::new(vec!["hf://datasets/o/n/data".into()], "t", "o");
        assert_eq!(name(&plan, cached), "hf://datasets/o/n@c0ffee/data/x.jsonl");
        plan.input_names = vec!["web".into()];
        assert_eq!(name(&plan, cached), "web/x.jsonl");
        plan.inputs = vec!["/hub".into()];
        assert_eq!(name(&plan, cached), "web/datasets--o--n/snapshots/c0ffee/data/x.jsonl");
    }
}
