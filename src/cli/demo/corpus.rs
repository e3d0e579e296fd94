//! The text corpus of the demo: short documents in several languages, one JSON object per line.

use super::random::RandomNumbers;
use super::scenes::capitalized;
use gristmill_core::{Failure, Outcome};
use serde::Deserialize;
use serde_json::json;

/// Number of documents in the corpus.
pub const DOCUMENTS: u64 = 400;

/// The words and sentence patterns of all languages, as YAML.
const WORDS: &str = include_str!("../../../assets/demo/corpus.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    code: String,
    /// Sentences with the placeholders `{who}`, `{does}` and `{where}`.
    patterns: Vec<String>,
    who: Vec<String>,
    does: Vec<String>,
    places: Vec<String>,
    stop: String,
    space: String,
}

/// Returns the corpus as one JSONL file; the bytes are always the same.
pub fn jsonl() -> Outcome<String> {
    let languages: Vec<Language> =
        serde_yaml::from_str(WORDS).map_err(|e| Failure::environment("reading the bundled words", e.to_string()))?;
    let mut out = String::new();
    for number in 0..DOCUMENTS {
        let mut random = RandomNumbers::new(1_000_000 + number);
        let language = &languages[random.below(languages.len())];
        let sentences = 1 + random.below(6);
        let text: Vec<String> = (0..sentences).map(|_| sentence(language, &mut random)).collect();
        let document = json!({
            "id": format!("doc-{number:05}"),
            "text": text.join(&language.space),
            "metadata": { "language": language.code, "source": "gristmill demo" },
        });
        out.push_str(&document.to_string());
        out.push('\n');
    }
    Ok(out)
}

fn sentence(language: &Language, random: &mut RandomNumbers) -> String {
    let text = random_word(&language.patterns, random)
        .replace("{who}", random_word(&language.who, random))
        .replace("{does}", random_word(&language.does, random))
        .replace("{where}", random_word(&language.places, random));
    capitalized(&text) + &language.stop
}

fn random_word<'a>(words: &'a [String], random: &mut RandomNumbers) -> &'a str {
    words.get(random.below(words.len())).map_or("", String::as_str)
}
