//! Metadatasets: companion folders, members without splits, data sets that occur more than once.
