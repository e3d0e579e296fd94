//! Writes WebDatasets: samples of files, rows and shards become new shards, prepared in the same pass. See docs/formats/webdataset.md.
//!
//! Sources list samples without their bytes ([`sample`]).

pub mod sample;
mod source;
