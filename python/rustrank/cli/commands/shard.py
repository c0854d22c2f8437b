"""The command `shard`: a data set in files for several workers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rustrank.cli.parsing import add_json, add_progress, command
from rustrank.cli.streams import print_json

if TYPE_CHECKING:
    import argparse

_EPILOG = """\
The lines of a query stay together, and files get about as many docs each. DIRECTORY/manifest.json
says what is in each file, with its checksum; it is written last.

examples:
  rustrank shard train.txt.gz shards --shards 8
  rustrank shard train.txt shards --shards 4 --compress
"""


def register(commands: Any) -> None:
    """Add the command."""
    parser = command(
        commands,
        "shard",
        "split a data set by queries, for several workers",
        usage="[options] DATA DIRECTORY",
        epilog=_EPILOG,
        run=_run,
    )
    add = parser.add_argument
    add("data", metavar="DATA", help="LETOR or SVMlight text, plain or gzip; or a Parquet file")
    add("directory", metavar="DIRECTORY", help="where to")
    add("--shards", type=int, required=True, metavar="N", help="how many files")
    add("--by-query", action="store_true", help="what is always done: queries are never split")
    add("--label", default="label", metavar="NAME", help="of Parquet: the column (label)")
    add("--qid", default="qid", metavar="NAME", help="of Parquet: the column (qid)")
    add("--compress", action="store_true", help="write text as gzip")
    add("--overwrite", action="store_true", help="replace shards that are there")
    add_progress(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> int:
    from rustrank.distributed.shards import shard

    made = shard(
        options.data,
        options.directory,
        shards=options.shards,
        label=options.label,
        qid=options.qid,
        compress=options.compress,
        overwrite=options.overwrite,
        progress=None if options.progress else False,
    )
    if options.json:
        print_json({"docs": made.num_docs, "queries": made.num_queries, "skew": made.skew})
    else:
        sys.stdout.write(f"{made}\n")
    return 0
