//! The options of `--format megatron`, except those shared with other formats.

use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::EmptyTexts;
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

/// Maximum number of partitions.
const MAX_PARTITIONS: u64 = 1 << 16;

pub(in super::super) const CHOICE: Choice = Choice { name: "megatron", help: "A pair of .bin and .idx" };
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("Megatron", "formats", OPTIONS).needs("--format megatron", |plan| plan.megatron.is_some());

/// The values of `--empty-texts`.
const EMPTY_TEXTS: &[Choice] = &[
    Choice { name: "leave-out", help: "They are not packed" },
    Choice { name: "document", help: "A document without a sequence, as preprocess_data.py writes it" },
    Choice {
        name: "sequence",
        help: "A sequence of the end token alone, or of length 0, as preprocess_data_fast.py writes it",
    },
];

const OPTIONS: &[Spec] = &[
    Spec::new(
        "json-key",
        "KEY",
        "Make a pair of the text at this key, in place of --text-key (repeat: a pair of each)",
        list!(None, megatron?.keys),
    )
    .unset("the key of the text")
    .advanced(),
    Spec::new(
        "empty-texts",
        "WHAT",
        "What becomes of empty texts",
        choice!(
            EMPTY_TEXTS,
            EmptyTexts::LeaveOut,
            [("document", EmptyTexts::Document), ("sequence", EmptyTexts::Sequence)],
            megatron?.empty_texts
        ),
    )
    .default("leave-out")
    .advanced(),
    Spec::new(
        "partitions",
        "N",
        "Put documents in the order of preprocess_data.py with N partitions: lines 0, N, 2N and so on first",
        number!(2..=MAX_PARTITIONS, megatron?.partitions),
    )
    .unset("the order of the inputs")
    .advanced(),
];
