"""The command `shard`: a data set in files for several workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rustrank.cli.file_kinds import is_table, require_data
from rustrank.cli.streams import print_result
from rustrank.errors import ParamError

if TYPE_CHECKING:
    import argparse

    from rustrank.cli.parsing import Parser

_EPILOG = """\
The lines of a query stay together, and files get about as many docs each. DIRECTORY/manifest.json
says what is in each file, with its checksum; it is written last.

examples:
  rustrank shard train.txt.gz shards --shards 8
  rustrank shard train.txt shards --shards 4 --compress
"""


def register(parser: Parser) -> None:
    """Add the arguments."""
    parser.define(_run, "[options] DATA DIRECTORY", _EPILOG)
    add, flag = parser.add, parser.flag
    add("data", "DATA", "LETOR or SVMlight text, plain or gzip; or a Parquet file")
    add("directory", "DIRECTORY", "where to")
    add("--shards", "N", "how many files", type=int, required=True)
    flag("--by-query", "what is always done: queries are never split")
    flag("--compress", "write text as gzip")
    flag("--overwrite", "replace shards that are there")
    parser.share("label", "qid", "progress", "json")


def _run(options: argparse.Namespace) -> int:
    from rustrank.distributed.shards import shard

    require_data(options.data)
    if is_table(options.data) and not options.data.endswith(".parquet"):
        message = f"DATA: got {options.data}, expected LETOR text or Parquet (*.parquet)"
        raise ParamError(message, code="data")
    names = ("shards", "label", "qid", "compress", "overwrite")
    given = {name: getattr(options, name) for name in names}
    progress = None if options.progress else False
    made = shard(options.data, options.directory, progress=progress, **given)
    plain = {"docs": made.num_docs, "queries": made.num_queries, "skew": made.skew}
    return print_result(options, plain, made)
