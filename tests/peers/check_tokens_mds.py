"""Packs MDS shards with gristmill; writes the same samples with the reference writer, compares every byte, and loads what gristmill wrote
with the reference loader.

Usage: check_tokens_mds.py GRISTMILL FOLDER   (FOLDER: made by tokens_corpus.py)
"""

import json
import random
from pathlib import Path

import numpy as np
from streaming import MDSWriter, StreamingDataset
from streaming.base.compression import decompress
from tokenizers import Tokenizer
from tokens_support import END, gristmill, main

SEED = random.randrange(1 << 32)


def documents(dice):
    """Texts of random words in several scripts, some of them empty."""
    words = ["grist", "mill", "stone", "straße", "привет", "日本", "👩‍👩‍👧‍👦", "1234", "e\u0301", " ", "\n"]
    return [" ".join(dice.choices(words, k=dice.choice([0, 1, 3, 40, 400]))) for _ in range(600)]


def samples(texts, tokenizer, size, begin, end, wrap):
    """What llm-foundry's ConcatTokensDataset yields; documents without text are left out."""
    buffer = []
    for text in texts:
        if not text:
            continue
        buffer += begin + tokenizer.encode(text).ids + end
        while len(buffer) >= size:
            yield np.array(buffer[:size], dtype=np.int32)
            buffer = buffer[size:] if wrap else []


def unpacked(folder):
    """The files of a set without compression, and the index without the sizes of compressed files."""
    index = json.loads((folder / "index.json").read_text())
    files = {}
    for shard in index["shards"]:
        packed = shard["zip_data"]
        data = (folder / (packed or shard["raw_data"])["basename"]).read_bytes()
        files[shard["raw_data"]["basename"]] = decompress(shard["compression"], data) if packed else data
        if packed:
            assert len(data) == packed["bytes"]
            packed["bytes"], packed["hashes"] = 0, sorted(packed["hashes"])
    return files, index


def check(top, name, size, flags, begin=(), wrap=True, **options):
    work = top / "mds" / name
    work.mkdir(parents=True)
    tokenizer_file = top / "tokenizers" / "gpt2" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    texts = documents(random.Random(f"{SEED} {name}"))
    # A sample continues in the next file.
    for number, part in enumerate([texts[:200], texts[200:]]):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (work / f"{number}.jsonl").write_text(lines)
    ids = [[tokenizer.token_to_id(token)] for token in [*begin, END]]
    wanted = list(samples(texts, tokenizer, size, ids[0] if begin else [], ids[-1], wrap))
    with MDSWriter(out=str(work / "theirs"), columns={"tokens": "ndarray:int32"}, **options) as writer:
        for sample in wanted:
            writer.write({"tokens": sample})
    # Empty documents are problems.
    gristmill(
        "pack", work / "0.jsonl", work / "1.jsonl", "--format", "mds", "--tokenizer", tokenizer_file, "--eos-token", END,
        "--sample-size", size, "--output", work / "ours", "--yes", *flags, exits=(1,),
    )
    assert unpacked(work / "ours") == unpacked(work / "theirs"), f"{name}: shards or index differ (seed {SEED})"
    loaded = StreamingDataset(local=str(work / "ours"), shuffle=False, batch_size=1)
    assert len(loaded) == len(wanted)
    for number, sample in enumerate(wanted):
        assert (loaded[number]["tokens"] == sample).all(), f"{name}: sample {number} (seed {SEED})"


def cases(top: Path):
    print(f"seed {SEED}")
    begin = ["--bos-token", END]
    for name, size, flags, options in [
        ("plain", 128, [], {}),
        ("shape of two bytes", 256, ["--hashes", "sha1"], {"hashes": ["sha1"]}),
        ("small shards", 32, ["--size-limit", "5000", "--hashes", "xxh64,blake2b"],
         {"size_limit": 5000, "hashes": ["blake2b", "xxh64"]}),
        ("begin token", 64, begin, {"begin": (END,)}),
        ("no wrap", 100, ["--no-wrap"], {"wrap": False}),
        *((method, 64, ["--compression", method, "--size-limit", "20000"],
           {"compression": method, "size_limit": 20000}) for method in ["zstd:7", "gz", "br:3", "bz2", "snappy"]),
    ]:
        yield f"MDS: {name}", lambda name=name, size=size, flags=flags, options=options: check(
            top, name, size, flags, **options
        )


if __name__ == "__main__":
    main(cases)
