//! Hashes of shard files, by the names of Python's `hashlib` and `xxhash` (docs/formats/mds.md §3).

use gristmill_core::text::hex;
use sha2::digest::Digest;
use xxhash_rust::xxh3::Xxh3;
use xxhash_rust::xxh32::Xxh32;
use xxhash_rust::xxh64::Xxh64;

/// A hash function that receives its input in pieces.
pub(super) trait Hasher {
    /// Adds bytes to the input.
    fn update(&mut self, bytes: &[u8]);
    /// Returns the hash as Python's `hexdigest` does: lower-case hexadecimal digits, most significant digit first.
    fn hex(self: Box<Self>) -> String;
}

/// A function that returns a hasher without input.
pub(super) type NewHasher = fn() -> Box<dyn Hasher>;

/// Names of all hashes in ascending order, and their hashers. `xxh3_128` and `xxh128` are the same hash.
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
    ("xxh128", xxh128),
    ("xxh32", || of_xxh(Xxh32::new(0), Xxh32::update, |hash| format!("{:08x}", hash.digest()))),
    ("xxh3_128", xxh128),
    ("xxh3_64", || of_xxh(Xxh3::new(), Xxh3::update, |hash| format!("{:016x}", hash.digest()))),
    ("xxh64", || of_xxh(Xxh64::new(0), Xxh64::update, |hash| format!("{:016x}", hash.digest()))),
];

/// Returns the hasher for a name; `None` if the name is unknown.
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
        hex(&self.0.finalize())
    }
}

/// A hash of the xxHash family, whose types implement no common trait.
struct XxhHasher<H> {
    hash: H,
    update: fn(&mut H, &[u8]),
    hex: fn(&H) -> String,
}

fn of_xxh<H: 'static>(hash: H, update: fn(&mut H, &[u8]), hex: fn(&H) -> String) -> Box<dyn Hasher> {
    Box::new(XxhHasher { hash, update, hex })
}

fn xxh128() -> Box<dyn Hasher> {
    of_xxh(Xxh3::new(), Xxh3::update, |hash| format!("{:032x}", hash.digest128()))
}

impl<H> Hasher for XxhHasher<H> {
    fn update(&mut self, bytes: &[u8]) {
        (self.update)(&mut self.hash, bytes);
    }
    fn hex(self: Box<Self>) -> String {
        (self.hex)(&self.hash)
    }
}

#[cfg(test)]
#[path = "hashes_tests.rs"]
mod tests;
