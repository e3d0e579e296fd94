//! Hashes of shard files, by the names of Python's `hashlib` and `xxhash` (docs/formats/mds.md §3).

use sha2::digest::Digest;

/// A hash that takes its input in pieces.
pub(super) trait Hasher {
    /// Adds bytes to the input.
    fn update(&mut self, bytes: &[u8]);
    /// Returns the hash as Python's `hexdigest` does: lower case, the most significant digit first.
    fn hex(self: Box<Self>) -> String;
}

/// Creates a hasher without input.
pub(super) type NewHasher = fn() -> Box<dyn Hasher>;

/// Names of all hashes in ascending order, with their hashers. `xxh3_128` and `xxh128` are the same hash.
pub(super) const HASHES: &[(&str, NewHasher)] = &[
    ("blake2b", of_digest::<blake2::Blake2b512>),
    ("blake2s", of_digest::<blake2::Blake2s256>),
    ("md5", of_digest::<md5::Md5>),
    ("sha1", of_digest::<sha1::Sha1>),
    ("sha224", of_digest::<sha2::Sha224>),
    ("sha256", of_digest::<sha2::Sha256>),
    ("sha384", of_digest::<sha2::Sha384>),
    ("sha3_224", of_digest::<sha3::Sha3_224>),
    ("sha3_256", of_digest::<sha3::Sha3_256>),
    ("sha3_384", of_digest::<sha3::Sha3_384>),
    ("sha3_512", of_digest::<sha3::Sha3_512>),
    ("sha512", of_digest::<sha2::Sha512>),
    ("xxh128", || Box::new(Xxh128(xxhash_rust::xxh3::Xxh3::new()))),
    ("xxh32", || Box::new(Xxh32(xxhash_rust::xxh32::Xxh32::new(0)))),
    ("xxh3_128", || Box::new(Xxh128(xxhash_rust::xxh3::Xxh3::new()))),
    ("xxh3_64", || Box::new(Xxh3(xxhash_rust::xxh3::Xxh3::new()))),
    ("xxh64", || Box::new(Xxh64(xxhash_rust::xxh64::Xxh64::new(0)))),
];

/// Returns a hasher by its name; `None` for an unknown name.
pub(super) fn hasher(name: &str) -> Option<Box<dyn Hasher>> {
    HASHES.iter().find(|(known, _)| *known == name).map(|(_, new)| new())
}

/// Whether a hash of this name exists.
pub(super) fn is_known(name: &str) -> bool {
    HASHES.iter().any(|(known, _)| *known == name)
}

struct DigestHasher<D>(D);

fn of_digest<D: Digest + 'static>() -> Box<dyn Hasher> {
    Box::new(DigestHasher(D::new()))
}

impl<D: Digest> Hasher for DigestHasher<D> {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn hex(self: Box<Self>) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

struct Xxh32(xxhash_rust::xxh32::Xxh32);

impl Hasher for Xxh32 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn hex(self: Box<Self>) -> String {
        format!("{:08x}", self.0.digest())
    }
}

struct Xxh64(xxhash_rust::xxh64::Xxh64);

impl Hasher for Xxh64 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn hex(self: Box<Self>) -> String {
        format!("{:016x}", self.0.digest())
    }
}

struct Xxh3(xxhash_rust::xxh3::Xxh3);

impl Hasher for Xxh3 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn hex(self: Box<Self>) -> String {
        format!("{:016x}", self.0.digest())
    }
}

struct Xxh128(xxhash_rust::xxh3::Xxh3);

impl Hasher for Xxh128 {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn hex(self: Box<Self>) -> String {
        format!("{:032x}", self.0.digest128())
    }
}

#[cfg(test)]
#[path = "hashes_tests.rs"]
mod tests;
