//! Parses class names: known sample types, old names, and user-defined classes.

use super::nearest;
use gristmill_core::sample_type::{self, SampleType, CRUDE_CLASS, ENERGON_PACKAGE, SAMPLE_TYPES};
use gristmill_core::{Problem, ProblemKind, Subject};

/// A class in the form used in `dataset.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The Python module.
    pub module: String,
    /// Name of the class in the module.
    pub name: String,
    /// The sample type with its fields; `None` unless the class belongs to the library.
    pub known: Option<&'static SampleType>,
}

/// Parses a class name: a class of the library, its old name (`CaptioningWebdataset`), or `module:Class`.
pub fn resolve(text: &str) -> Result<Class, Problem> {
    match text.rsplit_once(':') {
        None => resolve_known(text),
        Some((module, name)) if is_module(module) && is_identifier(name) => {
            let known = find(name).filter(|t| module == t.module || module == ENERGON_PACKAGE);
            match known {
                Some(known) => Ok(class_of(known)),
                None if module == ENERGON_PACKAGE => Err(unknown(text, name)),
                None => Ok(Class { module: module.to_owned(), name: name.to_owned(), known: None }),
            }
        }
        Some(_) => Err(Problem::refusal(
            ProblemKind::UnknownSampleType,
            Subject::field(text),
            format!("'{text}' is not a Python class; a class of your own is written module:Class"),
        )
        .with_hint("for example --sample-type my_package.samples:PageSample")),
    }
}

fn resolve_known(text: &str) -> Result<Class, Problem> {
    find(text).map(class_of).ok_or_else(|| unknown(text, text))
}

fn find(name: &str) -> Option<&'static SampleType> {
    sample_type::find(name).or_else(|| {
        let old = name.strip_suffix("Webdataset")?;
        sample_type::find(&format!("{old}Sample"))
    })
}

fn class_of(known: &'static SampleType) -> Class {
    Class { module: known.module.to_owned(), name: known.class.to_owned(), known: Some(known) }
}

fn unknown(text: &str, name: &str) -> Problem {
    let all = || SAMPLE_TYPES.iter().map(|t| t.class).chain([CRUDE_CLASS]);
    let meant = nearest(name, all());
    let problem = Problem::refusal(
        ProblemKind::UnknownSampleType,
        Subject::field(text),
        match meant {
            Some(meant) => format!("there is no sample type '{text}'; did you mean '{meant}'?"),
            None => format!("there is no sample type '{text}'"),
        },
    );
    match meant {
        Some(meant) => problem.with_hint(format!("--sample-type {meant}; a class of your own is written module:Class")),
        None => {
            let names: Vec<&str> = all().collect();
            problem.with_hint(format!("known are {}; a class of your own is written module:Class", names.join(", ")))
        }
    }
}

fn is_module(text: &str) -> bool {
    text.split('.').all(is_identifier)
}

/// Whether a text is a valid Python identifier.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_legacy_and_own_sample_classes_are_resolved() {
        let class = resolve("CaptioningSample").unwrap();
        assert_eq!((class.module.as_str(), class.name.as_str()), (ENERGON_PACKAGE, "CaptioningSample"));
        assert_eq!(resolve("CaptioningWebdataset").unwrap(), class);
        assert_eq!(resolve("megatron.energon:CaptioningSample").unwrap(), class);
        assert_eq!(resolve("VQAOCRSample").unwrap().module, "megatron.energon.flavors.vqa_and_ocr");
        let own = resolve("my.code:Page").unwrap();
        assert_eq!((own.module.as_str(), own.name.as_str(), own.known), ("my.code", "Page", None));
    }

    #[test]
    fn unknown_sample_class_is_refused_with_the_nearest_name() {
        let problem = resolve("CaptionSample").unwrap_err();
        assert_eq!(problem.kind, ProblemKind::UnknownSampleType);
        assert!(problem.message.contains("did you mean 'CaptioningSample'"), "{}", problem.message);
        assert!(resolve("Zebra").unwrap_err().hint.unwrap().contains("VQASample"));
        assert!(resolve("megatron.energon:Zebra").is_err());
        for bad in ["a b:C", "m:", ":C", "m:a-b", ""] {
            assert!(resolve(bad).is_err(), "{bad}");
        }
    }
}
