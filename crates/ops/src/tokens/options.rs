//! Accessors of the answers to the options of a format, which a plan has only if it chooses the format.

/// Accessors of an optional text of a format's target.
macro_rules! target_text {
    ($target:ident.$field:ident) => {
        Access::Text {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, text| {
                if let Some(target) = &mut plan.$target {
                    target.$field = text;
                }
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
            set: |plan, path| {
                if let Some(target) = &mut plan.$target {
                    target.$field = path;
                }
            },
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
                if let Some(target) = &mut plan.$target {
                    target.$field = number.and_then(|number| $kind::try_from(number).ok());
                }
            },
        }
    };
}

pub(crate) use {target_number, target_path, target_text};
