//! Data sets of the Hugging Face hub: addresses, requests, and the cache that the Python tools share.

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
mod url;

#[cfg(feature = "remote")]
pub use digest::Digest;
#[cfg(feature = "remote")]
pub use file::RepositoryFile;
#[cfg(feature = "remote")]
pub use hub::{is_partial, Hub, Revision, Transfer};
#[cfg(feature = "remote")]
pub use settings::HubSettings;
pub use url::{address_of, dataset_of, is_hub_url, RepositoryKind, RepositoryUrl};
