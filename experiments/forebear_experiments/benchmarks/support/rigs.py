"""Sixteen rigs of sixteen trades, and what happens to them while a twin is in operation: faults of sensors, changes
of the law, and other mixes of inputs of which no law takes notice.

They were written down, with their seeds and with what a monitor should say of each event, before any of them was
asked anything. Every rig draws rows as they come off a plant: numbers with units, skewed and rounded ones, labels,
counts, slow inputs. An event begins with row `since`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from scipy.special import expit

NOTHING = "nothing"


class Event(NamedTuple):
    """What a monitor should say of it."""

    changes: bool | None
    """whether a law changes; None where it cannot be told from the rows alone"""
    must: tuple[str, ...] = ()
    """inputs that have to be named"""
    may: tuple[str, ...] = ()
    """others that would not be wrong"""
    faults: tuple[tuple[str, str], ...] = ()
    """columns and kinds of the faults of sensors; no others are there"""
    clean: bool = False
    """whether the laws hold once the rows of a stuck sensor are left out"""
    pairs: bool = False
    """whether it is how two targets go together that changes"""


Draw = Callable[[int, np.random.Generator, str, np.ndarray], dict[str, np.ndarray]]
"""rows, generator, event, and by how much it is there in each row (0 to 1) -> columns"""


class Rig(NamedTuple):
    """How its rows come about, what it is asked about, and what can happen."""

    draw: Draw
    targets: tuple[str, ...]
    events: Mapping[str, Event]
    rows: str = "auto"
    """what a user would declare of them"""


HOLDS = Event(False)


def table(rig: Rig, rows: int, rng: np.random.Generator, event: str = NOTHING, since: int = 0) -> pd.DataFrame:
    """So many rows, the event from `since` on: as a step, or as a ramp up to the last row if its name says so."""
    place = np.arange(rows)
    there = np.clip((place - since) / max(1, rows - since), 0, 1) if "ramp" in event else 1.0 * (place >= since)
    return pd.DataFrame(rig.draw(rows, rng, event, there))


def _slow(rng: np.random.Generator, rows: int, memory: float) -> np.ndarray:
    steps = rng.normal(size=rows) * np.sqrt(1 - memory**2)
    steps[0] = rng.normal()
    return np.asarray(lfilter([1.0], [1.0, -memory], steps))


def _pump(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Head of a centrifugal pump; wear opens gaps, through which the more is lost, the faster it runs."""
    speed = rng.uniform(900, 1_500, rows) - 150 * there * (event == "slower duty")
    flow = rng.uniform(20, 80, rows) * speed / 1_200
    room, tank = rng.normal(22, 4, rows), rng.uniform(1, 4, rows)
    worn = there * event.startswith("wear")
    head = 40 * (speed / 1_200) ** 2 * (1 - 0.12 * worn) - 0.0025 * flow**2 + tank + 0.8 * rng.normal(size=rows)
    return {"speed": speed, "flow": flow, "room_C": room, "tank_level": tank, "head_m": head}


def _exchanger(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Outlet of a heat exchanger by its number of transfer units; slow inputs, as a plant has them."""
    hot_in = 90 + 6 * _slow(rng, rows, 0.9) + 5 * there * (event == "hotter feed")
    cold_in = 18 + 4 * _slow(rng, rows, 0.95)
    hot_flow = np.exp(0.25 * _slow(rng, rows, 0.9))
    pressure = 3 + 0.2 * _slow(rng, rows, 0.9)
    area = 1 - 0.35 * there * event.startswith("fouling")
    effect = 1 - np.exp(-1.2 * area / hot_flow)
    out = hot_in - effect * (hot_in - cold_in) + 0.8 * rng.normal(size=rows)
    read = hot_in + 6 * there * (event == "input sensor reads high")
    return {"hot_in": read, "cold_in": cold_in, "hot_flow": hot_flow, "pressure": pressure, "hot_out": out}


def _reactor(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Yield of batches with one of four catalysts."""
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    mixed = np.array([0.1, 0.2, 0.3, 0.4])
    other = (event == "other catalysts") & (there > 0)
    catalyst = np.where(other, rng.choice(4, rows, p=mixed), rng.choice(4, rows, p=shares))
    temperature, hours = rng.normal(350, 12, rows), rng.gamma(6, 0.5, rows)
    impurity = rng.lognormal(-3, 0.5, rows)
    gain = np.array([1.0, 0.8, 1.2, 0.9])[catalyst]
    gain = gain - 0.25 * there * (event == "catalyst C poisoned") * (catalyst == 2)
    top = 95 * (1 - np.exp(-gain * hours * np.exp((temperature - 350) / 40)))
    noise = 1.5 + 2.0 * (catalyst == 1)
    got = top + noise * rng.normal(size=rows)
    label = np.array(["A", "B", "C", "D"])[catalyst]
    return {"catalyst": label, "temperature": temperature, "hours": hours, "impurity": impurity, "yield_pct": got}


def _queue(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Waiting times with a heavy right side: the mean grows with load over staff."""
    busy = 1.0 + 0.3 * there * (event == "busier days")
    staff = rng.integers(3, 8, rows).astype(float)
    load = rng.gamma(8, 0.25, rows) * busy
    weekday = rng.integers(0, 7, rows).astype(float)
    used = np.minimum(load / staff, 0.95)
    mean = 2 + 12 * used / (1 - used) * (1 + 0.6 * there * (event == "one server slow"))
    wait = mean * rng.gamma(2.0, 0.5, rows)
    return {"staff": staff, "load": load, "weekday": weekday, "minutes": wait}


def _season(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """A state that remembers itself, driven by weather that comes and goes with the day; another season is colder."""
    hour = (np.arange(rows) + rng.integers(24)) % 24
    outside = 10 + 4 * np.sin(2 * np.pi * hour / 24) + 3 * _slow(rng, rows, 0.97)
    outside = outside - 4 * there * (event == "colder season")
    heating = np.clip(8 - 0.4 * outside + 1.5 * rng.normal(size=rows), 0, None)
    wind = rng.gamma(2, 1.5, rows)
    gain = 0.125 - 0.035 * there * (event == "boiler loses power")
    leak = 0.05 + 0.01 * there * (event == "a window stays open") * wind
    room, noise, before = np.empty(rows), 0.15 * rng.normal(size=rows), np.empty(rows)
    state = 20.0
    for row in range(rows):
        before[row] = state
        state = state + leak[row] * (outside[row] - state) + gain[row] * heating[row] + noise[row]
        room[row] = state
    return {"before": before, "outside": outside, "heating": heating, "wind": wind, "hour": 1.0 * hour, "room": room}


def _gauge(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """A level from two gauges, with everything that a gauge can do."""
    pressure = 5 + 1.2 * _slow(rng, rows, 0.8)
    density = 1 + 0.05 * rng.normal(size=rows)
    stir, lamp = rng.uniform(0, 1, rows), rng.normal(size=rows)
    level = 2.0 * pressure / density + 0.8 * stir**2 + 0.4 * rng.normal(size=rows)
    on = there > 0
    if event == "target drifts (ramp)":
        level = level + 1.2 * there
    if event == "target stuck":
        level = np.where(on, level[int(np.argmax(on))], level)
    if event == "target spikes":
        level = level + on * (rng.random(rows) < 0.02) * rng.choice([-40.0, 40.0], rows)
    if event == "an input drifts (ramp)":
        pressure = pressure + 0.8 * there
    if event == "an input stuck":
        pressure = np.where(on, pressure[int(np.argmax(on))], pressure)
    if event == "an input spikes":
        pressure = pressure + on * (rng.random(rows) < 0.02) * 30.0
    missing = rng.random(rows) < 0.02 + 0.15 * there * (event == "gaps of an input")
    pressure = np.where(missing, np.nan, pressure)
    return {"pressure": pressure, "density": density, "stir": stir, "lamp": lamp, "level": level}


def _dryer(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Moisture left by a dryer; the humidity of the hall does nothing, until a door is left open."""
    feed, air = rng.gamma(9, 1.0, rows), rng.normal(110, 8, rows)
    humid = rng.beta(2, 3, rows) + 0.15 * there * (event == "a damp month")
    belt = rng.choice([0.5, 1.0, 1.5, 2.0], rows)
    noise = 0.5 * np.exp(0.5 * (belt - 1)) * rng.normal(size=rows)
    left = 0.6 * feed * belt**0.5 - 0.06 * (air - 110) + noise
    left = left + 4 * there * (event == "door open") * humid
    return {"feed": feed, "air": air, "humid": humid, "belt": belt, "moisture": left}


def _turbine(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Power of a wind turbine: a steep curve that ends at rated power, and noise that is widest in the middle."""
    scale = 7 + 1.5 * there * (event == "windy season")
    wind = scale * rng.weibull(2, rows)
    air, yaw = rng.normal(1.2, 0.04, rows), rng.normal(0, 5, rows)
    curve = 2_000 * expit(1.1 * (wind - 8 - 0.7 * there * (event == "ice on the blades")))
    noise = 20 + 120 * np.exp(-(((wind - 8) / 2) ** 2))
    power = curve * air / 1.2 + noise * rng.normal(size=rows)
    return {"wind": wind, "air": air, "yaw": yaw, "power": power}


def _defects(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Counts of defects per roll."""
    speed, tension = rng.normal(0, 1, rows), rng.normal(0, 1, rows)
    operator = rng.choice(["ann", "bob", "cem"], rows)
    if event == "faster line":
        speed = speed + 0.7 * there
    rate = np.exp(0.6 + 0.45 * speed + 0.4 * there * (event == "dirty rolls"))
    rate = rate * np.exp(0.6 * there * (event == "tension acts") * tension)
    return {"speed": speed, "tension": tension, "operator": operator, "defects": 1.0 * rng.poisson(rate)}


def _quality(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """A label as the target: pass, rework or scrap."""
    heat, dose, age = rng.normal(size=rows), rng.uniform(-1, 1, rows), rng.exponential(1, rows)
    age = age + 0.7 * there * (event == "older stock")
    score = 1.2 * heat - 1.5 * dose * (1 - there * (event == "dose does nothing")) + rng.logistic(size=rows)
    score = score + 1.0 * there * (event == "more scrap")
    return {"heat": heat, "dose": dose, "age": age, "grade": np.array(["pass", "rework", "scrap"])[
        np.digitize(score, [1.0, 2.5])
    ]}  # fmt: skip


def _furnace(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Two targets that share noise, until they no longer do."""
    gas, draught, ore = rng.gamma(20, 0.1, rows), rng.normal(size=rows), rng.normal(size=rows)
    gas = gas + 0.3 * there * (event == "more gas")
    first, own = rng.normal(size=(2, rows))
    tie = 0.8 * (1 - there * (event == "the tie is cut"))
    second = tie * first + np.sqrt(1 - tie**2) * own
    lime = 1.0 - 1.0 * there * (event == "ore acts less on one")
    return {
        "gas": gas,
        "draught": draught,
        "ore": ore,
        "temperature": 30 * gas + 4 * draught + 3 * first,
        "carbon": 2 * np.tanh(ore) * lime + 0.5 * second,
    }


def _valve(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """A valve that sticks in a fifth of the strokes: a law with two humps, and the lower one grows."""
    push, oil, cycle = rng.uniform(1, 3, rows), rng.normal(40, 5, rows), rng.integers(0, 1_000, rows).astype(float)
    push = np.minimum(push * (1 + 0.3 * there * (event == "harder pushes")), 3)
    sticks = rng.random(rows) < 0.2 + 0.25 * there * (event == "sticks more often")
    stroke = 10 * push * np.where(sticks, 0.5, 1.0) + 1.0 * rng.normal(size=rows)
    return {"push": push, "oil": oil, "cycle": cycle, "stroke": stroke}


def _coarse(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Everything is read in coarse steps, and slowly: equal neighbours are nothing new."""
    duty = np.round(5 + 2 * _slow(rng, rows, 0.97))
    water = np.round(12 + 3 * _slow(rng, rows, 0.97), 0)
    lift = 0.5 * there * (event == "half a step higher") + 1.5 * there * (event == "bearing gets hot")
    bearing = np.round((25 + 3 * duty + 0.5 * water + 1.2 * rng.normal(size=rows) + lift * 2) / 2) * 2
    return {"duty": duty, "water": water, "bearing_C": bearing}


def _machines(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Machines with a hidden offset each: new machines are no change."""
    count = max(1, rows // 25)
    machine = np.sort(rng.integers(0, count, rows))
    offset = 0.5 * rng.normal(size=count)[machine]
    load, oil = rng.normal(size=rows), rng.normal(size=rows)
    load = load + 0.6 * there * (event == "heavier loads")
    wear = np.sin(load) + offset + 0.5 * rng.normal(size=rows) + 0.8 * there * (event == "oil acts") * oil
    name = np.array([f"m{rng.integers(10**6)}-{one}" for one in range(count)])[machine]
    return {"machine": name, "load": load, "oil": oil, "wear": wear}


def _pricing(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Prices that multiply, with inputs and noise that are lognormal."""
    area, age = rng.lognormal(4.5, 0.4, rows), rng.gamma(2, 12, rows)
    centre, noise = rng.lognormal(1.0, 0.7, rows), rng.normal(size=rows)
    area = area * (1 + 0.25 * there * (event == "larger houses"))
    power = -0.2 - 0.15 * there * (event == "distance counts more")
    price = 3 * area**0.9 * centre**power * np.exp(-0.004 * age + 0.2 * noise)
    price = price * (1 + 0.12 * there * (event == "all prices rise"))
    return {"area": area, "age": age, "km": centre, "price": price}


def _filter(rows: int, rng: np.random.Generator, event: str, there: np.ndarray) -> dict[str, np.ndarray]:
    """Pressure over a filter: it is the spread that changes, at high flow alone, and a third of the rows is there."""
    flow, dust, batch = rng.triangular(0, 1, 3, rows), rng.exponential(1, rows), rng.normal(size=rows)
    dust = dust * (1 + 0.5 * there * (event == "dusty weeks"))
    rough = 1 + 1.0 * there * (event == "chatter at high flow") * (flow > 1.7)
    loss = 0.8 * flow**2 + 0.3 * np.minimum(dust, 6) + 0.3 * rough * rng.normal(size=rows)
    return {"flow": flow, "dust": dust, "batch": batch, "loss": loss}


RIGS: Mapping[str, Rig] = {
    "pump": Rig(
        _pump,
        ("head_m",),
        {
            NOTHING: HOLDS,
            "slower duty": HOLDS,
            "wear": Event(True, (), ("speed", "flow")),
            "wear (ramp)": Event(True, (), ("speed", "flow")),
        },
    ),
    "heat exchanger": Rig(
        _exchanger,
        ("hot_out",),
        {
            NOTHING: HOLDS,
            "hotter feed": HOLDS,
            "fouling": Event(True, (), ("hot_in", "cold_in", "hot_flow")),
            "fouling (ramp)": Event(True, (), ("hot_in", "cold_in", "hot_flow")),
            "input sensor reads high": Event(True, (), ("hot_in", "cold_in", "hot_flow")),
        },
        "ordered",
    ),
    "batch reactor": Rig(
        _reactor,
        ("yield_pct",),
        {
            NOTHING: HOLDS,
            "other catalysts": HOLDS,
            "catalyst C poisoned": Event(True, ("catalyst",), ("hours", "temperature")),
        },
    ),
    "queue": Rig(
        _queue,
        ("minutes",),
        {NOTHING: HOLDS, "busier days": HOLDS, "one server slow": Event(True, (), ("load", "staff"))},
    ),
    "room": Rig(
        _season,
        ("room",),
        {
            NOTHING: HOLDS,
            "colder season": HOLDS,
            "boiler loses power": Event(True, ("heating",), ("outside", "before", "hour")),
            "a window stays open": Event(True, ("wind",), ("outside", "heating", "before", "hour")),
        },
        "ordered",
    ),
    "gauges": Rig(
        _gauge,
        ("level",),
        {
            NOTHING: HOLDS,
            "target drifts (ramp)": Event(True, (), ()),
            "target stuck": Event(None, faults=(("level", "stuck"),), clean=True),
            "target spikes": Event(None, faults=(("level", "spikes"),)),
            "an input drifts (ramp)": Event(True, (), ("pressure",)),
            "an input stuck": Event(None, faults=(("pressure", "stuck"),), clean=True),
            "an input spikes": Event(False, faults=(("pressure", "spikes"),)),
            "gaps of an input": Event(False, faults=(("pressure", "gaps"),)),
        },
        "ordered",
    ),
    "dryer": Rig(
        _dryer,
        ("moisture",),
        {NOTHING: HOLDS, "a damp month": HOLDS, "door open": Event(True, ("humid",), ())},
    ),
    "wind turbine": Rig(
        _turbine,
        ("power",),
        {NOTHING: HOLDS, "windy season": HOLDS, "ice on the blades": Event(True, (), ("wind",))},
    ),
    "defects": Rig(
        _defects,
        ("defects",),
        {
            NOTHING: HOLDS,
            "faster line": HOLDS,
            "dirty rolls": Event(True, (), ("speed",)),
            "tension acts": Event(True, ("tension",), ("speed",)),
        },
    ),
    "grades": Rig(
        _quality,
        ("grade",),
        {
            NOTHING: HOLDS,
            "older stock": HOLDS,
            "dose does nothing": Event(True, ("dose",), ("heat",)),
            "more scrap": Event(True, (), ("heat", "dose")),
        },
    ),
    "furnace": Rig(
        _furnace,
        ("temperature", "carbon"),
        {
            NOTHING: HOLDS,
            "more gas": HOLDS,
            "the tie is cut": Event(False, pairs=True),
            "ore acts less on one": Event(True, ("ore",), ()),
        },
    ),
    "valve": Rig(
        _valve,
        ("stroke",),
        {NOTHING: HOLDS, "harder pushes": HOLDS, "sticks more often": Event(True, (), ("push",))},
    ),
    "coarse readings": Rig(
        _coarse,
        ("bearing_C",),
        {NOTHING: HOLDS, "half a step higher": Event(True, (), ()), "bearing gets hot": Event(True, (), ())},
        "ordered",
    ),
    "machines": Rig(
        _machines,
        ("wear",),
        {NOTHING: HOLDS, "heavier loads": HOLDS, "oil acts": Event(True, ("oil",), ())},
        "machine",
    ),
    "prices": Rig(
        _pricing,
        ("price",),
        {
            NOTHING: HOLDS,
            "larger houses": HOLDS,
            "distance counts more": Event(True, ("km",), ()),
            "all prices rise": Event(True, (), ("area",)),
        },
    ),
    "filter": Rig(
        _filter,
        ("loss",),
        {NOTHING: HOLDS, "dusty weeks": HOLDS, "chatter at high flow": Event(True, ("flow",), ())},
    ),
}
"""name -> rig"""
