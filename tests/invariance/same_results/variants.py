"""Variants of a case: other ways to the same model and the same scores."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field, replace
from pprint import pformat
from typing import TYPE_CHECKING, Any

import numpy as np

import rustrank as rr
from same_results.forms import FORMS, ORDERS, TABLES, Form, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from same_results.cases import Case
    from same_results.trainings import Outcome, Setting

THREADS = (1, 2, 3, 5)


@dataclass(frozen=True)
class Variant:
    """One of the ways, with all that chance has decided about it."""

    kind: str
    form: Form = field(default_factory=Form)
    then: Form = field(default_factory=Form)
    threads: int = 2
    #: A round, or the number of workers.
    at: int = 0
    mode: str = ""
    seed: int = 0

    def difference(self, setting: Setting, plain: Outcome) -> str | None:
        """Return how the outcome differs from the plain one; None where it does not."""
        if self.kind in _SCORING:
            assert plain.booster is not None
            return _SCORING[self.kind](self, setting, plain.booster)
        if self.kind == "resume":
            found = setting.resumed(self.form, self.then, self.at, self.threads)
        elif self.kind == "halves":
            found = setting.in_two_halves(self.form, self.at, self.threads)
            # The history of the second half is that of its own rounds.
            plain, found = (replace(one, history={}, best_round=None) for one in (plain, found))
            if _ends_without_split(plain, found):
                return None
        elif self.kind == "tables":
            found = setting.from_tables(self.form, self.mode, self.threads)
        elif self.kind == "workers":
            found = setting.by_workers(self.form, self.at, self.mode, self.seed)
        else:
            found = setting.trained(self.form, self.threads)
        if self.kind in ("workers", "tables"):
            # There is no data set of all documents, or it is not to be seen.
            found = replace(found, fingerprint=None)
        if self.kind == "workers" and _is_of_parts(plain, found):
            return None
        return plain.difference(found)


def _ends_without_split(plain: Outcome, found: Outcome) -> bool:
    """Whether the second half was refused, since its first round splits nothing."""
    if plain.booster is None or found.booster is None or found.text == plain.text:
        return False
    at = found.booster.num_rounds
    first, longer = plain.booster.truncate(at), plain.booster.truncate(at + 1)
    splits = [one.feature_importance("count") for one in (first, longer)]
    return first.to_text() == found.text and np.array_equal(splits[0], splits[1])


def _is_of_parts(plain: Outcome, found: Outcome) -> bool:
    """Whether an error of workers is about the part of one of them."""
    if found.error == ("DataError", "weight"):
        return True  # All weights of a part are 0, which is refused of any data set.
    # Why nothing can be learned, workers say in the words of the one with most documents.
    return all(one.message.startswith("nothing can be learned") for one in (plain, found))


@dataclass
class Difference:
    """A variant whose outcome is not that of the plain training."""

    case: Case
    variant: Variant
    what: str
    #: The error of the plain training, if it has one.
    error: tuple[str, str | None] | None

    def __str__(self) -> str:
        """Show the case, the variant and what differs."""
        settings = pformat(dict(self.case.settings), sort_dicts=True)
        return f"case {self.case.number}: {self.variant}\n{settings}\n{self.what[:4000]}"


def variants_of(case: Case) -> list[Variant]:
    """Draw the variants of a case."""
    random = case.random(50)

    def drawn_form() -> Form:
        form, order = str(random.choice(FORMS)), str(random.choice(ORDERS))
        return Form(form, order, int(random.choice(THREADS)), int(random.integers(1 << 30)))

    rounds = case.get("train.num_trees")
    trainings = [
        Variant("train", drawn_form(), threads=int(random.choice(THREADS))) for _ in range(4)
    ]
    trainings.append(Variant("train", Form(threads=5), threads=int(random.choice([1, 3, 5]))))
    at = int(random.integers(rounds))
    threads = int(random.choice(THREADS))
    trainings.append(Variant("resume", drawn_form(), drawn_form(), threads, at))
    trainings.append(Variant("halves", drawn_form(), threads=threads, at=at))
    mode = str(random.choice(["histogram", "histogram", "features"]))
    size = int(random.integers(2, 4))
    trainings.append(Variant("workers", at=size, mode=mode, seed=int(random.integers(1 << 30))))
    scorings = [
        Variant(
            kind,
            drawn_form(),
            threads=int(random.choice(THREADS)),
            seed=int(random.integers(1 << 30)),
        )
        for kind in _SCORING
    ]
    tables = Variant(
        "tables", drawn_form(), threads=threads, mode=str(random.choice(["tuple", "arguments"]))
    )
    return [*trainings, tables, *scorings]


def applies(variant: Variant, setting: Setting, plain: Outcome) -> bool:
    """Whether the variant is one of this case."""
    case = setting.case
    if variant.kind in _SCORING:
        return plain.booster is not None
    if not (setting.fits(variant.form) and setting.fits(variant.then)):
        return False
    if variant.kind == "halves":
        return variant.at > 0 and not _looks_back(case)
    if variant.kind == "tables":
        # They are made data sets with the defaults, and have no more columns than these.
        more = {name for name in case.settings if name.startswith("dataset.")}
        columns = ("row_weight", "query_weight", "base_score", "position", "extra")
        is_plain = not (more or any(case.get(f"docs.{name}") for name in columns))
        # The training set is one of the sets to evaluate only if it is the same object.
        is_apart = case.get("train.valid") in (None, "valid")
        return is_plain and is_apart and case.get("train.base") is None
    return variant.kind != "workers" or _takes_workers(case, variant.mode)


def _takes_workers(case: Case, mode: str) -> bool:
    """Whether workers train so: `check` in `src/distributed/data_facts.rs` says what they refuse."""
    options, metric = case.of("train"), case.get("train.metric")
    functions = "function" in (options["objective"], metric)
    weighed = isinstance(metric, dict) or "guard" in options
    symmetric = options.get("tree_shape") == "symmetric" or options.get("preset") in (
        "noisy",
        "clean",
    )
    if (
        functions
        or weighed
        or symmetric
        or "preferences" in options
        or case.get("dataset.categorical")
    ):
        return False
    limits = ("train.monotone", "train.interactions", "train.feature_weight")
    by_sample = "rows_per_node" in options or options.get("preset") in ("robust", "gao2009")
    if by_sample and any(name in case.settings for name in limits):
        return False
    if mode == "features":
        return True
    classes = options["objective"].startswith("mcrank")
    names = (
        "train.dropout",
        "train.doc_sampling",
        "train.step",
        "dataset.query_ranks",
        "docs.position",
    )
    return not (classes or any(case.get(name) for name in names))


def _looks_back(case: Case) -> bool:
    """Whether rounds depend on more than the scores so far, or the base is another already."""
    names = ("train.base", "train.dropout", "train.valid", "docs.base_score", "train.guard")
    return any(name in case.settings for name in names)


def _bits(found: NDArray[Any], wanted: NDArray[Any], what: str) -> str | None:
    if found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes():
        return None
    at = np.flatnonzero(found.ravel() != wanted.ravel())[:5]
    return f"{what}: {found.ravel()[at]} and {wanted.ravel()[at]} at {at} of {wanted.shape}"


def _scores(variant: Variant, setting: Setting, booster: rr.Booster) -> str | None:
    """Score all documents in another form and order."""
    docs = setting.docs
    wanted = booster.predict(docs.X, qid=docs.qid)
    rows = variant.form.rows(docs)
    form = variant.form.form if variant.form.form in (*TABLES, "sparse") else "floats"
    X = table(docs.X[rows], form)
    found = booster.predict(X, qid=docs.qid[rows], num_threads=variant.threads)
    return _bits(found, wanted[rows], f"scores of {variant.form}")


def _parts(variant: Variant, setting: Setting, booster: rr.Booster) -> str | None:
    """Score documents in batches, single ones among them: of whole queries, where these matter."""
    docs, random = setting.docs, np.random.default_rng(variant.seed)
    wanted = booster.predict(docs.X, qid=docs.qid)
    ends = np.arange(1, len(docs.qid))
    if booster.query_ranks:
        ends = np.flatnonzero(np.diff(docs.qid)) + 1
    cuts = np.flatnonzero(random.random(len(ends)) < random.choice([0.01, 0.1, 0.5]))
    parts = np.split(np.arange(len(docs.qid)), ends[cuts])
    found = [
        booster.predict(docs.X[part], qid=docs.qid[part], num_threads=variant.threads)
        for part in parts
    ]
    return _bits(np.concatenate(found), wanted, "scores of batches")


def _copies(variant: Variant, setting: Setting, booster: rr.Booster) -> str | None:
    """Score documents by copies of the model."""
    docs = setting.docs
    path = setting.folder / "model.rrk"
    booster.save(path)
    copies = {
        "text": rr.Booster.from_text(booster.to_text()),
        "file": rr.Booster.load(path),
        "pickle": pickle.load(io.BytesIO(pickle.dumps(booster))),  # noqa: S301 - just written
    }
    wanted = booster.predict(docs.X, qid=docs.qid)
    for name, copy in copies.items():
        if copy.to_text() != booster.to_text():
            return f"text of the copy by {name}"
        found = copy.predict(docs.X, qid=docs.qid, num_threads=variant.threads)
        if (difference := _bits(found, wanted, f"scores of the copy by {name}")) is not None:
            return difference
    return None


def _explained(variant: Variant, setting: Setting, booster: rr.Booster) -> str | None:
    """Explain scores: the same bits by any number of threads and in any order, with the scores as sums."""
    docs = setting.docs.taken(np.arange(min(len(setting.docs.qid), 200)))
    if booster.query_ranks:
        docs = docs.taken(np.flatnonzero(np.isin(docs.qid, docs.qid[:1])))
    try:
        wanted = booster.explain(docs.X, qid=docs.qid, num_threads=1)
    except rr.ParamError:
        return None  # Classes have no explanation.
    rows = np.random.default_rng(variant.seed).permutation(len(docs.qid))
    found = booster.explain(docs.X[rows], qid=docs.qid[rows], num_threads=variant.threads)
    scores = booster.predict(docs.X, qid=docs.qid)
    # Sums of doubles, of terms that may be larger than they are.
    scale = np.abs(wanted).sum(axis=1) + 1e-300
    if (np.abs(wanted.sum(axis=1) - scores) > 1e-9 * scale).any():
        return f"explanations do not add up: {wanted.sum(axis=1)} and {scores}"
    return _bits(found, wanted[rows], "explanations")


def _measured(variant: Variant, setting: Setting, booster: rr.Booster) -> str | None:
    """Evaluate, refit and shuffle features, on documents in another order and by other threads."""
    plain, other = setting.sets(Form())[0], setting.sets(replace(variant.form, form="doubles"))[0]
    asks: dict[str, Callable[[rr.Dataset, int], Any]] = {
        "evaluate": lambda data, threads: [
            float(one)
            for one in booster.evaluate(
                data, ["ndcg@10", "map", "err", "pairwise"], gain="linear", num_threads=threads
            ).values()
        ],
        "importance": lambda data, threads: booster.feature_importance(
            "permutation", dataset=data, gain="linear", num_threads=threads
        ),
        "refit": lambda data, threads: booster.refit(
            data, gain="linear", num_threads=threads
        ).to_text(),
    }
    for name, ask in asks.items():
        wanted, found = (
            _asked(ask, data, threads) for data, threads in ((plain, 1), (other, variant.threads))
        )
        if wanted != found:
            return f"{name}: {wanted}\nand\n{found}"
    return None


def _asked(ask: Callable[[rr.Dataset, int], Any], data: rr.Dataset, threads: int) -> Any:
    try:
        found = ask(data, threads)
    except rr.InternalError:
        raise
    except rr.RustrankError as error:
        return type(error).__name__, error.code
    return found if isinstance(found, str) else np.asarray(found, np.float64).tobytes()


#: Questions to the plain model.
_SCORING = {
    "scores": _scores,
    "parts": _parts,
    "copies": _copies,
    "explain": _explained,
    "measure": _measured,
}


def compared(
    setting: Setting, plain: Outcome, without: Sequence[str]
) -> Iterator[tuple[Variant, str | None]]:
    """Yield the variants of a case, but those of some kinds, with their differences."""
    for variant in variants_of(setting.case):
        if variant.kind not in without and applies(variant, setting, plain):
            yield variant, variant.difference(setting, plain)
