//! What samples are made of: loose files and rows.

mod files;
mod keys;
mod rows;
#[cfg(test)]
mod tests;
