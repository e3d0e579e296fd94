//! How much memory this process may use.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Divisor of the memory that a job uses by default.
const MEMORY_DIVISOR: u64 = 4;
/// Memory assumed if none can be determined, in bytes.
const UNKNOWN_MEMORY_BYTES: u64 = 1 << 30;

/// Memory of the run that started last, in bytes.
static RUN_MEMORY: AtomicU64 = AtomicU64::new(0);

/// Sets how much memory a run may use, in bytes: read-ahead uses a share of it.
pub fn set_run_memory(bytes: u64) {
    RUN_MEMORY.store(bytes, Ordering::Relaxed);
}

/// Returns the memory of the run that started last, in bytes; 0 without one.
pub(crate) fn run_memory() -> u64 {
    RUN_MEMORY.load(Ordering::Relaxed)
}

/// Returns a quarter of the machine's memory, or of the limit of the control group if that is less, in bytes.
pub fn usual_memory() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let group =
        std::fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| limit_of(&text, Path::new("/sys/fs/cgroup")));
    [machine, group].into_iter().flatten().min().unwrap_or(UNKNOWN_MEMORY_BYTES * MEMORY_DIVISOR) / MEMORY_DIVISOR
}

/// Parses `MemTotal` of `/proc/meminfo`, in bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Returns the lowest limit of a process's control group (version 1 or 2) and its ancestors, in bytes.
fn limit_of(groups: &str, mounted: &Path) -> Option<u64> {
    let places = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let path = path.trim_start_matches('/');
        match controllers {
            "" => Some((mounted.to_path_buf(), path, "memory.max")),
            _ if controllers.split(',').any(|name| name == "memory") => {
                Some((mounted.join("memory"), path, "memory.limit_in_bytes"))
            }
            _ => None,
        }
    });
    let limits = places.flat_map(|(root, path, file)| {
        let folders: Vec<PathBuf> = Path::new(path).ancestors().map(|folder| root.join(folder)).collect();
        folders.into_iter().filter_map(move |folder| std::fs::read_to_string(folder.join(file)).ok())
    });
    limits.filter_map(|text| text.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::RealFs;
    use crate::publish::write_file;

    #[test]
    fn memory_total_is_read_from_meminfo() {
        assert_eq!(total_of("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert!(usual_memory() > 1 << 20);
    }

    #[test]
    fn smallest_memory_limit_of_nested_control_groups_applies() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_file(&RealFs, &path, text.as_bytes(), 0o600).unwrap();
        };
        put("a/memory.max", "4096\n");
        put("a/b/memory.max", "max\n");
        put("memory/x/memory.limit_in_bytes", "512\n");
        assert_eq!(limit_of("0::/a/b\n", dir.path()), Some(4096));
        assert_eq!(limit_of("0::/\n", dir.path()), None);
        assert_eq!(limit_of("5:cpu,memory:/x/y\n4:cpu:/a\n", dir.path()), Some(512));
        assert_eq!(limit_of("nonsense", dir.path()), None);
    }
}
