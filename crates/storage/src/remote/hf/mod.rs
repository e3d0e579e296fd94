//! Data sets of the Hugging Face hub: addresses, requests, and the cache that is shared with the Python tools.

#[cfg(feature = "remote")]
mod cache;
#[cfg(feature = "remote")]
mod digest;
#[cfg(feature = "remote")]
mod download;
#[cfg(feature = "remote")]
mod file;
#[cfg(feature = "remote")]
mod hub;
#[cfg(feature = "remote")]
mod listing;
#[cfg(feature = "remote")]
mod settings;
#[cfg(feature = "remote")]
mod store;
#[cfg(test)]
#[cfg(feature = "remote")]
mod tests;
mod url;

#[cfg(feature = "remote")]
pub use digest::Digest;
#[cfg(feature = "remote")]
pub use file::RepositoryFile;
#[cfg(feature = "remote")]
pub use hub::{Hub, Revision, Transfer};
#[cfg(feature = "remote")]
pub use settings::HubSettings;
#[cfg(feature = "remote")]
pub(crate) use store::{check, open};
pub use url::{address_of, is_hub_url, RepositoryKind, RepositoryUrl};
