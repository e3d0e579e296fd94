//! What a person is asked and shown about samples: names, types, copies of a prepared set, a home that cannot be written to.
