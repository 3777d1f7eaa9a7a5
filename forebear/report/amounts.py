"""Numbers as a sentence says them: as many digits as tell them apart, with their unit."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Units that follow their number at once.
_CLOSE = ("°", "%", "′", "″")


def amounts(values: Sequence[float], unit: str = "") -> list[str]:
    """Numbers side by side, to two digits of how far they lie apart; a single one to two digits of itself.

    >>> amounts([2.1234, 6.4321], "°C"), amounts([8, 17]), amounts([0.00123, 0.00456]), amounts([123456.0, 98765.0])
    (['2.1 °C', '6.4 °C'], ['8', '17'], ['0.0012', '0.0046'], ['123000', '99000'])
    >>> amounts([-0.02, 4.0]), amounts([0.5023]), amounts([99.8, 100.1]), amounts([3e8, 5e8])
    (['0', '4'], ['0.5'], ['99.8', '100.1'], ['3e8', '5e8'])
    >>> amounts([20, 140], "°")
    ['20°', '140°']
    """
    whole = [float(value) for value in values]
    apart = max(whole) - min(whole)
    size = max(abs(value) for value in whole)
    reach = apart if len(whole) > 1 and apart > 1e-6 * size else size
    if reach == 0 or not math.isfinite(reach):
        return [_with(f"{value:g}".replace("-", "−"), unit) for value in whole]
    digits = 1 - math.floor(math.log10(reach))
    return [_with(_plain(value, digits), unit) for value in whole]


def span(start: float, end: float, unit: str = "") -> str:
    """From one number to another, with the unit once, behind both.

    >>> span(2.1234, 6.4321, "°C"), span(8, 17)
    ('from 2.1 to 6.4 °C', 'from 8 to 17')
    """
    first, last = amounts([start, end])
    return f"from {first} to {_with(last, unit)}"


def percent(share: float) -> str:
    """A chance as it is said.

    >>> percent(0.1234), percent(0.004), percent(1.0)
    ('12%', '0.4%', '100%')
    """
    return f"{100 * share:.1f}%" if 0 < abs(share) < 0.0095 else f"{100 * share:.0f}%"


def _plain(value: float, digits: int) -> str:
    rounded = round(value, digits)
    if rounded == 0:
        return "0"
    if abs(rounded) >= 1e6 or abs(rounded) < 1e-4:
        front, power = f"{rounded:.1e}".split("e")
        text = f"{float(front):g}e{int(power)}"
    else:
        text = f"{rounded:.{max(digits, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def _with(number: str, unit: str) -> str:
    return f"{number}{'' if unit in _CLOSE else ' '}{unit}" if unit else number
