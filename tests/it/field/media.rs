//! Media whose headers mislead: sound that starts late, texts in pictures that are too long.
