//! Whether text that is read in pieces is UTF-8.

/// Checks pieces of one text, in order.
#[derive(Debug, Default)]
pub struct Utf8Checker {
    /// Bytes of a character that the last piece truncated.
    truncated: Vec<u8>,
    read_bytes: u64,
    invalid_at: Option<u64>,
}

impl Utf8Checker {
    /// Checks the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.check(piece);
        self.read_bytes += piece.len() as u64;
    }

    /// Returns the offset of the first bytes that are not UTF-8, if the text ends here.
    pub fn invalid_at(&self) -> Option<u64> {
        self.invalid_at.or((!self.truncated.is_empty()).then_some(self.read_bytes))
    }

    fn check(&mut self, mut piece: &[u8]) {
        while !self.truncated.is_empty() && self.invalid_at.is_none() {
            let Some((first, rest)) = piece.split_first() else { return };
            self.truncated.push(*first);
            piece = rest;
            match std::str::from_utf8(&self.truncated) {
                Ok(_) => self.truncated.clear(),
                Err(error) if error.error_len().is_some() => self.invalid_at = Some(self.read_bytes),
                Err(_) => {}
            }
        }
        if self.invalid_at.is_some() || simdutf8::basic::from_utf8(piece).is_ok() {
            return;
        }
        if let Err(error) = std::str::from_utf8(piece) {
            match error.error_len() {
                None => self.truncated.extend_from_slice(piece.get(error.valid_up_to()..).unwrap_or_default()),
                Some(_) => self.invalid_at = Some(self.read_bytes + error.valid_up_to() as u64),
            }
        }
    }
}

/// Returns the number of bytes at the beginning, at most `limit`, that continue a character.
pub(super) fn continuation_bytes(bytes: &[u8], limit: usize) -> usize {
    bytes.iter().take(limit).take_while(|byte| (0x80..0xc0).contains(*byte)).count()
}
