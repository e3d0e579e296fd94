//! Reads the entries of a folder, and determines their kind and facts from names and the headers of the first sample, within a budget: the
//! home screen must never wait for a walk through a whole file system.

use super::entry::{name_of, EntryFacts, HomeEntry, PreparationState};
use super::shard_counter::{first_parts, ShardCounter};
use super::summary::summarize;
use super::unfinished_runs;
use gristmill_core::DatasetKind;
use gristmill_data::source::kind::{folder_kind, kind_of, NamesBelow};
use gristmill_storage::files::{self, FileInfo, FileKind, FolderEntry};
use gristmill_storage::run_folder::is_next_to_output;
use std::path::Path;

/// Reads the entries of a folder, in display order. Unreadable entries are listed, too.
pub fn read_folder(dir: &Path) -> std::io::Result<Vec<HomeEntry>> {
    let found = files::read_dir(dir)?
        .filter_map(Result::ok)
        .map(entry_of)
        .filter(|entry| !(entry.is_folder && is_next_to_output(&entry.path)));
    let mut entries: Vec<HomeEntry> = found.collect();
    entries.extend(unfinished_runs::entries(dir, &entries));
    entries.sort_by_cached_key(|e| (e.name.to_lowercase(), e.name.clone()));
    Ok(entries)
}

fn entry_of(entry: FolderEntry) -> HomeEntry {
    // Links are followed, so that a link to a folder of shards is listed like a folder. For objects in a store, the listing already has all
    // facts.
    let facts = match entry.kind() {
        FileKind::Link => files::metadata(entry.path()),
        _ => entry.metadata(),
    };
    let facts = facts.ok();
    HomeEntry {
        name: name_of(entry.file_name()),
        is_folder: facts.as_ref().is_some_and(FileInfo::is_dir),
        bytes: facts.filter(FileInfo::is_file).map_or(0, |f| f.len()),
        path: entry.into_path(),
    }
}

/// Determines the kind and facts of an entry. Of files, it reads at most the first headers of one shard.
pub fn inspect(path: &Path) -> EntryFacts {
    let seen = match files::metadata(path) {
        Ok(facts) if facts.is_dir() => inspect_folder(path),
        Ok(facts) if !facts.is_file() => unusable("a fifo, socket or device"),
        Ok(facts) => inspect_file(path, facts.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => unusable("a broken link"),
        Err(error) => unusable(&error.to_string()),
    };
    unfinished_runs::add_state(path, seen)
}

fn unusable(why: &str) -> EntryFacts {
    EntryFacts { state: PreparationState::Broken(why.to_owned()), ..EntryFacts::of(DatasetKind::OtherFile) }
}

fn inspect_file(path: &Path, size: u64) -> EntryFacts {
    let kind = kind_of(path).unwrap_or(DatasetKind::OtherFile);
    summarize(path, EntryFacts { bytes: size, ..EntryFacts::of(kind) })
}

fn inspect_folder(path: &Path) -> EntryFacts {
    let mut counter = ShardCounter::new();
    counter.count(path);
    let names =
        NamesBelow { has_shard: counter.shards > 0, has_media: counter.media > 0, tables: counter.tables.kind() };
    let kind = folder_kind(path, || names);
    let (media, size) = if kind.is_web_dataset() { (0, counter.bytes) } else { (counter.media, counter.media_bytes) };
    let entry_facts = EntryFacts {
        shards: counter.shards,
        bytes: size,
        media,
        members: counter.members,
        texts: counter.texts,
        text_bytes: counter.text_bytes,
        more: counter.is_limited && (counter.shards > 0 || media > 0 || counter.texts > 0),
        parts: counter.first.as_deref().map(first_parts).unwrap_or_default(),
        ..EntryFacts::of(kind)
    };
    summarize(path, entry_facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_pycompat::npy::{header, Dtype};
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    fn put(path: &Path, text: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, path, text, 0o644).unwrap();
    }

    #[test]
    fn entry_kind_follows_file_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(&root.join("raw/a.tar"), b"12345");
        put(&root.join("raw/train/b.tar"), b"12345");
        put(&root.join("done/a.tar"), b"1");
        put(&root.join("done/.nv-meta/.info.json"), br#"{"energon_version": "7.0.0", "shard_counts": {"a.tar": 1}}"#);
        put(&root.join("done/.nv-meta/split.yaml"), b"split_parts:\n  train: [a.tar]\nexclude: []\n");
        put(&root.join("media/.nv-meta/index.sqlite"), b"");
        put(&root.join("plain/readme.txt"), b"x");
        put(&root.join("text.jsonl"), b"{}");
        let raw = inspect(&root.join("raw"));
        assert_eq!((raw.kind, raw.shards, raw.bytes), (DatasetKind::RawWebDataset, 2, 10));
        assert_eq!(raw.state, PreparationState::Raw);
        assert!(raw.can_prepare());
        let done = inspect(&root.join("done"));
        assert_eq!((done.kind, done.state), (DatasetKind::PreparedWebDataset, PreparationState::Prepared));
        assert_eq!(inspect(&root.join("media")).kind, DatasetKind::Filesystem);
        let plain = inspect(&root.join("plain"));
        assert_eq!(plain.kind, DatasetKind::PlainFolder);
        assert!(!plain.can_prepare());
        assert_eq!(inspect(&root.join("text.jsonl")).kind, DatasetKind::Jsonl);
        put(&root.join("text.jsonl.zst"), b"12345");
        let packed = inspect(&root.join("text.jsonl.zst"));
        assert_eq!((packed.kind, packed.title()), (DatasetKind::PackedJsonl, "packed JSONL"));
        assert_eq!(inspect(root).members, 1, "the prepared data set below");
        assert_eq!(inspect(&root.join("raw/a.tar")).kind, DatasetKind::SingleShard);
        assert_eq!(inspect(&root.join("nothing")).kind, DatasetKind::OtherFile);
    }

    #[test]
    fn loose_media_are_a_media_folder_unless_shards_exist() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(&root.join("loose/a.JPG"), b"1234");
        put(&root.join("loose/deep/b.mp4"), b"12");
        put(&root.join("loose/readme.txt"), b"x");
        let loose = inspect(&root.join("loose"));
        assert_eq!((loose.kind, loose.media, loose.bytes), (DatasetKind::LooseMedia, 2, 6));
        assert_eq!((loose.title(), loose.word()), ("media folder", "no metadata"));
        assert_eq!(loose.amount("-"), "2 media files - 6 B");
        put(&root.join("loose/.nv-meta/index.sqlite"), b"");
        assert_eq!(inspect(&root.join("loose")).word(), "described");
        put(&root.join("loose/a.tar"), b"1");
        let with_shard = inspect(&root.join("loose"));
        assert!(with_shard.can_prepare());
        assert_eq!(with_shard.media, 0);
    }

    #[test]
    fn token_folders_and_packed_files_are_recognized() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(&root.join("ds/00000_unshuffled.ds"), b"12345678");
        put(&root.join("ds/00000_unshuffled.ds.index"), b"12345678");
        put(&root.join("forager/index/sample_locations.bin"), b"");
        put(&root.join("forager/tokenized-samples/a.bin"), b"1234");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/pack_bpe/expected/data.pbin");
        let packed = std::fs::read(golden).unwrap();
        put(&root.join("a.pbin"), &packed);
        put(&root.join("noise.pbin"), &[0xa7; 900]);
        assert!(matches!(inspect(&root.join("noise.pbin")).state, PreparationState::Broken(_)));
        let cells = |name: &str| {
            let seen = inspect(&root.join(name));
            assert!(seen.is_ready_to_browse() && !seen.can_prepare(), "{name}");
            (seen.title(), seen.word(), seen.amount("-"))
        };
        assert_eq!(cells("ds"), ("Nanosets", "packed", "1 file - 8 B".to_owned()));
        assert_eq!(cells("forager"), ("Forager", "packed", "1 file - 4 B".to_owned()));
        let size = gristmill_core::text::bytes(packed.len() as u64);
        assert_eq!(cells("a.pbin"), ("Modalities", "packed", size));
    }

    #[test]
    fn folders_with_several_formats_show_formats_and_sizes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("out/nanosets/a.ds"), b"1234");
        put(&at("out/modalities/a.pbin"), b"12345678");
        let both = inspect(&at("out"));
        assert_eq!((both.kind, both.word()), (DatasetKind::PackedFormats, "packed"));
        assert_eq!(both.amount("·"), "modalities 8 B · nanosets 4 B");
        std::fs::remove_file(at("out/modalities/a.pbin")).unwrap();
        let one = inspect(&at("out"));
        assert_eq!(one.amount("·"), "modalities unusable · nanosets 4 B");
        assert!(matches!(one.state, PreparationState::Broken(_)));
        let array = |numbers: &[u64]| {
            let mut bytes = header(Dtype::U64, numbers.len() as u64);
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes
        };
        put(&at("mix/dataset_index.npy"), &array(&[0, 2, 0]));
        put(&at("mix/dataset_sample_index.npy"), &array(&[0, 0, 1]));
        let mixture = inspect(&at("mix"));
        assert_eq!((mixture.kind, mixture.word()), (DatasetKind::MixtureIndex, "readable"));
        assert_eq!(mixture.amount("·"), "3 samples · 2 data sets · 304 B");
        put(&at("mix/dataset_index.npy"), b"no array");
        assert!(matches!(inspect(&at("mix")).state, PreparationState::Broken(_)));
    }

    #[test]
    fn run_folders_are_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("tokens.gristmill/plan.yaml"), b"");
        put(&dir.path().join("mine.gristmill/notes.txt"), b"");
        put(&dir.path().join("file.gristmill"), b"");
        let names: Vec<String> = read_folder(dir.path()).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["file.gristmill", "mine.gristmill"]);
    }

    #[test]
    fn journal_without_lock_is_an_interrupted_prepare() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("a.tar"), b"1");
        put(&dir.path().join(".nv-meta/gristmill/journal"), b"");
        assert_eq!(inspect(dir.path()).state, PreparationState::Interrupted);
    }

    #[test]
    fn circular_link_counts_shards_once() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
        put(&dir.path().join("a.tar"), b"1");
        assert_eq!(inspect(dir.path()).shards, 1);
        assert_eq!(read_folder(dir.path()).unwrap().len(), 2);
    }

    #[test]
    fn sorts_names_in_natural_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Beta", "alpha", "gamma"] {
            put(&dir.path().join(name), b"");
        }
        let names: Vec<String> = read_folder(dir.path()).unwrap().into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["alpha", "Beta", "gamma"]);
    }
}
