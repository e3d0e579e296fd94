//! Hostile input for every reader: mutated real files, and texts of pieces that readers often fail on.
//!
//! `GRISTMILL_FUZZ_CASES` sets the number of inputs for each reader (default: 300).

mod bodies;
mod seeds;

use crate::pty::harness::deadline;
use bodies::Body;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::time::Instant;

fn cases() -> u32 {
    std::env::var("GRISTMILL_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300)
}

/// A change to an input. Positions and seeds are taken modulo the available number.
#[derive(Clone, Debug)]
enum Mutation {
    Flip {
        at: usize,
        bit: u8,
    },
    Cut {
        at: usize,
    },
    Drop {
        at: usize,
        len: usize,
    },
    Insert {
        at: usize,
        token: usize,
    },
    /// Overwrites bytes with a token, which changes lengths and counts.
    Over {
        at: usize,
        token: usize,
    },
    Random {
        at: usize,
        bytes: Vec<u8>,
    },
    Repeat {
        at: usize,
        len: usize,
        times: usize,
    },
    Splice {
        at: usize,
        seed: usize,
        from: usize,
        len: usize,
    },
    /// Repairs the checksum of the tar header at a block, so that readers reach damage after it.
    Checksum {
        block: usize,
    },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<usize>;
    prop_oneof![
        4 => (at(), 0u8..8).prop_map(|(at, bit)| Mutation::Flip { at, bit }),
        1 => at().prop_map(|at| Mutation::Cut { at }),
        2 => (at(), 1usize..700).prop_map(|(at, len)| Mutation::Drop { at, len }),
        5 => (at(), at()).prop_map(|(at, token)| Mutation::Insert { at, token }),
        3 => (at(), at()).prop_map(|(at, token)| Mutation::Over { at, token }),
        2 => (at(), prop::collection::vec(any::<u8>(), 1..16)).prop_map(|(at, bytes)| Mutation::Random { at, bytes }),
        1 => (at(), 1usize..600, 1usize..8).prop_map(|(at, len, times)| Mutation::Repeat { at, len, times }),
        1 => (at(), at(), at(), 1usize..2048).prop_map(|(at, seed, from, len)| Mutation::Splice { at, seed, from, len }),
        2 => at().prop_map(|block| Mutation::Checksum { block }),
    ]
}

fn apply(input: &mut Vec<u8>, mutation: &Mutation, seeds: &[Vec<u8>], tokens: &[&[u8]]) {
    let place = |at: usize, len: usize| if len == 0 { 0 } else { at % len };
    let len = input.len();
    match mutation {
        Mutation::Flip { at, bit } if len > 0 => input[at % len] ^= 1 << bit,
        Mutation::Cut { at } => input.truncate(place(*at, len + 1)),
        Mutation::Drop { at, len: count } => {
            let from = place(*at, len + 1);
            input.drain(from..(from + count).min(len));
        }
        Mutation::Insert { at, token } => {
            let at = place(*at, len + 1);
            input.splice(at..at, tokens[token % tokens.len()].iter().copied());
        }
        Mutation::Over { at, token } => {
            let (at, token) = (place(*at, len + 1), tokens[token % tokens.len()]);
            input.splice(at..(at + token.len()).min(len), token.iter().copied());
        }
        Mutation::Random { at, bytes } => {
            let at = place(*at, len + 1);
            input.splice(at..(at + bytes.len()).min(len), bytes.iter().copied());
        }
        Mutation::Repeat { at, len: count, times } => {
            let from = place(*at, len + 1);
            let piece = input[from..(from + count).min(len)].repeat(*times);
            input.splice(from..from, piece);
        }
        Mutation::Splice { at, seed, from, len: count } => {
            let other = &seeds[seed % seeds.len()];
            let from = place(*from, other.len() + 1);
            let at = place(*at, len + 1);
            input.splice(at..at, other[from..(from + count).min(other.len())].iter().copied());
        }
        Mutation::Checksum { block } if len >= 512 => {
            let from = place(*block, len / 512) * 512;
            let header = &mut input[from..from + 512];
            header[148..156].fill(b' ');
            let sum: u64 = header.iter().map(|&byte| u64::from(byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        Mutation::Flip { .. } | Mutation::Checksum { .. } => {}
    }
}

/// Runs a body on its seeds, then on the requested number of mutations of them; a failing input is minimised.
fn survive(name: &str, body: Body, seeds: &[Vec<u8>], tokens: &[&[u8]]) {
    for seed in seeds {
        body(seed);
    }
    let config = Config { cases: cases(), failure_persistence: None, max_shrink_time: 20_000, ..Config::default() };
    let strategy = (any::<usize>(), prop::collection::vec(mutation(), 1..8));
    let result = TestRunner::new(config).run(&strategy, |(seed, mutations)| {
        let mut input = seeds[seed % seeds.len()].clone();
        for mutation in &mutations {
            apply(&mut input, mutation, seeds, tokens);
        }
        let started = Instant::now();
        body(&input);
        prop_assert!(
            started.elapsed() < deadline(),
            "{:?} for {} bytes: {}",
            started.elapsed(),
            input.len(),
            input.escape_ascii()
        );
        Ok(())
    });
    if let Err(error) = result {
        panic!("{name}: {error}");
    }
}

macro_rules! survives {
    ($($(#[$doc:meta])* $test:ident: $name:literal, $seeds:expr, $tokens:expr;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $test() {
            let (_, body) = bodies::ALL.iter().find(|(name, _)| *name == $name).unwrap();
            survive($name, *body, &$seeds, $tokens);
        }
    )*};
}

survives! {
    the_tar_scan_survives_any_bytes: "tar_scan", seeds::tars(), seeds::TAR_TOKENS;
    tar_indexes_survive_any_bytes: "tar_idx", seeds::golden(".tar.idx"), seeds::TAR_TOKENS;
    metadatasets_survive_any_text: "metadataset", seeds::metadataset(), seeds::YAML_TOKENS;
    join_indexes_survive_any_bytes: "join_idx", seeds::golden(".bin"), seeds::TAR_TOKENS;
    megatron_indexes_survive_any_bytes: "megatron_idx", seeds::golden_of("megatron", ".idx"), seeds::TAR_TOKENS;
    mds_indexes_and_shards_survive_any_bytes: "mds_index", [seeds::golden_of("mds", "index.json"), seeds::golden_of("mds", ".mds")].concat(), seeds::LINE_TOKENS;
    arrow_files_survive_any_bytes: "arrow_file", seeds::golden_of("arrow", ".arrow"), seeds::TAR_TOKENS;
    csv_files_survive_any_bytes: "csv_file", seeds::golden_of("csv", ".csv"), seeds::CSV_TOKENS;
    parquet_files_survive_any_bytes: "parquet_file", seeds::golden_of("parquet", ".parquet"), seeds::TAR_TOKENS;
    split_yaml_survives_any_text: "split_yaml", seeds::split_yaml(), seeds::YAML_TOKENS;
    info_files_survive_any_text: "info_json", seeds::info(), seeds::YAML_TOKENS;
    dataset_yaml_survives_any_text: "dataset_yaml", seeds::dataset_yaml(), seeds::YAML_TOKENS;
    brace_expressions_survive_any_text: "braces", seeds::braces(), seeds::BRACE_TOKENS;
    patterns_survive_any_text: "pattern", seeds::patterns(), seeds::PATTERN_TOKENS;
    field_maps_survive_any_text: "field_map", seeds::field_maps(), seeds::FIELD_TOKENS;
    plans_survive_any_text: "plan_yaml", seeds::plans(), seeds::YAML_TOKENS;
    part_decoders_survive_any_bytes: "decode", seeds::parts(), seeds::PART_TOKENS;
    documents_of_dedup_survive_any_bytes: "dedup_documents", seeds::documents(), seeds::LINE_TOKENS;
    jsonl_lines_survive_any_bytes: "jsonl", seeds::lines(), seeds::LINE_TOKENS;
    display_of_text_survives_any_bytes: "display_safe", seeds::texts(), seeds::TEXT_TOKENS;
    wav_avi_flac_and_aac_survive_any_bytes: "riff", seeds::riff(), seeds::RIFF_TOKENS;
    pictures_survive_any_bytes: "image", seeds::media("images"), seeds::PICTURE_TOKENS;
    mpeg_audio_and_ogg_files_survive_any_bytes:
        "sound_in_frames_and_pages",
        [seeds::media("mpeg_audio"), seeds::media("ogg")].concat(),
        seeds::SOUND_TOKENS;
    iso_media_files_survive_any_bytes: "iso_media", seeds::media("iso"), seeds::BOX_TOKENS;
    matroska_files_survive_any_bytes: "matroska", seeds::media("matroska"), seeds::ELEMENT_TOKENS;
    media_kind_detection_survives_any_bytes: "media_kind", seeds::media("images"), seeds::PICTURE_TOKENS;
}

proptest! {
    #![proptest_config(Config { cases: cases().max(1000), failure_persistence: None, ..Config::default() })]

    #[test]
    fn displayed_text_has_no_terminal_control_sequences(text in any::<String>()) {
        bodies::display(text.as_bytes());
    }

    #[test]
    fn displayed_characters_are_printable_or_replaced(c in any::<char>()) {
        let text = format!("a{c}b");
        let shown = gristmill_core::text::display_safe(&text);
        prop_assert!(shown.len() > 2, "nothing vanishes silently");
        prop_assert!(!shown.chars().any(bodies::is_dangerous));
        prop_assert_eq!(gristmill_core::text::is_printable(c), shown == text);
    }

    #[test]
    fn long_sequences_of_combining_marks_are_cut(marks in prop::collection::vec(0x300u32..0x370, 0..200)) {
        let text: String = std::iter::once('a').chain(marks.iter().filter(|&&c| c != 0x34f).filter_map(|&c| char::from_u32(c))).collect();
        let shown = gristmill_core::text::display_safe(&text);
        prop_assert!(shown.chars().count() <= 18);
        prop_assert_eq!(gristmill_core::text::display_safe(&shown).into_owned(), shown.into_owned());
    }
}
