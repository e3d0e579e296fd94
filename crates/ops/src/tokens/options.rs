//! Accessors of the answers to the options of a format, which a plan has only if it chooses the format.

use gristmill_core::PackPlan;

/// The answer of a format to an option that several formats share. Without an answer the format uses its default.
pub(crate) struct SharedAnswer<T> {
    pub(crate) get: fn(&PackPlan) -> Option<T>,
    pub(crate) set: fn(&mut PackPlan, Option<T>),
}

/// Accessors of a field of a format's target that answers a shared option.
macro_rules! shared_answer {
    ($target:ident.$field:ident) => {
        SharedAnswer {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, answer| {
                if let Some(target) = &mut plan.$target {
                    target.$field = answer;
                }
            },
        }
    };
}

/// Accessors of the answer of a format whether the template of the tokenizer is used.
macro_rules! special_tokens_answer {
    ($target:ident) => {
        SharedAnswer {
            get: |plan| Some(plan.$target.as_ref()?.special_tokens),
            set: |plan, answer| {
                if let Some(target) = &mut plan.$target {
                    target.special_tokens = answer.unwrap_or(true);
                }
            },
        }
    };
}

/// Accessors of the answer of a format how documents are shuffled.
macro_rules! document_shuffle_answer {
    ($target:ident) => {
        SharedAnswer {
            get: |plan| Some(plan.$target.as_ref()?.shuffle),
            set: |plan, answer| {
                if let Some(target) = &mut plan.$target {
                    target.shuffle = answer.unwrap_or_default();
                }
            },
        }
    };
}

pub(crate) use {document_shuffle_answer, shared_answer, special_tokens_answer};
