//! Reading of gzip files as `gzip` reads them: concatenated members, each optionally followed by zeros, the padding of tapes and archives.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, Read};

/// Reads the decompressed bytes of all members.
pub(super) struct Members<R> {
    at: MemberState<R>,
}

enum MemberState<R> {
    /// Before a member, or at the end.
    Between(R),
    Inside(Box<GzDecoder<R>>),
    /// Placeholder during a transition; never observed.
    Moving,
}

impl<R: BufRead> Members<R> {
    /// Creates a reader that starts before the first member.
    pub(super) fn new(input: R) -> Self {
        Self { at: MemberState::Between(input) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.at {
                MemberState::Between(input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                }
                MemberState::Inside(member) => {
                    let count = member.read(buf)?;
                    if count > 0 {
                        return Ok(count);
                    }
                    skip_zeros(member.get_mut())?;
                }
                MemberState::Moving => {}
            }
            self.at = match std::mem::replace(&mut self.at, MemberState::Moving) {
                MemberState::Between(input) => MemberState::Inside(Box::new(GzDecoder::new(input))),
                MemberState::Inside(member) => MemberState::Between(member.into_inner()),
                MemberState::Moving => return Ok(0),
            };
        }
    }
}

fn skip_zeros(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let held = input.fill_buf()?;
        let zeros = held.iter().take_while(|byte| **byte == 0).count();
        let is_over = zeros < held.len() || held.is_empty();
        input.consume(zeros);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn member(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8], buffer: usize) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let result = Members::new(io::BufReader::with_capacity(buffer, bytes)).read_to_end(&mut out);
        (out, result.is_ok())
    }

    #[test]
    fn zeros_between_gzip_members_are_ignored_and_other_bytes_are_damage() {
        let (one, two, zeros) = (member(b"one\n"), member(b"two\n"), [0; 700]);
        let whole: [(Vec<u8>, &[u8]); 7] = [
            (Vec::new(), b""),
            (one.clone(), b"one\n"),
            ([&one[..], &two].concat(), b"one\ntwo\n"),
            ([&one[..], &zeros].concat(), b"one\n"),
            ([&one[..], &zeros, &two].concat(), b"one\ntwo\n"),
            ([&one[..], &zeros, &two, &zeros].concat(), b"one\ntwo\n"),
            ([&member(b"")[..], &one].concat(), b"one\n"),
        ];
        for (bytes, wanted) in &whole {
            for buffer in [1, 7, 512, 4096] {
                assert_eq!(read(bytes, buffer), (wanted.to_vec(), true), "{} bytes by {buffer}", bytes.len());
            }
        }
        let damaged: [Vec<u8>; 4] = [
            zeros.to_vec(),
            [&one[..], b"x"].concat(),
            [&one[..], &zeros, b"x"].concat(),
            one[..one.len() - 1].to_vec(),
        ];
        for bytes in &damaged {
            assert!(!read(bytes, 64).1, "{} bytes", bytes.len());
        }
    }
}
