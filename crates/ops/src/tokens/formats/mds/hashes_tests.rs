use super::*;

fn hex_in_pieces(name: &str, bytes: &[u8], piece: usize) -> String {
    let mut hasher = hasher(name).unwrap();
    bytes.chunks(piece.max(1)).for_each(|piece| hasher.update(piece));
    hasher.hex()
}

#[test]
fn hash_names_are_sorted_and_known() {
    assert!(HASHES.is_sorted_by(|a, b| a.0 < b.0));
    assert!(HASHES.iter().all(|(name, _)| is_known(name)));
    assert!(!is_known("shake_128") && hasher("crc32").is_none() && hasher("").is_none());
}

/// Expects the values of Python's xxhash 3.8.2 for prefixes of the bytes `(7 i + 3) mod 251`.
#[test]
fn xxhash_digests_match_python() {
    let bytes: Vec<u8> = (0..3000_u32).map(|i| ((i * 7 + 3) % 251) as u8).collect();
    for (length, values) in [
        (0, ["02cc5d05", "ef46db3751d8e999", "2d06800538d394c2", "99aa06d3014798d86001c324468d497f"]),
        (1, ["21ae663a", "1f25c8d0bc1f4bb6", "13e608bc156defed", "22bbb76b211a39ba13e608bc156defed"]),
        (3, ["cd3d2242", "31d2363f52e564c9", "a9088dda485b481c", "ce31763cbf8245a5a9088dda485b481c"]),
        (4, ["725479f2", "9bb64b7d66ee9fda", "6d9253b16c8b1ed3", "47197970590746b1788a609154b0fe20"]),
        (16, ["8845547d", "434850232b787be2", "b8c859b0f030b585", "ce0b9647ab24f88460d75c5e47d40a24"]),
        (17, ["450e5f84", "1efa7025f1b97a7a", "714a04408e79b80f", "bfd327edcc2fbd12eeed7654312a26d7"]),
        (128, ["7053a91e", "a0a0ae06f88ab606", "4634ae6a253a60e4", "a04233e3c9599748ef7e4d57ed67de26"]),
        (129, ["1587e1f7", "8ed7d1d815851679", "c095b9b1b087722d", "6e83694c09641bb7a28da26446fd5ab0"]),
        (240, ["d1c7d188", "3e675f9e43d97699", "887af00281f75d38", "9a8457fec9cfea5e2288b3c22f48dea4"]),
        (241, ["c2cd5d04", "c2d85dd2fcc8dc06", "82b1de299f6e411e", "07870750a974395682b1de299f6e411e"]),
        (1024, ["e7427049", "bcc14bbbbb35ede2", "f75e768c7cdd54b2", "f96a1bbdb2fef572f75e768c7cdd54b2"]),
        (1025, ["e3b7a24e", "198148da92c6c1cf", "667a5eabe344e5df", "2b5651dd466531ba667a5eabe344e5df"]),
        (3000, ["045b10cb", "4cc5f8b151c7ddd0", "b54504a9e625239f", "63ca2349cffb855ab54504a9e625239f"]),
    ] {
        for (name, value) in ["xxh32", "xxh64", "xxh3_64", "xxh128"].into_iter().zip(values) {
            for piece in [1, 37, 3000] {
                assert_eq!(hex_in_pieces(name, &bytes[..length], piece), value, "{name} of {length} bytes");
            }
        }
        assert_eq!(hex_in_pieces("xxh3_128", &bytes[..length], 100), values[3]);
    }
}

#[test]
fn digests_match_hashlib() {
    for (name, start) in [
        ("blake2b", "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"),
        ("blake2s", "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9"),
        ("md5", "d41d8cd98f00b204e9800998ecf8427e"),
        ("sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("sha224", "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"),
        ("sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("sha3_256", "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"),
    ] {
        assert!(hex_in_pieces(name, b"", 1).starts_with(start), "{name}");
    }
    for (name, digits) in
        [("blake2b", 128), ("sha384", 96), ("sha512", 128), ("sha3_224", 56), ("sha3_384", 96), ("sha3_512", 128)]
    {
        assert_eq!(hex_in_pieces(name, b"abc", 2).len(), digits, "{name}");
    }
    assert_eq!(hex_in_pieces("md5", b"abc", 1), "900150983cd24fb0d6963f7d28e17f72");
}
