//! Settings of stores from flags; other settings come from the environment and from the files of the stores' own tools.

use std::sync::OnceLock;

/// Default number of concurrent requests to a host.
const DEFAULT_CONNECTIONS: usize = 64;

/// Settings of all stores of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// Name of the profile with credentials and settings.
    pub profile: Option<String>,
    /// Region of the buckets.
    pub region: Option<String>,
    /// Address of the store, instead of the vendor's address.
    pub endpoint_url: Option<String>,
    /// Whether requests are not signed.
    pub anonymous: bool,
    /// Whether the requester agrees to pay for the requests.
    pub request_payer: bool,
    /// Maximum number of concurrent requests to a host.
    pub connections: usize,
    /// How to read objects of which some bytes are not needed.
    pub reads: RemoteReads,
    /// Properties of new objects.
    pub new_objects: NewObjects,
}

/// How to read objects of which some bytes are not needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RemoteReads {
    /// The faster way, by the measured speed of requests and bodies.
    #[default]
    Auto,
    /// Skips every gap that is larger than the overhead of a request, for stores that charge for bytes.
    Ranges,
    /// Skips no gap, for stores that charge for requests.
    Whole,
}

/// Properties of new objects, in the terms of the store; unset ones are determined by the bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewObjects {
    /// Storage class.
    pub storage_class: Option<String>,
    /// Encryption by the store.
    pub sse: Option<String>,
    /// Key of the encryption.
    pub sse_kms_key_id: Option<String>,
    /// Access control list.
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
