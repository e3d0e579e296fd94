//! Accessors of fields of plans, for tables of options.

/// Accessors of a field that is a path, which may be stored as text.
macro_rules! path {
    ($field:ident) => {
        Access::Path {
            get: |plan| {
                let path = std::path::Path::new(&plan.$field).to_string_lossy();
                Some(path.into_owned()).filter(|path| !path.is_empty())
            },
            set: |plan, path| plan.$field = path.unwrap_or_default().into(),
        }
    };
}

/// Accessors of a field that is an optional text.
macro_rules! text {
    ($field:ident) => {
        Access::Text {
            get: |plan| plan.$field.clone(),
            set: |plan, text| {
                plan.$field = text;
                Ok(())
            },
        }
    };
}

/// Accessors of a field that is on or off.
macro_rules! switch {
    ($field:ident) => {
        Access::Switch { get: |plan| plan.$field, set: |plan, is_on| plan.$field = is_on }
    };
}

/// Accessors of a field that is a list of paths.
macro_rules! paths {
    ($field:ident) => {
        Access::Paths {
            get: |plan| plan.$field.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            set: |plan, paths| plan.$field = paths.into_iter().map(std::path::PathBuf::from).collect(),
        }
    };
}

/// Accessors of a field that is a list of texts, for a flag that is repeated.
macro_rules! list {
    ($field:ident) => {
        Access::List {
            separator: None,
            get: |plan| plan.$field.clone(),
            set: |plan, values| {
                plan.$field = values;
                Ok(())
            },
        }
    };
}
