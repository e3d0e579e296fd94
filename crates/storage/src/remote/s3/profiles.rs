//! The files with profiles that Amazon's tools share, `~/.aws/config` and `~/.aws/credentials`.

use super::super::environment::{Environment, MAX_FILE_BYTES};
use crate::local_file::read_local;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::{Failure, Outcome, Subject};
use std::collections::BTreeMap;
use std::path::Path;

const DEFAULT_PROFILE: &str = "default";

/// Settings of a section, by name; settings in the block `s3 =` are named `s3.NAME`.
type Section = BTreeMap<String, String>;

/// The sections of both files, and the profile in use.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    profiles: BTreeMap<String, Section>,
    /// The sections `sso-session NAME` and `services NAME`.
    others: BTreeMap<String, Section>,
    /// Name of the profile in use.
    pub(super) name: String,
}

impl Profiles {
    /// Reads both files, as far as they exist.
    ///
    /// # Errors
    /// A file cannot be read, or the requested profile does not exist.
    pub(super) fn read(environment: &Environment, named: Option<&str>) -> Outcome<Self> {
        let path = |variable: &str, usual: &str| {
            environment.path(&environment.text(variable).unwrap_or_else(|| usual.to_owned()))
        };
        let config = path("AWS_CONFIG_FILE", "~/.aws/config");
        let credentials = path("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
        let mut found = Self::default();
        for (path, is_config) in [(&config, true), (&credentials, false)] {
            // Without a home folder there are no files.
            if path.starts_with("~") {
                continue;
            }
            if let Some(bytes) = read_local(path, MAX_FILE_BYTES)? {
                found.add(&String::from_utf8_lossy(&bytes), is_config);
            }
        }
        let given = named.map(str::to_owned).or_else(|| environment.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
        found.name = given.clone().unwrap_or_else(|| DEFAULT_PROFILE.to_owned());
        match given.filter(|name| !found.profiles.contains_key(name)) {
            None => Ok(found),
            Some(name) => Err(found.unknown(&name, &config)),
        }
    }

    /// Returns the failure for a profile that does not exist.
    pub(super) fn unknown(&self, name: &str, file: &Path) -> Failure {
        let why = format!("there is no profile {name} in {}", file.display());
        let failure = Failure::usage("reading the credentials", why).on(Subject::field("--profile"));
        match nearest(name, self.profiles.keys().map(String::as_str)) {
            Some(near) => failure.with_hint(format!("there is one named {near}")),
            None => failure,
        }
    }

    fn add(&mut self, text: &str, is_config: bool) {
        let mut section: Option<&mut Section> = None;
        let mut outer = String::new();
        for line in text.lines() {
            let content = line.trim();
            if content.is_empty() || content.starts_with(['#', ';']) {
                continue;
            }
            if let Some(header) = content.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                let header = header.split_whitespace().collect::<Vec<_>>();
                section = match (header.as_slice(), is_config) {
                    (["profile", name], true) | ([name @ "default"], true) | ([name], false) => {
                        Some(self.profiles.entry(name.trim_matches(['"', '\'']).to_owned()).or_default())
                    }
                    ([kind, name], true) => Some(self.others.entry(format!("{kind} {name}")).or_default()),
                    _ => None,
                };
                outer.clear();
                continue;
            }
            let (Some(section), Some((name, value))) = (section.as_mut(), content.split_once('=')) else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            let value = value.split(" #").next().unwrap_or_default().trim_end();
            let is_nested = line.starts_with([' ', '\t']) && !outer.is_empty();
            if is_nested {
                section.insert(format!("{outer}.{name}"), value.to_owned());
                continue;
            }
            outer = if value.is_empty() { name.clone() } else { String::new() };
            section.insert(name, value.to_owned());
        }
    }

    /// Whether there is a profile with this name.
    pub(super) fn has(&self, profile: &str) -> bool {
        self.profiles.contains_key(profile)
    }

    /// Returns a setting of a profile.
    pub(super) fn get(&self, profile: &str, name: &str) -> Option<&str> {
        let value = self.profiles.get(profile)?.get(name)?;
        (!value.is_empty()).then_some(value.as_str())
    }

    /// Returns a setting of the profile in use.
    pub(super) fn own(&self, name: &str) -> Option<&str> {
        self.get(&self.name, name)
    }

    /// Returns a setting of a section that is not a profile, such as `sso-session NAME`.
    pub(super) fn other(&self, kind: &str, section: &str, name: &str) -> Option<&str> {
        self.others.get(&format!("{kind} {section}"))?.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_of_config_and_credentials_files_are_merged() {
        let mut profiles = Profiles { name: "a".to_owned(), ..Profiles::default() };
        let config =
            "[default]\nregion = eu-west-1 # near\n[profile a]\ns3 =\n  addressing_style = virtual\nrole_arn=r\n\
                      [sso-session s]\nsso_region = x\n[a]\nregion = no\n; comment\n";
        profiles.add(config, true);
        profiles.add("[a]\nAWS_Access_Key_Id = k=1\n[default]\n", false);
        assert_eq!(profiles.get("default", "region"), Some("eu-west-1"));
        assert_eq!(profiles.own("s3.addressing_style"), Some("virtual"));
        assert_eq!((profiles.own("role_arn"), profiles.own("region")), (Some("r"), None));
        assert_eq!(profiles.own("aws_access_key_id"), Some("k=1"));
        assert_eq!(profiles.other("sso-session", "s", "sso_region"), Some("x"));
        assert!(profiles.unknown("defalt", Path::new("f")).hint.unwrap().contains("default"));
    }

    #[test]
    fn named_aws_profile_must_exist() {
        let nowhere = [("AWS_CONFIG_FILE", "/nonexistent/c"), ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/k")];
        let environment = Environment::of(&nowhere);
        assert_eq!(Profiles::read(&environment, None).unwrap().name, "default");
        let failure = Profiles::read(&environment, Some("x")).unwrap_err();
        assert_eq!((failure.class.code(), failure.why.as_str()), (2, "there is no profile x in /nonexistent/c"));
    }
}
