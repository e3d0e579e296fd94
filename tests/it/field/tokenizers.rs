//! Tokenizer files: special tokens in texts, truncation and padding, files that are not read.
