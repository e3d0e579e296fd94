//! `pack` as a job: text in, the token files of one or several frameworks out, from one pass over the text.

mod report;

pub use report::{InputFile, PackPreview, PackReport, PackSample, Skipped, TargetPreview, TargetReport};
