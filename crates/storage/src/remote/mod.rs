//! Stores of objects, and data sets of the Hugging Face hub: addresses, HTTP requests, and the cache that is shared with the Python tools.
//!
//! Owns all network requests. Must not know the meaning of the files. The page of the format is `docs/remote.md`. Everything except the
//! addresses needs the feature `remote`.

#[cfg(feature = "remote")]
pub(crate) mod az;
#[cfg(feature = "remote")]
mod blocks;
#[cfg(feature = "remote")]
mod dates;
#[cfg(feature = "remote")]
mod environment;
#[cfg(feature = "remote")]
pub(crate) mod gs;
pub(crate) mod hf;
#[cfg(feature = "remote")]
mod http;
#[cfg(feature = "remote")]
pub(crate) mod msc;
#[cfg(feature = "remote")]
mod network;
#[cfg(feature = "remote")]
mod proxy;
#[cfg(feature = "remote")]
mod retry;
#[cfg(feature = "remote")]
pub(crate) mod s3;
#[cfg(feature = "remote")]
mod secret;
#[cfg(feature = "remote")]
mod store_settings;
#[cfg(test)]
#[cfg(feature = "remote")]
mod tests;
#[cfg(feature = "remote")]
mod tls;
#[cfg(feature = "remote")]
pub(crate) mod version;
#[cfg(feature = "remote")]
pub(crate) mod web;

pub use hf::{address_of, is_hub_url, RepositoryKind, RepositoryUrl};
#[cfg(feature = "remote")]
pub use hf::{Digest, Hub, HubSettings, RepositoryFile, Revision, Transfer};
#[cfg(feature = "remote")]
pub use msc::mapped_path;
#[cfg(feature = "remote")]
pub use store_settings::{set_remote_settings, NewObjects, RemoteReads, RemoteSettings};
