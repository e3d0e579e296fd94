use super::*;
use gristmill_core::pack::NameProfile;
use gristmill_core::{Cancel, ExitClass, Handles, Outcome, ProblemLog, Progress};
use gristmill_data::formats::nanosets::names::{self, Step};
use gristmill_data::formats::nanosets::{
    index, index_path, loss_path, metadata_path, Index, Metadata, Shard, TokenSize,
};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TOKENIZER: &str = "../tokenizers/bpe1k.json";
const END: &str = "<|endoftext|>";

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/nanosets").join(case)
}

fn put(path: &Path, bytes: &[u8]) {
    write_file(&RealFs, path, bytes, 0o644).unwrap();
}

/// Runs work with its own handles.
fn with_handles<T>(work: impl FnOnce(&Handles<'_>) -> T) -> (T, ProblemLog) {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let result = work(&Handles { progress: &progress, cancel: &cancel, problems: &problems });
    (result, problems)
}

/// Writes documents in the form of an unshuffled task: the data and the index, and loss masks if there are any.
fn unshuffled(folder: &Path, documents: &[Vec<u32>], masks: Option<&[Vec<u8>]>) -> (PathBuf, PathBuf, Option<PathBuf>) {
    let data = folder.join("raw.ds");
    let (mut tokens, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
    for document in documents {
        TokenSize::Two.encode(document, &mut tokens);
        end += document.len() as u64;
        index::push(end, &mut ends);
    }
    put(&data, &tokens);
    put(&index_path(&data), &ends);
    let loss = masks.map(|masks| {
        put(&loss_path(&data), &masks.concat());
        loss_path(&data)
    });
    (data.clone(), index_path(&data), loss)
}

/// Returns the output of the reference tokenizer for the files that a task reads.
fn documents(case: &str, rank: usize, tasks: usize) -> Vec<Vec<u32>> {
    let tokenizer = tokenizers::Tokenizer::from_file(golden("tokenizers/bpe1k.json")).unwrap();
    let end = tokenizer.token_to_id(END).unwrap();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(golden(case).join("input")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut documents = Vec::new();
    for file in files.iter().skip(rank).step_by(tasks) {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let mut ids = tokenizer.encode(line["text"].as_str().unwrap(), false).unwrap().get_ids().to_vec();
            ids.push(end);
            documents.push(ids);
        }
    }
    documents
}

/// Returns every file made, by name, with its bytes.
fn bytes_of(made: &[FinishedTokenFile]) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for file in made {
        for (name, bytes) in file.files() {
            let content = match name.ends_with(".metadata") {
                true => file.metadata.to_text().into_bytes(),
                false => std::fs::read(file.path.with_file_name(&name)).unwrap(),
            };
            assert_eq!(content.len() as u64, bytes, "{name}");
            all.insert(name, content);
        }
    }
    all
}

fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    files.map(|f| (f.file_name().into_string().unwrap(), std::fs::read(f.path()).unwrap())).collect()
}

fn assert_same(ours: &BTreeMap<String, Vec<u8>>, theirs: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, bytes) in theirs {
        assert!(ours[name] == *bytes, "{name} differs");
    }
}

/// Shuffles the tasks of a case and compares all files.
fn shuffled_case(case: &str, tasks: usize, options: ShuffleOptions, name: impl Fn(u32, u64) -> String) {
    let mut all = BTreeMap::new();
    for rank in 0..tasks {
        let dir = tempfile::tempdir().unwrap();
        let (data, index, _) = unshuffled(dir.path(), &documents(case, rank, tasks), None);
        let source = Source { data: &data, index: &index, loss: None, token_size: TokenSize::Two };
        let place: (&dyn gristmill_storage::fs::Fs, &Path) = (&RealFs, dir.path());
        let name = |sub| name(rank as u32, sub);
        let (done, _) = with_handles(|handles| shuffle(&source, &options, TOKENIZER, place, &name, handles));
        all.extend(bytes_of(&done.unwrap().files));
    }
    assert_same(&all, &files_in(&golden(case).join("expected")));
}

const PLAIN: ShuffleOptions = ShuffleOptions { documents: true, chunk: None, max_tokens: None, seed: 0 };

#[test]
fn shuffled_tasks_match_the_reference() {
    let modern = |step| move |rank, sub| names::shuffled(NameProfile::Modern, None, rank, sub, step);
    let split = ShuffleOptions { seed: 42, max_tokens: Some(700), ..PLAIN };
    shuffled_case("03_modern_doc_shuffle_split", 2, split, modern(Step::Documents));
    let chunks = ShuffleOptions { seed: 5, chunk: Some(65), ..PLAIN };
    shuffled_case("04_modern_chunk_shuffle", 1, chunks, modern(Step::Chunks));
    let classic = |rank, sub| names::shuffled(NameProfile::Classic, Some("web"), rank, sub, Step::Documents);
    shuffled_case("09_classic_shuffle_split", 2, ShuffleOptions { seed: 3, max_tokens: Some(300), ..PLAIN }, classic);
}

fn merged(plan: &MergePlan, folder: &Path) -> Outcome<MergeResult> {
    let work = |handles: &Handles<'_>| {
        let inputs = merge::inputs(plan, handles)?;
        merge::merge(plan, &inputs, (&RealFs, folder), 1 << 20, handles)
    };
    with_handles(work).0
}

fn plan_of(input: PathBuf) -> MergePlan {
    MergePlan { seed: Some(7), max_tokens_per_file: 0, ..MergePlan::new(input, "", "all") }
}

#[test]
fn merged_files_match_the_reference() {
    let dir = tempfile::tempdir().unwrap();
    let plan = MergePlan { max_tokens_per_file: 400, ..plan_of(golden("06_merge/expected")) };
    let done = merged(&plan, dir.path()).unwrap();
    let mut ours = bytes_of(&done.files);
    ours.insert(names::merged_total("all"), done.total.to_text().into_bytes());
    assert_same(&ours, &files_in(&golden("06_merge/merged")));
    assert_eq!((done.units, done.left_tokens, done.total.tokens), (30, 0, 1124));
}

/// Writes a folder of token files with these documents. The mask of a token is its parity.
fn folder_of(folder: &Path, files: &[Vec<Vec<u32>>], has_loss: bool) {
    for (number, documents) in files.iter().enumerate() {
        let masks: Vec<Vec<u8>> = documents.iter().map(|d| d.iter().map(|id| (id % 2) as u8).collect()).collect();
        let (data, index, loss) = unshuffled(folder, documents, has_loss.then_some(masks.as_slice()));
        let target = folder.join(format!("{number:05}_unshuffled.ds"));
        let tokens = documents.iter().map(|d| d.len() as u64).sum();
        let metadata = Metadata { tokenizer: "t".into(), token_size: TokenSize::Two, tokens };
        put(&metadata_path(&target), metadata.to_text().as_bytes());
        std::fs::rename(index, index_path(&target)).unwrap();
        if let Some(loss) = loss {
            std::fs::rename(loss, loss_path(&target)).unwrap();
        }
        std::fs::rename(data, target).unwrap();
    }
}

/// Reads the documents of a finished file by its index.
fn read_back(made: &FinishedTokenFile) -> Vec<Vec<u32>> {
    let shard = Shard::open(&made.path, TokenSize::Two).unwrap();
    let index = Index::open(&index_path(&made.path)).unwrap();
    assert_eq!(index.last_end().unwrap(), made.tokens);
    if made.companions.loss {
        let masks = std::fs::read(loss_path(&made.path)).unwrap();
        let ids = shard.ids(0, usize::MAX).unwrap();
        assert_eq!(masks, ids.iter().map(|id| (id % 2) as u8).collect::<Vec<_>>());
    }
    let span = |document| index.span(document).unwrap();
    (0..index.documents()).map(|d| shard.ids(span(d).0, (span(d).1 - span(d).0) as usize).unwrap()).collect()
}

/// Returns distinct documents: each token of document `d` of file `f` is `1000 f + d`, and lengths vary.
fn some_documents(file: u32, count: u32) -> Vec<Vec<u32>> {
    (0..count).map(|d| vec![1000 * file + d; (d * 3 % 7) as usize]).collect()
}

#[test]
fn merge_keeps_document_order_of_each_file_and_its_loss_masks() {
    let dir = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    let files = [some_documents(0, 20), Vec::new(), some_documents(2, 9)];
    folder_of(dir.path(), &files, true);
    let done = merged(&plan_of(dir.path().to_owned()), out.path()).unwrap();
    assert_eq!((done.files.len(), done.units), (1, 29));
    let all = read_back(&done.files[0]);
    for (number, expected) in files.iter().enumerate() {
        let ours: Vec<_> = all.iter().filter(|d| d.first().is_some_and(|t| t / 1000 == number as u32)).collect();
        assert_eq!(ours, expected.iter().filter(|d| !d.is_empty()).collect::<Vec<_>>());
    }
    let in_turn = tempfile::tempdir().unwrap();
    let plain = merged(&MergePlan { seed: None, ..plan_of(dir.path().to_owned()) }, in_turn.path()).unwrap();
    assert_eq!(read_back(&plain.files[0]), files.concat());
}

#[test]
fn merge_stops_at_the_token_limit_and_splits_before_a_document() {
    let dir = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    folder_of(dir.path(), &[vec![vec![1; 10], vec![2; 10], vec![3; 10], vec![4; 10]]], false);
    let plan = MergePlan { seed: None, max_tokens: 21, max_tokens_per_file: 10, ..plan_of(dir.path().to_owned()) };
    let done = merged(&plan, out.path()).unwrap();
    let tokens: Vec<u64> = done.files.iter().map(|made| made.tokens).collect();
    assert_eq!((tokens, done.left_tokens), (vec![10, 10, 10], 10));
    assert_eq!(done.files[2].name, "002_all.ds");
}

#[test]
fn merge_of_chunks_drops_tails_and_keeps_document_ends() {
    let dir = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    folder_of(dir.path(), &[vec![vec![1; 3], Vec::new(), vec![2; 6]], vec![vec![5; 4], vec![6; 5]]], true);
    let plan = MergePlan { seed: None, chunk: Some(4), ..plan_of(dir.path().to_owned()) };
    let done = merged(&plan, out.path()).unwrap();
    assert_eq!((done.units, done.left_tokens, done.total.tokens), (4, 2, 16));
    let mut ends = Vec::new();
    let index = Index::open(&index_path(&done.files[0].path)).unwrap();
    let keep = |end| {
        ends.push(end);
        Ok(())
    };
    index.for_each_end(keep).unwrap();
    assert_eq!(ends, [3, 3, 4, 8, 12, 16]);
    read_back(&done.files[0]);
}

#[test]
fn incompatible_merge_inputs_are_refused() {
    let refuse = |spoil: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        let out = tempfile::tempdir().unwrap();
        folder_of(dir.path(), &[some_documents(0, 5), some_documents(1, 5)], true);
        spoil(&dir.path().join("00001_unshuffled.ds"));
        let failure = merged(&plan_of(dir.path().to_owned()), out.path()).unwrap_err();
        assert_eq!(failure.class, ExitClass::Data, "{failure}");
        assert!(failure.subject.path.as_deref().unwrap().contains("00001"), "{failure}");
        failure.why
    };
    assert!(refuse(&|ds| std::fs::remove_file(index_path(ds)).unwrap()).contains("no .ds.index"));
    assert!(refuse(&|ds| put(&index_path(ds), b"123")).contains("multiple of 8"));
    assert!(refuse(&|ds| put(&metadata_path(ds), b"t|4\n1\n")).contains("another size"));
    assert!(refuse(&|ds| put(&metadata_path(ds), b"t")).contains("'|'"));
    assert!(refuse(&|ds| put(ds, b"1")).contains("ends after token"));
    assert!(refuse(&|ds| put(&loss_path(ds), b"")).contains("one byte"));
    let backwards = |ds: &Path| {
        let mut bytes = std::fs::read(index_path(ds)).unwrap();
        bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        put(&index_path(ds), &bytes);
    };
    assert!(refuse(&backwards).contains("which is less than"));
}

#[test]
fn silent_losses_of_a_merge_are_problems() {
    let dir = tempfile::tempdir().unwrap();
    folder_of(dir.path(), &[some_documents(0, 5), some_documents(1, 5)], true);
    let second = dir.path().join("00001_unshuffled.ds");
    std::fs::remove_file(loss_path(&second)).unwrap();
    put(&metadata_path(&second), b"other|2\n0\n");
    std::fs::create_dir(dir.path().join("folder.ds")).unwrap();
    let (found, problems) = with_handles(|handles| merge::inputs(&plan_of(dir.path().to_owned()), handles).unwrap());
    assert!(!found.has_loss && found.tokenizer == "t" && found.files.len() == 2);
    let said: String = problems.to_vec().iter().map(ToString::to_string).collect();
    assert!(said.contains("loss masks") && said.contains("\"other\"") && said.contains("folder.ds"), "{said}");
    let empty = tempfile::tempdir().unwrap();
    let failure = with_handles(|handles| merge::inputs(&plan_of(empty.path().to_owned()), handles)).0.unwrap_err();
    assert_eq!(failure.class, ExitClass::Usage);
}

/// Performs the two steps of the reference program, one after another, on lists.
fn plainly(documents: &[Vec<u32>], options: &ShuffleOptions) -> (Vec<Vec<Vec<u32>>>, u64) {
    let mut generator = gristmill_pycompat::numpy_random::Generator::seeded(options.seed);
    let mut documents = documents.to_vec();
    if options.documents {
        let order = generator.permutation(documents.len() as u64);
        documents = order.iter().map(|d| documents[d as usize].clone()).collect();
    }
    let mut units: Vec<Vec<Vec<u32>>> = documents.iter().map(|document| vec![document.clone()]).collect();
    let mut dropped = 0;
    if let Some(chunk) = options.chunk {
        let chunk = chunk as usize;
        let tokens = documents.concat();
        let mut ends: Vec<usize> = Vec::new();
        documents.iter().for_each(|d| ends.push(ends.last().unwrap_or(&0) + d.len()));
        dropped = (tokens.len() % chunk) as u64;
        let order = generator.permutation((tokens.len() / chunk) as u64);
        units = order
            .iter()
            .map(|number| {
                let (start, end) = (number as usize * chunk, (number as usize + 1) * chunk);
                let mut cuts: Vec<usize> =
                    ends.iter().copied().filter(|e| (*e > start || start == 0) && *e < end).collect();
                cuts.insert(0, start);
                cuts.push(end);
                cuts.windows(2).map(|pair| tokens[pair[0]..pair[1]].to_vec()).collect()
            })
            .collect();
    }
    let mut files = vec![Vec::new()];
    let mut count = 0;
    for unit in units {
        count += unit.iter().map(Vec::len).sum::<usize>() as u64;
        files.last_mut().unwrap().extend(unit);
        if options.max_tokens.is_some_and(|most| count > most) {
            files.push(Vec::new());
            count = 0;
        }
    }
    (files, dropped)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn shuffle_of_documents_and_chunks_matches_a_naive_computation(
        lengths in proptest::collection::vec(0..9_usize, 0..40),
        documents in any::<bool>(),
        chunk in proptest::option::of(1..12_u64),
        max_tokens in proptest::option::of(0..40_u64),
        seed in 0..1000_u64,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut id = 0;
        let texts: Vec<Vec<u32>> = lengths.iter().map(|&n| (0..n).map(|_| { id += 1; id }).collect()).collect();
        let masks: Vec<Vec<u8>> = texts.iter().map(|d| d.iter().map(|id| (id % 2) as u8).collect()).collect();
        let (data, index, loss) = unshuffled(dir.path(), &texts, Some(&masks));
        let source = Source { data: &data, index: &index, loss: loss.as_deref(), token_size: TokenSize::Two };
        let options = ShuffleOptions { documents, chunk, max_tokens, seed };
        let name = |sub: u64| format!("{sub}.ds");
        let (done, _) = with_handles(|h| shuffle(&source, &options, "t", (&RealFs, dir.path()), &name, h));
        let done = done.unwrap();
        let (expected, dropped) = plainly(&texts, &options);
        prop_assert_eq!(done.dropped_tokens, dropped);
        prop_assert_eq!(done.files.iter().map(read_back).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn tasks_with_an_invalid_index_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let attempt = |ends: &[u64], masks: usize| {
        let data = dir.path().join("raw.ds");
        put(&data, &[0; 20]);
        let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        put(&index_path(&data), &bytes);
        put(&loss_path(&data), &vec![1; masks]);
        let (index, loss) = (index_path(&data), loss_path(&data));
        let source = Source { data: &data, index: &index, loss: Some(&loss), token_size: TokenSize::Two };
        let name = |sub: u64| format!("out-{}-{masks}-{sub}.ds", ends.len());
        with_handles(|h| shuffle(&source, &PLAIN, "t", (&RealFs, dir.path()), &name, h)).0
    };
    attempt(&[4, 10], 10).unwrap();
    for (ends, masks) in [(&[4, 3, 10][..], 10), (&[4, 11], 10), (&[4, 9], 10), (&[u64::MAX], 10), (&[4, 10], 9)] {
        assert_eq!(attempt(ends, masks).unwrap_err().class, ExitClass::Data, "{ends:?}");
    }
    let data = dir.path().join("raw.ds");
    put(&data, &[0; 20]);
    let index = index_path(&data);
    let source = Source { data: &data, index: &index, loss: None, token_size: TokenSize::Two };
    put(&index, &10_u64.to_le_bytes());
    let none = ShuffleOptions { chunk: Some(0), ..PLAIN };
    let name = |sub: u64| format!("none-{sub}.ds");
    let failure = with_handles(|h| shuffle(&source, &none, "t", (&RealFs, dir.path()), &name, h)).0.unwrap_err();
    assert_eq!(failure.class, ExitClass::Usage);
}

#[test]
fn windows_of_all_files_are_shuffled_by_one_generator() {
    let dir = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    folder_of(dir.path(), &[vec![(0..23).collect()], vec![(100..117).collect()]], true);
    let plan = WindowsPlan::new(dir.path(), "", 5, 3);
    let (done, problems) = with_handles(|h| shuffle_windows(&plan, (&RealFs, out.path()), h).unwrap());
    let mut generator = gristmill_pycompat::numpy_random::Generator::seeded(3);
    for (made, (first, windows)) in done.0.iter().zip([(0, 4), (100, 3)]) {
        let order = generator.permutation(windows);
        let expected: Vec<u32> = order.iter().flat_map(|w| (0..5).map(move |t| first + w as u32 * 5 + t)).collect();
        assert_eq!(Shard::open(&made.path, TokenSize::Two).unwrap().ids(0, 99).unwrap(), expected);
        assert_eq!(made.files().len(), 1);
    }
    assert_eq!(done.1, 3 + 2);
    assert_eq!(problems.to_vec().len(), 2, "the loss masks of both files");
    let none = WindowsPlan { window: 0, ..plan };
    assert!(with_handles(|h| shuffle_windows(&none, (&RealFs, out.path()), h)).0.is_err());
}
