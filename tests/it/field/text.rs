//! Text inputs: marks, arrays, empty files, hidden copies, pointers of Git LFS.
