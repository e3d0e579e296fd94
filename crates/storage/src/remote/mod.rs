//! Stores of objects, and data sets of the Hugging Face hub: addresses, requests over HTTP, and the cache that the Python tools share.
//!
//! Owns every request over the network. Must not know what the files mean. The page of the format is `docs/remote.md`. All parts but the
//! addresses need the feature `remote`.

#[cfg(feature = "remote")]
pub(crate) mod az;
#[cfg(feature = "remote")]
mod blocks;
#[cfg(feature = "remote")]
mod cache;
#[cfg(feature = "remote")]
mod dates;
#[cfg(feature = "remote")]
mod digest;
#[cfg(feature = "remote")]
mod download;
#[cfg(feature = "remote")]
mod environment;
#[cfg(feature = "remote")]
mod file;
#[cfg(feature = "remote")]
pub(crate) mod gs;
#[cfg(feature = "remote")]
mod http;
#[cfg(feature = "remote")]
mod hub;
#[cfg(feature = "remote")]
mod listing;
#[cfg(feature = "remote")]
pub(crate) mod msc;
#[cfg(feature = "remote")]
mod network;
#[cfg(feature = "remote")]
mod retry;
#[cfg(feature = "remote")]
pub(crate) mod s3;
#[cfg(feature = "remote")]
mod settings;
#[cfg(feature = "remote")]
mod store_settings;
#[cfg(test)]
#[cfg(feature = "remote")]
mod tests;
#[cfg(feature = "remote")]
mod tls;
mod url;
#[cfg(feature = "remote")]
mod version;
#[cfg(feature = "remote")]
pub(crate) mod web;

#[cfg(feature = "remote")]
pub use digest::Digest;
#[cfg(feature = "remote")]
pub use file::RepositoryFile;
#[cfg(feature = "remote")]
pub use hub::{is_partial, Hub, Revision, Transfer};
#[cfg(feature = "remote")]
pub use settings::HubSettings;
#[cfg(feature = "remote")]
pub use store_settings::{set_remote_settings, NewObjects, RemoteSettings};
pub use url::{address_of, dataset_of, is_hub_url, RepositoryKind, RepositoryUrl};
