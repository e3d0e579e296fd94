"""Writes texts and tokenizers for the checks of packed tokens; the same bytes each time.

Usage: tokens_corpus.py FOLDER
"""

import gzip
import json
import random
import sys
from pathlib import Path

import zstandard
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

END = "<|endoftext|>"
SYLLABLES = "ka ro mi ten dal su ver pi no la gri sto men ti an wel der for ing est ou qu".split()
OTHERS = [
    "привет мир как дела сегодня хорошая погода".split(),
    "今日 は 天気 が いい です ね 東京 大阪 日本語".split(),
    "안녕하세요 세계 오늘 날씨 좋다".split(),
    "नमस्ते दुनिया आज मौसम अच्छा है".split(),
    "مرحبا بالعالم الطقس جميل اليوم".split(),
    "über straße größe naïve café façade Ärger".split(),
    "👩‍👩‍👧‍👦 🙂 🇩🇪 🏳️‍🌈 e\u0301 o\u0308 \u00a0 \u200b \u2028 ﬁ ½ Ⅷ ß İ".split(" "),
]
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def word(dice):
    return "".join(dice.choice(SYLLABLES) for _ in range(min(4, 1 + int(dice.expovariate(1.0)))))


def sentence(dice):
    words = [word(dice) for _ in range(dice.randint(3, 14))]
    if dice.random() < 0.25:
        words += dice.choices(dice.choice(OTHERS), k=dice.randint(1, 5))
    if dice.random() < 0.2:
        words.insert(dice.randrange(len(words)), dice.choice(["don't", "I'LL", "we've", "x_1", "3.14159", "2026-01-02", "a@b.c"]))
    if dice.random() < 0.1:
        words.insert(dice.randrange(len(words)), str(dice.randrange(10 ** dice.randint(1, 9))))
    return words[0].capitalize() + " " + " ".join(words[1:]) + dice.choice([". ", "! ", "? ", "…\n", ".\n\n", ";  ", " -- "])


def text(dice):
    out = "".join(sentence(dice) for _ in range(dice.randint(1, 12)))
    extra = dice.random()
    if extra < 0.03:
        out += "\t\t\r\n   \x0b\x0c \x00\x7f" + " " * dice.randint(1, 40) + "a" * dice.randint(1, 300)
    elif extra < 0.06:
        out = END + out + END
    elif extra < 0.09:
        out = out.strip().upper()
    elif extra < 0.1:
        out = "".join(chr(c) for c in (dice.randrange(0x20, 0x2FFFF) for _ in range(60)) if not 0xD800 <= c < 0xE000)
    elif extra < 0.11:
        out *= 40
    return out


def lines(seed, count, make=text):
    dice = random.Random(seed)
    return [{"id": f"{seed}-{n}", "text": make(dice), "n": n} for n in range(count)]


def dump(rows, dice=None):
    return b"".join(
        json.dumps(row, ensure_ascii=dice.random() < 0.3 if dice else False).encode() + b"\n" for row in rows
    )


def corpus(root):
    dice = random.Random(99)
    clean = root / "clean"
    (clean / "sub").mkdir(parents=True)
    (clean / "a.jsonl").write_bytes(dump(lines(1, 400), dice))
    (clean / "b2.jsonl").write_bytes(dump(lines(2, 150), dice).rstrip(b"\n"))
    (clean / "b10.jsonl").write_bytes(dump(lines(3, 3), dice))
    (clean / "sub" / "d.jsonl").write_bytes(dump(lines(4, 90), dice))

    mixed = root / "mixed"
    (mixed / "sub").mkdir(parents=True)
    (mixed / "a.jsonl").write_bytes(dump(lines(5, 200), dice))
    packed = dump(lines(6, 120), dice)
    (mixed / "b.jsonl.gz").write_bytes(gzip.compress(packed[:5000], mtime=0) + gzip.compress(packed[5000:], mtime=0))
    packed = dump(lines(7, 150), dice)
    squeeze = zstandard.ZstdCompressor().compress
    (mixed / "c.jsonl.zst").write_bytes(squeeze(packed[:7000]) + squeeze(packed[7000:]))
    (mixed / "sub" / "d.jsonl").write_bytes(dump(lines(8, 60), dice).replace(b"\n", b"\r\n"))
    odd = [
        b'{"text": "good"}', b"", b"{bad", b'{"text": ""}', b'{"text": null}', b'{"other": 1}', b'{"text": 0}',
        b'{"text": false}', b'{"text": "a", "text": "the last one counts"}', b'{"text": NaN}', b"\xef\xbb\xbf{\"text\": \"bom\"}",
        b'{"text": "\\ud800 alone"}', b'{"text": "\\ud83d\\ude42 pair"}', b'  {"text": "blanks"}  ', b'{"text": "x"} {"text": "y"}',
        b'{"text": "cr"}\r{"text": "after cr"}', b'{"text": "last, no newline"}',
    ]
    (mixed / "e.jsonl").write_bytes(b"\n".join(odd))

    masks = root / "masks"
    masks.mkdir()
    rows = []
    for row in lines(9, 60):
        size = len(row["text"])
        start = dice.randrange(size)
        row["no_loss_ranges"] = [[start, min(size + 3, start + dice.randrange(1, 60))]]
        if dice.random() < 0.3:
            row = {"text": row["text"], "metadata": {"no_loss_ranges": row["no_loss_ranges"]}}
        rows.append(row)
    (masks / "m.jsonl").write_bytes(dump(rows))

    parts = root / "parts"
    parts.mkdir()
    kinds = ["system", "prompt", "response", "thinking", "text"]
    rows = [{"parts": [{"type": kind, "text": text(dice)} for kind in dice.choices(kinds, k=dice.randint(1, 4))]} for _ in range(50)]
    (parts / "p.jsonl").write_bytes(dump(rows))

    many = root / "many"
    many.mkdir()
    (many / "many.jsonl").write_bytes(dump(lines(10, 21_000, lambda dice: " ".join(word(dice) for _ in range(dice.randint(1, 9))))))


def byte_level(pattern=None, normalizer=None, size=3000):
    tokenizer = Tokenizer(models.BPE())
    if pattern:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return tokenizer, trainers.BpeTrainer(vocab_size=size, special_tokens=[END, "<|begin|>"], initial_alphabet=alphabet, show_progress=False)


def tokenizers(root):
    texts = [row["text"] for row in lines(77, 1500)]

    def keep(name, tokenizer):
        folder = root / name
        folder.mkdir(parents=True)
        tokenizer.save(str(folder / "tokenizer.json"))
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, "model_max_length": 10**9}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))

    def trained(name, pair, change=None):
        tokenizer, trainer = pair
        tokenizer.train_from_iterator(texts, trainer)
        if change:
            change(tokenizer)
        keep(name, tokenizer)

    def begin(tokenizer):
        mark = tokenizer.token_to_id("<|begin|>")
        tokenizer.post_processor = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", mark)])

    trained("gpt2", byte_level())
    trained("llama3", byte_level(LLAMA3, size=4000), begin)
    trained("qwen", byte_level(QWEN, normalizers.NFC()))
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", END]

    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=3000, special_tokens=special, show_progress=False)

    def template(tokenizer):
        ids = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)

    trained("wordpiece", (pieces, trainer), template)

    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    trained("unigram", (unigram, trainers.UnigramTrainer(vocab_size=2000, special_tokens=special, unk_token="[UNK]", show_progress=False)))

    plain = Tokenizer(models.BPE(unk_token="[UNK]", byte_fallback=True, fuse_unk=True))
    plain.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trained("metaspace", (plain, trainers.BpeTrainer(vocab_size=2500, special_tokens=special + bytes_, limit_alphabet=150, show_progress=False)))

    padded = Tokenizer.from_file(str(root / "gpt2" / "tokenizer.json"))
    padded.enable_truncation(7)
    padded.enable_padding(pad_id=0, pad_token=END)
    keep("padded", padded)


if __name__ == "__main__":
    top = Path(sys.argv[1])
    corpus(top / "corpus")
    tokenizers(top / "tokenizers")
