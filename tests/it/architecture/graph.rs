//! Finds modules with cyclic dependencies.

use super::source::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the modules that each module depends on, by the longest path that is a module; parents and children are omitted.
pub fn dependencies(files: &[SourceFile]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let modules: BTreeSet<&[String]> = files.iter().map(|file| file.module.as_slice()).collect();
    let owner = |path: &[String]| -> Vec<String> {
        (0..=path.len()).rev().map(|length| &path[..length]).find(|path| modules.contains(path)).unwrap_or(&[]).to_vec()
    };
    let is_related = |one: &[String], other: &[String]| one.starts_with(other) || other.starts_with(one);
    files
        .iter()
        .map(|file| {
            let owners = file.imports.iter().map(|path| owner(path));
            (file.module.clone(), owners.filter(|other| !is_related(&file.module, other)).collect())
        })
        .collect()
}

/// Returns the groups of modules in which each module depends on all others.
pub fn cycles(dependencies: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<Vec<String>> {
    let reachable: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        dependencies.keys().map(|module| (module, reached_from(module, dependencies))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, reached) in &reachable {
        let together = reached.iter().filter(|other| reachable.get(*other).is_some_and(|back| back.contains(module)));
        let group: Vec<String> = together.map(|module| module.join("::")).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reached_from<'a>(
    module: &'a Vec<String>,
    dependencies: &'a BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
) -> BTreeSet<&'a Vec<String>> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![module]);
    while let Some(next) = open.pop() {
        let others = dependencies.get(next).into_iter().flatten();
        open.extend(others.filter(|other| reached.insert(*other)));
    }
    reached
}
