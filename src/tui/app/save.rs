//! Saves the screen as a picture.

use super::App;
use crate::tui::svg::{self, Palette};
use crate::tui::widgets::toast::Level;
use crate::tui::widgets::Toast;
use crate::tui::work::LatestWorker;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use ratatui::buffer::Buffer;
use std::path::{Path, PathBuf};

/// Maximum number of pictures in a folder.
const MAX_PICTURES: u32 = 10_000;

/// A frame to be saved, with its title.
pub(super) struct SavedFrame {
    buffer: Buffer,
    title: String,
    palette: Palette,
    folder: PathBuf,
}

/// The worker that draws and writes pictures.
pub(super) type Saver = LatestWorker<SavedFrame, Outcome<PathBuf>>;

impl App {
    /// Submits a frame to be saved.
    pub(super) fn save(&mut self, buffer: Buffer) {
        let crumbs = self.stack.iter().rev().find(|s| !s.is_popup()).map(|s| s.title()).unwrap_or_default();
        let title = format!("Gristmill: {}", if crumbs.is_empty() { "home".to_owned() } else { crumbs.join(", ") });
        let palette = Palette::of(&self.theme);
        let wake = self.env.wake.clone();
        let saver =
            self.saver.get_or_insert_with(|| LatestWorker::start("picture", wake, |frame: SavedFrame| write(&frame)));
        saver.submit(SavedFrame { buffer, title, palette, folder: self.env.save_dir.clone() });
    }

    /// Shows the result of saving.
    pub(super) fn report_saved(&mut self) {
        match self.saver.as_mut().and_then(Saver::take) {
            Some(Ok(path)) => self.notify(Toast::new(Level::Ok, format!("saved as {}", path.to_string_lossy()))),
            Some(Err(failure)) => self.notify(Toast::failure(&failure)),
            None => {}
        }
    }
}

fn write(frame: &SavedFrame) -> Outcome<PathBuf> {
    let path = free_name(&frame.folder)?;
    let text = svg::draw(&frame.buffer, &frame.title, &frame.palette);
    write_file(&RealFs, &path, text.as_bytes(), 0o644)?;
    Ok(path)
}

/// Returns `gristmill-screen-1.svg`, or the next free number.
fn free_name(folder: &Path) -> Outcome<PathBuf> {
    (1..=MAX_PICTURES)
        .map(|number| folder.join(format!("gristmill-screen-{number}.svg")))
        .find(|path| !files::is_taken(path))
        .ok_or_else(|| Failure::environment("saving the screen", "there are too many pictures in the folder"))
}
