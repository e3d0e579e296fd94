//! What the flags say about stores; the environment and the files of the stores' own tools say the rest.

use std::sync::OnceLock;

/// Requests that a host gets at once by default.
const DEFAULT_CONNECTIONS: usize = 64;

/// Settings of all stores of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// Name of the profile with credentials and settings.
    pub profile: Option<String>,
    /// Region of the buckets.
    pub region: Option<String>,
    /// Address of the store, in place of that of its maker.
    pub endpoint_url: Option<String>,
    /// Whether requests carry no signature.
    pub anonymous: bool,
    /// Whether the one who asks agrees to pay for the requests.
    pub request_payer: bool,
    /// Requests that a host gets at once, at most.
    pub connections: usize,
    /// How objects with gaps that are not needed are read.
    pub reads: RemoteReads,
    /// How objects are made.
    pub new_objects: NewObjects,
}

/// How objects with gaps that are not needed are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteReads {
    /// As is quicker, by what requests and bytes take.
    #[default]
    Auto,
    /// Every gap that is worth it in bytes is jumped over, for stores whose bytes are paid for.
    Ranges,
    /// Nothing is jumped over, for stores whose requests are paid for.
    Whole,
}

/// What objects are made with, in the words of the store; nothing: what the bucket sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewObjects {
    /// Storage class.
    pub storage_class: Option<String>,
    /// Encryption by the store.
    pub sse: Option<String>,
    /// Key of the encryption.
    pub sse_kms_key_id: Option<String>,
    /// Access that others have.
    pub acl: Option<String>,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            profile: None,
            region: None,
            endpoint_url: None,
            anonymous: false,
            request_payer: false,
            connections: DEFAULT_CONNECTIONS,
            reads: RemoteReads::default(),
            new_objects: NewObjects::default(),
        }
    }
}

static SETTINGS: OnceLock<RemoteSettings> = OnceLock::new();

/// Sets the settings of the process. Has no effect after the first call, or after a store was used.
pub fn set_remote_settings(settings: RemoteSettings) {
    _ = SETTINGS.set(settings);
}

/// Returns the settings of the process.
pub(super) fn remote_settings() -> &'static RemoteSettings {
    SETTINGS.get_or_init(RemoteSettings::default)
}
