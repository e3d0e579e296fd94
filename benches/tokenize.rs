//! Benchmarks encoding alone: one thread, cold caches, on the texts of the bench `pack`.
//!
//! ```text
//! cargo bench --bench tokenize                 # 32 MB of each; this program, the fast reader's own call, the reference
//! MEGABYTES=256 RUNS=5 cargo bench --bench tokenize
//! TEXT=mine.jsonl TOKENIZER=tokenizer.json cargo bench --bench tokenize
//! ```
//!
//! The reference is slow, and encodes an eighth of the text. Each run loads the tokenizer again in a new thread, so that its caches are
//! empty. The result is the median processor time of the runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
mod measure;
mod texts;

use gristmill_tokenizer::Tokenizer;
use std::path::Path;
use std::time::Duration;
use texts::{ENGLISH, MANY};

fn main() {
    // The program also uses one thread per text.
    std::env::set_var("FASTOKENS_BPE_THREADS", "1");
    if let Some((text, tokenizer)) = texts::own() {
        return rows("your text", &text, &tokenizer);
    }
    for llama3 in [false, true] {
        let file = texts::tokenizer(llama3);
        let start = measure::cpu_time(false);
        let ours = Tokenizer::load(file.to_str().unwrap()).unwrap();
        let kind = if llama3 { "Llama-3 style" } else { "GPT-2 style" };
        println!(
            "{kind}: {} tokens, loaded and compared in {:.2} CPU s",
            ours.full_size(),
            (measure::cpu_time(false) - start).as_secs_f64()
        );
        for set in [ENGLISH, MANY] {
            rows(set.name, &set.make(), &file);
        }
    }
}

fn rows(title: &str, text: &Path, file: &Path) {
    assert!(Tokenizer::load(file.to_str().unwrap()).unwrap().is_fast(), "it is left to others");
    let documents = texts::first_texts(text, setting("MEGABYTES", 32) << 20);
    let eighth = &documents[..documents.len() / 8];
    let (ours, tokens) = median(|| encode_ours(file, &documents));
    let (alone, same) = median(|| encode_fastokens(file, &documents));
    assert_eq!(tokens, same, "the same number of tokens");
    let (reference, _) = median(|| encode_reference(file, eighth));
    let bytes: usize = documents.iter().map(String::len).sum();
    let few: usize = eighth.iter().map(String::len).sum();
    println!("  {title}: {bytes} bytes, {tokens} tokens");
    println!("    ours       {}", rate(bytes, ours));
    println!("    fastokens  {}   ours {:.2} × as fast", rate(bytes, alone), alone.as_secs_f64() / ours.as_secs_f64());
    println!("    tokenizers {}", rate(few, reference));
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn rate(bytes: usize, took: Duration) -> String {
    format!("{:7.1} MB per CPU s", bytes as f64 / 1e6 / took.as_secs_f64())
}

fn median(mut run: impl FnMut() -> (Duration, usize) + Send) -> (Duration, usize) {
    let mut all: Vec<(Duration, usize)> = (0..setting("RUNS", 3).max(1))
        .map(|_| std::thread::scope(|scope| scope.spawn(&mut run).join().unwrap()))
        .collect();
    all.sort();
    all[all.len() / 2]
}

fn encode_ours(file: &Path, documents: &[String]) -> (Duration, usize) {
    let tokenizer = Tokenizer::load(file.to_str().unwrap()).unwrap();
    // Loading compares texts in this thread and warms its caches; a new thread has cold caches.
    std::thread::scope(|scope| {
        let work = || {
            let mut encoder = tokenizer.encoder();
            let (mut ids, mut tokens) = (Vec::new(), 0);
            let start = measure::cpu_time(false);
            for document in documents {
                ids.clear();
                encoder.encode(document, &mut ids).unwrap();
                tokens += ids.len();
            }
            (measure::cpu_time(false) - start, tokens)
        };
        scope.spawn(work).join().unwrap()
    })
}

fn encode_fastokens(file: &Path, documents: &[String]) -> (Duration, usize) {
    let tokenizer = fastokens::Tokenizer::from_file(file).unwrap();
    let start = measure::cpu_time(false);
    let tokens = documents.iter().map(|document| tokenizer.encode(document).unwrap().len()).sum();
    (measure::cpu_time(false) - start, tokens)
}

fn encode_reference(file: &Path, documents: &[String]) -> (Duration, usize) {
    let tokenizer = tokenizers::Tokenizer::from_file(file).unwrap();
    let start = measure::cpu_time(false);
    let tokens = documents.iter().map(|document| tokenizer.encode_fast(document.as_str(), false).unwrap().len()).sum();
    (measure::cpu_time(false) - start, tokens)
}
