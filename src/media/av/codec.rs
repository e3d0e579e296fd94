//! What the frames of a codec hold.
