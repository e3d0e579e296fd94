//! Environment variables, and the files that they name.

use std::path::{Path, PathBuf};

/// Maximum size of a file with settings, in bytes.
pub(in crate::remote) const MAX_FILE_BYTES: u64 = 4 << 20;

pub(in crate::remote) struct Environment(Variables);

type Variables = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl Environment {
    /// Returns the environment of the process.
    pub(in crate::remote) fn of_process() -> Self {
        Self(Box::new(|name| std::env::var(name).ok()))
    }

    #[cfg(test)]
    pub(in crate::remote) fn of(values: &[(&str, &str)]) -> Self {
        let values: std::collections::BTreeMap<_, _> =
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self(Box::new(move |name| values.get(name).cloned()))
    }

    /// Returns a variable unchanged.
    pub(in crate::remote) fn raw(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// Returns a variable without surrounding spaces; an empty one counts as unset.
    pub(in crate::remote) fn text(&self, name: &str) -> Option<String> {
        let value = self.raw(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Returns the first of several variables that is set.
    pub(in crate::remote) fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// Whether a variable is set to `true`.
    pub(in crate::remote) fn is_true(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Returns the path in a text, in which `~/` is the home folder. It is always local, even if it has the form of an address: the thread
    /// that reads it may be the one that sends requests.
    pub(in crate::remote) fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), self.text("HOME")) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            (Some(_), None) => PathBuf::from(text),
            (None, _) => std::path::absolute(text).unwrap_or_else(|_| PathBuf::from(text)),
        }
    }
}
