"""What the checks of packed tokens share."""

import hashlib
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np

END = "<|endoftext|>"
BINARY = ""


def gristmill(*arguments, exits=(0,)):
    run = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode in exits, (
        f"gristmill {arguments}: exit {run.returncode}\n{run.stdout.decode(errors='replace')}\n{run.stderr.decode(errors='replace')}"
    )
    return run


def digest(arrays):
    out = hashlib.sha256()
    for array in arrays:
        out.update(np.asarray(array, dtype=np.int64).tobytes())
    return out.hexdigest()


def main(cases):
    """Runs what `cases` gives for the folder: names, and functions that fail."""
    global BINARY
    BINARY, top = sys.argv[1], Path(sys.argv[2])
    failed = 0
    for name, check in cases(top):
        try:
            check()
            print(f"ok: {name}")
        except Exception:
            failed += 1
            print(f"FAILED: {name}\n{traceback.format_exc()}")
    sys.exit(1 if failed else 0)
