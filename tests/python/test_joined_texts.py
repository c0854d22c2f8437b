"""Models and data sets in which a column holds texts in one and numbers in the other are not joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rustrank as rr

pd = pytest.importorskip("pandas")
DATA = rr.datasets.make_polynomial(num_queries=30, seed=1)
BRANDS = np.array(["a", "b", "c", "d"])[(np.abs(DATA.X[:, 0]) * 7).astype(int) % 4]
FRAME = pd.DataFrame(DATA.X[:, :4], columns=list("wxyz")).assign(brand=BRANDS)
CODES = FRAME.assign(brand=pd.factorize(BRANDS)[0][::-1])
FEW: dict[str, Any] = {"num_trees": 4, "num_leaves": 6}


def dataset(frame: Any, **more: Any) -> rr.Dataset:
    return rr.Dataset(frame, DATA.y, qid=DATA.qid, **more)


TEXTS = dataset(FRAME, categorical=["brand"])
OF_TEXTS = rr.train(TEXTS, **FEW)


@pytest.mark.parametrize("categorical", [None, ["brand"]])
def test_models_of_texts_and_of_numbers_are_not_joined(categorical: Any) -> None:
    of_codes = rr.train(dataset(CODES, categorical=categorical), **FEW)
    for pair in ([OF_TEXTS, of_codes], [of_codes, OF_TEXTS]):
        with pytest.raises(rr.DataError, match=r"feature 4 holds texts in .*, and numbers in"):
            rr.mix(pair, [0.5, 0.5])
    with pytest.raises(rr.DataError, match="holds texts in the training set, and numbers in base"):
        rr.train(TEXTS, base=of_codes, **FEW)


def test_models_of_the_same_texts_are_joined() -> None:
    other = rr.train(TEXTS, seed=3, noise_scale=0, **FEW)
    both = rr.mix([OF_TEXTS, other], [0.5, 0.5])
    mean = (OF_TEXTS.predict(FRAME) + other.predict(FRAME)) / 2
    assert np.allclose(both.predict(FRAME), mean, rtol=0, atol=1e-12)
    more = rr.train(TEXTS, base=OF_TEXTS, num_trees=1, learning_rate=1e-9)
    assert np.allclose(more.predict(FRAME), OF_TEXTS.predict(FRAME), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_frame_of_floats_is_no_array_for_a_model_read_from_lightgbm(
    tmp_path: Any, kind: type
) -> None:
    file = tmp_path / "model.txt"
    OF_TEXTS.export("lightgbm", file)
    read = rr.Booster.load(file)
    assert np.allclose(read.predict(FRAME), OF_TEXTS.predict(FRAME), rtol=0, atol=1e-12)
    with pytest.raises(TypeError, match="got numbers, expected the texts"):
        read.predict(CODES.astype(kind))
