"""The reference programs packing the same text, for the baseline column of the bench `pack`: tokens, seconds of processor time and of
the clock. Measured as the bench measures ours, a process from its start to its end, and once more less what one document takes.

Usage, with the Python of an environment that tests/peers/run has made:

    peers_pack.py datatrove|datatrove-parquet|modalities|forager TEXT.jsonl TOKENIZER.json

datatrove packs two halves with two workers, or with as many as $WORKERS says: the processor time of workers is counted only for one. 87 MB take each of the programs less than a minute.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

END = "<|endoftext|>"
SAMPLE = 4096
# Rows of a row group, as the bench `tables` has them.
ROW_GROUP = 10_000
# Worker processes of datatrove.
WORKERS = int(os.environ.get("WORKERS", "2"))
# Wide enough for both styles of the bench.
WIDE = "uint32"


class Datatrove:
    def lay(self, text, tokenizer, work):
        (work / "parts").mkdir()
        lines = text.read_bytes().splitlines(keepends=True)
        for part in range(2):
            (work / "parts" / f"{part}.jsonl").write_bytes(b"".join(lines[part::2]))

    def reader(self, folder):
        from datatrove.pipeline.readers import JsonlReader

        return JsonlReader(folder)

    def pack(self, tokenizer, work):
        from datatrove.executor import LocalPipelineExecutor
        from datatrove.pipeline.tokens import DocumentTokenizer

        LocalPipelineExecutor(
            pipeline=[
                self.reader(str(work / "parts")),
                DocumentTokenizer(str(work / "out"), str(tokenizer), eos_token=END, shuffle_documents=False),
            ],
            tasks=2, workers=WORKERS, logging_dir=str(work / "log"),
        ).run()

    def tokens(self, work):
        import numpy as np

        return sum(int(ends[-1]) for path in (work / "out").glob("*.index") if len(ends := np.fromfile(path, np.uint64)))


class DatatroveParquet(Datatrove):
    def lay(self, text, tokenizer, work):
        import pyarrow
        import pyarrow.parquet as parquet

        (work / "parts").mkdir()
        texts = [json.loads(line)["text"] for line in text.read_bytes().splitlines()]
        for part in range(2):
            table = pyarrow.table({"text": texts[part::2]})
            parquet.write_table(table, work / "parts" / f"{part}.parquet", compression="zstd", row_group_size=ROW_GROUP)

    def reader(self, folder):
        from datatrove.pipeline.readers import ParquetReader

        return ParquetReader(folder)


class Modalities:
    def lay(self, text, tokenizer, work):
        shutil.copy(text, work / "text.jsonl")
        folder = work / "tokenizer"
        folder.mkdir()
        shutil.copy(tokenizer, folder / "tokenizer.json")
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END}))

    def pack(self, tokenizer, work):
        from modalities.api import FileExistencePolicy, create_raw_data_index, pack_encoded_data

        create_raw_data_index(work / "text.jsonl", work / "text.idx", FileExistencePolicy.ERROR)
        settings = {
            "settings": {
                "src_path": str(work / "text.jsonl"), "dst_path": str(work / "out.pbin"), "index_path": str(work / "text.idx"), "jq_pattern": ".text",
                "num_cpus": 2, "eod_token": END, "processing_batch_size": 100, "raw_samples_queue_size": 300, "processed_samples_queue_size": 300,
            },
            "tokenizer": {
                "component_key": "tokenizer", "variant_key": "pretrained_hf_tokenizer",
                "config": {"pretrained_model_name_or_path": str(work / "tokenizer"), "padding": False, "truncation": False},
            },
        }
        pack_encoded_data(settings, FileExistencePolicy.ERROR)

    def tokens(self, work):
        from modalities.dataloader.dataset import PackedMemMapDatasetBase

        packed = PackedMemMapDatasetBase(work / "out.pbin", sample_key="x")
        return sum(len(packed[at]["x"]) for at in range(len(packed)))


class Forager:
    def lay(self, text, tokenizer, work):
        (work / "base").mkdir()
        shutil.copy(text, work / "base" / "text.jsonl")

    def pack(self, tokenizer, work):
        import numpy as np
        from data_forager.indexers.tokenization_indexer import create_tokenize_and_index_jsonl_text_func
        from tokenizers import Tokenizer

        loaded = Tokenizer.from_file(str(tokenizer))
        create_tokenize_and_index_jsonl_text_func(
            tokenizer_func=lambda line: loaded.encode(line, add_special_tokens=False).ids, eos_idx=loaded.token_to_id(END),
            input_base_path=str(work / "base"), sample_size=SAMPLE, token_dtype=WIDE,
        )()

    def tokens(self, work):
        import numpy as np
        from data_forager.datasets.tokens import TokensDataset

        return len(TokensDataset.create_from_index_on_filesystem(str(work / "base"), token_dtype=WIDE)) * SAMPLE


PEERS = {"datatrove": Datatrove, "datatrove-parquet": DatatroveParquet, "modalities": Modalities, "forager": Forager}


def run(name, text, tokenizer):
    """Packs in a process of its own and gives tokens, seconds of processor time and of the clock, and the most memory in MiB."""
    peer = PEERS[name]()
    with tempfile.TemporaryDirectory() as work:
        peer.lay(text, tokenizer, Path(work))
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
        subprocess.run([sys.executable, __file__, "--pack", name, tokenizer, work], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wall, after = time.time() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return peer.tokens(Path(work)), cpu, wall, after.ru_maxrss / 1024


def main():
    if sys.argv[1] == "--pack":
        return PEERS[sys.argv[2]]().pack(Path(sys.argv[3]), Path(sys.argv[4]))
    name, text, tokenizer = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / "few.jsonl"
        with open(text, "rb") as lines:
            few.write_bytes(lines.readline() + lines.readline())
        run(name, few, tokenizer)  # what is compiled once
        _, idle, begun, _ = run(name, few, tokenizer)
    tokens, cpu, wall, memory = run(name, text, tokenizer)
    size = text.stat().st_size / 1e6
    for less_cpu, less_wall, what in [(0, 0, "whole"), (idle, begun, "without its start")]:
        cpu_left, wall_left = cpu - less_cpu, wall - less_wall
        rate = tokens / cpu_left / 1e6
        print(f"{name}, {what}: {tokens / 1e6:.2f} M tokens, {cpu_left:.1f} CPU s, {rate:.3f} M tokens per CPU s, {wall_left:.1f} s, {size / wall_left:.2f} MB/s, {memory:.0f} MiB resident")


if __name__ == "__main__":
    main()
