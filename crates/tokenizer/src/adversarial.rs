//! Test texts on which implementations of tokenizers often differ. The fast tokenizer is used only if it encodes all of them as the
//! reference tokenizer does.

/// Strings that are difficult to tokenize alone or combined with others.
const PIECES: &[&str] = &[
    "",
    "a",
    " ",
    "  ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\u{b}",
    "\u{c}",
    "\0",
    "\u{1}",
    "\u{1b}[0m",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{1680}",
    "\u{180e}",
    "\u{2003}",
    "\u{2028}",
    "\u{2029}",
    "\u{202f}",
    "\u{205f}",
    "\u{3000}",
    "\u{200b}",
    "\u{200d}",
    "\u{200e}",
    "\u{202e}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{10ffff}",
    "\u{e000}",
    "\u{e0041}",
    "hello",
    "Hello World",
    "it's",
    "IT'S",
    "they'LL",
    "we’ve",
    "'s",
    "'",
    "''",
    "don't can't won't I'm you'd she'll we're",
    "'ſ",
    "'Ve",
    "1",
    "12",
    "123",
    "1234",
    "12345678901234567890",
    "3.14159",
    "1,000,000",
    "٣٤٥",
    "४५६",
    "½⅓Ⅷ①²",
    "𝟘𝟙𝟚",
    "snake_case camelCase SCREAMING_CASE",
    "...",
    "!?!?",
    "((()))",
    "—–-",
    "“”‘’",
    "/* // \\ */",
    "<|",
    "|>",
    "<s>",
    "</s>",
    "<unk>",
    "[MASK]",
    "[",
    "é",
    "e\u{301}",
    "\u{301}",
    "a\u{300}\u{301}\u{302}\u{303}\u{304}",
    "Å\u{212b}A\u{30a}",
    "ﬁ ﬀ ſ ß ẞ ŉ",
    "İıIi",
    "ǅ Ǆ ǆ",
    "ΑΒΓ αβγ ς σ",
    "Привет мир",
    "你好世界",
    "你好，世界。",
    "こんにちは",
    "カタカナ",
    "ｶﾀｶﾅ",
    "ＡＢＣ１２３",
    "안녕하세요",
    "\u{1100}\u{1161}\u{11a8}",
    "مرحبا",
    "אבג",
    "नमस्ते",
    "ไทย",
    "ខ្មែរ",
    "𠀀𪚥",
    "𐍈",
    "👍🏽",
    "👨\u{200d}👩\u{200d}👧",
    "🏳\u{fe0f}\u{200d}🌈",
    "🇩🇪🇫",
    "☃\u{fe0f}",
    "①②",
    "\u{c57}\u{d4d}",
    "ﷺ",
    "ꟊ",
    "\u{1c89}",
    "\u{a7cb}",
    "\u{10d40}",
    "\u{1df25}",
    "\u{16d40}",
    "\u{2ebf0}",
    "\u{32000}",
    "\u{1e5d0}",
    "▁",
    "▁a",
    "Ġ",
    "Ċ",
    "##ing",
    "<0x0A>",
];

/// Returns all test texts for a tokenizer with these added tokens: every piece, pairs of pieces, runs, long words, and the added tokens:
/// unchanged, divided, doubled, in sequence, and between letters and spaces.
///
/// For the reference tokenizer, an additional text costs as much time as fifty additional bytes. Pieces that need not be at the end of a
/// text are therefore combined into one text.
pub(super) fn texts(added: &[&str]) -> Vec<String> {
    let mut out: Vec<String> = PIECES.iter().map(|piece| (*piece).to_owned()).collect();
    for (at, left) in PIECES.iter().enumerate() {
        // The strides are coprime, so that every piece is next to many others.
        let next = |stride: usize| PIECES[(at * 3 + stride) % PIECES.len()];
        out.push([1, 7, 23, 41, 60].map(|stride| format!("{left}{}", next(stride))).join("\n"));
        out.push([60, 41, 23, 7, 1].map(|stride| format!("x {left} {}{left}\n", next(stride))).concat());
        out.push(format!("{left}{}", next(11)));
    }
    for count in [2, 3, 4, 7, 15, 16, 17, 31, 64, 65, 257, 520] {
        let runs = [" ", "\n", "a", "1", ".", "é", "你", "\u{301}", "\t", "ab ", " a", "\r\n", "👍"]
            .map(|run| run.repeat(count));
        // The longest runs need most of the time, so only some of them are used.
        if count < 257 {
            out.extend(runs.clone());
        }
        let kinds = if count < 520 { runs.len() } else { 6 };
        out.push(runs.iter().take(kinds).map(|run| format!("x{run}y")).collect());
    }
    // Names of byte tokens, which the text contains as ordinary characters.
    let bytes: Vec<String> = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")).collect();
    out.extend(bytes.chunks(16).flat_map(|some| [some.join(" "), some.concat(), some.concat().to_lowercase()]));
    out.extend(bytes.into_iter().step_by(37));
    out.push(" ".repeat(5_000));
    out.push("word".repeat(1_000));
    out.push(PIECES.concat());
    out.push(PIECES.join(" "));
    let added: Vec<&str> = added.iter().copied().filter(|token| token.len() <= 256).take(64).collect();
    for (at, token) in added.iter().enumerate() {
        for step in [1, added.len() / 2, added.len() - 1] {
            let next = added[(at + step) % added.len()];
            out.push(format!("{token}{next}"));
            out.push(format!("{token} {next}s"));
        }
    }
    for token in added {
        let half = (0..=token.len() / 2).rev().find(|at| token.is_char_boundary(*at)).unwrap_or(0);
        let (left, right) = token.split_at(half);
        out.extend([
            (*token).to_owned(),
            left.to_owned(),
            right.to_owned(),
            format!("{left} {right}"),
            format!("{token}{token}"),
            format!("a{token}b"),
            format!("  {token}  "),
            format!("\n{token}\n"),
            format!("É {token} é{token}1 "),
            format!("{left}{token}{right}"),
            token.to_lowercase(),
            token.to_uppercase(),
        ]);
    }
    out
}
