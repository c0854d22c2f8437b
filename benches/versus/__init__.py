"""rustrank against LightGBM, XGBoost and CatBoost: what `compare.py` runs.

`process` measures in processes of their own, `records` keeps what was measured; `loading`,
`training`, `quality` and `polynomial` are the commands; `shapes` and `folds` bring the data,
`timed` and `fitted` the engines of `training` and `quality`.
"""
