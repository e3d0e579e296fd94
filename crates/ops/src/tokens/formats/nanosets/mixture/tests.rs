use super::*;
use gristmill_core::{Cancel, ExitClass, Handles, ProblemLog, Progress};
use gristmill_data::formats::nanosets::windows::{self, Numbering};
use gristmill_data::formats::nanosets::{Shard, TokenSize};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::Path;

fn built(request: &Request) -> MixtureIndex {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let index = build(request, &Handles { progress: &progress, cancel: &cancel, problems: &problems }).unwrap();
    let reading = progress.read();
    assert_eq!(reading.items_done, reading.items_total);
    index
}

fn pairs(index: &MixtureIndex) -> Vec<(u32, u64)> {
    let mut all = Vec::new();
    let keep = |piece: &[(u32, u64)]| {
        all.extend_from_slice(piece);
        Ok(())
    };
    index.for_each_chunk(keep).unwrap();
    all
}

fn request(lengths: &[u64], weights: Option<&[f64]>, samples: u64, seed: u32) -> Request {
    Request { lengths: lengths.to_vec(), weights: weights.map(<[f64]>::to_vec), samples, seed }
}

fn hash(numbers: impl Iterator<Item = u64>) -> String {
    let mut hash = Sha256::new();
    numbers.for_each(|n| hash.update(n.to_le_bytes()));
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn numbers<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// Returns the results of a golden case, one per line.
fn results(case: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/nanosets").join(case);
    let text = std::fs::read_to_string(path.join("expected/results.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns a list of numbers with full precision, which the JSON reader does not preserve; `None` for `null`.
fn exactly(line: &str, key: &str) -> Option<Vec<f64>> {
    let rest = line.split_once(&format!("\"{key}\": ")).unwrap().1;
    let list = rest.strip_prefix('[')?.split_once(']').unwrap().0;
    Some(list.split(", ").map(|number| number.parse().unwrap()).collect())
}

fn check(line: &str) {
    let known: &Value = &serde_json::from_str(line).unwrap();
    let request = Request {
        lengths: numbers(&known["lengths"]),
        weights: exactly(line, "weights_in"),
        samples: known["train_split_num_samples"].as_u64().unwrap(),
        seed: numbers(&known["seed"]),
    };
    request.check(&[]).unwrap();
    assert_eq!(request.normalised(), exactly(line, "weights").unwrap());
    assert_eq!(request.epoch(), known["samples_per_epoch"].as_u64().unwrap());
    assert_eq!(request.epochs(), known["epochs"].as_u64().unwrap());
    let index = built(&request);
    let all = pairs(&index);
    assert_eq!(all.len() as u64, known["len"].as_u64().unwrap());
    let first: Vec<u64> = all.iter().take(40).map(|pair| u64::from(pair.0)).collect();
    assert_eq!(first, numbers::<Vec<u64>>(&known["dataset_index"]));
    assert_eq!(hash(all.iter().map(|pair| u64::from(pair.0))), known["sha256_dataset_index_u64le"].as_str().unwrap());
    assert_eq!(hash(all.iter().map(|pair| pair.1)), known["sha256_dataset_sample_index_i64le"].as_str().unwrap());
    let outlook = MixtureForecast::of(&request, &index);
    let counts: Vec<u64> = outlook.members.iter().map(|share| share.samples).collect();
    assert_eq!(counts, numbers::<Vec<u64>>(&known["counts"]));
    assert_eq!(MixtureForecast::exact_or_estimated(&request), outlook);
}

#[test]
fn mixture_indexes_match_the_reference() {
    let known = results("11_mixture_index");
    assert_eq!(known.len(), 20);
    known.iter().for_each(|line| check(line));
    results("13_nanoset_end_to_end").iter().for_each(|line| check(line));
}

#[test]
fn mixture_samples_match_the_reference() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/nanosets");
    let known = results("13_nanoset_end_to_end");
    assert_eq!(known.len(), 3);
    for line in &known {
        let known: &Value = &serde_json::from_str(line).unwrap();
        let length = known["seq_len"].as_u64().unwrap();
        let folders: Vec<String> = numbers(&known["folders"]);
        let mut sets = Vec::new();
        for (folder, in_order) in folders.iter().zip(known["file_order"].as_array().unwrap()) {
            let files =
                crate::tokens::formats::nanosets::engine::listing::files(&root.join(folder), &ProblemLog::default())
                    .unwrap();
            let order = windows::file_order(files.len());
            let names: Vec<&str> = order.iter().map(|at| files[*at].name.as_str()).collect();
            assert_eq!(names, numbers::<Vec<String>>(in_order));
            let open = |at: &usize| {
                let size = files[*at].metadata.as_ref().map_or(TokenSize::Two, |metadata| metadata.token_size);
                Shard::open(&files[*at].path, size).unwrap()
            };
            let shards: Vec<Shard> = order.iter().map(open).collect();
            let all = Numbering::new(shards.iter().map(Shard::tokens), length);
            sets.push((shards, all));
        }
        let request = Request {
            lengths: sets.iter().map(|(_, all)| all.windows()).collect(),
            weights: exactly(line, "weights_in"),
            samples: known["train_split_num_samples"].as_u64().unwrap(),
            seed: numbers(&known["seed"]),
        };
        let mut hash = Sha256::new();
        for (set, window) in pairs(&built(&request)) {
            let (shards, all) = &sets[set as usize];
            let (file, first) = all.find(window).unwrap();
            let sample = windows::ids(&shards[file], first, length + 1).unwrap();
            sample.iter().for_each(|id| hash.update(id.to_le_bytes()));
        }
        let hash: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hash, known["windows_sha256"].as_str().unwrap(), "{folders:?}");
    }
}

#[test]
fn mixture_matches_the_documented_examples() {
    let index = built(&request(&[5, 3], None, 16, 1234));
    let (members, windows): (Vec<u32>, Vec<u64>) = pairs(&index).into_iter().unzip();
    assert_eq!(members, [0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0]);
    assert_eq!(windows, [1, 0, 2, 0, 2, 3, 1, 4, 1, 0, 2, 0, 2, 3, 1, 4]);
    let index = built(&request(&[4, 10, 1], Some(&[3.0, 1.0, 1.0]), 20, 42));
    let (members, windows): (Vec<u32>, Vec<u64>) = pairs(&index).into_iter().unzip();
    assert_eq!(members, [0, 1, 0, 0, 0, 0, 2, 1, 0, 0, 2, 0, 2, 0, 1, 0, 1, 0, 0, 0]);
    assert_eq!(windows, [1, 2, 0, 3, 3, 0, 0, 0, 0, 2, 0, 2, 0, 1, 1, 1, 2, 0, 3, 3]);
}

/// Computes the index by the rule in docs/formats/nanosets.md §7, without optimizations.
fn plainly(request: &Request) -> Vec<(u32, u64)> {
    let weights = request.normalised();
    let mut used = vec![0_u64; weights.len()];
    let mut epoch = Vec::new();
    for i in 0..request.epoch() {
        let x = i.max(1) as f64;
        let lags: Vec<f64> = weights.iter().zip(&used).map(|(w, u)| w * x - *u as f64).collect();
        let most = lags.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let d = lags.iter().position(|lag| *lag == most).unwrap();
        epoch.push((d as u32, used[d] % request.lengths[d]));
        used[d] += 1;
    }
    gristmill_pycompat::numpy_random::RandomState::seeded(request.seed).shuffle(&mut epoch);
    epoch.iter().copied().cycle().take(request.samples as usize).collect()
}

proptest! {
    #[test]
    fn mixture_of_any_request_matches_the_plain_algorithm(
        members in proptest::collection::vec((1..40_u64, 0.01..3.0_f64), 1..40),
        is_weighted in any::<bool>(),
        samples in 1..3000_u64,
        seed in any::<u32>(),
    ) {
        let (lengths, weights): (Vec<u64>, Vec<f64>) = members.into_iter().unzip();
        let request = Request { lengths, weights: is_weighted.then_some(weights), samples, seed };
        let index = built(&request);
        let all = pairs(&index);
        prop_assert_eq!(&all, &plainly(&request));
        let outlook = MixtureForecast::of(&request, &index);
        for (member, share) in outlook.members.iter().enumerate() {
            let windows: Vec<u64> = all.iter().filter(|pair| pair.0 as usize == member).map(|pair| pair.1).collect();
            prop_assert_eq!(share.samples, windows.len() as u64);
            let distinct: std::collections::HashSet<u64> = windows.into_iter().collect();
            prop_assert_eq!(share.unread, share.windows - distinct.len() as u64);
        }
        // The estimate from the weights is close to the result.
        let estimated = MixtureForecast::estimate(&request);
        for (estimated, share) in estimated.members.iter().zip(&outlook.members) {
            prop_assert!(estimated.in_epoch.abs_diff(share.in_epoch) <= request.lengths.len() as u64, "{estimated:?} {share:?}");
        }
    }
}

#[test]
fn mixture_estimate_is_near_the_exact_counts() {
    for samples in [30_000, 200_000, 500_000] {
        let request = request(&[50_000, 20_000, 130_000], Some(&[0.5, 0.2, 0.3]), samples, 7);
        let (estimated, counted) =
            (MixtureForecast::exact_or_estimated(&request), MixtureForecast::of(&request, &built(&request)));
        assert!(!estimated.is_exact && counted.is_exact);
        for (estimated, counted) in estimated.members.iter().zip(&counted.members) {
            let near = |a: u64, b: u64| a.abs_diff(b) <= 400;
            assert!(near(estimated.in_epoch, counted.in_epoch), "{estimated:?} {counted:?}");
            assert!(near(estimated.samples, counted.samples), "{estimated:?} {counted:?}");
            assert!(near(estimated.unread, counted.unread), "{estimated:?} {counted:?}");
        }
    }
}

#[test]
fn invalid_mixture_request_is_refused() {
    let refused = |request: &Request| request.check(&["a".into(), "b".into()]).unwrap_err();
    let usage = [
        request(&[], None, 1, 0),
        request(&[1], None, 0, 0),
        request(&[1, 2], Some(&[1.0]), 1, 0),
        request(&[1, 2], Some(&[0.0, 0.0]), 1, 0),
        request(&[1, 2], Some(&[-1.0, 2.0]), 1, 0),
        request(&[1, 2], Some(&[f64::NAN, 2.0]), 1, 0),
        request(&[1, 2], Some(&[f64::MAX, f64::MAX]), 1, 0),
    ];
    assert!(usage.iter().all(|request| refused(request).class == ExitClass::Usage));
    let data = [
        request(&[0, 0], None, 1, 0),
        request(&[u64::MAX, 1], None, 1, 0),
        request(&[1 << 53], None, 1, 0),
        request(&[5, 0], Some(&[1.0, 0.1]), 1, 0),
    ];
    assert!(data.iter().all(|request| refused(request).class == ExitClass::Data));
    assert!(refused(&data[3]).to_string().contains('b'), "{}", refused(&data[3]));
}

#[test]
fn empty_data_set_of_weight_zero_is_refused_only_if_samples_are_drawn_from_it() {
    let last = request(&[3, 0], Some(&[1.0, 0.0]), 6, 1);
    last.check(&[]).unwrap();
    assert_eq!(built(&last).used(), [3, 0]);
    let first = request(&[0, 3], Some(&[0.0, 1.0]), 6, 1);
    first.check(&[]).unwrap();
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    assert!(build(&first, &handles).err().unwrap().why.contains("data set 1 has no window"));
    cancel.cancel();
    assert!(build(&last, &handles).err().unwrap().is_cancelled());
}

#[test]
fn unexpected_mixture_properties_are_noted() {
    let said = |request: &Request| {
        let notes = warnings(request, &MixtureForecast::exact_or_estimated(request), &["web".into(), "code".into()]);
        notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let even = said(&request(&[5, 3], None, 16, 1234));
    assert!(even.contains("exactly 2 epochs of 8") && even.contains("lays out 3 epochs"), "{even}");
    assert!(even.contains("does not shuffle between epochs"), "{even}");
    let weighted = said(&request(&[10, 10], Some(&[3.0, 1.0]), 19, 1));
    assert!(weighted.contains("add up to 4"), "{weighted}");
    assert!(weighted.contains("code") && weighted.contains("5 windows are never read"), "{weighted}");
    assert!(weighted.contains("web") && weighted.contains("1.5 times"), "{weighted}");
    assert!(!weighted.contains("epochs of 20"), "{weighted}");
    let empty = said(&request(&[10, 0], None, 3, 1));
    assert!(empty.contains("has no window"), "{empty}");
}
