//! Repeated text: inputs under every spelling of their packing, and single files.
