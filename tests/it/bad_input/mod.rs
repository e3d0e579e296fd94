//! Bad input of every kind, given to the program as a user gives it: no good sample is lost silently, nothing incomplete becomes visible,
//! every message names the subject and a solution, and nothing panics or hangs.

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
