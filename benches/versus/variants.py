"""Named variants of our own parameters: `--variant name=json`."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

#: What is compared where no variant is named: the defaults of rustrank.
OURS = "rustrank"


@dataclass(frozen=True)
class Variant:
    """Parameters of `rr.train`, and `query_ranks`, under a name; the empty name: the defaults."""

    name: str
    params: dict[str, Any]

    @property
    def label(self) -> str:
        return f"{OURS}:{self.name}" if self.name else OURS


DEFAULTS = Variant("", {})


def variant(argument: str) -> Variant:
    """Read ``name=json``."""
    name, _, text = argument.partition("=")
    try:
        params = json.loads(text)
    except ValueError as error:
        msg = f"{argument!r}: expected name=json, {error}"
        raise argparse.ArgumentTypeError(msg) from None
    if not name or not isinstance(params, dict):
        msg = f"{argument!r}: expected a name, '=' and a JSON object"
        raise argparse.ArgumentTypeError(msg)
    return Variant(name, params)


def add_variants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--variant",
        type=variant,
        action="append",
        default=[],
        metavar="NAME=JSON",
        dest="variants",
        help="rustrank again with these parameters of rr.train (may be repeated); in quality also "
        "query_ranks, of rr.Dataset",
    )
    parser.add_argument("--no-defaults", action="store_true", help="the variants of rustrank alone")


def chosen(args: argparse.Namespace) -> list[Variant]:
    return [*([] if args.no_defaults else [DEFAULTS]), *args.variants]
