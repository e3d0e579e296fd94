//! The representation of bytes in byte-level vocabularies: each byte is one printable character.

/// The code point after the last character that represents a byte.
const END: usize = 0x144;

/// Marks a character that represents no byte.
const NONE: u16 = u16::MAX;

/// The byte that each character below [`END`] represents.
const BYTES: [u16; END] = {
    let mut bytes = [NONE; END];
    let (mut byte, mut other) = (0, 0x100);
    while byte < 0x100 {
        let is_printable = matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        // The other bytes are represented by the characters from 256 on, in order.
        bytes[if is_printable { byte } else { other }] = byte as u16;
        if !is_printable {
            other += 1;
        }
        byte += 1;
    }
    bytes
};

/// Returns the byte that a character represents; `None` if it represents no byte.
pub(super) fn byte_of(spelled: char) -> Option<u8> {
    BYTES.get(spelled as usize).and_then(|byte| u8::try_from(*byte).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_byte_level_character() {
        let mut found: Vec<u8> = (0..0x200).filter_map(char::from_u32).filter_map(byte_of).collect();
        found.sort_unstable();
        assert_eq!(found, (0..=u8::MAX).collect::<Vec<u8>>());
        assert_eq!((byte_of('Ġ'), byte_of('Ċ'), byte_of('A')), (Some(b' '), Some(b'\n'), Some(b'A')));
        assert_eq!((byte_of('ł'), byte_of(' ')), (Some(0xa0), None));
    }
}
