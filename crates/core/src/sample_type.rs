//! The sample types that a trainer supports, with their fields. See docs/formats/energon.md §10.3.

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A picture or another array.
    Tensor,
    /// Text.
    Str,
    /// A whole number.
    Int,
    /// A list of strings.
    StrList,
    /// A list of whole numbers.
    IntList,
    /// A list of arrays.
    TensorList,
    /// Arrays or a list of strings.
    TensorOrStrList,
    /// A list whose items are arrays or strings.
    TensorOrStrSequence,
    /// A video that is decoded on use.
    Video,
}

impl FieldType {
    /// Returns the type annotation of the Python class.
    pub fn python(self) -> &'static str {
        match self {
            Self::Tensor => "torch.Tensor",
            Self::Str => "str",
            Self::Int => "int",
            Self::StrList => "List[str]",
            Self::IntList => "List[int]",
            Self::TensorList => "List[torch.Tensor]",
            Self::TensorOrStrList => "Union[torch.Tensor, List[str]]",
            Self::TensorOrStrSequence => "List[Union[torch.Tensor, str]]",
            Self::Video => "AVDecoder",
        }
    }
}

/// One field of a sample type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field in the class.
    pub name: &'static str,
    /// Type of the value of the field.
    pub field_type: FieldType,
    /// The default in Python; `None` means that the field is required.
    pub default: Option<&'static str>,
}

/// A class of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleType {
    /// Class name.
    pub class: &'static str,
    /// Module that `dataset.yaml` names.
    pub module: &'static str,
    /// One-line description, shown where a sample type is chosen.
    pub what: &'static str,
    /// The fields in class order, without base fields (`__key__` …).
    pub fields: &'static [Field],
}

/// Python package of Energon.
pub const ENERGON_PACKAGE: &str = "megatron.energon";

const fn req(name: &'static str, field_type: FieldType) -> Field {
    Field { name, field_type, default: None }
}
const fn opt(name: &'static str, field_type: FieldType) -> Field {
    Field { name, field_type, default: Some("None") }
}

const fn sample(class: &'static str, what: &'static str, fields: &'static [Field]) -> SampleType {
    SampleType { class, module: ENERGON_PACKAGE, what, fields }
}

use FieldType as T;

const IMAGE: Field = req("image", T::Tensor);

/// Class name of crude data sets. It is not a sample type, but is selected like one.
pub const CRUDE_CLASS: &str = "CrudeWebdataset";

/// All sample types, in the order of the reference program's wizard. `VQAOCRSample` is last, because the wizard does not offer it.
pub const SAMPLE_TYPES: &[SampleType] = &[
    sample("CaptioningSample", "a picture and its caption", &[IMAGE, req("caption", T::Str)]),
    sample(
        "ImageClassificationSample",
        "a picture and its class",
        &[IMAGE, opt("label", T::Int), opt("label_name", T::Str)],
    ),
    sample("ImageSample", "a picture alone", &[IMAGE]),
    sample("InterleavedSample", "pictures and texts in reading order", &[req("sequence", T::TensorOrStrSequence)]),
    sample(
        "MultiChoiceVQASample",
        "a picture, a question, and choices",
        &[
            IMAGE,
            req("context", T::Str),
            opt("choices", T::StrList),
            Field { name: "correct_choice_idx", field_type: T::Int, default: Some("0") },
        ],
    ),
    sample(
        "OCRSample",
        "a page and its text, with boxes",
        &[
            IMAGE,
            req("text", T::Str),
            opt("block_boxes", T::Tensor),
            opt("block_classes", T::TensorOrStrList),
            opt("block_text", T::StrList),
            opt("lines_boxes", T::Tensor),
            opt("lines_text", T::StrList),
            opt("words_boxes", T::Tensor),
            opt("words_text", T::StrList),
            opt("chars_boxes", T::Tensor),
            opt("chars_text", T::StrList),
        ],
    ),
    sample("Sample", "the key alone", &[]),
    sample(
        "SimilarityInterleavedSample",
        "pictures and texts matched by similarity",
        &[
            req("images", T::TensorList),
            req("texts", T::StrList),
            opt("audio", T::TensorList),
            opt("video", T::TensorList),
            opt("similarity_matrix", T::Tensor),
            opt("matched_text_indices", T::IntList),
        ],
    ),
    sample("TextSample", "a text alone", &[req("text", T::Str)]),
    sample(
        "VQASample",
        "a picture, a question, and answers",
        &[IMAGE, req("context", T::Str), opt("answers", T::StrList), opt("answer_weights", T::Tensor)],
    ),
    sample(
        "VidQASample",
        "a video, a question, and answers",
        &[req("video", T::Video), req("context", T::Str), opt("answers", T::StrList), opt("answer_weights", T::Tensor)],
    ),
    SampleType {
        class: "VQAOCRSample",
        module: "megatron.energon.flavors.vqa_and_ocr",
        what: "a picture, a question, and the text in the picture",
        fields: &[
            IMAGE,
            req("context", T::Str),
            req("text", T::Str),
            opt("answers", T::StrList),
            opt("answer_weights", T::Tensor),
            opt("words_boxes", T::Tensor),
            opt("words_text", T::StrList),
        ],
    },
];

/// Returns the sample type with this class name. Case-sensitive.
pub fn find(class: &str) -> Option<&'static SampleType> {
    SAMPLE_TYPES.iter().find(|t| t.class == class)
}
