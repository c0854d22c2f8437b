"""Click models: the relevance of documents from a log of clicks, without the bias of positions."""

from rustrank.clicks.log import ClickLog
from rustrank.clicks.models import Cascade, ClickModel, DynamicBayesian, PositionBased, Relevance

__all__ = ["Cascade", "ClickLog", "ClickModel", "DynamicBayesian", "PositionBased", "Relevance"]
