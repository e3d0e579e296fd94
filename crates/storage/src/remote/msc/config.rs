//! The files with profiles of multi-storage-client and of rclone.

use super::super::environment::{Environment, MAX_FILE_BYTES};
use super::rclone::{self, RcloneFile};
use super::ACTIVITY;
use crate::local_file::read_local;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::{Failure, Outcome, Subject};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Maximum number of files that a file may include.
const MAX_INCLUDES: usize = 100;

/// Section of a profile with its keys.
const CREDENTIALS: &str = "credentials_provider";

/// An unparsed profile, and the file that contains it.
#[derive(Clone, PartialEq)]
pub(super) struct RawProfile {
    pub(super) content: Value,
    pub(super) file: PathBuf,
}

impl fmt::Debug for RawProfile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content has keys.
        formatter.debug_struct("RawProfile").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Content of the files.
#[derive(Debug, Default)]
pub(super) struct MscConfig {
    profiles: BTreeMap<String, RawProfile>,
    /// Prefixes of other addresses, and the profiles that replace them.
    mappings: BTreeMap<String, String>,
    /// Remotes of rclone whose types are no stores, with their types.
    others: BTreeMap<String, String>,
    /// The files that were read.
    files: Vec<PathBuf>,
}

impl MscConfig {
    /// Reads the file of multi-storage-client, the files that it includes, and the file of rclone, as far as they exist.
    pub(super) fn read(environment: &Environment) -> Outcome<Self> {
        let mut config = Self::read_own(environment)?;
        if let Some(RcloneFile { path, profiles, others }) = rclone::read(environment)? {
            for (name, content) in profiles {
                config.insert(name, content, &path)?;
            }
            config.others = others.into_iter().collect();
            config.files.push(path);
        }
        Ok(config)
    }

    /// Reads the file of multi-storage-client and the files that it includes.
    pub(super) fn read_own(environment: &Environment) -> Outcome<Self> {
        let mut config = Self::default();
        for path in paths(environment) {
            let Some(content) = read_file(&path)? else { continue };
            let includes = config.add(&path, &content)?;
            for include in includes {
                let included = path.parent().unwrap_or(&path).join(include);
                let Some(content) = read_file(&included)? else {
                    return Err(refuse(&path, format!("it includes {}, which does not exist", included.display())));
                };
                if !config.add(&included, &content)?.is_empty() {
                    return Err(refuse(&included, "it is included, and includes others".to_owned()));
                }
            }
            break;
        }
        Ok(config)
    }

    /// Adds the content of a file; returns the files that it includes.
    fn add(&mut self, path: &Path, content: &Value) -> Outcome<Vec<String>> {
        self.files.push(path.to_owned());
        let none = Map::new();
        let section = |name: &str| content.get(name).and_then(Value::as_object).unwrap_or(&none);
        for (name, profile) in section("profiles") {
            self.insert(name.clone(), profile.clone(), path)?;
        }
        for (from, to) in section("path_mapping") {
            let profile = to.as_str().and_then(|to| to.strip_prefix("msc://")?.strip_suffix('/'));
            if let Some(profile) = profile.filter(|_| from.ends_with('/')) {
                self.mappings.insert(from.clone(), profile.to_owned());
            }
        }
        let includes = content.get("include").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if includes.len() > MAX_INCLUDES {
            return Err(refuse(path, format!("it includes more than {MAX_INCLUDES} files")));
        }
        Ok(includes.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn insert(&mut self, name: String, content: Value, file: &Path) -> Outcome<()> {
        match self.profiles.get(&name) {
            Some(other) if other.content != content => {
                Err(refuse(file, format!("its profile {name} is another one than that in {}", other.file.display())))
            }
            Some(_) => Ok(()),
            None => {
                self.profiles.insert(name, RawProfile { content, file: file.to_owned() });
                Ok(())
            }
        }
    }

    /// Returns a profile in which names of environment variables are replaced by their values.
    pub(super) fn profile(&self, name: &str, environment: &Environment) -> Outcome<RawProfile> {
        let Some(raw) = self.profiles.get(name) else { return Err(self.unknown(name)) };
        let mut profile = raw.clone();
        let sections = profile.content.as_object_mut().into_iter().flatten();
        for (section, content) in sections {
            expand_all(content, environment).map_err(|variable| {
                // In a secret, the text after a $ need not be a name.
                let variable = if section == CREDENTIALS { String::new() } else { format!(" {variable}") };
                let why = format!("{section} of its profile {name} names a variable{variable} that is not set");
                refuse(&raw.file, why)
            })?;
        }
        Ok(profile)
    }

    /// Returns the names of the profiles.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    /// Whether there is a profile with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.profiles.contains_key(name)
    }

    /// Returns the failure if there are no profiles of stores.
    pub(super) fn without_profiles(&self) -> Failure {
        let why = match self.file_names() {
            files if files.is_empty() => "there is no file with profiles".to_owned(),
            files => format!("there are no profiles of stores in {files}"),
        };
        let failure = Failure::usage(ACTIVITY, why).on(Subject::path("msc://"));
        failure.with_hint("MSC_CONFIG names the file with the profiles")
    }

    fn file_names(&self) -> String {
        self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
    }

    fn unknown(&self, name: &str) -> Failure {
        if let Some(kind) = self.others.get(name) {
            let why = format!("the remote {name} of rclone is of the type {kind}, which is not supported");
            return Failure::usage(ACTIVITY, why).on(Subject::path(format!("msc://{name}")));
        }
        let files = self.file_names();
        let (why, hint) = match (files.is_empty(), nearest(name, self.profiles.keys().map(String::as_str))) {
            (true, _) => (
                format!("there is no profile {name}, and no file with profiles"),
                "MSC_CONFIG names the file with the profiles".to_owned(),
            ),
            (_, Some(near)) => (format!("there is no profile {name} in {files}"), format!("there is one named {near}")),
            (_, None) => (
                format!("there is no profile {name} in {files}"),
                "MSC_CONFIG names another file with profiles".to_owned(),
            ),
        };
        Failure::usage(ACTIVITY, why).on(Subject::path(format!("msc://{name}"))).with_hint(hint)
    }

    /// Returns the address in a profile to which another address is mapped, by its longest matching prefix.
    pub(super) fn mapped(&self, address: &str) -> Option<String> {
        // The prefixes end with a slash, which the address of a bucket may lack.
        let address = format!("{address}/");
        let found = self.mappings.iter().filter(|(from, _)| address.starts_with(from.as_str()));
        let (from, profile) = found.max_by_key(|(from, _)| from.len())?;
        Some(format!("msc://{profile}/{}", address.get(from.len()..)?.trim_end_matches('/')))
    }
}

/// Returns a failure about a file. It contains none of its values.
pub(super) fn refuse(file: &Path, why: String) -> Failure {
    Failure::usage(ACTIVITY, why).on(Subject::path(file))
}

/// Returns the possible paths of the file, in the order of multi-storage-client.
fn paths(environment: &Environment) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        environment.text("MSC_CONFIG").map(|path| environment.path(&path)).into_iter().collect();
    let mut add = |folder: Option<PathBuf>, name: &str| {
        let both = |folder: PathBuf| ["yaml", "json"].map(|end| folder.join(format!("{name}.{end}")));
        paths.extend(folder.map(both).into_iter().flatten());
    };
    let folder = |name: &str| environment.text(name).map(PathBuf::from);
    add(folder("XDG_CONFIG_HOME"), "msc/config");
    add(folder("HOME"), ".msc_config");
    add(folder("HOME"), ".config/msc/config");
    let system = environment.text("XDG_CONFIG_DIRS").unwrap_or_else(|| "/etc/xdg".to_owned());
    for folder in system.split(':').map(str::trim).filter(|folder| !folder.is_empty()) {
        add(Some(PathBuf::from(folder)), "msc/config");
    }
    add(Some(PathBuf::from("/etc")), "msc_config");
    paths
}

/// Reads a file, JSON or YAML by its name; `None` if it does not exist.
fn read_file(path: &Path) -> Outcome<Option<Value>> {
    let Some(bytes) = read_local(path, MAX_FILE_BYTES)? else { return Ok(None) };
    let is_json = path.extension().is_some_and(|end| end == "json");
    let parsed =
        if is_json { serde_json::from_slice(&bytes).map_err(|error| error.line() as u64) } else { parse_yaml(&bytes) };
    let kind = if is_json { "JSON" } else { "YAML" };
    match parsed {
        Ok(content @ (Value::Object(_) | Value::Null)) => Ok(Some(content)),
        Ok(_) => Err(refuse(path, "it has no profiles".to_owned())),
        // The parser's message may quote the file, and with it a key.
        Err(line) => Err(refuse(path, format!("it is not valid {kind}, at line {line}"))),
    }
}

/// Parses YAML, or returns the line of the first error.
fn parse_yaml(bytes: &[u8]) -> Result<Value, u64> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_nodes: 100_000,
            max_events: 200_000,
            max_anchors: 1_000,
            max_aliases: 1_000,
            max_depth: 32,
        },
    };
    let text = std::str::from_utf8(bytes).map_err(|_| 1_u64)?;
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_yaml::from_str_with_options(text, options).map_err(|error| error.location().map_or(1, |at| at.line()))
}

/// Replaces `$NAME` and `${NAME}` by variables in all texts of a value; the error is the name of an unset variable.
fn expand_all(value: &mut Value, environment: &Environment) -> Result<(), String> {
    match value {
        Value::String(text) => expand(text, environment).map(|expanded| *text = expanded),
        Value::Array(values) => values.iter_mut().try_for_each(|value| expand_all(value, environment)),
        Value::Object(values) => values.values_mut().try_for_each(|value| expand_all(value, environment)),
        _ => Ok(()),
    }
}

fn expand(text: &str, environment: &Environment) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let is_name = |name: &str| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, next) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, next)) => (name, next),
            None => after.split_at(end),
        };
        if is_name(name) {
            // An empty variable counts as set.
            expanded.push_str(&environment.raw(name).ok_or_else(|| name.to_owned())?);
            rest = next;
        } else {
            expanded.push('$');
            rest = after;
        }
    }
    Ok(expanded + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::ExitClass;

    fn write(folder: &Path, name: &str, text: &str) -> String {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn first_existing_msc_configuration_is_read_with_its_includes() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap().to_owned();
        let read = |values: &[(&str, &str)]| {
            let nowhere = [("HOME", home.as_str()), ("XDG_CONFIG_DIRS", "/nonexistent")];
            MscConfig::read(&Environment::of(&[&nowhere[..], values].concat()))
        };
        assert!(read(&[]).unwrap().profiles.is_empty());
        write(dir.path(), ".config/msc/config.yaml", "profiles:\n  last: {}\n");
        write(dir.path(), ".msc_config.json", r#"{"profiles": {"home": {"a": 1}}}"#);
        assert_eq!(read(&[]).unwrap().profiles.keys().collect::<Vec<_>>(), ["home"]);
        write(dir.path(), "sub/more.yaml", "profiles:\n  more: {a: 1}\npath_mapping:\n  s3://old/: msc://more/\n");
        let config = write(dir.path(), "own.yaml", "include: [sub/more.yaml]\nprofiles:\n  own: {}\n  more: {a: 1}\n");
        let own = read(&[("MSC_CONFIG", &config)]).unwrap();
        assert_eq!(own.profiles.keys().collect::<Vec<_>>(), ["more", "own"]);
        assert_eq!(own.mapped("s3://old/a/b").as_deref(), Some("msc://more/a/b"));
        assert_eq!(own.mapped("s3://older/a"), None);
        let wrong = |text: &str, why: &str| {
            let config = write(dir.path(), "wrong.yaml", text);
            let failure = read(&[("MSC_CONFIG", &config)]).unwrap_err();
            assert!(failure.why.contains(why) && failure.class == ExitClass::Usage, "{failure}");
            assert!(!failure.to_string().contains("secret"), "{failure}");
        };
        wrong("include: [sub/more.yaml]\nprofiles: {more: {a: 2}}\n", "its profile more is another one");
        wrong("include: [own.yaml]\n", "includes others");
        wrong("include: [none.yaml]\n", "does not exist");
        wrong("a: secret\n b: [secret\n", "not valid YAML, at line 2");
        wrong("- secret\n", "no profiles");
    }

    #[test]
    fn rclone_profiles_are_read_in_addition_to_msc_profiles() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap().to_owned();
        write(
            dir.path(),
            ".config/rclone/rclone.conf",
            "[remote]\ntype = s3\nregion = r\naccess_key_id = a\n[other]\ntype = drive\n",
        );
        let environment = Environment::of(&[("HOME", &home), ("XDG_CONFIG_DIRS", "/nonexistent")]);
        let config = MscConfig::read(&environment).unwrap();
        assert_eq!(config.profiles.keys().collect::<Vec<_>>(), ["remote"]);
        let unknown = config.profile("remot", &environment).unwrap_err();
        assert!(unknown.why.contains("rclone.conf") && unknown.hint.unwrap().contains("remote"));
        write(
            dir.path(),
            ".config/rclone/rclone.conf",
            "# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\nabc\n",
        );
        let failure = MscConfig::read(&environment).unwrap_err();
        assert!(failure.why.contains("encrypted") && failure.class == ExitClass::Environment, "{failure}");
    }

    #[test]
    fn variables_of_the_used_msc_profile_must_be_set() {
        let environment = Environment::of(&[("A", "1"), ("B_2", "two"), ("EMPTY", "")]);
        let expand = |text: &str| expand(text, &environment);
        assert_eq!(expand("x$A-${B_2}y$5 $ ${A").unwrap(), "x1-twoy$5 $ ${A");
        assert_eq!(expand("${EMPTY}|$EMPTY").unwrap(), "|");
        assert_eq!(expand("a$NONE"), Err("NONE".to_owned()));
        let mut config = MscConfig::default();
        let content = serde_json::json!({"a": ["${NONE}"]});
        config.insert("used".to_owned(), content, Path::new("f")).unwrap();
        config.insert("other".to_owned(), serde_json::json!({"a": "$A"}), Path::new("f")).unwrap();
        assert_eq!(config.profile("other", &environment).unwrap().content["a"], "1");
        let failure = config.profile("used", &environment).unwrap_err();
        assert_eq!(failure.why, "a of its profile used names a variable NONE that is not set");
        let content = serde_json::json!({"credentials_provider": {"options": {"secret_key": "pa$word123"}}});
        config.insert("secret".to_owned(), content, Path::new("f")).unwrap();
        let failure = config.profile("secret", &environment).unwrap_err();
        assert_eq!(failure.why, "credentials_provider of its profile secret names a variable that is not set");
        assert!(!format!("{config:?}").contains("word123"));
    }

    proptest::proptest! {
        #[test]
        fn any_msc_configuration_is_read_or_refused(text in "[\\[\\]{}$:=\\-#;'\"&*!|a-c \n\t]{0,80}", is_json: bool) {
            let dir = tempfile::tempdir().unwrap();
            let name = if is_json { "c.json" } else { "c.yaml" };
            let config = write(dir.path(), name, &text);
            write(dir.path(), ".rclone.conf", &text);
            let home = dir.path().to_str().unwrap();
            let environment = Environment::of(&[("MSC_CONFIG", &config), ("HOME", home)]);
            if let Ok(config) = MscConfig::read(&environment) {
                config.profiles.keys().for_each(|name| _ = config.profile(name, &environment));
                proptest::prop_assert!(config.files.len() <= 2);
            }
        }
    }
}
