//! Texts and tokenizers for the token benches, created once and stored in the bench folder, always with the same bytes.
//!
//! Words follow a Zipf law over a lexicon of 120,000: the most common are English, the others are made of English, German or Latin
//! syllables. Documents hold paragraphs of sentences with punctuation, numbers, names, addresses and an occasional line of code; their
//! lengths are log-normal, with a median of 1.3 KB and occasionally 100 KB. In the multilingual set every third document is in another
//! script.

#![allow(dead_code)] // Each bench uses a part of this module.

use super::generate::home;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use tokenizers::models::bpe::{BpeTrainerBuilder, BPE};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{AddedToken, SplitDelimiterBehavior, TokenizerBuilder};

/// Size and languages of a set.
pub struct Texts {
    /// File name.
    pub name: &'static str,
    /// Approximate size in bytes: the set ends with the document that reaches it.
    pub bytes: u64,
    /// Whether every third document is in another script.
    pub many_scripts: bool,
}

/// Text like a shard of an English crawl.
pub const ENGLISH: Texts = Texts { name: "english.jsonl", bytes: 87_000_000, many_scripts: false };
/// The same in many scripts.
pub const MANY: Texts = Texts { name: "many.jsonl", bytes: 87_000_000, many_scripts: true };
/// A file of 1 GB in many scripts.
pub const LARGE: Texts = Texts { name: "large.jsonl", bytes: 1_000_000_000, many_scripts: true };

/// A small random number generator that gives the same numbers everywhere (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
    /// Returns one of `n` ranks, with a frequency of about 1/rank.
    fn zipf(&mut self, n: usize) -> usize {
        ((n as f64 + 1.0).powf(self.share()) - 1.0) as usize
    }
    /// Returns a normally distributed number, from the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

const COMMON: &str = "the of and to in a is that for it as was with be by on not he i this are or his from at which but have an had \
they you were their one all we can her has there been if more when will would who so no said what up its about than into them only \
some could time these two may then do first any my now such like our over man me even most made after also did many before must \
through years where much your way well down should because each just those people too how little state good very make world still \
see own work men day get here between both life being under three never know same last another while us off might great go come \
since against right came take used himself few house use during without again place around however home small found thought went \
say part once general high upon school every don't does got united left number course war until always away something fact water \
less public put thing almost hand enough far took head yet government system set better night told nothing end why didn't know";
const STARTS: &str =
    "b br c ch cl cr d dr f fl fr g gl gr h j k kn l m n p ph pl pr qu r s sc sh sl sp st str t th tr v w wh";
const MIDDLES: &str = "a a a e e e i i i o o u ai au ea ee ei ie io oa oo ou y";
const ENDS: &str = "b ck ct d ft g l ll ld lt m mp n nd ng nk nt p r rd rk rm rn rt s sh ss st t th x";
const TAILS: &str = "ing ed er ers s tion tions al ly ment ness able ity ous ive es est ism ist ful less";
const SCRIPTS: [(&str, &str); 7] = [
    ("привет мир сегодня который человек время работа после жизнь город страна вопрос большой новый первый также между через очень", " "),
    ("über straße größe können müssen für schön natürlich während außerdem jahr zeit menschen geschäftsführung wirtschaft", " "),
    ("今日 東京 天気 日本 世界 時間 仕事 問題 経済 社会 という について として ことが できる これは ました です 的な 新しい", ""),
    ("中国 我们 他们 没有 可以 这个 问题 经济 发展 社会 世界 时间 工作 现在 因为 所以 如果 但是 政府 科学", ""),
    ("안녕하세요 세계 오늘 시간 사람 문제 경제 사회 그리고 하지만 때문에 있습니다 합니다 대한민국 서울 정부", " "),
    ("مرحبا العالم اليوم الوقت العمل المشكلة الاقتصاد المجتمع الذي التي على إلى من في هذا كان", " "),
    ("नमस्ते दुनिया आज समय काम समस्या अर्थव्यवस्था समाज और लेकिन क्योंकि है में से को के", " "),
];

pub struct Writer {
    dice: Dice,
    lexicon: Vec<String>,
    scripts: Vec<(Vec<&'static str>, &'static str)>,
}

fn list(text: &'static str) -> Vec<&'static str> {
    text.split(' ').collect()
}

impl Writer {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice(7);
        let mut lexicon: Vec<String> = COMMON.split(' ').map(str::to_owned).collect();
        let (starts, middles, ends, tails) = (list(STARTS), list(MIDDLES), list(ENDS), list(TAILS));
        while lexicon.len() < 120_000 {
            let mut word = String::new();
            // Rare words are longer.
            let syllables = 1 + dice.below(2 + lexicon.len() / 50_000);
            for _ in 0..syllables {
                word.push_str(dice.pick(&starts));
                word.push_str(dice.pick(&middles));
                if dice.below(5) < 3 {
                    word.push_str(dice.pick(&ends));
                }
            }
            if dice.below(3) == 0 {
                word.push_str(dice.pick(&tails));
            }
            lexicon.push(word);
        }
        Self { dice: Dice(seed), lexicon, scripts: SCRIPTS.iter().map(|(words, gap)| (list(words), *gap)).collect() }
    }

    fn word(&mut self) -> String {
        let rank = self.dice.zipf(self.lexicon.len());
        self.lexicon[rank].clone()
    }

    pub fn sentence(&mut self, out: &mut String) {
        let words = 4 + self.dice.below(18);
        for at in 0..words {
            if at > 0 {
                out.push(' ');
            }
            let mut word = self.word();
            match self.dice.below(200) {
                0 => word = format!("{}", self.dice.below(3000)),
                1 => word = format!("{}.{}%", self.dice.below(100), self.dice.below(10)),
                2 => {
                    word = format!(
                        "{}-{:02}-{:02}",
                        1900 + self.dice.below(130),
                        1 + self.dice.below(12),
                        1 + self.dice.below(28)
                    )
                }
                3 => word = format!("https://www.{word}.com/{}/{}", self.word(), self.dice.below(10_000)),
                4 => word = format!("“{word} {}”", self.word()),
                5 => word = format!("({word})"),
                6 => word.push_str("'s"),
                7..=12 => word = capital(&word),
                _ => {}
            }
            if at == 0 {
                word = capital(&word);
            }
            out.push_str(&word);
            if at + 1 < words && self.dice.below(12) == 0 {
                out.push_str(self.dice.pick(&[",", ",", ",", ";", " –", ":"]));
            }
        }
        out.push_str(self.dice.pick(&[".", ".", ".", ".", "!", "?", "…"]));
    }

    fn other_sentence(&mut self, script: usize, out: &mut String) {
        let (words, gap) = &self.scripts[script];
        for at in 0..5 + self.dice.below(15) {
            if at > 0 {
                out.push_str(gap);
            }
            let rank = self.dice.zipf(words.len());
            out.push_str(words[rank]);
            // Compound words let the number of distinct words grow.
            if self.dice.below(3) == 0 {
                out.push_str(words[self.dice.below(words.len())]);
            }
        }
        out.push_str(if gap.is_empty() { "。" } else { ". " });
    }

    /// Writes a document to `out`, replacing its content.
    pub fn document(&mut self, many_scripts: bool, out: &mut String) {
        out.clear();
        let length = (7.2 + 0.95 * self.dice.normal()).exp().clamp(80.0, 120_000.0) as usize;
        let script = (many_scripts && self.dice.below(3) == 0).then(|| self.dice.below(SCRIPTS.len()));
        while out.len() < length {
            match script {
                Some(script) => self.other_sentence(script, out),
                None => self.sentence(out),
            }
            match self.dice.below(40) {
                0..=4 => out.push_str("\n\n"),
                5 => out.push_str("\n* "),
                6 => {
                    let name = self.word();
                    out.push_str(&format!("\n    let {name} = \"{}\"; // {}\n", self.word(), self.dice.below(99)));
                }
                _ if script.is_some() => {}
                _ => out.push(' '),
            }
        }
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

impl Texts {
    /// Creates the file unless it exists, and returns its path.
    pub fn make(&self) -> PathBuf {
        let dir = home().join("texts");
        std::fs::create_dir_all(&dir).expect("the bench folder can be made");
        let path = dir.join(self.name);
        if path.is_file() {
            return path;
        }
        let whole = dir.join(format!("{}.part", self.name));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&whole).expect("a file"));
        let mut writer = Writer::new(self.bytes ^ u64::from(self.many_scripts));
        let (mut text, mut written, mut number) = (String::new(), 0, 0);
        while written < self.bytes {
            writer.document(self.many_scripts, &mut text);
            let text = serde_json::to_string(&text).expect("text");
            let line = format!(
                "{{\"id\": \"doc-{number}\", \"text\": {text}, \"meta\": {{\"source\": \"made\", \"n\": {number}}}}}\n"
            );
            out.write_all(line.as_bytes()).expect("the bench data can be written");
            written += line.len() as u64;
            number += 1;
        }
        out.into_inner().expect("the bench data can be written");
        std::fs::rename(whole, &path).expect("a name");
        path
    }
}

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// The token that ends a document.
pub const END: &str = "<|endoftext|>";

/// Trains a byte-level BPE on the first lines of the multilingual set, unless it exists: 50,257 tokens as in GPT-2, or 128,000 as in Llama
/// 3 (fewer if the texts do not have enough pairs).
pub fn tokenizer(llama3: bool) -> PathBuf {
    let path = home().join("texts").join(if llama3 { "llama3.json" } else { "gpt2.json" });
    if path.is_file() {
        return path;
    }
    let texts = [ENGLISH.make(), MANY.make()].map(|path| first_texts(&path, 30_000_000)).concat();
    let bytes = if llama3 {
        let split =
            Split::new(SplitPattern::Regex(LLAMA3.into()), SplitDelimiterBehavior::Isolated, false).expect("a pattern");
        trained(Sequence::new(vec![split.into(), ByteLevel::new(false, true, false).into()]), 128_000, true, &texts)
    } else {
        trained(ByteLevel::new(false, true, true), 50_257, false, &texts)
    };
    std::fs::write(&path, bytes).expect("a file");
    path
}

fn trained<P>(pre_tokenizer: P, size: usize, template: bool, texts: &[String]) -> String
where
    P: Into<tokenizers::PreTokenizerWrapper>,
{
    let special = ["<|begin_of_text|>", END].map(|text| AddedToken::from(text, true));
    let mut trainer = BpeTrainerBuilder::new()
        .vocab_size(size)
        .show_progress(false)
        .special_tokens(special.to_vec())
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    let mut tokenizer = TokenizerBuilder::<
        BPE,
        tokenizers::NormalizerWrapper,
        tokenizers::PreTokenizerWrapper,
        tokenizers::PostProcessorWrapper,
        tokenizers::DecoderWrapper,
    >::new()
    .with_model(BPE::default())
    .with_normalizer(None)
    .with_pre_tokenizer(Some(pre_tokenizer.into()))
    .with_post_processor(None)
    .with_decoder(Some(ByteLevel::default().into()))
    .build()
    .expect("a tokenizer");
    tokenizer.train(&mut trainer, texts.iter()).expect("it learns");
    if template {
        let id = tokenizer.token_to_id("<|begin_of_text|>").expect("there");
        let processor = TemplateProcessing::builder()
            .try_single("<|begin_of_text|> $A")
            .expect("a template")
            .special_tokens(vec![("<|begin_of_text|>", id)])
            .build()
            .expect("a template");
        tokenizer.with_post_processor(Some(processor));
    }
    tokenizer.to_string(false).expect("JSON")
}

/// Returns the user's own text and tokenizer, if `TEXT` and `TOKENIZER` name them.
pub fn own() -> Option<(PathBuf, PathBuf)> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    path("TEXT").zip(path("TOKENIZER"))
}

/// Returns the texts of the first lines of a file.
pub fn first_texts(path: &Path, bytes: usize) -> Vec<String> {
    let data = std::fs::read(path).expect("the bench data");
    let mut texts = Vec::new();
    let mut taken = 0;
    for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut value: serde_json::Value = serde_json::from_slice(line).expect("JSON");
        if let serde_json::Value::String(text) = value["text"].take() {
            taken += text.len();
            texts.push(text);
        }
        if taken >= bytes {
            break;
        }
    }
    texts
}
