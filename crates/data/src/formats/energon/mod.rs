//! The files of a data set prepared for Energon (docs/formats/energon.md).

pub mod collapse;
pub mod dataset_yaml;
mod fields;
pub mod info;
pub mod join_idx;
pub mod jsonl_idx;
pub mod key_pages;
pub mod layout;
pub mod media_json;
pub mod metadataset;
pub mod ratio;
pub mod split_edit;
pub mod split_yaml;
pub mod tables;
pub mod tar_idx;
pub mod templates;

/// Format version that is written into `.info.json`.
pub const ENERGON_VERSION: &str = "7.4.1";
