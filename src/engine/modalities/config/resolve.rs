//! References in a configuration: `${settings.src_path}`, `${node_env:num_cpus}`, `${cuda_env:RANK}`,
//! `${modalities_env:config_file_path}`, `${oc.env:HOME}`.

use super::WHAT;
use crate::formats::python::Node;
use crate::model::problem::Subject;
use crate::model::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// References that lead on to references.
const DEEPEST: usize = 16;
/// Values that are looked at in all: a few lines of references to references could ask for more than any memory has.
const MOST_STEPS: usize = 100_000;
/// The longest text that is put together.
const LONGEST: usize = 1 << 20;

/// What a configuration can refer to besides itself.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Number of CPUs.
    pub cpus: usize,
    /// Where the configuration lies.
    pub file: PathBuf,
    /// Reads a variable of the environment.
    pub variable: fn(&str) -> Option<String>,
}

impl Surroundings {
    /// The real ones, for a file.
    pub fn of(file: &Path) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { cpus, file: file.to_owned(), variable: |name| std::env::var(name).ok() }
    }
}

/// The tree with every reference replaced by what it refers to. One that leads nowhere, or around in a circle, is a failure.
pub fn resolved(tree: &Node, surroundings: &Surroundings) -> Outcome<Node> {
    let mut resolver = Resolver { root: tree, surroundings, steps: 0 };
    resolver.node(tree, 0)
}

struct Resolver<'a> {
    root: &'a Node,
    surroundings: &'a Surroundings,
    steps: usize,
}

impl Resolver<'_> {
    /// The tree is at most as deep as the YAML reader takes it, times the references.
    fn node(&mut self, node: &Node, depth: usize) -> Outcome<Node> {
        self.steps += 1;
        if self.steps > MOST_STEPS || depth > DEEPEST {
            return Err(failure("its references lead on without end"));
        }
        match node {
            Node::Str(text) if text.contains("${") => self.text(text, depth),
            Node::List(items) => {
                Ok(Node::List(items.iter().map(|item| self.node(item, depth)).collect::<Outcome<_>>()?))
            }
            Node::Map(entries) => {
                let mut map = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    map.push((key.clone(), self.node(value, depth)?));
                }
                Ok(Node::Map(map))
            }
            other => Ok(other.clone()),
        }
    }

    /// A text with references. One that is nothing but a reference becomes what it refers to, of whatever kind.
    fn text(&mut self, text: &str, depth: usize) -> Outcome<Node> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, reference) = rest.split_at(start);
            if let Some(before) = before.strip_suffix('\\') {
                out.push_str(before);
                out.push_str("${");
                rest = &reference[2..];
                continue;
            }
            let Some(end) = reference.find('}') else {
                return Err(failure(format!("'{text}': a reference does not end")));
            };
            let name = reference.get(2..end).unwrap_or_default().trim();
            if name.contains("${") {
                return Err(failure(format!("'{text}': references inside of references are not supported")));
            }
            let value = self.refer(name, depth + 1)?;
            rest = reference.get(end + 1..).unwrap_or_default();
            out.push_str(before);
            if out.is_empty() && rest.is_empty() && before.is_empty() {
                return Ok(value);
            }
            out.push_str(&printed(&value).ok_or_else(|| {
                failure(format!("'{name}' is {}, which cannot stand inside of a text", value.describe()))
            })?);
            if out.len() > LONGEST {
                return Err(failure("its references lead on without end"));
            }
        }
        out.push_str(rest);
        Ok(Node::Str(out))
    }

    fn refer(&mut self, name: &str, depth: usize) -> Outcome<Node> {
        let Some((resolver, argument)) = name.split_once(':') else {
            let target = find(self.root, name).ok_or_else(|| {
                failure(format!("it refers to '{name}', which is not there")).on(Subject::field(name))
            })?;
            return self.node(target, depth);
        };
        let unknown = || failure(format!("'${{{name}}}' is not known"));
        let argument = argument.trim();
        let file = &self.surroundings.file;
        let text = |path: &Path| Node::Str(path.to_string_lossy().into_owned());
        match (resolver.trim(), argument) {
            ("node_env", "num_cpus") => Ok(Node::Int(self.surroundings.cpus as i128)),
            ("cuda_env", name) => Ok(match (self.surroundings.variable)(name) {
                Some(value) if matches!(name, "LOCAL_RANK" | "WORLD_SIZE" | "RANK") => {
                    value.trim().parse().map_or(Node::Str(value), Node::Int)
                }
                Some(value) => Node::Str(value),
                None => Node::Null,
            }),
            ("modalities_env", "config_file_path") => Ok(text(file)),
            ("modalities_env", "config_folder_path") => Ok(text(file.parent().unwrap_or(Path::new("")))),
            ("oc.env", argument) => {
                let (name, default) = match argument.split_once(',') {
                    Some((name, default)) => (name.trim(), Some(default.trim().to_owned())),
                    None => (argument, None),
                };
                let missing = || failure(format!("the environment has no variable '{name}'"));
                (self.surroundings.variable)(name).or(default).map(Node::Str).ok_or_else(missing)
            }
            _ => {
                Err(unknown().with_hint("node_env:num_cpus, cuda_env:VAR, modalities_env:config_file_path, oc.env:VAR"))
            }
        }
    }
}

fn failure(why: impl Into<String>) -> Failure {
    Failure::usage(WHAT, why)
}

fn find<'a>(root: &'a Node, name: &str) -> Option<&'a Node> {
    name.split('.').try_fold(root, |node, key| match node {
        Node::List(items) => items.get(key.parse::<usize>().ok()?),
        node => node.get(key),
    })
}

/// A value inside of a text, as Python prints it.
fn printed(value: &Node) -> Option<String> {
    match value {
        Node::Null => Some("None".into()),
        Node::Bool(true) => Some("True".into()),
        Node::Bool(false) => Some("False".into()),
        Node::Int(number) => Some(number.to_string()),
        Node::Float(number) => Some(crate::formats::python::number::float_repr(*number)),
        Node::Str(text) => Some(text.clone()),
        Node::List(_) | Node::Map(_) => None,
    }
}
