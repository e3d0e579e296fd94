//! Text as it is met: words of a few thousand frequent and many rare forms, sentences, paragraphs, numbers, links, code.

#![allow(dead_code)] // Each bench uses some of it.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use tokenizers::models::bpe::{BpeTrainerBuilder, BPE};
use tokenizers::models::TrainerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer};

/// What the documents are written in.
#[derive(Clone, Copy, Debug)]
pub enum Language {
    /// Latin letters without marks.
    English,
    /// Eight writing systems, a document in one of them.
    Many,
}

/// Whose way of splitting words a tokenizer has.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// The pattern of GPT-2.
    Gpt2,
    /// The pattern of Llama 3, merges ignored for whole words.
    Llama3,
}

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The parts that words of a writing system are put together from, and what stands between words.
const SCRIPTS: &[(&str, &str)] = &[
    ("the an of to in er re on at en nd ti es or te ed is it al ar st ng le se ha ou io ve co me de hi ri ro ic ne ea ra ce", " "),
    ("ä ö ü der die und ein ich sch gen ver auf mit sie nen ten lich keit ung aus bei zu vor ge be ent", " "),
    ("é è le la que de les des et en un ne ment tion pour au qu ce il on ai ez oi ou eur", " "),
    ("по не на то ст ен ов ни ра во ко пр ал ли го та но ре ер ла ло ть ом ск", " "),
    ("的 一 是 在 不 了 有 和 人 这 中 大 为 上 个 国 我 以 要 他 时 来 用 们 生 到 作 地 于 出", ""),
    ("の に は を た が で て と し れ さ い う 日 本 カ ン ト ル ー ス 時 間 人 者", ""),
    ("이 다 는 에 가 을 고 하 지 의 사 자 은 로 한 기 도 리 어 나", " "),
    ("ال في من على أن ها ين ون ات ية مع هذا كان إلى عن ما لا بر", " "),
];

/// Seeded, so that every run has the same text.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

/// Documents of about 2.4 KB, together of this size.
pub fn documents(language: Language, bytes: usize) -> Vec<String> {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let scripts = if matches!(language, Language::English) { &SCRIPTS[..1] } else { SCRIPTS };
    let words: Vec<Vec<String>> = scripts.iter().map(|(parts, _)| words(parts, &mut dice)).collect();
    let (mut out, mut done) = (Vec::new(), 0);
    while done < bytes {
        let script = dice.roll(scripts.len());
        let document = document(&words[script], scripts[script].1, &mut dice);
        done += document.len();
        out.push(document);
    }
    out
}

fn words(parts: &str, dice: &mut Dice) -> Vec<String> {
    let parts: Vec<&str> = parts.split(' ').collect();
    // Ranks go with length: what is frequent is short.
    (0..40_000usize)
        .map(|rank| (0..1 + (rank + 1).ilog2().max(6) as usize / 3).map(|_| parts[dice.roll(parts.len())]).collect())
        .collect()
}

fn document(words: &[String], between: &str, dice: &mut Dice) -> String {
    let length = 400 + dice.roll(4_000);
    let mut out = String::with_capacity(length + 100);
    let mut starts = true;
    while out.len() < length {
        // Products of even numbers fall off about as ranks of words do.
        let rank = words.len() * dice.roll(1_000) / 1_000 * dice.roll(1_000) / 1_000 * dice.roll(1_000) / 1_000;
        let word = &words[rank];
        match dice.roll(400) {
            0 => out.push_str(&format!("https://example.org/{word}?id={}", dice.roll(99_999))),
            1..=6 => out.push_str(&dice.roll(3_000).to_string()),
            7 => out.push_str(&format!("\n    let {word} = f({}, \"{word}\");\n", dice.roll(100))),
            8 | 9 => out.push_str(&format!("“{word}”")),
            _ if starts => {
                let mut letters = word.chars();
                out.extend(letters.next().into_iter().flat_map(char::to_uppercase));
                out.push_str(letters.as_str());
            }
            _ => out.push_str(word),
        }
        starts = false;
        match dice.roll(60) {
            0 => out.push_str("'s "),
            1..=4 => {
                out.push_str(". ");
                starts = true;
            }
            5 => {
                out.push_str(".\n\n");
                starts = true;
            }
            6..=9 => out.push_str(", "),
            _ => out.push_str(between),
        }
    }
    out
}

/// The tokenizer of this style, trained on both kinds of text unless it is there.
pub fn tokenizer(home: &Path, style: Style) -> PathBuf {
    let file = home.join(format!("tokenizer-{style:?}.json").to_lowercase());
    if file.exists() {
        return file;
    }
    std::fs::create_dir_all(home).unwrap();
    let mut tokenizer = Tokenizer::new(BPE::builder().ignore_merges(matches!(style, Style::Llama3)).build().unwrap());
    let bytes = |uses_regex| PreTokenizerWrapper::from(ByteLevel::new(false, true, uses_regex));
    tokenizer.with_pre_tokenizer(Some(match style {
        Style::Gpt2 => bytes(true),
        Style::Llama3 => {
            let split =
                Split::new(SplitPattern::Regex(LLAMA3.into()), SplitDelimiterBehavior::Isolated, false).unwrap();
            PreTokenizerWrapper::from(Sequence::new(vec![split.into(), bytes(false)]))
        }
    }));
    let end = AddedToken::from("<|endoftext|>", true);
    let mut trainer: TrainerWrapper = BpeTrainerBuilder::new()
        .vocab_size(32_000)
        .show_progress(false)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .special_tokens(vec![end])
        .build()
        .into();
    let mut texts = documents(Language::English, 8 << 20);
    texts.extend(documents(Language::Many, 16 << 20));
    tokenizer.train(&mut trainer, texts.iter().map(String::as_str)).unwrap();
    tokenizer.save(&file, false).unwrap();
    file
}
