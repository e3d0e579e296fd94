#!/usr/bin/env python3
"""Times gristmill on an object store on the loopback address, next to the reference program, and counts requests and bytes.

    remote.py GRISTMILL [--latency 0.05] [--energon PYTHON] [--runs 3] [--only prepare-small,…]

Rows:
  prepare-small   200 shards of 1.3 MB, 100 samples of three parts of 4 KB each
  prepare-large   16 shards of 21 MB, one member of 1 MiB a sample
  pack, dedup     107 MB of JSONL from the store to the store, next to `s5cmd` down, the same on the disk, and `s5cmd` up

PYTHON is the Python of an environment with megatron-energon and multi-storage-client[boto3]: its `energon prepare` with one worker is the baseline
of `prepare`. The proxy waits --latency seconds before each answer and each new connection. Each figure is the median of --runs, and of one run
of the reference program.
"""
import argparse, io, json, os, random, resource, shutil, statistics, subprocess, sys, tarfile, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/remote"))
from s3_server import Server, msc_config, tools  # noqa: E402

BUCKET = "bench"


def write_shards(folder, shards, samples, parts):
    """Writes shards of `samples` samples, each with parts of these sizes."""
    folder.mkdir(parents=True)
    content = random.Random(7).randbytes(1 << 21)
    for shard in range(shards):
        with tarfile.open(folder / f"{shard:05}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for sample in range(samples):
                for name, size in parts.items():
                    member = tarfile.TarInfo(f"{shard:05}{sample:06}.{name}")
                    member.size = size
                    archive.addfile(member, io.BytesIO(content[:size]))


def write_text(file, size):
    file.parent.mkdir(parents=True)
    words = random.Random(3)
    vocabulary = ["".join(words.choices("etaoinshrdlu", k=words.randrange(2, 9))) for _ in range(20_000)]
    with file.open("w") as text:
        while text.tell() < size:
            text.write(json.dumps({"text": " ".join(words.choices(vocabulary, k=300))}) + "\n")


class Bench:
    def __init__(self, arguments, server, folder):
        self.arguments, self.server, self.folder = arguments, server, folder
        self.s5cmd = str(tools() / "s5cmd")
        self.proxy = server.with_proxy(latency=arguments.latency)

    def environment(self):
        kept = {name: str(self.folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
        return {**os.environ, **self.server.env, **kept}

    def timed(self, words, fails=False, **more):
        """Runs a command; returns wall and CPU seconds, requests, and MB from the store. With `fails`, it may fail: then `None`."""
        before = self.proxy.stats()
        used, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([str(word) for word in words], env={**self.environment(), **more}, capture_output=True, text=True)
        wall, now = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode and fails:
            return None
        if done.returncode:
            raise SystemExit(f"{words}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        after = self.proxy.stats()
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        return {"wall": wall, "cpu": cpu, "requests": after["requests"] - before["requests"], "mb": (after["down"] - before["down"]) / 1e6}

    def median(self, make):
        found = [self.timed(*make(run)) for run in range(self.arguments.runs)]
        return {key: statistics.median(one[key] for one in found) for key in found[0]}

    def row(self, name, ours, baseline=None):
        text = lambda one: f"{one['wall']:7.2f} s wall  {one['cpu']:6.2f} s CPU  {one['requests']:6.0f} requests  {one['mb']:8.1f} MB"
        print(f"{name}\n  gristmill  {text(ours)}", flush=True)
        if baseline:
            ratio = f"wall {baseline['wall'] / ours['wall']:.1f}×, CPU {baseline['cpu'] / ours['cpu']:.1f}×"
            print(f"  baseline   {text(baseline)}\n  ratio      {ratio}", flush=True)

    def prepare(self, name, shards, samples, parts):
        local = self.folder / name
        write_shards(local, shards, samples, parts)
        size = sum(file.stat().st_size for file in local.iterdir())
        for run in range(self.arguments.runs + 1):
            self.server.client.upload(local, BUCKET, f"{name}{run}/")
        flags = ["--yes", "--split-ratio", "8,1,1", "--skip-dataset-yaml"]
        ours = self.median(lambda run: ([self.arguments.gristmill, "prepare", f"s3://{BUCKET}/{name}{run}", *flags],))
        baseline = None
        if self.arguments.energon:
            msc_config(self.folder / "msc.json", self.server.env["AWS_ENDPOINT_URL"], {"bench": BUCKET})
            program = [self.arguments.energon, "-m", "megatron.energon.cli.main", "prepare", f"msc://bench/{name}{self.arguments.runs}"]
            flags = ["--non-interactive", "--force-overwrite", "--num-workers", "1", "--split-ratio", "8,1,1", "--skip-dataset-yaml"]
            # It fails at times: its processes share a connection.
            for run in range(3):
                baseline = self.timed([*program, *flags], fails=run < 2, MSC_CONFIG=str(self.folder / "msc.json"))
                if baseline:
                    break
        self.row(f"{name} ({shards} shards, {size / 1e6:.0f} MB)", ours, baseline)
        print(f"  bytes read {ours['mb'] * 1e6 / size:.1%}, {ours['requests'] / shards:.2f} requests a shard", flush=True)

    def through_the_disk(self, command):
        """The same with s5cmd before and after."""
        local = self.folder / "down"
        shutil.rmtree(local, ignore_errors=True)
        steps = [[self.s5cmd, "cp", f"s3://{BUCKET}/text/*", f"{local}/text/"], command(local), [self.s5cmd, "cp", f"{local}/out/", f"s3://{BUCKET}/up/"]]
        found = [self.timed(step) for step in steps]
        return {key: sum(one[key] for one in found) for key in found[0]}

    def text(self, name, command):
        self.row(name, self.median(lambda run: (command(f"s3://{BUCKET}", run),)), self.through_the_disk(lambda root: command(root, "")))

    def texts(self, names):
        local = self.folder / "text"
        write_text(local / "a.jsonl", 107_000_000)
        self.server.client.upload(local, BUCKET, "text/")
        tokenizer = HERE.parent / "tests/golden/modalities/tokenizers/bpe1k"
        program = self.arguments.gristmill
        pack = lambda root, run: [program, "pack", f"{root}/text", "--format", "nanosets", "--tokenizer", tokenizer, "--eos-token", "<|endoftext|>", "--yes", "--output", f"{root}/out{run}/tokens"]
        dedup = lambda root, run: [program, "dedup", f"{root}/text", "--minlen", "50", "--yes", "--output", f"{root}/out{run}/unique"]
        for name, command in (("pack", pack), ("dedup", dedup)):
            if name in names:
                self.text(name, command)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gristmill")
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--energon")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="prepare-small,prepare-large,pack,dedup")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    with Server("seaweed", seconds=3600) as server, tempfile.TemporaryDirectory() as folder:
        server.client.create(BUCKET)
        bench = Bench(arguments, server, Path(folder))
        if "prepare-small" in names:
            bench.prepare("prepare-small", 200, 100, {"jpg": 3000, "txt": 3000, "json": 3000})
        if "prepare-large" in names:
            bench.prepare("prepare-large", 16, 20, {"jpg": 1 << 20})
        if {"pack", "dedup"} & set(names):
            bench.texts(names)


if __name__ == "__main__":
    main()
