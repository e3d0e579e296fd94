//! The terminal UI: frame, screens, widgets, key table, theme, terminal.
//!
//! Data flows one way: input → [`keymap::Action`] → [`screen::Screen::handle`] → [`screen::Effect`]. Work runs in jobs and in workers
//! ([`work::LatestWorker`]), whose results a screen takes in [`screen::Screen::tick`]. Drawing only reads state.

pub mod app;
pub mod config;
mod drafts;
pub mod event;
pub mod form;
mod grapheme_backend;
pub mod graphics;
pub mod guides;
mod input;
pub mod jobs;
pub mod keymap;
mod mounter;
mod path_completer;
pub mod question;
pub mod recent;
mod run;
pub mod screen;
pub mod screens;
pub mod svg;
pub mod term;
mod terminal_writer;
#[cfg(test)]
mod testing;
pub mod theme;
mod title;
pub mod ui;
mod waker;
pub mod widgets;
pub mod work;

pub use run::{run, FirstScreen};
pub use screen::UiEnv;
