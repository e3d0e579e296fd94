//! The spelling of bytes in byte-level vocabularies: each byte is one printable character.

/// The byte that a character of such a vocabulary stands for.
pub(super) fn byte_of(spelled: char) -> Option<u8> {
    let code = u32::from(spelled);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        // The other bytes, in order, are spelled by the characters from 256 on.
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(),
        0x143 => Some(0xad),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut found: Vec<u8> = (0..0x200).filter_map(char::from_u32).filter_map(byte_of).collect();
        found.sort_unstable();
        assert_eq!(found, (0..=u8::MAX).collect::<Vec<u8>>());
        assert_eq!((byte_of('Ġ'), byte_of('Ċ'), byte_of('A')), (Some(b' '), Some(b'\n'), Some(b'A')));
        assert_eq!((byte_of('ł'), byte_of(' ')), (Some(0xa0), None));
    }
}
