//! Shards of other tar programs: unsorted, repeated, sparse, linked and foreign entries.
