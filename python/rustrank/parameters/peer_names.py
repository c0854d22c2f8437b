"""What functions and classes of LightGBM and XGBoost are called in ``rustrank``."""

_CALLED = {
    "DMatrix": "rr.Dataset",
    "LGBMRanker": "rr.LambdaMART, or rustrank.compat.lightgbm.LGBMRanker",
    "QuantileDMatrix": "rr.Dataset",
    "XGBRanker": "rr.LambdaMART, or rustrank.compat.xgboost.XGBRanker",
    "cv": "rr.cross_validate",
    "early_stopping": "rr.EarlyStopping, or early_stopping= of rr.train",
    "log_evaluation": "progress= of rr.train",
    "record_evaluation": "Booster.history",
}


def here(name: str) -> str:
    """Return the end of a message that says what a name is called here, or nothing."""
    return f"; here it is {_CALLED[name]}" if name in _CALLED else ""
