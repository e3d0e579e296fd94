//! Flags for data in stores.

use clap::Args;
use gristmill_core::text::shell_quote;
use gristmill_storage::cache::{set_cache_bytes, DEFAULT_CACHE_BYTES};
use gristmill_storage::remote::{set_remote_settings, NewObjects, RemoteReads, RemoteSettings};

/// Settings of the stores that paths of a command lead to; the environment and the files of a store's own tools have the others.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data in stores (s3://BUCKET/KEY)")]
pub struct StoreFlags {
    /// Profile with credentials and settings [default: $AWS_PROFILE, else default]
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Region of the bucket [default: $AWS_REGION, that of the profile, else what the store answers]
    #[arg(long, global = true, value_name = "NAME")]
    pub region: Option<String>,
    /// Address of a store of another maker
    #[arg(long, global = true, value_name = "URL")]
    pub endpoint_url: Option<String>,
    /// Send requests without a signature, for public buckets
    #[arg(long, global = true, visible_alias = "no-sign-request", overrides_with = "anonymous")]
    pub anonymous: bool,
    /// Agree to pay for the requests
    #[arg(long, global = true, value_name = "WHO", num_args = 0..=1, require_equals = true, default_missing_value = "requester", value_parser = ["requester"])]
    pub request_payer: Option<String>,
    /// Requests at once, at most [default: 64]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub connections: Option<u16>,
    /// Size of what is kept of stores in the cache folder, at most a tenth of the free space; 0 keeps nothing [default: 4GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = super::paths::size_or_zero)]
    pub remote_cache: Option<u64>,
    /// How shards are read whose headers are needed: `auto` by what is quicker; `ranges` reads few bytes, `whole` sends few requests [default: auto]
    #[arg(long, global = true, value_name = "HOW", value_parser = ["auto", "ranges", "whole"], hide_possible_values = true)]
    pub remote_reads: Option<String>,
    /// Storage class of new objects
    #[arg(long, global = true, value_name = "NAME")]
    pub storage_class: Option<String>,
    /// Encryption of new objects by the store
    #[arg(long, global = true, value_name = "KIND", value_parser = ["AES256", "aws:kms", "aws:kms:dsse"])]
    pub sse: Option<String>,
    /// Key of the encryption
    #[arg(long, global = true, value_name = "KEY")]
    pub sse_kms_key_id: Option<String>,
    /// Access to new objects, as bucket-owner-full-control
    #[arg(long, global = true, value_name = "NAME")]
    pub acl: Option<String>,
}

impl StoreFlags {
    /// Returns the given flags as typed on a command line, each with a blank before it.
    pub fn text(&self) -> String {
        let value = |flag: &str, value: &Option<String>| {
            value.as_deref().map(|value| format!(" {flag} {}", shell_quote(value)))
        };
        let switch = |flag: &str, is_given: bool| is_given.then(|| format!(" {flag}"));
        let connections = self.connections.map(|count| count.to_string());
        [
            value("--profile", &self.profile),
            value("--region", &self.region),
            value("--endpoint-url", &self.endpoint_url),
            switch("--anonymous", self.anonymous),
            switch("--request-payer", self.request_payer.is_some()),
            value("--connections", &connections),
            value("--remote-cache", &self.remote_cache.map(|bytes| bytes.to_string())),
            value("--remote-reads", &self.remote_reads),
            value("--storage-class", &self.storage_class),
            value("--sse", &self.sse),
            value("--sse-kms-key-id", &self.sse_kms_key_id),
            value("--acl", &self.acl),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Applies the flags to the settings of the process.
    pub fn apply(&self) {
        let usual = RemoteSettings::default();
        set_cache_bytes(self.remote_cache.unwrap_or(DEFAULT_CACHE_BYTES));
        set_remote_settings(RemoteSettings {
            profile: self.profile.clone(),
            region: self.region.clone(),
            endpoint_url: self.endpoint_url.clone(),
            anonymous: self.anonymous,
            request_payer: self.request_payer.is_some(),
            connections: self.connections.map_or(usual.connections, usize::from),
            reads: match self.remote_reads.as_deref() {
                Some("ranges") => RemoteReads::Ranges,
                Some("whole") => RemoteReads::Whole,
                _ => RemoteReads::Auto,
            },
            new_objects: NewObjects {
                storage_class: self.storage_class.clone(),
                sse: self.sse.clone(),
                sse_kms_key_id: self.sse_kms_key_id.clone(),
                acl: self.acl.clone(),
            },
        });
    }
}
