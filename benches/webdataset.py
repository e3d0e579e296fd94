#!/usr/bin/env python3
"""Times how WebDatasets are written and mounted, next to the reference programs and to copies of the same bytes.

    webdataset.py GRISTMILL [--python PYTHON] [--samples 200000] [--runs 3] [--folder DIR] [--only reshard,…]

Rows:
  reshard   samples of three small parts in 20 shards to shards of 7,000, index and tables included; also shuffled
  files     the same parts as loose files to shards; `tar --sort=name` makes one archive
  large     20 shards of parts of 1 MiB
  mount     a mounted set, flat and with a folder for each sample: the first name, `find`, `md5sum` of 9,000 files

PYTHON is that of an environment with webdataset, and for `mount` with megatron-energon and libfuse: its ShardWriter and `energon mount` are the
baseline. `cat` into a file and `cp` are what copying takes. Walls and CPU seconds are the median of --runs; of the reference programs, of one run.
"""
import argparse, os, random, resource, shutil, signal, statistics, subprocess, sys, tempfile, time
from pathlib import Path

PARTS = {"jpg": 800, "json": 200, "txt": 50}

SHARD_WRITER = """
import sys, webdataset
source, target, count = sys.argv[1:]
import glob
with webdataset.ShardWriter(target + "/shard_%06d.tar", maxcount=int(count), encoder=False, verbose=0) as writer:
    if source.endswith(".tar"):
        for sample in webdataset.WebDataset(sorted(glob.glob(source)), shardshuffle=False):
            writer.write({name: value for name, value in sample.items() if name not in ("__url__", "__local_path__")})
    else:
        import os
        for folder, _, names in sorted(os.walk(source)):
            sample = {}
            for name in sorted(names):
                key, part = name.split(".", 1)
                if sample and sample["__key__"] != key:
                    writer.write(sample)
                    sample = {}
                sample["__key__"] = key
                with open(os.path.join(folder, name), "rb") as file:
                    sample[part] = file.read()
            if sample:
                writer.write(sample)
"""


def header(name, size):
    """Returns a block of a tar archive."""
    block = bytearray(512)
    block[: len(name)] = name
    block[100:108], block[108:116], block[116:124] = b"0000444\0", b"0000000\0", b"0000000\0"
    block[124:136], block[136:148], block[148:156] = b"%011o\0" % size, b"00000000000\0", b" " * 8
    block[156:157], block[257:265] = b"0", b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def write_shards(folder, samples, shards, parts):
    folder.mkdir(parents=True)
    content = random.Random(7).randbytes(4 << 20)
    step, number = -(-samples // shards), 0
    for shard in range(shards):
        with (folder / f"{shard:05}.tar").open("wb") as archive:
            for _ in range(min(step, samples - number)):
                for part, size in parts.items():
                    size = size + number % 499 if size < 1 << 20 else size
                    at = number * 131 % (len(content) - size)
                    archive.write(header(b"%09d.%s" % (number, part.encode()), size) + content[at : at + size] + b"\0" * (-size % 512))
                number += 1
            end = archive.tell() + 1024
            archive.write(b"\0" * (1024 + -end % 10240))


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.environment = {**os.environ, **{name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}}

    def timed(self, words):
        """Runs a command; returns wall and CPU seconds."""
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([str(word) for word in words], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(f"{words}: exit {done.returncode}\n{done.stdout[-2000:]}")
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def median(self, make, runs=None):
        rows = []
        for run in range(runs or self.arguments.runs):
            target = self.folder / "out"
            shutil.rmtree(target, ignore_errors=True)
            shutil.rmtree(self.folder / "out.gristmill", ignore_errors=True)
            rows.append(self.timed(make(target)))
            shutil.rmtree(target, ignore_errors=True)
        return [statistics.median(column) for column in zip(*rows)]

    def row(self, name, figures, baseline=None):
        ratio = "" if baseline is None else f"   {baseline[0] / figures[0]:7.1f} x wall, {baseline[1] / figures[1]:7.1f} x CPU"
        print(f"{name:<44} {figures[0]:8.2f} s {figures[1]:8.2f} CPU s{ratio}", flush=True)
        return figures

    def shard(self, *words):
        return lambda target: [self.arguments.gristmill, "shard", *words, "--output", target, "--yes"]

    def writer(self, source, count):
        if not self.arguments.python:
            return None
        def make(target):
            target.mkdir(parents=True)
            return [self.arguments.python, "-c", SHARD_WRITER, source, target, count]
        return self.row("  ShardWriter", self.median(make, 1))

    def copies(self, source):
        self.row("  cat into one file", self.median(lambda target: ["sh", "-c", f"cat {source}/*.tar > {target}.cat; rm {target}.cat"]))
        self.row("  cp --reflink=never, sync -f", self.median(lambda target: ["sh", "-c", f"cp -r --reflink=never {source} {target} && sync -f {target}"]))

    def reshard(self):
        source = self.folder / "small"
        write_shards(source, self.arguments.samples, 20, PARTS)
        size = sum(file.stat().st_size for file in source.iterdir())
        print(f"# {self.arguments.samples} samples of {len(PARTS)} parts, {size / 1e6:.0f} MB")
        peer = self.writer(f"{source}/*.tar", 7000)
        self.copies(source)
        self.row("reshard", self.median(self.shard(source, "--max-count", 7000)), peer)
        self.row("reshard --shuffle", self.median(self.shard(source, "--max-count", 7000, "--shuffle")), peer)
        self.row("reshard --no-prepare", self.median(self.shard(source, "--max-count", 7000, "--no-prepare")), peer)

    def files(self):
        source, shards = self.folder / "loose", self.folder / "small"
        if not shards.exists():
            write_shards(shards, self.arguments.samples, 20, PARTS)
        source.mkdir()
        for number, shard in enumerate(sorted(shards.iterdir())):
            (source / f"{number:05}").mkdir()
            subprocess.run(["tar", "-xf", shard, "-C", source / f"{number:05}"], check=True)
        peer = self.writer(source, 10000)
        self.row("  tar --sort=name", self.median(lambda target: ["sh", "-c", f"tar --sort=name -cf {target}.tar -C {source} .; rm {target}.tar"]))
        self.row("files", self.median(self.shard(source)), peer)
        shutil.rmtree(source)

    def large(self):
        source = self.folder / "large"
        write_shards(source, 20 * 20, 20, {"jpg": 1 << 20})
        self.copies(source)
        self.row("large", self.median(self.shard(source, "--max-count", 20)))

    def mount(self):
        source, target = self.folder / "small", self.folder / "mounted"
        if not source.exists():
            write_shards(source, self.arguments.samples, 20, PARTS)
        self.timed([self.arguments.gristmill, "prepare", source, "--split-ratio", "1,0,0", "--skip-dataset-yaml", "--yes"])
        target.mkdir()
        programs = {"gristmill": [self.arguments.gristmill, "energon", "mount"]}
        if self.arguments.python:
            programs["energon"] = [Path(self.arguments.python).parent / "energon", "mount"]
        for flags in ([], ["-s"]):
            for name, words in programs.items():
                self.mounted(f"{name} mount {' '.join(flags)}", [*words, source, target, *flags], target)

    def mounted(self, name, words, target):
        begin = time.monotonic()
        log = (self.folder / "mount.log").open("w")
        server = subprocess.Popen([str(word) for word in words], env=self.environment, stdout=log, stderr=log)
        while not os.path.ismount(target):
            if server.poll() is not None:
                print(f"{name}: not mounted: {(self.folder / 'mount.log').read_text()[-300:]}")
                return
            time.sleep(0.002)
        next(os.scandir(target))
        figures = {"first name": time.monotonic() - begin}
        for what, command in (("find", f"find {target} | wc -l"), ("md5sum", f"find {target} -type f | head -9000 | xargs md5sum | tail -1")):
            begin = time.monotonic()
            subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.DEVNULL)
            figures[what] = time.monotonic() - begin
        used = Path(f"/proc/{server.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        figures["CPU"] = (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")
        memory = next(line for line in Path(f"/proc/{server.pid}/status").read_text().splitlines() if line.startswith("RssAnon"))
        server.send_signal(signal.SIGTERM)
        server.wait()
        print(f"{name:<30}", ", ".join(f"{what} {seconds:.3f} s" for what, seconds in figures.items()), f", {int(memory.split()[1]) / 1024:.1f} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gristmill")
    parser.add_argument("--python")
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--only", default="reshard,files,large,mount")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        bench = Bench(arguments, Path(folder))
        for name in arguments.only.split(","):
            getattr(bench, name)()


if __name__ == "__main__":
    main()
