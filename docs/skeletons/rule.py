"""Rules of your own: which inputs are the ancestors, given all that was found out?"""

import numpy as np
import pandas as pd

import forebear as fb


def three_largest_scores(path: fb.Path) -> list[str]:
    """Reads the pruning path alone: the three inputs with the largest scores while all are there."""
    best = np.argsort(-path.scores[0])[:3]
    return [path.candidates[place] for place in sorted(best)]


class SurelyNeeded:
    """Reads the certificate too: of the certified set, the inputs that move the law far enough."""

    needs_certificate = True

    def __init__(self, least_shift: float = 0.1):
        self.least_shift = least_shift

    def __call__(self, path: fb.Path, certificate: fb.Certificate) -> list[str]:
        """The names to keep."""
        tests = certificate.tests
        return [name for name in certificate.kept if tests[name].shift >= self.least_shift]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1_000, 3)), columns=["a", "b", "c"])
    table["y"] = table["b"] + np.exp(table["c"]) * rng.normal(size=1_000)
    for rule in (three_largest_scores, SurelyNeeded()):
        print(fb.discover(table, "y", rule=rule, steps=300, distilled=500, subset_steps=500).summary())
