"""Indexes and packs with gristmill, and with Modalities' own code from the same text; compares every byte, and loads what gristmill
wrote with the data sets that train.

Usage: check_tokens_modalities.py GRISTMILL FOLDER   (FOLDER: made by tokens_corpus.py)
"""

import json
from pathlib import Path

import numpy as np
import sentencepiece
from modalities.api import FileExistencePolicy, create_raw_data_index, pack_encoded_data
from modalities.dataloader.dataset import (
    MemMapDataset,
    PackedMemMapDatasetBase,
    PackedMemMapDatasetContinuous,
    PackedMemMapDatasetMegatron,
)
from modalities.tokenization.tokenizer_wrapper import PreTrainedHFTokenizer
from tokens_support import END, digest, gristmill, main


def settings(source, index, output, tokenizer, end, jq):
    return {
        "settings": {
            "src_path": str(source), "dst_path": str(output), "index_path": str(index), "jq_pattern": jq, "num_cpus": 2,
            "eod_token": end, "processing_batch_size": 100, "raw_samples_queue_size": 300, "processed_samples_queue_size": 300,
        },
        "tokenizer": tokenizer,
    }


def packed(top, name, tokenizer, flags=(), end=END, jq=".text", config=None, data="clean/a.jsonl"):
    work = top / "pbin" / name
    work.mkdir(parents=True)
    source = top / "corpus" / data
    ours, theirs = work / "ours.pbin", work / "theirs.pbin"
    create_raw_data_index(source, work / "theirs.idx", FileExistencePolicy.ERROR)
    if config is None:
        folder = top / "tokenizers" / tokenizer
        config = {"component_key": "tokenizer", "variant_key": "pretrained_hf_tokenizer",
                  "config": {"pretrained_model_name_or_path": str(folder), "padding": False, "truncation": False}}
        tokenizer = folder / "tokenizer.json"
    pack_encoded_data(settings(source, work / "theirs.idx", theirs, config, end, jq), FileExistencePolicy.ERROR)
    gristmill(
        "pack", source, "--format", "modalities", "--tokenizer", tokenizer, "--eod-token", end, "--index", work / "ours.idx",
        "--output", ours, *flags,
    )
    assert (work / "ours.idx").read_bytes() == (work / "theirs.idx").read_bytes(), f"{name}: the raw index differs"
    assert ours.read_bytes() == theirs.read_bytes(), f"{name}: the packed file differs"
    load(ours, theirs, source)


def load(ours, theirs, source):
    lines = source.read_bytes().rstrip(b"\n").count(b"\n") + 1
    mine, wanted = (PackedMemMapDatasetBase(path, sample_key="x") for path in (ours, theirs))
    assert len(mine) == len(wanted) == lines, f"{len(mine)}, {len(wanted)} and {lines} documents"
    documents = [mine[n]["x"] for n in range(len(mine))]
    assert digest(documents) == digest(wanted[n]["x"] for n in range(len(wanted)))
    tokens = np.concatenate(documents)
    for length in (2, 31, 512):
        for reuse in (True, False):
            made = PackedMemMapDatasetContinuous(ours, sample_key="x", block_size=length + 1, reuse_last_target=reuse)
            step = length if reuse else length + 1
            starts = range(0, len(tokens) - length, step)
            assert len(made) == len(starts), f"{len(made)} samples of {length}"
            assert digest(made[n]["x"] for n in range(len(made))) == digest(tokens[at : at + length + 1] for at in starts)
    mine, wanted = (PackedMemMapDatasetMegatron(path, sample_key="x", block_size=65) for path in (ours, theirs))
    assert len(mine) == len(wanted) > 0


def raw_index(top, name, data):
    """Every line by our index, as the raw data set of the trainer reads it."""
    work = top / "idx" / name
    work.mkdir(parents=True)
    source, index = top / "corpus" / data, work / "ours.idx"
    gristmill("index", source, "--format", "modalities", "--index-path", index)
    tokenizer = PreTrainedHFTokenizer(str(top / "tokenizers" / "gpt2"), truncation=False, padding=False)
    made = MemMapDataset(source, tokenizer, sample_key="x", index_path=index)
    rows = [json.loads(line) for line in source.read_bytes().split(b"\n") if line]
    assert len(made) == len(rows)
    for n, row in enumerate(rows):
        assert list(made[n]) == list(tokenizer.tokenize(row["text"])), f"line {n}"


def pieces(top, name, **options):
    texts = [json.loads(line)["text"] for line in (top / "corpus/clean/a.jsonl").read_bytes().split(b"\n") if line]
    lines = [line for text in texts for line in text.replace("\0", "").splitlines() if line.strip()]
    prefix = top / "tokenizers" / name
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(prefix), user_defined_symbols=["<eod>"], num_threads=1, minloglevel=2, **options
    )
    model = prefix.with_suffix(".model")
    config = {"component_key": "tokenizer", "variant_key": "pretrained_sp_tokenizer", "config": {"tokenizer_model_file": str(model)}}
    packed(top, name, model, end="<eod>", config=config)


def cases(top):
    for tokenizer in ("gpt2", "llama3", "qwen", "wordpiece", "unigram", "metaspace"):
        yield f"packed, {tokenizer}", lambda t=tokenizer: packed(top, t, t)
    yield "no newline at the end", lambda: packed(top, "open", "gpt2", data="clean/b2.jsonl")
    yield "a jq expression", lambda: packed(
        top, "jq", "gpt2", ["--jq", '(.id // "none") + ": " + .text'], jq='(.id // "none") + ": " + .text')

    def cut(name, flags, **options):
        folder = str(top / "tokenizers" / "llama3")
        config = {"component_key": "tokenizer", "variant_key": "pretrained_hf_tokenizer",
                  "config": {"pretrained_model_name_or_path": folder, "padding": False, "truncation": False, **options}}
        packed(top, name, folder + "/tokenizer.json", flags, config=config)

    yield "cut", lambda: cut("cut", ["--truncate-to", "9"], truncation=True, max_length=9)
    yield "sentencepiece, unigram", lambda: pieces(top, "spm-unigram", model_type="unigram", vocab_size=700, byte_fallback=True)
    yield "sentencepiece, BPE", lambda: pieces(top, "spm-bpe", model_type="bpe", vocab_size=900, byte_fallback=True)
    yield "sentencepiece, no fallback", lambda: pieces(
        top, "spm-plain", model_type="unigram", vocab_size=600, normalization_rule_name="nmt_nfkc_cf", character_coverage=0.98)
    yield "sentencepiece, text as it is", lambda: pieces(
        top, "spm-identity", model_type="bpe", vocab_size=900, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, add_dummy_prefix=False, split_digits=True, allow_whitespace_only_pieces=True)
    yield "raw index", lambda: raw_index(top, "a", "clean/a.jsonl")
    yield "raw index, no newline at the end", lambda: raw_index(top, "b", "clean/b2.jsonl")


if __name__ == "__main__":
    main(cases)
