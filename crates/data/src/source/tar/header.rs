//! One 512-byte header block: checksum, number fields, names. Pure; must not read files.

/// Size of a tar block in bytes.
pub const BLOCK: usize = 512;
/// Size of a tar block in bytes, for offsets.
pub(super) const BLOCK_BYTES: u64 = 512;
/// Maximum length in bytes of a name in a header; then the smallest size that does not fit in octal digits.
const MAX_OWN_NAME: usize = 100;
const MAX_OCTAL_SIZE: u64 = 1 << 33;

/// Kind of a block at the offset of a header.
pub(super) enum Block<'a> {
    /// All zero: the end of the archive.
    Zero,
    /// A header with valid checksum and number fields.
    Header(Header<'a>),
    /// Anything else, with the reason.
    Bad(&'static str),
}

/// A header block that passed its checks.
#[derive(Clone, Copy)]
pub(super) struct Header<'a> {
    block: &'a [u8; BLOCK],
    /// The size field. May be negative or absurdly large: base-256 numbers hold 88 bits.
    pub(super) size: i128,
    /// Type flag; an old-style file whose name ends with a slash has the flag of a folder.
    pub(super) type_flag: u8,
}

/// Classifies one block.
pub(super) fn classify(block: &[u8; BLOCK]) -> Block<'_> {
    if block[0] == 0 && block.iter().all(|&b| b == 0) {
        return Block::Zero;
    }
    let Some(stated) = number(&block[148..156]) else {
        return Block::Bad("its checksum field is not a number");
    };
    if stated != i128::from(unsigned_sum(block)) && stated != i128::from(signed_sum(block)) {
        return Block::Bad("its checksum is wrong");
    }
    let Some(size) = number(&block[124..136]) else {
        return Block::Bad("its size field is not a number");
    };
    for field in [100..108, 108..116, 116..124, 136..148, 329..337, 337..345] {
        if !is_number(&block[field]) {
            return Block::Bad("a number field does not hold a number");
        }
    }
    let mut header = Header { block, size, type_flag: block[156] };
    if header.type_flag == 0 && header.own_name().last() == Some(&b'/') {
        header.type_flag = b'5';
    }
    Block::Header(header)
}

/// Name of the folder in the header of a sparse entry whose real name and size are in pax records.
const SPARSE_FOLDER: &[u8] = b"GNUSparseFile.";

/// Whether a block can be the header that precedes the content of a part with this full name and size. Not every name or size can be
/// compared: long or non-ASCII names and very large sizes are in extended headers, and the header of a sparse file has another size.
pub fn may_be_header_of(block: &[u8; BLOCK], name: &[u8], size: u64) -> bool {
    let Block::Header(header) = classify(block) else { return false };
    let own = header.own_name();
    if memchr::memmem::find(own, SPARSE_FOLDER).is_some() {
        return header.is_regular();
    }
    let is_named = name.len() > MAX_OWN_NAME || !name.is_ascii() || !own.is_empty() && name.ends_with(own);
    let is_sized = size >= MAX_OCTAL_SIZE || header.type_flag == b'S' || header.size == i128::from(size);
    header.is_regular() && is_named && is_sized
}

impl<'a> Header<'a> {
    /// Returns the name field up to its first NUL, without the prefix.
    pub(super) fn own_name(&self) -> &'a [u8] {
        until_nul(&self.block[..100])
    }
    /// Returns the ustar prefix; empty for the types that use those bytes differently.
    pub(super) fn prefix(&self) -> &'a [u8] {
        if matches!(self.type_flag, b'L' | b'K' | b'S') {
            return &[];
        }
        until_nul(&self.block[345..500])
    }
    /// Whether content blocks follow. Unknown types are assumed to have content; links and folders have none.
    pub(super) fn has_content(&self) -> bool {
        !matches!(self.type_flag, b'1'..=b'6')
    }
    /// Whether the entry can be a part: a regular, contiguous or sparse file.
    pub(super) fn is_regular(&self) -> bool {
        matches!(self.type_flag, b'0' | 0 | b'7' | b'S')
    }
    /// Whether the entry is a hard or symbolic link.
    pub(super) fn is_link(&self) -> bool {
        matches!(self.type_flag, b'1' | b'2')
    }
    /// Whether it is an extended header, which describes the next header.
    pub(super) fn is_extension(&self) -> bool {
        matches!(self.type_flag, b'L' | b'K' | b'x' | b'X' | b'g')
    }
    /// Returns, for a GNU sparse header, whether extension blocks follow, and the size of the file with its holes. `None` when one of its
    /// numbers is invalid.
    pub(super) fn sparse(&self) -> Option<(bool, i128)> {
        if !has_valid_numbers(&self.block[386..482]) {
            return None;
        }
        Some((self.block[482] != 0, number(&self.block[483..495])?))
    }
}

/// Returns, for an extension block of a GNU sparse header, whether another one follows; `None` when a number is invalid.
pub(super) fn sparse_extension(block: &[u8; BLOCK]) -> Option<bool> {
    has_valid_numbers(&block[..504]).then_some(block[504] != 0)
}

fn has_valid_numbers(fields: &[u8]) -> bool {
    fields.chunks_exact(12).all(is_number)
}

/// Returns possible content sizes of a block that failed its checks: the value of its size field, and the values for which one corrected
/// byte makes the checksum valid. Empty if nothing in the block resembles a header.
pub(super) fn salvaged_sizes(block: &[u8; BLOCK]) -> Vec<u64> {
    if &block[257..262] != b"ustar" {
        return Vec::new();
    }
    if matches!(block[156], b'1'..=b'6') {
        return vec![0];
    }
    let read = |field: &[u8]| u64::try_from(number(field)?).ok();
    let mut sizes: Vec<u64> = read(&block[124..136]).into_iter().collect();
    let Some(stated) = number(&block[148..156]) else { return sizes };
    let lacking = stated - i128::from(unsigned_sum(block));
    for place in 124..136 {
        let Ok(byte) = u8::try_from(i128::from(block[place]) + lacking) else { continue };
        let mut field = [0u8; 12];
        field.copy_from_slice(&block[124..136]);
        field[place - 124] = byte;
        sizes.extend(read(&field));
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Whether a damaged block resembles an extended header.
pub(super) fn resembles_extended_header(block: &[u8; BLOCK]) -> bool {
    let name = until_nul(&block[..100]);
    matches!(block[156], b'L' | b'K' | b'x' | b'X' | b'g')
        || name == b"././@LongLink"
        || memchr::memmem::find(name, b"PaxHeader").is_some()
}

/// Whether a block that was found by searching is accepted as a header. In addition to the checks of every header, its type must be a known
/// one, and it must have a name or the magic of newer formats, so that random bytes are not accepted.
pub(super) fn is_plausible(block: &[u8; BLOCK]) -> bool {
    // The checksum has octal digits; checking for a digit first makes a search through content fast.
    if !block[148..156].iter().any(u8::is_ascii_digit) {
        return false;
    }
    match classify(block) {
        Block::Header(h) => {
            h.size >= 0
                && (block[0] != 0 || &block[257..262] == b"ustar")
                && matches!(h.type_flag, b'0'..=b'7' | 0 | b'L' | b'K' | b'x' | b'X' | b'g' | b'S' | b'D' | b'V' | b'M')
        }
        _ => false,
    }
}

fn until_nul(field: &[u8]) -> &[u8] {
    memchr::memchr(0, field).map_or(field, |end| &field[..end])
}

fn unsigned_sum(block: &[u8; BLOCK]) -> u32 {
    let all: u32 = block.iter().map(|&b| u32::from(b)).sum();
    let own: u32 = block[148..156].iter().map(|&b| u32::from(b)).sum();
    all - own + 256
}

/// Returns the correct value of the checksum field of a block.
pub(super) fn sum_of(block: &[u8; BLOCK]) -> u32 {
    unsigned_sum(block)
}

/// Returns the sum of the bytes as signed numbers, which some old systems stored.
fn signed_sum(block: &[u8; BLOCK]) -> i32 {
    let signed = |bytes: &[u8]| bytes.iter().map(|&b| i32::from(b as i8)).sum::<i32>();
    signed(block) - signed(&block[148..156]) + 256
}

/// Parses a number field: octal text, or base-256 if its first byte is 0x80 (positive) or 0xff (negative). Accepts the same fields as
/// Python's `tarfile`.
pub(super) fn number(field: &[u8]) -> Option<i128> {
    let mut value: i128 = 0;
    for (i, &byte) in field.iter().enumerate() {
        match byte {
            b'0'..=b'7' => value = value << 3 | i128::from(byte - b'0'),
            0 | b' ' if i > 0 && field[i..].iter().all(|&b| b == 0 || b == b' ') => return Some(value),
            _ => return parse_base256(field),
        }
    }
    Some(value)
}

#[cold]
fn parse_base256(field: &[u8]) -> Option<i128> {
    match field.first() {
        Some(0x80) => Some(field[1..].iter().fold(0, |n, &b| n << 8 | i128::from(b))),
        Some(0xff) => {
            let value = field[1..].iter().fold(0i128, |n, &b| n << 8 | i128::from(b));
            Some(value - (1i128 << (8 * (field.len() - 1))))
        }
        _ => python_int(until_nul(field), 8),
    }
}

/// Parses a number like Python's `int(text.strip() or "0", radix)`, for radix 8 and 10 and ASCII text.
pub(super) fn python_int(text: &[u8], radix: u32) -> Option<i128> {
    let text = std::str::from_utf8(text).ok().filter(|t| t.is_ascii())?;
    let text = text.trim_matches(|c: char| matches!(c, '\t'..='\r' | '\x1c'..='\x1f' | ' '));
    if text.is_empty() {
        return if radix == 8 { Some(0) } else { None };
    }
    let (negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = match digits.get(..2) {
        Some("0o" | "0O") if radix == 8 => digits[2..].strip_prefix('_').unwrap_or(&digits[2..]),
        _ => digits,
    };
    let mut value: i128 = 0;
    let mut after_digit = false;
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
            continue;
        }
        value = value.checked_mul(i128::from(radix))?.checked_add(i128::from(c.to_digit(radix)?))?;
        after_digit = true;
    }
    after_digit.then_some(if negative { -value } else { value })
}

/// Whether [`number`] would accept the field; the usual forms are recognised without parsing.
fn is_number(field: &[u8]) -> bool {
    const DIGITS: u64 = 0x0030_3030_3030_3030;
    const MASK: u64 = 0x00f8_f8f8_f8f8_f8f8;
    if let Ok(bytes) = <[u8; 8]>::try_from(field) {
        let word = u64::from_le_bytes(bytes);
        if word == 0 || (word & MASK == DIGITS && matches!(bytes[7], 0 | b' ')) {
            return true;
        }
    }
    number(field).is_some()
}

#[cfg(test)]
mod tests;
