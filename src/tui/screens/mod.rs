//! One module per screen.
