//! References in a configuration: `${settings.src_path}`, `${paths[0]}`, `${.sibling}`, `${paths.${name}}`, `${node_env:num_cpus}`,
//! `${cuda_env:RANK}`, `${modalities_env:config_file_path}`, `${oc.env:HOME}`.

use super::ACTIVITY;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_pycompat::Node;
use std::path::{Path, PathBuf};

/// Maximum depth of nested references.
const MAX_DEPTH: usize = 16;
/// Limit of visited values. Without it, a few lines of nested references could exhaust the memory.
const MAX_STEPS: usize = 100_000;
/// Maximum size of a composed text, in bytes.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Values outside of the configuration to which it can refer.
#[derive(Clone, Debug)]
pub struct EnvVars {
    /// Number of CPUs.
    pub cpus: usize,
    /// Path of the configuration.
    pub file: PathBuf,
    /// Function that returns a variable of the environment.
    pub variable: fn(&str) -> Option<String>,
}

impl EnvVars {
    /// Returns the values of this process, for a configuration file.
    pub fn of(file: &Path) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { cpus, file: file.to_owned(), variable: |name| std::env::var(name).ok() }
    }
}

/// Returns the tree with every reference replaced by its target. Fails if a target is missing or refers to itself.
pub fn resolved(tree: &Node, surroundings: &EnvVars) -> Outcome<Node> {
    let mut resolver = Resolver { root: tree, surroundings, steps: 0, place: Vec::new() };
    resolver.node(tree, 0)
}

struct Resolver<'a> {
    root: &'a Node,
    surroundings: &'a EnvVars,
    steps: usize,
    /// Keys on the path from the root to the current value.
    place: Vec<String>,
}

impl Resolver<'_> {
    /// Resolves a node. The depth is limited by the YAML reader and by the limit of nested references.
    fn node(&mut self, node: &Node, depth: usize) -> Outcome<Node> {
        self.step(depth)?;
        match node {
            Node::Str(text) if text.contains("${") => self.text(text, depth),
            Node::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (number, item) in items.iter().enumerate() {
                    list.push(self.below(number.to_string(), item, depth)?);
                }
                Ok(Node::List(list))
            }
            Node::Map(entries) => {
                let mut map = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    map.push((key.clone(), self.below(key.clone(), value, depth)?));
                }
                Ok(Node::Map(map))
            }
            other => Ok(other.clone()),
        }
    }

    fn step(&mut self, depth: usize) -> Outcome<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH {
            return Err(failure("its references lead on without end"));
        }
        Ok(())
    }

    fn below(&mut self, key: String, node: &Node, depth: usize) -> Outcome<Node> {
        self.place.push(key);
        let resolved = self.node(node, depth);
        self.place.pop();
        resolved
    }

    /// Resolves a text with references. A text that is a single reference is replaced by the target, of any type.
    fn text(&mut self, text: &str, depth: usize) -> Outcome<Node> {
        self.step(depth)?;
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
            let Some(end) = end_of(reference) else {
                return Err(failure(format!("'{text}': a reference does not end")));
            };
            let name = reference.get(2..end).unwrap_or_default().trim();
            let named;
            let name = if name.contains("${") {
                // References inside the name are resolved first.
                let inner = self.text(name, depth + 1)?;
                named = printed(&inner).ok_or_else(|| not_text_failure(name, &inner))?;
                named.trim()
            } else {
                name
            };
            let value = self.refer(name, depth + 1)?;
            rest = reference.get(end + 1..).unwrap_or_default();
            out.push_str(before);
            if out.is_empty() && rest.is_empty() && before.is_empty() {
                return Ok(value);
            }
            out.push_str(&printed(&value).ok_or_else(|| not_text_failure(name, &value))?);
            if out.len() > MAX_TEXT_BYTES {
                return Err(failure("its references lead on without end"));
            }
        }
        out.push_str(rest);
        Ok(Node::Str(out))
    }

    fn refer(&mut self, name: &str, depth: usize) -> Outcome<Node> {
        let Some((resolver, argument)) = name.split_once(':') else {
            let place = keys(name, &self.place);
            let target = place.as_deref().and_then(|place| find(self.root, place));
            let (Some(place), Some(target)) = (&place, target) else {
                let why = format!("it refers to '{name}', which does not exist");
                return Err(failure(why).on(Subject::field(name)));
            };
            // Relative references in the target are relative to its own position.
            let here = std::mem::replace(&mut self.place, place.clone());
            let value = self.node(target, depth);
            self.place = here;
            return value;
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
                // Without a rank, all processes would write the same file.
                None if matches!(name, "LOCAL_RANK" | "WORLD_SIZE" | "RANK") => {
                    return Err(failure(format!("the environment has no variable '{name}'")));
                }
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
    Failure::usage(ACTIVITY, why)
}

fn not_text_failure(name: &str, value: &Node) -> Failure {
    failure(format!("'{name}' is {}, which cannot be part of a text", value.describe()))
}

/// Returns the end of the reference at the start of a text, after any nested references.
fn end_of(reference: &str) -> Option<usize> {
    let bytes = reference.as_bytes();
    let mut open = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'{' if at > 0 && bytes.get(at - 1) == Some(&b'$') => open += 1,
            b'}' if open == 1 => return Some(at),
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Returns the keys of a name: `a.b[0]` is relative to the root. A name with leading dots is relative to `place`: `.b` is a sibling of the
/// value, `..b` is one level above.
fn keys(name: &str, place: &[String]) -> Option<Vec<String>> {
    let plain = name.trim_start_matches('.');
    let up = name.len() - plain.len();
    let mut keys = match up {
        0 => Vec::new(),
        up => place.get(..place.len().checked_sub(up)?)?.to_vec(),
    };
    for part in plain.split('.').filter(|part| !part.is_empty()) {
        let (key, more) = part.split_once('[').map_or((part, None), |(key, more)| (key, Some(more)));
        if !key.is_empty() {
            keys.push(key.to_owned());
        }
        if let Some(more) = more {
            let inside = more.strip_suffix(']')?;
            keys.extend(inside.split("][").map(|key| key.trim_matches(['\'', '"']).to_owned()));
        }
    }
    Some(keys)
}

fn find<'a>(root: &'a Node, keys: &[String]) -> Option<&'a Node> {
    keys.iter().try_fold(root, |node, key| match node {
        Node::List(items) => items.get(key.parse::<usize>().ok()?),
        node => node.get(key),
    })
}

/// Formats a value inside a text as Python prints it.
fn printed(value: &Node) -> Option<String> {
    match value {
        Node::Null => Some("None".into()),
        Node::Bool(true) => Some("True".into()),
        Node::Bool(false) => Some("False".into()),
        Node::Int(number) => Some(number.to_string()),
        Node::Float(number) => Some(gristmill_pycompat::number::float_repr(*number)),
        Node::Str(text) => Some(text.clone()),
        Node::List(_) | Node::Map(_) => None,
    }
}
