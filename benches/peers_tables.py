"""Reads the column `text` of a Parquet file with pyarrow, polars and DuckDB, each with one thread, for the baseline column of the bench
`tables`. Prints a line for each program that is installed: its name, CPU seconds, and the bytes of text.

Usage: peers_tables.py FILE.parquet
"""

import importlib.util
import os
import subprocess
import sys
import time

os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1", ARROW_IO_THREADS="1")


def read_pyarrow(path):
    import pyarrow
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    pyarrow.set_cpu_count(1)
    parquet.ParquetFile(path)
    begun, length = time.process_time(), 0
    for batch in parquet.ParquetFile(path).iter_batches(columns=["text"], use_threads=False):
        length += compute.sum(compute.binary_length(batch.column(0))).as_py()
    return time.process_time() - begun, length


def read_polars(path):
    import polars

    polars.scan_parquet(path).select(polars.len()).collect()
    begun = time.process_time()
    length = polars.scan_parquet(path).select(polars.col("text").str.len_bytes().sum()).collect().item()
    return time.process_time() - begun, length


def read_duckdb(path):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SELECT count(*) FROM read_parquet(?)", [path]).fetchone()
    begun = time.process_time()
    length = connection.execute("SELECT sum(strlen(text)) FROM read_parquet(?)", [path]).fetchone()[0]
    return time.process_time() - begun, int(length)


READERS = {"pyarrow": read_pyarrow, "polars": read_polars, "duckdb": read_duckdb}

if __name__ == "__main__":
    if sys.argv[1] == "--with":
        print(sys.argv[2], *READERS[sys.argv[2]](sys.argv[3]))
    else:
        for name in filter(importlib.util.find_spec, READERS):
            subprocess.run([sys.executable, __file__, "--with", name, sys.argv[1]], check=True)
