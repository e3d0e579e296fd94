//! Accessors of the answers to the options of a format, which a plan has only if it chooses the format.

use gristmill_core::PackPlan;

/// The answer of a format to an option that several formats share. Without an answer the format uses its default.
pub(crate) struct SharedAnswer<T> {
    pub(crate) get: fn(&PackPlan) -> Option<T>,
    pub(crate) set: fn(&mut PackPlan, Option<T>),
}

/// Sets a field of a format's target, if the plan has it.
macro_rules! set_target {
    ($plan:ident.$target:ident.$field:ident = $value:expr) => {
        if let Some(target) = &mut $plan.$target {
            target.$field = $value;
        }
    };
}

/// Accessors of a field of a format's target that answers a shared option.
macro_rules! shared_answer {
    ($target:ident.$field:ident) => {
        SharedAnswer {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, answer| $crate::tokens::options::set_target!(plan.$target.$field = answer),
        }
    };
}

/// Accessors of an optional text of a format's target.
macro_rules! target_text {
    ($target:ident.$field:ident) => {
        Access::Text {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, text| {
                $crate::tokens::options::set_target!(plan.$target.$field = text);
                Ok(())
            },
        }
    };
}

/// Accessors of a field of a format's target that is on or off.
macro_rules! target_switch {
    ($target:ident.$field:ident) => {
        Access::Switch {
            get: |plan| plan.$target.as_ref().is_some_and(|target| target.$field),
            set: |plan, is_on| $crate::tokens::options::set_target!(plan.$target.$field = is_on),
        }
    };
}

/// Accessors of a list of texts of a format's target.
macro_rules! target_list {
    ($target:ident.$field:ident, $separator:expr) => {
        Access::List {
            separator: $separator,
            get: |plan| plan.$target.as_ref().map(|target| target.$field.clone()).unwrap_or_default(),
            set: |plan, values| {
                $crate::tokens::options::set_target!(plan.$target.$field = values);
                Ok(())
            },
        }
    };
}

/// Accessors of an optional path of a format's target.
macro_rules! target_path {
    ($target:ident.$field:ident) => {
        Access::Path {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, path| $crate::tokens::options::set_target!(plan.$target.$field = path),
        }
    };
}

/// Accessors of an optional number of a format's target.
macro_rules! target_number {
    ($target:ident.$field:ident, $kind:ident) => {
        Access::Number {
            least: 0,
            most: $kind::MAX as u64,
            get: |plan| plan.$target.as_ref()?.$field.map(u64::from),
            set: |plan, number| {
                let number = number.and_then(|number| $kind::try_from(number).ok());
                $crate::tokens::options::set_target!(plan.$target.$field = number)
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
                $crate::tokens::options::set_target!(plan.$target.special_tokens = answer.unwrap_or(true))
            },
        }
    };
}

/// Accessors of the answer of a format how documents are shuffled.
macro_rules! document_shuffle_answer {
    ($target:ident) => {
        SharedAnswer {
            get: |plan| Some(plan.$target.as_ref()?.shuffle),
            set: |plan, answer| $crate::tokens::options::set_target!(plan.$target.shuffle = answer.unwrap_or_default()),
        }
    };
}

pub(crate) use {
    document_shuffle_answer, set_target, shared_answer, special_tokens_answer, target_list, target_number, target_path,
    target_switch, target_text,
};
