//! Compares random data sets with a naive model.

use super::*;

fn samples() -> impl Strategy<Value = Vec<ModelSample>> {
    let key = prop_oneof![
        6 => "[a-d]{1,3}".prop_map(Some),
        6 => "[a-z0-9/._é-]{4,20}".prop_map(Some),
        1 => "[ab]{1000,5000}".prop_map(Some),
        1 => Just(None),
    ];
    let part = (prop_oneof![8 => "(jpg|txt|json|a\\.b|)", 2 => "[a-z]{1,12}", 1 => "[a-z]{250,1500}"], 0u64..5_000);
    prop::collection::vec((key, prop::collection::vec(part, 1..6)), 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn index_of_any_data_set_matches_the_model(
        shards in prop::collection::vec(samples(), 0..7),
        memory in prop_oneof![Just(1usize), 1usize..2_000, Just(1 << 20)],
        merge_width in 2usize..6,
    ) {
        let bench = TestFolders::new();
        let spools: Vec<_> =
            (0..).zip(&shards).map(|(id, samples)| spool_model(&bench, id, samples, memory)).collect();
        let options = |duplicates| BuildOptions { duplicates, listed: 1_000_000, sort_memory: memory, merge_width, ..BuildOptions::default() };
        let (expected, duplicates) = model_dump(&shards, true);
        let kept = bench.build(&spools, &options(Duplicates::KeepFirst)).unwrap();
        prop_assert_eq!(&dump(&kept.database.unwrap()), &expected);
        prop_assert_eq!(&kept.duplicates, &duplicates);
        prop_assert_eq!(kept.samples, expected.samples.len() as u64);
        prop_assert_eq!(kept.parts, expected.parts.len() as u64);
        let failed = bench.build(&spools, &options(Duplicates::Fail)).unwrap();
        prop_assert_eq!(failed.database.is_some(), duplicates.is_empty());
        prop_assert_eq!(failed.duplicate_count, duplicates.len() as u64);
        prop_assert_eq!(failed.duplicates, duplicates);
        prop_assert_eq!(bench.left_in_scratch(), 0);
    }
}
