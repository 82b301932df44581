"""Makes the Parquet files that `tests/parquet.rs` reads.

Needs pandas, polars and pyarrow. Every value follows from its row number, so that the test can
compute what it expects: see `rows` here and `expected` there.
"""

import datetime
import pathlib

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
ROWS = 50


def source(row):
    return row * 7 % 11


def destination(row):
    return row * 3 % 5 + 20


def moment(row):
    return datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=row * 90)


rows = range(ROWS)

# pandas: nullable weights, truth values as labels, nanosecond timestamps, a stored index.
frame = pd.DataFrame(
    {
        "source": [source(row) for row in rows],
        "target": [destination(row) for row in rows],
        "timestamp": pd.to_datetime([moment(row) for row in rows]).astype("datetime64[ns]"),
        "weight": [None if row % 10 == 3 else row / 4 for row in rows],
        "label": [row % 3 == 0 for row in rows],
        "a": [float(row) for row in rows],
        "b": pd.array([row * 2 for row in rows], dtype="uint8"),
    },
    index=[row + 1000 for row in rows],
)
frame.to_parquet(HERE / "pandas.parquet", engine="pyarrow")

# polars: text identifiers, microseconds, a list of features, text labels, several row groups.
table = pl.DataFrame(
    {
        "user": [f"u{source(row)}" for row in rows],
        "item": [f"i{destination(row)}" for row in rows],
        "time": [moment(row) for row in rows],
        "label": [None if row % 7 == 0 else ["no", "yes"][row % 2] for row in rows],
        "features": [[row / 2, -row, None if row == 4 else 1.0] for row in rows],
    },
    schema_overrides={"features": pl.List(pl.Float32), "time": pl.Datetime("us")},
)
table.write_parquet(HERE / "polars.parquet", row_group_size=20)

# The old way: 96-bit timestamps, gzip, pages of version 2, small row groups, unsigned 32-bit ids.
old = pa.table(
    {
        "src": pa.array([source(row) + 4_000_000_000 for row in rows], pa.uint32()),
        "dst": pa.array([destination(row) for row in rows], pa.int32()),
        "ts": pa.array([moment(row) for row in rows], pa.timestamp("ns")),
        "amount": pa.array([row / 8 for row in rows], pa.float64()),
        "op": pa.array(["remove" if row % 9 == 8 else "add" for row in rows]),
    }
)
pq.write_table(
    old,
    HERE / "old.parquet",
    compression="gzip",
    data_page_version="2.0",
    use_deprecated_int96_timestamps=True,
    row_group_size=16,
)
