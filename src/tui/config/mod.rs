//! The settings file: theme, pictures, mouse, ASCII, title, bell and keys.
//!
//! ```yaml
//! # $XDG_CONFIG_HOME/gristmill/config.yaml
//! theme: dark            # or the name of a file in themes/ next to this one
//! pictures: cells        # auto, cells, kitty, iterm2, sixel
//! mouse: false
//! ascii: true
//! title: false
//! bell: true
//! keys:
//!   home:
//!     prepare: [P, ctrl-k]
//!     mix: []            # no key at all; `:` still finds it
//! ```
//!
//! A mistake is reported with its line, its column and a suggestion; the setting keeps its default, and the program starts. Parsing is pure
//! ([`read`]); [`load`] finds the files.

mod keys;

#[cfg(test)]
mod tests;

use super::keymap::Keymap;
use super::theme::file::{entries_of, text_of};
use super::theme::{Theme, BUILT_IN};
use gristmill_core::did_you_mean::nearest;
use gristmill_pycompat::yaml_read::{Mark, Marked, MarkedValue};
use gristmill_pycompat::Node;
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use std::path::{Path, PathBuf};

pub use super::theme::Mistake;

/// Maximum size of a settings file in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of reported mistakes: a file with more of them is probably not a settings file.
const MAX_MISTAKES: usize = 100;

/// The top-level keys of the file, in the order of the documentation.
const KEYS: [&str; 7] = ["theme", "pictures", "mouse", "ascii", "title", "bell", "keys"];

/// The accepted values of `pictures`.
pub const PICTURES: [&str; 5] = ["auto", "cells", "kitty", "iterm2", "sixel"];

/// The parsed settings; `None` for those that the file does not set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The name of a theme as written, and its position.
    pub theme: Option<(Mark, String)>,
    /// The picture protocol: one of [`PICTURES`].
    pub pictures: Option<&'static str>,
    /// Whether mouse input is enabled.
    pub mouse: Option<bool>,
    /// Whether only ASCII characters are drawn.
    pub ascii: Option<bool>,
    /// Whether the window title of the terminal shows what is running.
    pub title: Option<bool>,
    /// Whether the terminal bell rings when a job ends.
    pub bell: Option<bool>,
    /// The key table with the user's keys applied.
    pub keymap: Keymap,
}

/// The settings and the mistakes found in them.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The parsed settings.
    pub config: Config,
    /// The theme selected by the file or by name; `None` for the default.
    pub theme: Option<Theme>,
    /// The path of the file.
    pub path: PathBuf,
    /// Whether the file exists.
    pub is_there: bool,
    /// The mistakes and their files: first those in the settings, then those in the theme.
    pub mistakes: Vec<(PathBuf, Mistake)>,
}

impl Settings {
    /// Checks the picture protocol of the environment (`GRISTMILL_PICTURES`) and adds a mistake if it is unknown.
    pub fn with_picture_protocol(mut self, pictures: Option<&str>) -> Self {
        if let Some(name) = pictures.filter(|name| !name.is_empty() && !PICTURES.contains(name)) {
            self.mistakes.push((PathBuf::from("GRISTMILL_PICTURES"), unknown_protocol(name, Mark::default())));
        }
        self
    }

    /// Returns the mistakes as text with file name, line and column, each with its hint. The caller must escape them for display.
    pub fn notices(&self) -> Vec<(String, Option<String>)> {
        let describe = |(path, mistake): &(PathBuf, Mistake)| {
            let name = path.file_name().map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy());
            let place = match mistake.at.line {
                0 => name.into_owned(),
                line => format!("{name}, line {line}, column {}", mistake.at.column),
            };
            (format!("{place}: {}", mistake.message), mistake.hint.clone())
        };
        self.mistakes.iter().map(describe).collect()
    }
}

/// Reads the settings in a folder. A missing file is not a mistake, and a file with mistakes does not keep the program from starting.
pub fn load(folder: &Path) -> Settings {
    let path = folder.join("config.yaml");
    let mut settings = Settings { path: path.clone(), ..Settings::default() };
    match text_at(&path) {
        Ok(None) => {}
        Ok(Some(text)) => {
            settings.is_there = true;
            let (config, mistakes) = read(&text);
            settings.config = config;
            settings.mistakes.extend(mistakes.into_iter().map(|m| (path.clone(), m)));
        }
        Err(why) => {
            settings.is_there = true;
            settings.mistakes.push((path.clone(), Mistake::new(Mark::default(), why, None)));
        }
    }
    if let Some((at, name)) = settings.config.theme.clone() {
        match theme(&name, folder) {
            Ok((theme, mistakes)) => {
                settings.theme = Some(theme);
                settings.mistakes.extend(mistakes);
            }
            Err((message, hint)) => settings.mistakes.push((path.clone(), Mistake::new(at, message, hint))),
        }
    }
    settings.mistakes.sort_by_key(|(of, mistake)| (*of != path, mistake.at));
    settings
}

/// A theme and the mistakes in its file.
pub type ThemeRead = (Theme, Vec<(PathBuf, Mistake)>);

/// Returns a theme by name: a built-in one, the file `themes/NAME.yaml` in the settings folder, or a path to a file. The error is a
/// sentence with a hint.
pub fn theme(name: &str, folder: &Path) -> Result<ThemeRead, (String, Option<String>)> {
    if let Some(theme) = Theme::built_in(name) {
        return Ok((theme, Vec::new()));
    }
    let is_path = name.contains('/') || name.ends_with(".yaml");
    let path = if is_path { PathBuf::from(name) } else { folder.join("themes").join(format!("{name}.yaml")) };
    match text_at(&path) {
        Ok(Some(text)) => {
            let (theme, mistakes) = super::theme::file::read(&text);
            Ok((theme, mistakes.into_iter().map(|m| (path.clone(), m)).collect()))
        }
        Ok(None) => {
            let own = own_themes(folder);
            let names = || BUILT_IN.iter().map(|(name, _)| *name).chain(own.iter().map(String::as_str));
            let hint = match nearest(name, names()) {
                Some(near) if !is_path => format!("did you mean '{near}'?"),
                _ => format!("themes: {}", names().collect::<Vec<_>>().join(", ")),
            };
            Err((format!("there is no theme '{name}'"), Some(hint)))
        }
        Err(why) => Err((format!("the theme '{name}' cannot be read: {why}"), None)),
    }
}

/// Returns the names of the themes in the settings folder.
fn own_themes(folder: &Path) -> Vec<String> {
    let listed = files::read_dir(folder.join("themes")).into_iter().flatten().flatten();
    let names = listed.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".yaml").map(str::to_owned));
    let mut names: Vec<String> = names.take(1_000).collect();
    names.sort();
    names
}

/// Reads the text of a file; `None` if it does not exist. The error is the reason why it cannot be read.
fn text_at(path: &Path) -> Result<Option<String>, String> {
    let Some(bytes) = read_whole(path, MAX_BYTES).map_err(|failure| failure.why)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".into())
}

/// Parses the text of the settings file.
pub fn read(text: &str) -> (Config, Vec<Mistake>) {
    let mut config = Config::default();
    let mut mistakes = Vec::new();
    for (key, at, value) in entries_of(text, "the settings file", &mut mistakes) {
        match key.as_str() {
            "theme" => match text_of(&value) {
                Some(name) => config.theme = Some((value.at, name)),
                None => mistakes.push(Mistake::new(value.at, "'theme' is the name of a theme", Some(themes_hint()))),
            },
            "pictures" => config.pictures = pictures(&value, &mut mistakes),
            "mouse" => config.mouse = switch("mouse", &value, &mut mistakes),
            "ascii" => config.ascii = switch("ascii", &value, &mut mistakes),
            "title" => config.title = switch("title", &value, &mut mistakes),
            "bell" => config.bell = switch("bell", &value, &mut mistakes),
            "keys" => keys::read(value, &mut config.keymap, &mut mistakes),
            unknown => {
                let hint = match nearest(unknown, KEYS) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("settings: {}", KEYS.join(", ")),
                };
                mistakes.push(Mistake::new(at, format!("there is no setting '{unknown}'"), Some(hint)));
            }
        }
    }
    mistakes.sort_by_key(|mistake| mistake.at);
    mistakes.truncate(MAX_MISTAKES);
    (config, mistakes)
}

fn themes_hint() -> String {
    format!("themes: {}", BUILT_IN.map(|(name, _)| name).join(", "))
}

fn pictures(value: &Marked, mistakes: &mut Vec<Mistake>) -> Option<&'static str> {
    let name = text_of(value).unwrap_or_default();
    let known = PICTURES.into_iter().find(|known| *known == name);
    if known.is_none() {
        mistakes.push(unknown_protocol(&name, value.at));
    }
    known
}

/// Returns the mistake for an unknown picture protocol.
fn unknown_protocol(name: &str, at: Mark) -> Mistake {
    let hint = match nearest(name, PICTURES) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("ways: {}", PICTURES.join(", ")),
    };
    Mistake::new(at, format!("pictures cannot be shown by '{name}'"), Some(hint))
}

fn switch(name: &str, value: &Marked, mistakes: &mut Vec<Mistake>) -> Option<bool> {
    match value.value {
        MarkedValue::Scalar(Node::Bool(on)) => Some(on),
        _ => {
            mistakes.push(Mistake::new(value.at, format!("'{name}' is true or false"), None));
            None
        }
    }
}
