"""The forms of files in a folder: Parquet, JSON Lines, and a README with the header that `datasets.load_dataset` reads."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tm2tfr.base.errors import DatasetError, required


def arrow_or_error() -> Any:
    """Return PyArrow.

    Raises:
        DatasetError: if it is missing.
    """
    modules, instead = ("pyarrow", "pyarrow.parquet"), "remove parquet from the formats"
    return required("Parquet needs PyArrow", modules, "dataset", otherwise=instead, error=DatasetError)[0]


def parquet(
    tables: Iterable[Any],
    schema: Any,
    *,
    level: int,
    group: int | None = None,
    metadata: Mapping[str, bytes] | None = None,
    **options: object,
) -> bytes:
    """Return a Parquet file whose bytes follow from its tables and PyArrow's version: every setting is given explicitly.

    Args:
        tables: Arrow tables, in order; group: the rows of a row group; level: of the compression by Zstandard.
        metadata: further entries of the file's metadata.
        options: of `pyarrow.parquet.ParquetWriter`.
    """
    sink, arrow = io.BytesIO(), arrow_or_error()
    fixed = {"compression": "zstd", "compression_level": level, "version": "2.6", "data_page_version": "1.0"}
    with arrow.parquet.ParquetWriter(sink, schema, **fixed, **options) as writer:
        if metadata is not None:
            writer.add_key_value_metadata(metadata)
        for table in tables:
            writer.write_table(table, row_group_size=group)
    return sink.getvalue()


def json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """Return a line of JSON for each row."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def readme(configs: Sequence[str], *blocks: str) -> str:
    """Return a README: the configurations of `datasets.load_dataset`, as lines of YAML, then blocks of Markdown."""
    head = ["\n".join(["---", "configs:", *configs, "---"])] if configs else []
    return "\n\n".join([*head, *(block for block in blocks if block)]) + "\n"
