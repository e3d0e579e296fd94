//! Small prepared data sets for tests, written directly, because the preparation itself is not tested here.

use gristmill_data::formats::energon::{info::Info, layout, split_yaml::SplitFile, tables, tar_idx};
use gristmill_storage::fs::{Fs as _, RealFs};
use gristmill_storage::publish::write_file;
use rusqlite::params;
use std::path::{Path, PathBuf};

/// Describes a prepared data set to write.
pub(crate) struct Set<'a> {
    pub(crate) shards: Vec<(&'a str, Vec<String>)>,
    pub(crate) splits: Vec<(&'a str, Vec<&'a str>)>,
    pub(crate) exclude: Vec<&'a str>,
    pub(crate) dataset_yaml: &'a str,
    pub(crate) uuid: &'a str,
}

pub(crate) const CRUDE: &str = "__module__: megatron.energon\n__class__: CrudeWebdataset\n";
pub(crate) const TYPED: &str =
    "sample_type:\n  __module__: megatron.energon\n  __class__: TextSample\nfield_map:\n  text: txt\n";

/// Returns `prefix0`, `prefix1`, …
pub(crate) fn keys(prefix: &str, range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("{prefix}{n:04}")).collect()
}

impl Set<'_> {
    /// Returns two shards of ten samples: `a.tar` in train, `b.tar` in val.
    pub(crate) fn small() -> Self {
        Self {
            shards: vec![("a.tar", keys("k", 0..10)), ("b.tar", keys("k", 10..20))],
            splits: vec![("train", vec!["a.tar"]), ("val", vec!["b.tar"])],
            exclude: Vec::new(),
            dataset_yaml: TYPED,
            uuid: "11111111-1111-4111-8111-111111111111",
        }
    }

    /// Writes the small files and the tables. Sample n of a shard is at byte 2048·n and has one part `txt`.
    pub(crate) fn write(&self, root: &Path) -> PathBuf {
        let meta = root.join(layout::NV_META);
        std::fs::create_dir_all(&meta).unwrap();
        let put = |name: &str, bytes: &[u8]| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_file(&RealFs, &path, bytes, 0o644).unwrap();
        };
        let counts = self.shards.iter().map(|(name, keys)| ((*name).to_owned(), keys.len() as u64)).collect();
        put(".nv-meta/.info.json", Info::new(counts).to_json().as_bytes());
        let texts = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        let split_parts = self.splits.iter().map(|(name, shards)| ((*name).to_owned(), texts(shards))).collect();
        put(
            ".nv-meta/split.yaml",
            SplitFile { split_parts, exclude: texts(&self.exclude), ..SplitFile::default() }.render().as_bytes(),
        );
        put(".nv-meta/dataset.yaml", self.dataset_yaml.as_bytes());
        put(".nv-meta/index.uuid", self.uuid.as_bytes());
        let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
        RealFs.remove_file(&database).unwrap();
        let mut connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute_batch(tables::CREATE_SAMPLE_TABLES).unwrap();
        let rows = connection.transaction().unwrap();
        for (id, (name, keys)) in self.shards.iter().enumerate() {
            let offsets: Vec<u64> = (0..keys.len() as u64).map(|n| n * 2048).collect();
            put(&name.replace(".tar", ".tar.idx"), &tar_idx::encode(&offsets, keys.len() as u64 * 2048));
            for (index, key) in keys.iter().enumerate() {
                let (id, index) = (id as i64, index as i64);
                rows.execute(tables::INSERT_SAMPLE, params![id, key, index, index * 2048, 2048]).unwrap();
                rows.execute(tables::INSERT_PART, params![id, index, "txt", index * 2048 + 512, 4]).unwrap();
            }
        }
        rows.commit().unwrap();
        connection.execute_batch(tables::CREATE_SAMPLE_INDEXES).unwrap();
        root.to_owned()
    }
}

/// Writes a file of version 2 with these splits.
pub(crate) fn metadataset(path: &Path, splits: &str) -> PathBuf {
    let text = format!("__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n{splits}");
    write_file(&RealFs, path, text.as_bytes(), 0o644).unwrap();
    path.to_owned()
}

/// Writes a JSONL file with these lines, and its index.
pub(crate) fn jsonl(path: &Path, lines: &[&str]) -> PathBuf {
    let (mut text, mut offsets) = (String::new(), Vec::new());
    for line in lines {
        offsets.push(text.len() as u64);
        text.push_str(line);
        text.push('\n');
    }
    write_file(&RealFs, path, text.as_bytes(), 0o644).unwrap();
    let index = gristmill_data::formats::energon::jsonl_idx::index_path(path);
    write_file(&RealFs, &index, &tar_idx::encode(&offsets, text.len() as u64), 0o644).unwrap();
    path.to_owned()
}
