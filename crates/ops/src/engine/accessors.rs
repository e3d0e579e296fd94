//! Accessors of plan fields, for tables of options. A field is named by its path: `field` or `part.field`, or `part?.field` if the plan may
//! lack the part. Without the part, the option has no answer, and setting it has no effect.

/// Expands to a reference to a field; `None` if the plan lacks the part.
macro_rules! field {
    ($plan:ident, $part:ident?.$field:ident) => {
        $plan.$part.as_ref().map(|part| &part.$field)
    };
    ($plan:ident, $($field:ident).+) => {
        Some(&$plan.$($field).+)
    };
}

/// Expands to an assignment to a field.
macro_rules! set_field {
    ($plan:ident, $part:ident?.$field:ident, $value:expr) => {
        if let Some(part) = &mut $plan.$part {
            part.$field = $value;
        }
    };
    ($plan:ident, $($field:ident).+, $value:expr) => {
        $plan.$($field).+ = $value
    };
}

/// Accessors of a path, which may be stored as text.
macro_rules! path {
    ($($path:tt)+) => {
        Access::Path {
            get: |plan| {
                let path = std::path::Path::new(field!(plan, $($path)+)?).to_string_lossy();
                Some(path.into_owned()).filter(|path| !path.is_empty())
            },
            set: |plan, path| set_field!(plan, $($path)+, path.unwrap_or_default().into()),
        }
    };
}

/// Accessors of an optional path, which may be stored as text.
macro_rules! optional_path {
    ($($path:tt)+) => {
        Access::Path {
            get: |plan| {
                let path = field!(plan, $($path)+)?.as_ref();
                path.map(|path| std::path::Path::new(path).to_string_lossy().into_owned())
            },
            set: |plan, path| set_field!(plan, $($path)+, path.map(Into::into)),
        }
    };
}

/// Accessors of an optional text.
macro_rules! text {
    ($($path:tt)+) => {
        Access::Text {
            get: |plan| field!(plan, $($path)+)?.clone(),
            set: |plan, text| {
                set_field!(plan, $($path)+, text);
                Ok(())
            },
        }
    };
}

/// Accessors of a text with a default.
macro_rules! text_or {
    ($default:expr, $($path:tt)+) => {
        Access::Text {
            get: |plan| field!(plan, $($path)+).filter(|text| **text != $default).cloned(),
            set: |plan, text| {
                set_field!(plan, $($path)+, text.unwrap_or_else(|| $default.into()));
                Ok(())
            },
        }
    };
}

/// Accessors of a boolean field.
macro_rules! switch {
    ($($path:tt)+) => {
        Access::Switch {
            get: |plan| field!(plan, $($path)+).is_some_and(|is_on| *is_on),
            set: |plan, is_on| set_field!(plan, $($path)+, is_on),
        }
    };
}

/// Accessors of a list of paths.
macro_rules! paths {
    ($field:ident) => {
        Access::Paths {
            get: |plan| plan.$field.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            set: |plan, paths| plan.$field = paths.into_iter().map(std::path::PathBuf::from).collect(),
        }
    };
}

/// Accessors of a list of texts, given with a separator, or with `None` if the flag is repeated.
macro_rules! list {
    ($separator:expr, $($path:tt)+) => {
        Access::List {
            separator: $separator,
            get: |plan| field!(plan, $($path)+).cloned().unwrap_or_default(),
            set: |plan, values| {
                set_field!(plan, $($path)+, values);
                Ok(())
            },
        }
    };
}

/// Accessors of an optional number within limits.
macro_rules! number {
    ($least:literal..=$most:expr, $($path:tt)+) => {
        Access::Number {
            least: $least,
            most: $most,
            get: |plan| field!(plan, $($path)+)?.map(u64::from),
            set: |plan, number| set_field!(plan, $($path)+, number.and_then(|number| number.try_into().ok())),
        }
    };
}

/// Accessors of a number within limits with a default.
macro_rules! number_or {
    ($default:expr, $least:literal..=$most:expr, $($path:tt)+) => {
        Access::Number {
            least: $least,
            most: $most,
            get: |plan| field!(plan, $($path)+).filter(|number| **number != $default).map(|number| u64::from(*number)),
            set: |plan, number| {
                let number = number.and_then(|number| number.try_into().ok());
                set_field!(plan, $($path)+, number.unwrap_or($default));
            },
        }
    };
}

/// Accessors of one of several values. A value that is not in the list is shown as the default.
macro_rules! choice {
    ($choices:expr, $default:path, [$(($name:literal, $value:path)),+ $(,)?], $($path:tt)+) => {
        Access::Choice {
            choices: $choices,
            get: |plan| match field!(plan, $($path)+)? {
                $($value => Some($name),)+
                _ => None,
            },
            set: |plan, name| {
                let value = match name {
                    $($name => $value,)+
                    _ => $default,
                };
                set_field!(plan, $($path)+, value);
            },
        }
    };
}

/// Accessors of a field that has either one value or its default.
macro_rules! value {
    ($value:expr, $($path:tt)+) => {
        Access::Switch {
            get: |plan| field!(plan, $($path)+) == Some(&$value),
            set: |plan, is_on| match is_on {
                true => set_field!(plan, $($path)+, $value),
                false if field!(plan, $($path)+) == Some(&$value) => set_field!(plan, $($path)+, Default::default()),
                false => {}
            },
        }
    };
}

/// Accessors of the text in one variant of an enum field; without a text, the field has its default.
macro_rules! variant_text {
    ($variant:path, $($path:tt)+) => {
        Access::Text {
            get: |plan| match field!(plan, $($path)+)? {
                $variant(text) => Some(text.clone()),
                _ => None,
            },
            set: |plan, text| {
                match (text, field!(plan, $($path)+)) {
                    (Some(text), _) => set_field!(plan, $($path)+, $variant(text)),
                    (None, Some($variant(_))) => set_field!(plan, $($path)+, Default::default()),
                    (None, _) => {}
                }
                Ok(())
            },
        }
    };
}
