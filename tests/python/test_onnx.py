"""Our models run by onnxruntime."""

import numpy as np
import pytest

import rustrank as rr

ort = pytest.importorskip("onnxruntime")


def test_our_models_score_the_same_there() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(4000, 5)).astype(np.float32)
    features[random.random(features.shape) < 0.1] = np.nan
    labels = np.clip(np.round(np.nan_to_num(features[:, 0] * features[:, 1]) + 2), 0, 4)
    data = rr.Dataset(features, labels, qid=np.repeat(np.arange(200), 20))
    for leaves in (2, 12, 200):
        ours = rr.train(data, num_trees=30, num_leaves=leaves)
        session = ort.InferenceSession(ours.export("onnx"), providers=["CPUExecutionProvider"])
        rows = features.copy()
        lines = ours.to_text().splitlines()
        splits = [float(line.split()[1]) for line in lines if line.count(" ") == 7]
        at = random.choice(splits, rows.shape).astype(np.float32)
        rows = np.where(random.random(rows.shape) < 0.3, at, rows)
        (found,) = session.run(None, {"features": rows})
        wanted = ours.predict(rows)
        # Sums of thirty singles there.
        assert np.abs(found[:, 0] - wanted).max() < 40 * np.abs(wanted).max() * 2**-24
