"""What check_s3.py compares of mounts of data sets in a store: golden listings, what a large part costs, and a store that does not answer."""
import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import tarfile
import time

# Bytes of the large part.
LARGE = 48 << 20
# Seconds in which something has to end that waits for a store which does not answer; without an end it takes minutes.
SOON = 30
# Reads far from the beginning, past the cache of the kernel or not, and ends with 7 when a signal comes, with 0 when it has the right bytes.
READER = """
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: os._exit(7))
fd = os.open(sys.argv[1], os.O_RDONLY | (os.O_DIRECT if sys.argv[2] == "direct" else 0))
sys.exit(9 * (os.pread(fd, 4096, 40 << 20).hex() != sys.argv[3]))
"""
# Readers at once: more than there are threads for reads.
READERS = 100
# Reads with a thread for each.
MANY_READERS = """
import os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
threads = [threading.Thread(target=os.pread, args=(fd, 4096, at << 18)) for at in range(50, 50 + int(sys.argv[2]))]
[thread.start() for thread in threads]
"""


def rows(folder):
    """Rows of a golden listing: path, kind, mode, size, and the beginning of the SHA-256 of a file."""
    for path in folder.rglob("*"):
        facts, name = path.lstat(), str(path.relative_to(folder))
        mode = f"{facts.st_mode & 0o7777:04o}"
        if path.is_dir():
            yield [name, "d", mode]
        else:
            yield [name, "f", mode, facts.st_size, hashlib.sha256(path.read_bytes()).hexdigest()[:16]]


def check_mounts(check):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return print("mounts: skipped, /dev/fuse cannot be opened", flush=True)
    check_listings(check)
    proxy = check.server.with_proxy()
    try:
        point, content = make_large(check)
        check_large(check, proxy, point, content)
        for way in ("cached", "direct"):
            for end in ("kill", "interrupt", "signal", "force"):
                check_end(check, proxy, (point, content), way, end)
        check_busy(check, point)
    finally:
        check.server.proxy.stop()
        check.server.proxy = None


def check_listings(check):
    """Two golden listings, of sets that were prepared on the disk and uploaded."""
    for case in ("dropin_flat", "splits_all"):
        folder = check.golden / "mount" / case
        facts, check.number = json.loads((folder / "case.json").read_text()), check.number + 1
        prefix, point = f"mount{check.number}", check.folder / f"mount{check.number}"
        given = facts["data"] == "given"
        data = [folder / "given"] if given else [check.golden / facts["data"] / part for part in ("input", "expected")]
        for part in data:
            check.server.client.upload(part, "data", prefix + "/")
        places = {"DATA": f"s3://data/{prefix}", "MNT": str(point)}
        check.run(*(places.get(word, word) for word in facts["command"][1:]), "--detach")
        try:
            listing = sorted(rows(point), key=lambda row: row[0].encode())
        finally:
            subprocess.run(["umount", point], check=True)
        assert listing == facts["listing"], f"{case}: {listing}"


def make_large(check):
    """Puts a prepared set with one large part; returns the place for its mounts and the part."""
    content, folder = random.Random(3).randbytes(LARGE), check.folder / "part"
    folder.mkdir()
    with tarfile.open(folder / "0.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        member = tarfile.TarInfo("a.bin")
        member.size = LARGE
        archive.addfile(member, io.BytesIO(content))
    check.server.client.upload(folder, "data", "part/")
    check.run("prepare", "s3://data/part", "--split-ratio", "1,0,0", "--skip-dataset-yaml", "--yes")
    return check.folder / "part mounted", content


def check_large(check, proxy, point, content):
    """The beginning of a part is one small request, all of it few ones."""
    check.run("mount", "s3://data/part", point, "--detach")
    try:
        for count, requests, size in ((100, 1, 1 << 20), (LARGE, 40, LARGE + (8 << 20))):
            before = proxy.stats()
            read = subprocess.run(["head", "-c", str(count), point / "a.bin"], capture_output=True, check=True).stdout
            after = proxy.stats()
            assert read == content[:count], f"other bytes of {count}"
            made, down = after["requests"] - before["requests"], after["down"] - before["down"]
            assert made <= requests and down <= size + 4096, f"{count} bytes: {made} requests, {down} bytes"
    finally:
        subprocess.run(["umount", point], check=True)


def check_end(check, proxy, part, way, end):
    """While the store does not answer, a reader ends when it is killed or interrupted, and when the mount ends."""
    point, content = part
    words = [check.binary, "mount", "s3://data/part", str(point)]
    mount = subprocess.Popen(words, env=check.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "ends it" in mount.stdout.readline()
    with open(point / "a.bin", "rb") as file:
        file.read(1000)
    os.kill(check.server.proc.pid, signal.SIGSTOP)
    try:
        before = proxy.stats()["requests"]
        expected = content[40 << 20 :][:4096].hex()
        reader = subprocess.Popen([sys.executable, "-c", READER, point / "a.bin", way, expected], stderr=subprocess.PIPE, text=True)
        while proxy.stats()["requests"] == before:
            assert reader.poll() is None, f"{way}: it does not wait for the store"
            time.sleep(0.01)
        if end in ("kill", "interrupt"):
            reader.send_signal(signal.SIGKILL if end == "kill" else signal.SIGINT)
            code = reader.wait(SOON)
            # The answer may have come before the signal.
            assert code in (0, -signal.SIGKILL if end == "kill" else 7), f"{way}, {end}: {code} {reader.stderr.read()}"
            subprocess.run(["umount", point], check=True, timeout=SOON)
        elif end == "signal":
            mount.send_signal(signal.SIGTERM)
            assert reader.wait(SOON) == 1 and "Input/output error" in reader.stderr.read()
        else:
            subprocess.run(["umount", "-f", "-l", point], check=True, timeout=SOON)
            assert reader.wait(SOON) == 1
        code = mount.wait(SOON)
        assert code == (143 if end == "signal" else 0), f"{way}, {end}: {code} {mount.stderr.read()}"
    finally:
        os.kill(check.server.proc.pid, signal.SIGCONT)
        reader.kill()
        mount.kill()


def check_busy(check, point):
    """While more readers than threads wait for the store, names are listed, and readers that are killed end."""
    check.run("mount", "s3://data/part", point, "--detach")
    with open(point / "a.bin", "rb") as file:
        file.read(1000)
    os.kill(check.server.proc.pid, signal.SIGSTOP)
    try:
        reader = subprocess.Popen([sys.executable, "-c", MANY_READERS, point / "a.bin", str(READERS)], stderr=subprocess.DEVNULL)
        end = time.time() + SOON
        while len(os.listdir(f"/proc/{reader.pid}/task")) <= READERS:
            assert reader.poll() is None and time.time() < end, "the readers do not wait"
            time.sleep(0.01)
        # The kernel knows none of these names.
        listed = subprocess.run(["ls", "-la", point, point / "other"], capture_output=True, text=True, timeout=SOON)
        assert "a.bin" in listed.stdout and "No such file" in listed.stderr, listed
        reader.kill()
        reader.wait(SOON)
        subprocess.run(["umount", point], check=True, timeout=SOON)
    finally:
        os.kill(check.server.proc.pid, signal.SIGCONT)
        reader.kill()
