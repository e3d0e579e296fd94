"""Deduplicates Parquet files of pyarrow with gristmill, and compares what pyarrow reads back with a slow implementation, and what pandas, polars
and DuckDB read with that.

Usage: check_dedup_parquet.py GRISTMILL FOLDER
"""

import datetime
import random

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from tokens_support import gristmill, main

SEED = random.randrange(1 << 32)
MINLEN = 40


def texts(dice, count):
    """Texts in several scripts that share passages; some are null or empty."""
    words = ["grist", "mill", "straße", "привет", "日本", "👩‍👩‍👧‍👦", "1234", "\n"]
    some = lambda low, high: " ".join(dice.choices(words, k=dice.randint(low, high))) + str(dice.random())
    passages = [some(10, 40) for _ in range(30)]
    made = []
    for _ in range(count):
        parts = [dice.choice(passages) if dice.random() < 0.4 else some(1, 60) for _ in range(dice.randint(1, 4))]
        made.append(dice.choices([" ".join(parts), "", None, dice.choice(passages)], weights=[12, 1, 1, 2])[0])
    return made


def is_inside(text, at):
    return at < len(text) and text[at] & 0xC0 == 0x80


def ranges_of(text, seen):
    """The ranges of windows that occurred before, cut to whole characters."""
    gone = bytearray(len(text))
    for at in range(len(text) - MINLEN + 1):
        window = text[at : at + MINLEN]
        if window in seen:
            gone[at : at + MINLEN] = b"\1" * MINLEN
        seen.add(window)
    found, at = [], 0
    while (start := gone.find(1, at)) >= 0:
        end = gone.find(0, start)
        at = end = len(text) if end < 0 else end
        while is_inside(text, start):
            start += 1
        while is_inside(text, end):
            end -= 1
        if start < end:
            found.append((start, end))
    return found


def expected(tables):
    """For each table the ranges of each text, and the texts without them."""
    seen = set()
    for table in tables:
        ranges, kept = [], []
        for text in table["text"].to_pylist():
            data = (text or "").encode()
            own = ranges_of(data, seen)
            ranges.append(None if text is None else [{"start": start, "end": end} for start, end in own])
            for start, end in reversed(own):
                data = data[:start] + data[end:]
            kept.append(None if text is None else data.decode())
        yield ranges, kept


def table_of(dice, rows, text_type):
    column = pa.array(texts(dice, rows), pa.string())
    day = datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc)
    table = pa.table(
        {
            "n": pa.array(range(rows), pa.uint16()),
            "text": column.dictionary_encode() if text_type == "dictionary" else column.cast(text_type),
            "nested": pa.array([{"a": row, "b": ["x"] * (row % 3)} if row % 7 else None for row in range(rows)]),
            "day": pa.array([day] * rows, pa.timestamp("ms", "UTC")),
        }
    )
    features = '{"info": {"features": {"text": {"dtype": "string", "_type": "Value"}}}}'
    return table.replace_schema_metadata({"huggingface": features, "made by": "käse"})


def groups(metadata, columns):
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in range(columns):
            one = group.column(column)
            yield group.num_rows, one.path_in_schema, one.compression, one.num_values


def read_by_others(path, table):
    """Compares the rows that other readers see with those of pyarrow."""
    rows = table.to_pylist()
    assert polars.read_parquet(path).to_dicts() == rows, f"{SEED} {path}: polars"
    columns = [name for name in table.column_names if name != "day"]
    relation = duckdb.sql(f"select {', '.join(columns)} from read_parquet('{path}')")
    expected = [tuple(row[name] for name in columns) for row in rows]
    assert relation.fetchall() == expected, f"{SEED} {path}: DuckDB"
    frame = pandas.read_parquet(path)
    for name in ("n", "text"):
        read = [None if pandas.isna(value) else value for value in frame[name]]
        assert read == [row[name] for row in rows], f"{SEED} {path}: pandas"


def check(top, name, text_type, options):
    dice = random.Random(f"{SEED} {name}")
    folder = top / name / "in"
    folder.mkdir(parents=True)
    tables = [table_of(dice, rows, text_type) for rows in (1, 150, 400, 0)]
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=120, data_page_size=2000, **options)
    for mode in ("remove", "annotate"):
        output = top / name / mode
        gristmill("dedup", folder, "--output", output, "--minlen", MINLEN, "--mode", mode, "--yes")
        for number, (table, (ranges, kept)) in enumerate(zip(tables, expected(tables))):
            path = output / f"{number}.parquet"
            old = pq.read_table(folder / f"{number}.parquet")
            new = pq.read_table(path, page_checksum_verification=True)
            read_by_others(path, new)
            if mode == "annotate":
                assert new["sa_remove_ranges"].to_pylist() == ranges, f"{SEED} {path}: ranges"
                new = new.drop_columns("sa_remove_ranges")
                assert new.equals(old), f"{SEED} {path}: other columns"
            else:
                assert new["text"].to_pylist() == kept, f"{SEED} {path}: texts"
                assert new.drop_columns("text").equals(old.drop_columns("text")), f"{SEED} {path}: other columns"
                assert old.schema.metadata == new.schema.metadata
            assert new.schema.equals(old.schema), f"{SEED} {path}: {new.schema}"
            before, after = (pq.read_metadata(file) for file in (folder / f"{number}.parquet", path))
            assert list(groups(after, before.num_columns)) == list(groups(before, before.num_columns))
            assert after.created_by.startswith("gristmill ")


def cases(top):
    kinds = {
        "snappy": (pa.string(), {}),
        "plain": (pa.large_string(), {"compression": "none", "use_dictionary": False}),
        "zstd_2": (pa.string_view(), {"compression": "zstd", "data_page_version": "2.0", "write_page_index": True}),
        "gzip": ("dictionary", {"compression": "gzip", "write_page_checksum": True}),
        "brotli": (pa.string(), {"compression": "brotli", "write_statistics": False}),
        "lz4": (pa.string(), {"compression": "lz4", "data_page_version": "2.0"}),
        "delta": (
            pa.string(),
            {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}, "write_page_index": True},
        ),
        "sorted": (pa.string(), {"sorting_columns": [pq.SortingColumn(1), pq.SortingColumn(0)]}),
    }
    for name, (text_type, options) in kinds.items():
        yield f"dedup {name}", lambda name=name, kind=text_type, options=options: check(top, name, kind, options)


main(cases)
