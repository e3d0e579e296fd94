//! `.idx`: types, lengths, offsets and documents of a pair (docs/formats/megatron.md §1).

use crate::formats::megatron::MAGIC;
use gristmill_core::pack::TokenType;
use gristmill_core::{Failure, Outcome};

/// Bytes of the index before the lengths.
pub(super) const HEAD_BYTES: u64 = 34;
/// Bytes of a mark of a document.
pub(super) const MARK_BYTES: u64 = 8;
/// Bytes of the index for a document with a sequence.
pub(super) const DOCUMENT_BYTES: u64 = 12 + MARK_BYTES;
/// Bytes of a length in a spool.
pub(super) const LENGTH_BYTES: u64 = 4;

const VERSION: u64 = 1;

/// Reads the lengths of all documents of a pair, in pieces of whole lengths.
pub(super) type ReadLengths<'a> = &'a dyn Fn(&mut dyn FnMut(&[i32]) -> Outcome<()>) -> Outcome<()>;

/// Returns the length of a sequence as the index has it.
///
/// # Errors
/// It has 2³¹ tokens or more.
pub(super) fn sequence_length(tokens: u64) -> Outcome<i32> {
    i32::try_from(tokens).map_err(|_| {
        let why = format!("a document has {tokens} tokens, and an index of Megatron has at most {}", i32::MAX);
        Failure::data("packing for megatron", why).with_hint("divide the document")
    })
}

/// Writes an index. The lengths are read once for each of its tables; those of documents without tokens have no sequence.
pub(super) fn write_index(
    token: TokenType,
    documents: u64,
    read: ReadLengths<'_>,
    write: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let mut sequences: u64 = 0;
    read(&mut |lengths| {
        sequences += lengths.iter().filter(|length| **length > 0).count() as u64;
        Ok(())
    })?;
    write(MAGIC)?;
    write(&VERSION.to_le_bytes())?;
    write(&[type_code(token)?])?;
    write(&sequences.to_le_bytes())?;
    write(&(documents + 1).to_le_bytes())?;
    let mut some = Vec::new();
    read(&mut |lengths| {
        some.clear();
        some.extend(lengths.iter().filter(|length| **length > 0).flat_map(|length| length.to_le_bytes()));
        write(&some)
    })?;
    let (mut offset, width) = (0_u64, token.bytes() as u64);
    read(&mut |lengths| {
        some.clear();
        for length in lengths.iter().filter(|length| **length > 0) {
            some.extend_from_slice(&offset.to_le_bytes());
            offset += u64::from(length.unsigned_abs()) * width;
        }
        write(&some)
    })?;
    let mut mark = 0_u64;
    write(&mark.to_le_bytes())?;
    read(&mut |lengths| {
        some.clear();
        for length in lengths {
            mark += u64::from(*length > 0);
            some.extend_from_slice(&mark.to_le_bytes());
        }
        write(&some)
    })
}

/// Returns the number of a token type.
fn type_code(token: TokenType) -> Outcome<u8> {
    match token {
        TokenType::I32 => Ok(4),
        TokenType::U16 => Ok(8),
        other => {
            Err(Failure::internal("packing for megatron", format!("no index has tokens of {}", other.numpy_name())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(token: TokenType, pieces: &[&[i32]]) -> Vec<u8> {
        let documents = pieces.iter().map(|lengths| lengths.len() as u64).sum();
        let mut bytes = Vec::new();
        let read = |take: &mut dyn FnMut(&[i32]) -> Outcome<()>| pieces.iter().try_for_each(|lengths| take(lengths));
        write_index(token, documents, &read, &mut |some| {
            bytes.extend_from_slice(some);
            Ok(())
        })
        .unwrap();
        bytes
    }

    #[test]
    fn an_index_of_no_documents_has_one_mark() {
        let bytes = index(TokenType::U16, &[]);
        assert_eq!(bytes.len() as u64, HEAD_BYTES + MARK_BYTES);
        assert_eq!(bytes, b"MMIDIDX\0\0\x01\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_document_without_tokens_has_no_sequence() {
        let bytes = index(TokenType::I32, &[&[3, 0], &[0, 2]]);
        let numbers = |from: usize, count: usize| {
            let of = |at: usize| u64::from_le_bytes(bytes[from + at * 8..from + at * 8 + 8].try_into().unwrap());
            (0..count).map(of).collect::<Vec<_>>()
        };
        assert_eq!(bytes[17], 4);
        assert_eq!(numbers(18, 2), [2, 5]);
        assert_eq!(bytes[34..42], [3, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(numbers(42, 2), [0, 12]);
        assert_eq!(numbers(58, 5), [0, 1, 1, 1, 2]);
        assert_eq!(bytes.len(), 58 + 5 * 8);
    }

    #[test]
    fn a_length_beyond_the_index_is_refused() {
        assert_eq!(sequence_length((1 << 31) - 1).unwrap(), i32::MAX);
        assert!(sequence_length(1 << 31).unwrap_err().to_string().contains("2147483648 tokens"));
    }
}
