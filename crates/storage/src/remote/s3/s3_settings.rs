//! Settings that are not from the files of Amazon's tools: those of the flags, or of a profile of another tool.

use super::super::store_settings::RemoteSettings;
use super::keys::GivenKeys;

/// Settings that count before those of the environment and of Amazon's files.
#[derive(Clone, Debug)]
pub(in crate::remote) struct S3Settings {
    pub(in crate::remote) flags: RemoteSettings,
    pub(in crate::remote) addressing_style: Option<String>,
    pub(in crate::remote) keys: GivenKeys,
    /// What they are from, if not from the flags, for messages.
    pub(in crate::remote) source: Option<String>,
}

impl S3Settings {
    pub(in crate::remote) fn of_flags(flags: &RemoteSettings) -> Self {
        Self { flags: flags.clone(), addressing_style: None, keys: GivenKeys::None, source: None }
    }

    /// Returns what a setting is from, given its flag.
    pub(super) fn source_of(&self, flag: &str) -> String {
        self.source.clone().unwrap_or_else(|| flag.to_owned())
    }
}
