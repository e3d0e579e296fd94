#![no_main]
#[path = "../../tests/it/hostile/bodies.rs"]
#[allow(dead_code)]
mod bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bodies::csv_file(bytes));
