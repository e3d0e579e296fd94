//! Tokenizer files -> ids, fast and identical to the reference.
