//! Editing of the whole text in the user's editor: writes a copy for the editor, and applies the edited text.

use super::notices::done;
use crate::tui::recent::create_folders;
use crate::tui::screen::TerminalProgram;
use crate::tui::widgets::Toast;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_ops::engine::splits::{Edit, SplitEditor};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "taking up the edited text";
/// Maximum size in bytes of an edited text.
const MAX_BYTES: u64 = 256 << 20;

/// An edited text that could not be applied, and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct RejectedText {
    /// The reason why the text could not be applied.
    pub failure: Failure,
    /// The copy that was edited.
    pub file: PathBuf,
}

/// Writes a copy of the text for an editor. It has the extension of the original, because editors choose a mode by it.
pub fn write_draft(editor: &SplitEditor, state_dir: &Path) -> Outcome<PathBuf> {
    let folder = state_dir.join("edit");
    create_folders(&folder)?;
    let name = editor.path().file_name().map_or_else(|| "split.yaml".into(), |n| n.to_string_lossy());
    let file = folder.join(format!("{}-{name}", std::process::id()));
    write_file(&RealFs, &file, &editor.text()?, 0o600)?;
    Ok(file)
}

/// Applies the edited text as one change and removes the copy. Returns a notice about the change.
pub fn apply_edited_text(editor: &mut SplitEditor, file: &Path) -> Result<Option<Toast>, RejectedText> {
    let refused = |failure: Failure| RejectedText { failure, file: file.to_owned() };
    let bytes = read_whole(file, MAX_BYTES).map_err(refused)?;
    let gone = || Failure::environment(ACTIVITY, "the copy no longer exists").on(Subject::path(file));
    let bytes = bytes.ok_or_else(|| refused(gone()))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| refused(Failure::data(ACTIVITY, "it is not UTF-8 text").on(Subject::path(file))))?;
    let before = editor.text().map_err(refused)?;
    if text.as_bytes() == before {
        remove(file);
        // No notice: if the editor could not be started, the notice about that must stay.
        return Ok(None);
    }
    let applied = editor.apply(Edit::ReplaceText { text }).map_err(refused)?;
    remove(file);
    Ok(Some(done(applied)))
}

/// Removes a copy that is no longer needed.
pub fn remove(file: &Path) {
    use gristmill_storage::fs::Fs as _;
    if let Err(failure) = RealFs.remove_file(file) {
        tracing::warn!(%failure, "the copy of the text could not be removed");
    }
}

/// Returns the command of the user's editor for a file; includes the line if the editor is known to support that.
pub fn program(file: &Path, line: Option<u64>) -> TerminalProgram {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    program_of(&named.unwrap_or_else(|| "vi".to_owned()), file, line)
}

/// Returns the command of an editor. The user's setting may contain arguments; it is split at spaces and never passed to a shell.
fn program_of(editor: &str, file: &Path, line: Option<u64>) -> TerminalProgram {
    let mut argv: Vec<OsString> = editor.split_whitespace().map(OsString::from).collect();
    let name = editor.split_whitespace().next().and_then(|program| Path::new(program).file_name());
    let takes_line = name.and_then(|name| name.to_str()).is_some_and(|name| LINE_EDITORS.contains(&name));
    if let Some(line) = line.filter(|_| takes_line) {
        argv.push(format!("+{line}").into());
    }
    argv.push(file.as_os_str().to_owned());
    TerminalProgram { argv }
}

/// Editors that accept `+LINE` before the file.
const LINE_EDITORS: &[&str] =
    &["vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editor_command_has_line_argument_and_needs_no_shell() {
        let argv = |editor: &str, line| program_of(editor, Path::new("/tmp/a b.yaml"), line).argv;
        assert_eq!(argv("vim -n", Some(7)), ["vim", "-n", "+7", "/tmp/a b.yaml"]);
        assert_eq!(argv("/usr/bin/nano", Some(7)), ["/usr/bin/nano", "+7", "/tmp/a b.yaml"]);
        assert_eq!(argv("code --wait", Some(7)), ["code", "--wait", "/tmp/a b.yaml"]);
        assert_eq!(argv("vi", None), ["vi", "/tmp/a b.yaml"]);
    }
}
