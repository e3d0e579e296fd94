//! All integration tests in one binary, so that the crate is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on panics; test data is not published"
)]

mod architecture;
mod bad_input;
mod check;
mod cli_browse;
mod cli_count;
mod cli_cp;
mod cli_damage;
mod cli_dedup;
mod cli_demo;
mod cli_dropin;
mod cli_facts;
mod cli_hub;
mod cli_index;
mod cli_jobs;
mod cli_jsonl;
mod cli_kills;
mod cli_media;
mod cli_mix;
mod cli_modalities;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod cli_mount;
mod cli_msc;
mod cli_nanosets;
mod cli_outputs;
mod cli_pack;
mod cli_permissions;
mod cli_prepare;
mod cli_prompts;
mod cli_recipes;
mod cli_second_run;
mod cli_settings;
mod cli_shard;
mod cli_signals;
mod cli_small;
mod cli_splits;
mod cli_store;
mod cli_support;
mod cli_tables;
mod cli_usage;
mod commands_page;
mod docs;
mod field;
mod hostile;
mod job_faults;
mod job_faults_media;
mod jsonl_faults;
mod media_av;
mod pictures;
mod plan;
mod progress;
mod pty;
mod readme;
mod safe_text;
mod splits_write;
mod support;
