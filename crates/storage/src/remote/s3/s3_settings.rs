//! Settings that do not come from the files of Amazon's tools, but from flags or from a profile of another tool.

use super::super::store_settings::RemoteSettings;
use super::keys::GivenKeys;

/// Settings that take precedence over the environment and Amazon's files.
#[derive(Clone, Debug)]
pub(in crate::remote) struct S3Settings {
    pub(in crate::remote) flags: RemoteSettings,
    pub(in crate::remote) addressing_style: Option<String>,
    pub(in crate::remote) keys: GivenKeys,
    /// Source of the settings for messages, if it is not the flags.
    pub(in crate::remote) source: Option<String>,
}

impl S3Settings {
    pub(in crate::remote) fn of_flags(flags: &RemoteSettings) -> Self {
        Self { flags: flags.clone(), addressing_style: None, keys: GivenKeys::None, source: None }
    }

    /// Returns the source of a setting, given its flag.
    pub(super) fn source_of(&self, flag: &str) -> String {
        self.source.clone().unwrap_or_else(|| flag.to_owned())
    }
}
