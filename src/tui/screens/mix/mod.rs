//! The mix form: prepared data sets found below a folder are put together into a mixture, drawn as bars while it is made.

mod screen;
mod state;
mod view;

pub use screen::open;

#[cfg(test)]
mod tests;
