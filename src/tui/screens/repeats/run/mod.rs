//! What a finished run removed, or listed, drawn on the text as it was: out of the ranges that the run left beside its report, so at any
//! size of the text. Documents are read where they lie as they are looked at; nothing is searched but the first place of a copy, and that only when it is
//! asked for.

mod screen;
mod state;
#[cfg(test)]
mod tests;
mod view;

pub use screen::RunRangesScreen;
