//! Creates archives block by block, so that tests can damage them.

/// Returns one header block, including its checksum.
pub fn header(name: &[u8], size: u64, kind: u8) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    block[100..108].copy_from_slice(b"0000644\0");
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    checksum(&mut block);
    block
}

/// Updates the checksum of a header block.
pub fn checksum(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Returns a regular entry: header, content, padding.
pub fn entry(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut bytes = header(name, content.len() as u64, b'0');
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    bytes
}

/// Returns an entry whose name is stored in a pax header, so that it may have any length and bytes.
pub fn pax_entry(records: &[(&str, &[u8])], name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while length.to_string().len() + rest != length {
            length = length.to_string().len() + rest;
        }
        payload.extend_from_slice(format!("{length} {key}=").as_bytes());
        payload.extend_from_slice(value);
        payload.push(b'\n');
    }
    let mut bytes = header(b"PaxHeaders/x", payload.len() as u64, b'x');
    bytes.extend_from_slice(&payload);
    bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    bytes.extend(entry(name, content));
    bytes
}

/// Concatenates pieces, and appends the two zero blocks.
pub fn archive(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = pieces.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Returns the content of a part in these tests.
pub fn content(key: &str, part: &str) -> Vec<u8> {
    format!("{part} of {key}").into_bytes()
}

/// Returns the two parts of a sample.
pub fn sample(key: &str) -> Vec<u8> {
    ["txt", "cls"].iter().flat_map(|part| entry(format!("{key}.{part}").as_bytes(), &content(key, part))).collect()
}

/// Returns samples with the keys `0`, `1`, … after a prefix. Each takes 2048 bytes.
pub fn samples(prefix: &str, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| sample(&format!("{prefix}{number}"))).collect()
}
