//! Compares the ranges with those of the reference program.

use super::super::{find_all, Interval, Rule};
use gristmill_core::dedup::Keep;
use std::path::Path;

#[test]
fn ranges_match_the_reference() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/dedup");
    let mut cases = 0;
    for case in std::fs::read_dir(golden).unwrap() {
        let case = case.unwrap().path();
        let Ok(facts) = std::fs::read(case.join("case.json")) else { continue };
        let facts: serde_json::Value = serde_json::from_slice(&facts).unwrap();
        let rule = Rule { min_length: facts["minlen"].as_u64().unwrap(), keep: Keep::First, min_count: 2 };
        let read = |shard: u64, name: &str| {
            std::fs::read(case.join(format!("expected/index/{shard}/{name}"))).unwrap_or_else(|_| panic!("{name}"))
        };
        let shards = facts["shards"].as_u64().unwrap();
        let (mut text, mut expected) = (Vec::new(), Vec::new());
        for shard in 0..shards {
            for range in read(shard, "remove_ranges").as_chunks::<16>().0 {
                let range = u128::from_le_bytes(*range);
                let base = text.len() as u64;
                expected.push((base + range as u64, base + (range >> 64) as u64));
            }
            text.extend(read(shard, "tokenized"));
        }
        let found = find_all(&text, &rule).unwrap();
        let found: Vec<(u64, u64)> = found.iter().map(|Interval { start, end, .. }| (*start, *end)).collect();
        assert_eq!(found, expected, "{}", case.display());
        cases += 1;
    }
    assert_eq!(cases, 10);
}
