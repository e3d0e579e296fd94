//! The vocabulary of a SentencePiece model.

use super::message::{ModelMessage, PieceKind};
use super::trie::Trie;
use std::collections::HashMap;

/// The vocabulary and the types of its pieces, validated like in the reference.
#[derive(Debug)]
pub(super) struct PieceTable {
    /// Spelling, score and type, by id.
    pub(super) all: Vec<VocabEntry>,
    /// Normal, user-defined and unused pieces, of which text can consist.
    pub(super) of_text: Trie,
    /// Pieces with a special meaning: control, unknown and byte pieces.
    reserved: HashMap<Vec<u8>, u32>,
    /// User-defined pieces, which are matched wherever they occur; `None` if there are none.
    pub(super) user_defined: Option<Trie>,
    pub(super) unknown: u32,
    /// The id of each byte, if unknown characters are encoded as bytes.
    pub(super) bytes: Option<Box<[u32; 256]>>,
}

/// One entry of the vocabulary.
#[derive(Debug)]
pub(super) struct VocabEntry {
    pub(super) text: String,
    pub(super) score: f32,
    pub(super) kind: PieceKind,
}

impl PieceTable {
    /// Parses the vocabulary of a model. The error is the reason why it is unusable.
    pub(super) fn new(model: &ModelMessage) -> Result<Self, String> {
        let falls_back = model.trainer.as_ref().is_some_and(|trainer| trainer.byte_fallback());
        let all: Vec<VocabEntry> = model
            .pieces
            .iter()
            .map(|piece| VocabEntry { text: piece.piece().to_owned(), score: piece.score(), kind: piece.kind() })
            .collect();
        if u32::try_from(all.len()).is_err() {
            return Err("it has too many pieces".into());
        }
        let (mut reserved, mut of_text) = (HashMap::new(), HashMap::new());
        let mut bytes: Vec<Option<u32>> = vec![None; 256];
        let mut unknown = None;
        for (piece, id) in all.iter().zip(0u32..) {
            if piece.text.is_empty() {
                return Err(format!("piece {id} is empty"));
            }
            let map = if piece.is_of_text() { &mut of_text } else { &mut reserved };
            if map.insert(piece.text.as_bytes().to_vec(), id).is_some() {
                return Err(format!("the piece `{}` occurs twice", piece.text));
            }
            match piece.kind {
                PieceKind::Unknown if unknown.is_some() => return Err("it has two unknown pieces".into()),
                PieceKind::Unknown => unknown = Some(id),
                PieceKind::Byte => match byte_of(&piece.text) {
                    Some(byte) if falls_back => bytes[usize::from(byte)] = Some(id),
                    _ => return Err(format!("the byte piece `{}` is out of place", piece.text)),
                },
                _ => {}
            }
        }
        let unknown = unknown.ok_or("it has no unknown piece")?;
        let bytes = match bytes.into_iter().collect::<Option<Vec<u32>>>() {
            Some(ids) if falls_back => ids.try_into().ok().map(Box::new),
            _ if falls_back => return Err("it lacks pieces for some of the 256 bytes".into()),
            _ => None,
        };
        let user: Vec<(&[u8], u32)> =
            entries(&all).filter(|(_, id)| all[*id as usize].kind == PieceKind::UserDefined).collect();
        let user_defined = (!user.is_empty()).then(|| Trie::new(user));
        let of_text = Trie::new(entries(&all).filter(|(_, id)| all[*id as usize].is_of_text()));
        Ok(Self { of_text, reserved, user_defined, unknown, bytes, all })
    }

    /// Returns the id of a piece by its spelling. Pieces with a special meaning take precedence.
    pub(super) fn id_of(&self, piece: &[u8]) -> Option<u32> {
        self.reserved.get(piece).copied().or_else(|| self.of_text.get(piece))
    }

    /// Returns the type of a piece.
    pub(super) fn kind(&self, id: u32) -> Option<PieceKind> {
        self.all.get(id as usize).map(|piece| piece.kind)
    }
}

impl VocabEntry {
    /// Whether the piece can be part of a text.
    fn is_of_text(&self) -> bool {
        matches!(self.kind, PieceKind::Normal | PieceKind::UserDefined | PieceKind::Unused)
    }
}

fn entries(all: &[VocabEntry]) -> impl Iterator<Item = (&[u8], u32)> + Clone {
    all.iter().zip(0u32..).map(|(piece, id)| (piece.text.as_bytes(), id))
}

/// Returns the byte that a piece like `<0x0A>` represents.
pub(in super::super) fn byte_of(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_plain = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b));
    u8::from_str_radix(digits, 16).ok().filter(|_| is_plain)
}

/// Returns the length in bytes of the character that starts with the first byte. As in the reference, the other bytes are not checked.
pub(super) fn char_length(bytes: &[u8]) -> usize {
    let length = match bytes.first() {
        Some(0..=0xbf) => 1,
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xff) => 4,
        None => 0,
    };
    length.min(bytes.len())
}
