//! Git LFS pointers: small text files that a checkout has instead of large files that were not fetched.

/// Maximum size of a pointer file in bytes, from the specification of Git LFS.
pub const MAX_LFS_POINTER_BYTES: u64 = 1023;
/// Reason reported for a pointer file.
pub const LFS_POINTER: &str = "it is a Git LFS pointer; the content of the file was not fetched";
/// Hint for a pointer file.
pub const LFS_HINT: &str = "fetch the content with `git lfs pull`";

/// Whether the content of a file is a Git LFS pointer.
pub fn is_lfs_pointer(content: &[u8]) -> bool {
    // The second address was used by the first releases of Git LFS.
    let starts: [&[u8]; 2] = [b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"];
    let is_known = starts.iter().any(|start| content.starts_with(start));
    let has_oid = content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"oid sha256:"));
    is_known && has_oid && content.len() as u64 <= MAX_LFS_POINTER_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lfs_pointers_are_recognized_by_version_line_and_object_id() {
        let pointer = |url: &str| format!("version {url}/v1\noid sha256:{}\nsize 12345\n", "7".repeat(64));
        assert!(is_lfs_pointer(pointer("https://git-lfs.github.com/spec").as_bytes()));
        assert!(is_lfs_pointer(pointer("https://git-lfs.github.com/spec").replace('\n', "\r\n").as_bytes()));
        assert!(is_lfs_pointer(pointer("https://hawser.github.com/spec").as_bytes()));
        for other in ["", "version ", "version https://git-lfs.github.com/spec/v1\n", &pointer("https://example.com")] {
            assert!(!is_lfs_pointer(other.as_bytes()), "{other}");
        }
        let long = pointer("https://git-lfs.github.com/spec") + &"ext-0-x y\n".repeat(200);
        assert!(!is_lfs_pointer(long.as_bytes()));
    }
}
