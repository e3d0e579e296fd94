//! The fields of a SentencePiece `.model` file that decide the tokens of a text. The file is a protobuf message of the syntax `proto2`; numbers
//! and defaults are those of its public definition, and all other fields are skipped.

/// A whole file.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ModelMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) pieces: Vec<VocabPiece>,
    #[prost(message, optional, tag = "2")]
    pub(super) trainer: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    pub(super) normalizer: Option<NormalizerSpec>,
}

/// An entry of the vocabulary; its position is its id.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct VocabPiece {
    #[prost(string, optional, tag = "1")]
    pub(super) piece: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub(super) score: Option<f32>,
    #[prost(enumeration = "PieceKind", optional, tag = "3", default = "Normal")]
    pub(super) kind: Option<i32>,
}

/// Settings of the training that also decide how texts are encoded.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrainerSpec {
    #[prost(enumeration = "ModelType", optional, tag = "3", default = "Unigram")]
    pub(super) model_type: Option<i32>,
    #[prost(bool, optional, tag = "24", default = "false")]
    pub(super) treat_whitespace_as_suffix: Option<bool>,
    #[prost(bool, optional, tag = "35", default = "false")]
    pub(super) byte_fallback: Option<bool>,
}

/// Rules that change a text before it is encoded.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NormalizerSpec {
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(super) precompiled_charsmap: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3", default = "true")]
    pub(super) add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4", default = "true")]
    pub(super) remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5", default = "true")]
    pub(super) escape_whitespaces: Option<bool>,
}

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum PieceKind {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
}

/// Algorithm that divides texts into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum ModelType {
    Unigram = 1,
    Bpe = 2,
    Word = 3,
    Char = 4,
}
