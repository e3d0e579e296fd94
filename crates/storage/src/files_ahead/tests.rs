use super::*;
use crate::memory_store::{opens_below, put, remove};
use crate::read::{open_read, stamp_at};
use crate::read_ahead::{read_ahead, read_heads_ahead};

/// Held by each test, because all tests share the memory limit.
static ROOM: Mutex<()> = Mutex::new(());

/// Puts objects and returns their paths and stamps.
fn objects(root: &str, sizes: &[usize]) -> Vec<(PathBuf, FileStamp)> {
    let object = |(number, size): (usize, &usize)| {
        let path = Path::new(root).join(format!("{number:03}"));
        put(&path, &vec![number as u8; *size]);
        let stamp = stamp_at(&path).unwrap();
        (path, stamp)
    };
    sizes.iter().enumerate().map(object).collect()
}

fn begin(files: &[(PathBuf, FileStamp)]) -> FilesAhead {
    read_ahead(files.iter().map(|(path, stamp)| (&**path, *stamp)))
}

fn content(path: &Path) -> Vec<u8> {
    let file = open_read(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn object_is_opened_once_for_several_reads() {
    let _room = ROOM.lock();
    let root = "mem://files-ahead/once";
    let files = objects(root, &[10; 120]);
    let _kept = FilesAhead::keep();
    for _ in 0..2 {
        let _ahead = begin(&files);
        for (number, (path, _)) in files.iter().enumerate() {
            assert_eq!(content(path), [number as u8; 10]);
        }
    }
    assert_eq!(content(&files[3].0), [3; 10]);
    assert_eq!(opens_below(Path::new(root)), 120);
}

#[test]
fn files_ahead_are_read_by_several_threads_in_any_order() {
    let _room = ROOM.lock();
    let root = "mem://files-ahead/order";
    let files = objects(root, &[10; 64]);
    let _ahead = begin(&files);
    std::thread::scope(|scope| {
        for first in 0..4 {
            let files = &files;
            scope.spawn(move || {
                for at in (first..files.len()).step_by(4).rev() {
                    assert_eq!(content(&files[at].0), [at as u8; 10]);
                }
            });
        }
    });
    assert_eq!(opens_below(Path::new(root)), 64);
}

#[test]
fn files_ahead_beyond_the_memory_limit_are_read() {
    let _room = ROOM.lock();
    let root = "mem://files-ahead/room";
    let size = 4 << 20;
    let files = objects(root, &[size; 40]);
    assert!(40 * size as u64 > MIN_TOTAL_BYTES);
    let _kept = FilesAhead::keep();
    for _ in 0..2 {
        let _ahead = begin(&files);
        for (number, (path, _)) in files.iter().enumerate() {
            let file = open_read(path).unwrap();
            let mut end = [0; 2];
            file.read_exact_at(&mut end, size as u64 - 2).unwrap();
            assert_eq!(end, [number as u8; 2]);
            assert!(FILES.lock().bytes <= total_limit());
        }
    }
    // Nearly all of them are fetched again, and objects that wait for room are not fetched more often.
    assert!((72..=88).contains(&opens_below(Path::new(root))));
}

#[test]
fn object_changed_or_removed_since_listing_is_read_in_its_current_state() {
    let _room = ROOM.lock();
    let files = objects("mem://files-ahead/changed", &[10; 3]);
    put(&files[1].0, b"changed");
    remove(&files[2].0);
    let _ahead = begin(&files);
    assert_eq!(content(&files[0].0), [0; 10]);
    assert_eq!(content(&files[1].0), b"changed");
    assert!(open_read(&files[2].0).unwrap_err().is_missing());
}

#[test]
fn files_ahead_give_the_listed_version_until_it_is_listed_again() {
    let _room = ROOM.lock();
    let mut files = objects("mem://files-ahead/version", &[10; 2]);
    let _ahead = begin(&files);
    files.iter().for_each(|(path, _)| assert_eq!(content(path).len(), 10));
    put(&files[1].0, b"changed");
    assert_eq!(content(&files[1].0), [1; 10]);
    files[1].1 = stamp_at(&files[1].0).unwrap();
    let _again = begin(&files);
    assert_eq!(content(&files[1].0), b"changed");
    forget(&files[0].0);
    put(&files[0].0, b"written");
    assert_eq!(content(&files[0].0), b"written");
}

#[test]
fn heads_of_large_objects_are_fetched_ahead_and_the_rest_on_reading() {
    let _room = ROOM.lock();
    let root = "mem://files-ahead/heads";
    let files = objects(root, &[2 << 20, 10]);
    let _ahead = read_heads_ahead(files.iter().map(|(path, stamp)| (&**path, *stamp)));
    let file = open_read(&files[0].0).unwrap();
    let mut head = [9; 8];
    file.read_exact_at(&mut head, 0).unwrap();
    assert_eq!((head, opens_below(Path::new(root)) <= 2), ([0; 8], true));
    let other = open_read(&files[0].0).unwrap();
    assert_eq!(content(&files[0].0), vec![0; 2 << 20]);
    put(&files[0].0, b"changed");
    let error = other.read_exact_at(&mut [0; 8], 1 << 19).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}
