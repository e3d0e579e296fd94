//! Schemes of addresses, by which kinds of stores are recognised.

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// Memory, for tests.
    #[cfg(any(test, feature = "testing"))]
    Memory,
    /// Amazon S3 and other services with its API.
    #[cfg(feature = "remote")]
    S3,
    /// Google Cloud Storage.
    #[cfg(feature = "remote")]
    Google,
    /// Azure Blob Storage.
    #[cfg(feature = "remote")]
    Azure,
    /// Profiles of multi-storage-client.
    #[cfg(feature = "remote")]
    Msc,
    /// Web servers.
    #[cfg(feature = "remote")]
    Web,
    /// The Hugging Face hub.
    #[cfg(feature = "remote")]
    Hub,
}

/// A scheme of addresses; a kind of store may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The kind of store.
    pub kind: StoreKind,
    /// The text before `://`.
    pub name: &'static str,
    /// Usual name of the kind.
    pub usual: &'static str,
    /// Name of the kind, in messages.
    pub title: &'static str,
    /// Whether messages omit the scheme, because another row has the usual name of the same kind, or because it is for tests.
    pub is_hidden: bool,
    /// Whether objects can be put.
    pub is_writable: bool,
    /// Whether the names of the buckets, or of their counterparts in addresses, can be listed.
    pub lists_buckets: bool,
}

/// The scheme of buckets of Amazon S3, also of those in profiles.
#[cfg(feature = "remote")]
pub(super) const S3: Scheme = Scheme { lists_buckets: true, ..Scheme::new(StoreKind::S3, "s3", "Amazon S3") };
/// Listing the buckets of Google Cloud Storage requires the name of a project.
#[cfg(feature = "remote")]
const GOOGLE: Scheme = Scheme::new(StoreKind::Google, "gs", "Google Cloud Storage");
/// The scheme of containers with their account.
#[cfg(feature = "remote")]
pub(super) const ABFSS: Scheme = Scheme::new(StoreKind::Azure, "abfss", "Azure Blob Storage");
#[cfg(feature = "remote")]
const HTTPS: Scheme = Scheme { is_writable: false, ..Scheme::new(StoreKind::Web, "https", "web servers") };

/// All schemes.
pub static SCHEMES: &[Scheme] = &[
    #[cfg(any(test, feature = "testing"))]
    Scheme { is_hidden: true, lists_buckets: true, ..Scheme::new(StoreKind::Memory, "mem", "memory") },
    #[cfg(feature = "remote")]
    S3,
    #[cfg(feature = "remote")]
    Scheme { name: "s3a", is_hidden: true, ..S3 },
    #[cfg(feature = "remote")]
    GOOGLE,
    #[cfg(feature = "remote")]
    Scheme { name: "gcs", is_hidden: true, ..GOOGLE },
    #[cfg(feature = "remote")]
    Scheme { name: "az", usual: "az", lists_buckets: true, ..ABFSS },
    #[cfg(feature = "remote")]
    ABFSS,
    #[cfg(feature = "remote")]
    Scheme { name: "abfs", is_hidden: true, ..ABFSS },
    #[cfg(feature = "remote")]
    Scheme { lists_buckets: true, ..Scheme::new(StoreKind::Msc, "msc", "profiles of multi-storage-client") },
    #[cfg(feature = "remote")]
    HTTPS,
    #[cfg(feature = "remote")]
    Scheme { name: "http", usual: "http", ..HTTPS },
    #[cfg(feature = "remote")]
    Scheme { is_writable: false, ..Scheme::new(StoreKind::Hub, "hf", "the Hugging Face hub") },
];

impl Scheme {
    /// Returns a scheme of a writable store whose buckets cannot be listed.
    #[cfg(any(test, feature = "testing", feature = "remote"))]
    const fn new(kind: StoreKind, name: &'static str, title: &'static str) -> Self {
        Self { kind, name, usual: name, title, is_hidden: false, is_writable: true, lists_buckets: false }
    }
}

/// Returns the beginnings of addresses, of writable stores or of all.
pub fn schemes_text(is_written: bool) -> String {
    let rows = SCHEMES.iter().filter(|scheme| !scheme.is_hidden && (scheme.is_writable || !is_written));
    rows.map(|scheme| format!("{}://", scheme.name)).collect::<Vec<_>>().join(", ")
}
