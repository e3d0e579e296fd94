//! Accessors for the answers to the options of a format. A plan has these answers only if it chooses the format.

use gristmill_core::PackPlan;

/// Accessors for a format's answer to an option that several formats share. `None` means the format's default.
pub(crate) struct SharedAnswer<T> {
    pub(crate) get: fn(&PackPlan) -> Option<T>,
    pub(crate) set: fn(&mut PackPlan, Option<T>),
}

/// Returns the accessors for a field of a format's target that answers a shared option.
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

/// Returns the accessors for whether a format adds the tokenizer's template.
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

/// Returns the accessors for how a format shuffles documents.
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
