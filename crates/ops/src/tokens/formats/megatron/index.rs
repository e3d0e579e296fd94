//! `.idx`, the index of a pair: token type, lengths, offsets and documents (docs/formats/megatron.md §1).

use gristmill_core::pack::TokenType;
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::megatron::MAGIC;

/// Size of the index header before the lengths, in bytes.
pub(super) const HEAD_BYTES: u64 = 34;
/// Size of the mark of a document, in bytes.
pub(super) const MARK_BYTES: u64 = 8;
/// Size of a length in the index, in bytes.
pub(super) const LENGTH_BYTES: u64 = 4;
/// Size of the index entries of a document with one sequence, in bytes.
pub(super) const DOCUMENT_BYTES: u64 = LENGTH_BYTES + 8 + MARK_BYTES;

const VERSION: u64 = 1;
/// Names and sizes in bytes of the token types. The code of a type is its index in this list plus one.
const TYPES: [(&str, u64); 8] =
    [("u8", 1), ("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8), ("f64", 8), ("f32", 4), ("u16", 2)];

/// The type of the tokens of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairType {
    /// The code of the type in the index.
    pub(super) code: u8,
    pub(super) name: &'static str,
    /// Bytes per token.
    pub(super) bytes: u64,
}

impl PairType {
    /// Returns the type with this code.
    pub(super) fn of_code(code: u8) -> Option<Self> {
        let (name, bytes) = *TYPES.get(usize::from(code).checked_sub(1)?)?;
        Some(Self { code, name, bytes })
    }

    /// Returns the type of packed tokens.
    pub(super) fn of(token: TokenType) -> Outcome<Self> {
        let code = match token {
            TokenType::I32 => Self::of_code(4),
            TokenType::U16 => Self::of_code(8),
            _ => None,
        };
        code.ok_or_else(|| {
            Failure::internal("packing for megatron", format!("no index has tokens of {}", token.numpy_name()))
        })
    }
}

/// A callback that receives the numbers of a table in batches.
pub(super) type TakeNumbers<'a, N> = &'a mut dyn FnMut(&[N]) -> Outcome<()>;

/// The numbers from which an index is written. Each table is read several times.
pub(super) trait IndexTables {
    /// Reads the length of each sequence.
    fn lengths(&self, take: TakeNumbers<'_, i32>) -> Outcome<()>;
    /// Reads the number of sequences of each document.
    fn counts(&self, take: TakeNumbers<'_, u32>) -> Outcome<()>;
    /// Reads the modes of the sequences; only multimodal pairs have modes.
    fn modes(&self, _take: TakeNumbers<'_, u8>) -> Outcome<()> {
        Ok(())
    }
}

/// Returns the length of a sequence as an index stores it.
///
/// # Errors
/// The sequence has 2³¹ tokens or more.
pub(super) fn sequence_length(tokens: u64) -> Outcome<i32> {
    i32::try_from(tokens).map_err(|_| {
        let why = format!("a sequence has {tokens} tokens, and an index of Megatron has at most {}", i32::MAX);
        Failure::data("packing for megatron", why).with_hint("divide the document")
    })
}

pub(super) fn write_index(
    pair_type: PairType,
    tables: &dyn IndexTables,
    write: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let (mut sequences, mut documents) = (0_u64, 0_u64);
    tables.lengths(&mut |lengths| {
        sequences += lengths.len() as u64;
        Ok(())
    })?;
    tables.counts(&mut |counts| {
        documents += counts.len() as u64;
        Ok(())
    })?;
    write(MAGIC)?;
    write(&VERSION.to_le_bytes())?;
    write(&[pair_type.code])?;
    write(&sequences.to_le_bytes())?;
    write(&(documents + 1).to_le_bytes())?;
    let mut some = Vec::new();
    tables.lengths(&mut |lengths| {
        some.clear();
        some.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
        write(&some)
    })?;
    let mut offset = 0_u64;
    tables.lengths(&mut |lengths| {
        some.clear();
        for length in lengths {
            some.extend_from_slice(&offset.to_le_bytes());
            offset = offset.saturating_add(u64::from(length.unsigned_abs()) * pair_type.bytes);
        }
        write(&some)
    })?;
    let mut mark = 0_u64;
    write(&mark.to_le_bytes())?;
    tables.counts(&mut |counts| {
        some.clear();
        for count in counts {
            mark += u64::from(*count);
            some.extend_from_slice(&mark.to_le_bytes());
        }
        write(&some)
    })?;
    tables.modes(&mut |modes| write(modes))
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// The tables of an index in memory.
    pub(in super::super) struct Tables<'a> {
        pub(in super::super) lengths: &'a [i32],
        pub(in super::super) counts: &'a [u32],
        pub(in super::super) modes: &'a [u8],
    }

    impl IndexTables for Tables<'_> {
        fn lengths(&self, take: TakeNumbers<'_, i32>) -> Outcome<()> {
            self.lengths.chunks(2).try_for_each(take)
        }
        fn counts(&self, take: TakeNumbers<'_, u32>) -> Outcome<()> {
            self.counts.chunks(2).try_for_each(take)
        }
        fn modes(&self, take: TakeNumbers<'_, u8>) -> Outcome<()> {
            take(self.modes)
        }
    }

    pub(in super::super) fn index(token: TokenType, lengths: &[i32], counts: &[u32], modes: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_index(PairType::of(token).unwrap(), &Tables { lengths, counts, modes }, &mut |some| {
            bytes.extend_from_slice(some);
            Ok(())
        })
        .unwrap();
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::testing::index;
    use super::*;

    #[test]
    fn megatron_index_without_documents_has_one_document_boundary() {
        let bytes = index(TokenType::U16, &[], &[], &[]);
        assert_eq!(bytes.len() as u64, HEAD_BYTES + MARK_BYTES);
        assert_eq!(bytes, b"MMIDIDX\0\0\x01\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_document_has_any_number_of_sequences() {
        let bytes = index(TokenType::I32, &[3, 2, 0], &[1, 0, 0, 2], &[]);
        let numbers = |from: usize, count: usize| {
            let of = |at: usize| u64::from_le_bytes(bytes[from + at * 8..from + at * 8 + 8].try_into().unwrap());
            (0..count).map(of).collect::<Vec<_>>()
        };
        assert_eq!(bytes[17], 4);
        assert_eq!(numbers(18, 2), [3, 5]);
        assert_eq!(bytes[34..46], [3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(numbers(46, 3), [0, 12, 20]);
        assert_eq!(numbers(70, 5), [0, 1, 1, 1, 3]);
        assert_eq!(bytes.len(), 70 + 5 * 8);
        assert!(PairType::of(TokenType::U64).is_err());
        assert_eq!(PairType::of_code(0), None);
        assert_eq!(PairType::of_code(9), None);
    }

    #[test]
    fn megatron_sequence_length_beyond_the_limit_is_refused() {
        assert_eq!(sequence_length((1 << 31) - 1).unwrap(), i32::MAX);
        assert!(sequence_length(1 << 31).unwrap_err().to_string().contains("2147483648 tokens"));
    }
}
