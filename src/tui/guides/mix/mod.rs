//! The guide of `mix new`: prepared data sets as a list with weights, and the metadataset as bars.

mod guide;
mod view;

pub use guide::MixGuide;

#[cfg(test)]
mod tests;
