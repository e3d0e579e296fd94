//! Bad input of every kind, passed to the program as by a user: no good sample is lost silently, no incomplete file becomes visible, every
//! message names the subject and a hint, and the program neither panics nor hangs.

mod answers;
mod archives;
mod changing;
mod files;
mod jsonl;
mod keys;
mod kills;
mod media;
mod metadataset;
mod names;
mod races;
mod reruns;
mod sandbox;
pub mod tars;
