//! Keys that requests are signed with.

use super::super::settings::Secret;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Keys that requests are signed with.
#[derive(Clone, Debug)]
pub(in crate::remote) struct Keys {
    pub(in crate::remote) id: String,
    pub(in crate::remote) secret: Secret,
    pub(in crate::remote) token: Option<Secret>,
    /// When they end.
    pub(in crate::remote) expires: Option<SystemTime>,
    /// Where they are from, for messages.
    pub(in crate::remote) source: String,
}

impl Keys {
    /// Returns the end of the id, by which users recognize a key.
    pub(super) fn id_end(&self) -> String {
        let id: Vec<char> = self.id.chars().collect();
        format!("…{}", id[id.len().saturating_sub(4)..].iter().collect::<String>())
    }

    pub(super) fn ends_within(&self, time: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + time)
    }
}

/// Keys that are given, so that none are looked for.
#[derive(Clone, Debug)]
pub(in crate::remote) enum GivenKeys {
    None,
    Fixed(Keys),
    /// A file with the keys, as `credential_process` prints them, which another program renews.
    File(PathBuf),
}
