"""Discovery and the conditional law as scikit-learn estimators."""

from forebear.sklearn.flow import ConditionalFlow as ConditionalFlow
from forebear.sklearn.flow import log_prob_scorer as log_prob_scorer
from forebear.sklearn.selector import AncestorSelector as AncestorSelector

__all__ = ["AncestorSelector", "ConditionalFlow", "log_prob_scorer"]
