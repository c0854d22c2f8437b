"""RankLib's XML against a plain reader of it."""

from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

import rustrank as rr


def leaf(node: ET.Element, row: NDArray[np.float32]) -> float:
    while (output := node.findtext("output")) is None:
        value = row[int(node.findtext("feature", "")) - 1]
        side = "left" if value <= np.float32(float(node.findtext("threshold", ""))) else "right"
        (node,) = node.findall(f"split[@pos='{side}']")
    return float(output)


def test_the_trees_say_the_same() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(2000, 5)).astype(np.float32)
    labels = np.clip(np.round(features[:, 0] * features[:, 1] + 2), 0, 4)
    data = rr.Dataset(features, labels, qid=np.repeat(np.arange(100), 20))
    model = rr.train(data, num_trees=15, num_leaves=12)
    text = model.export("ranklib").decode()
    root = ET.fromstring(text[text.index("<ensemble>") :])  # noqa: S314
    scores = [sum(leaf(tree[0], row) for tree in root) for row in features[:300]]
    assert np.allclose(scores, model.predict(features[:300]), rtol=1e-12, atol=1e-12)
