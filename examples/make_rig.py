"""Write the table that ships with forebear: an invented bearing test rig, `forebear/examples/rig.csv`.

Three thousand runs of a bearing under random conditions. Nothing here was measured; the laws below are the truth
that a discovery should recover.

    load         kN, uniform in 1 … 9
    speed        thousand turns per minute, uniform in 0.5 … 3
    temperature  degrees C of the bearing: 60 on average, warmer under load and at speed
    humidity     percent, uniform in 20 … 80; shapes nothing
    oil          grade A or B, with equal odds

    wear           micrometres: its mean grows with load and with temperature, its spread is constant
    torque_ripple  N m: its mean is zero whatever the conditions; its spread is proportional to load
    vibration      mm: the shaft settles on one of two sides, with equal odds, so that the mean is zero; how far apart
                   the sides are grows with speed, eight times faster with oil B than with oil A

Run it from anywhere; the same file comes out, to the last byte.
"""

from pathlib import Path

import numpy as np
import pandas as pd

ROWS, SEED = 3_000, 20_260
TRUTH = {"wear": ("load", "temperature"), "torque_ripple": ("load",), "vibration": ("speed", "oil")}
FILE = Path(__file__).parent.parent / "forebear" / "examples" / "rig.csv"


def make(rows: int = ROWS, seed: int = SEED) -> pd.DataFrame:
    """The table: five conditions, three responses."""
    rng = np.random.default_rng(seed)
    load = rng.uniform(1, 9, rows)
    speed = rng.uniform(0.5, 3, rows)
    temperature = 60 + 0.8 * (load - 5) + 2 * (speed - 1.75) + rng.normal(0, 6, rows)
    humidity = rng.uniform(20, 80, rows)
    oil = rng.choice(["A", "B"], rows)

    wear = 0.5 * load + 0.2 * (temperature - 60) + 4 + rng.normal(0, 0.4, rows)
    torque_ripple = 0.15 * load * rng.standard_normal(rows)
    apart = speed * np.where(oil == "A", 0.15, 1.2)
    vibration = apart * rng.choice([-1.0, 1.0], rows) + rng.normal(0, 0.3, rows)
    return pd.DataFrame(
        {
            "load": load,
            "speed": speed,
            "temperature": temperature,
            "humidity": humidity,
            "oil": oil,
            "wear": wear,
            "torque_ripple": torque_ripple,
            "vibration": vibration,
        }
    )


if __name__ == "__main__":
    make().to_csv(FILE, index=False, float_format="%.5g", lineterminator="\n")
    print(f"wrote {FILE} ({FILE.stat().st_size / 1000:.0f} kB)")
