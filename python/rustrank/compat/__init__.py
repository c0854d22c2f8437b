"""Scripts for LightGBM or XGBoost that rank, with only the import changed.

``import rustrank.compat.lightgbm as lgb`` and ``import rustrank.compat.xgboost as xgb`` have the names of
these libraries for ranking, and translate them. A parameter is translated with the same meaning,
accepted because it changes nothing here, or refused with an error that names what there is instead.
"""
