"use strict";
// The laws of the twin, as forebear/twin/spline.py has them: features, one network, a monotone curve of quantiles.

const forebear = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const twin = data.twin;
  const arrays = { f4: Float32Array, f8: Float64Array, i2: Int16Array };

  // Arrays travel as base64 of little-endian numbers.
  function unpack(packed) {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const numbers = Float64Array.from(new arrays[packed.type](bytes.buffer));
    if (packed.scale) {
      const scale = unpack(packed.scale);
      for (let i = 0; i < numbers.length; i++) numbers[i] *= scale[i % scale.length];
    }
    return numbers;
  }

  // Wichura's AS 241: the quantile of the standard normal law, to 1e-16.
  function ndtri(p) {
    const q = p - 0.5;
    if (Math.abs(q) <= 0.425) {
      const r = 0.180625 - q * q;
      const top = ((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r +
        4.5921953931549871457e4) * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r +
        1.3314166789178437745e2) * r + 3.387132872796366608;
      const bottom = ((((((5.226495278852854561e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r +
        2.1213794301586595867e4) * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r +
        4.2313330701600911252e1) * r + 1;
      return q * top / bottom;
    }
    let r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
    let top, bottom;
    if (r <= 5) {
      r -= 1.6;
      top = ((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r +
        1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.76949722146069140550) * r +
        4.63033784615654529590) * r + 1.42343711074968357734;
      bottom = ((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r +
        1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940) * r +
        2.05319162663775882187) * r + 1;
    } else {
      r -= 5;
      top = ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r +
        2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580) * r +
        5.46378491116411436990) * r + 6.65790464350110377720;
      bottom = ((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r +
        1.84631831751005468180e-5) * r +
        7.86869131145613259100e-4) * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r +
        5.99832206555887937690e-1) * r + 1;
    }
    return q < 0 ? -top / bottom : top / bottom;
  }

  // The distribution of the standard normal law, after Hart (1968), to 1e-15.
  function ndtr(x) {
    if (x === Infinity) return 1;
    const a = Math.abs(x);
    let tail = 0;
    if (a < 7.07106781186547) {
      const top = (((((3.52624965998911e-2 * a + 0.700383064443688) * a + 6.37396220353165) * a +
        33.912866078383) * a + 112.079291497871) * a + 221.213596169931) * a + 220.206867912376;
      const bottom = ((((((8.83883476483184e-2 * a + 1.75566716318264) * a + 16.064177579207) * a +
        86.7807322029461) * a + 296.564248779674) * a + 637.333633378831) * a + 793.826512519948) * a +
          440.413735824752;
      tail = Math.exp(-a * a / 2) * top / bottom;
    } else if (a < 37) {
      tail = Math.exp(-a * a / 2) / (a + 1 / (a + 2 / (a + 3 / (a + 4 / (a + 0.65))))) / 2.506628274631;
    }
    return x > 0 ? 1 - tail : tail;
  }

  const activations = {
    silu: (v) => v / (1 + Math.exp(-v)),
    relu: (v) => Math.max(v, 0),
    tanh: Math.tanh,
  };

  const opened = new Map();

  // The law of a target with its numbers unpacked, when it is first asked for.
  function open(target) {
    if (!twin || !Object.hasOwn(twin.laws, target)) throw new Error("no law of '" + target + "' in this page");
    if (!opened.has(target)) {
      const law = twin.laws[target];
      opened.set(target, {
        ...law,
        columns: law.inputs.map((place) => twin.columns[place]),
        weights: law.weights.map(unpack),
        biases: law.biases.map(unpack),
        values: unpack(law.values),
        low: unpack(law.low),
        high: unpack(law.high),
        shift: unpack(law.shift),
      });
    }
    return opened.get(target);
  }

  function number(column, value) {
    if (column.levels.length) {
      const code = typeof value === "string" ? column.levels.indexOf(value) : value;
      if (!(code >= 0 && code < column.levels.length)) throw new Error("'" + column.name + "' has no level " + value);
      return code;
    }
    const real = typeof value === "string" && value.trim() === "" ? NaN : Number(value);
    if (!Number.isFinite(real)) throw new Error("'" + column.name + "' must be a number");
    return real;
  }

  // As `forebear.kinds.kind.curve` has them.
  const curves = {
    line: (x, centre, scale) => (x - centre) / scale,
    cos: (x, centre, scale) => Math.cos(2 * Math.PI * (x - centre) / scale),
    sin: (x, centre, scale) => Math.sin(2 * Math.PI * (x - centre) / scale),
    equal: (x, centre) => x === centre ? 1 : 0,
    step: (x, centre) => x >= centre ? 1 : 0,
    missing: () => 0,  // a page asks for every input
  };

  // Inputs by name, as the network sees them.
  function features(columns, given) {
    const seen = [];
    for (const column of columns) {
      if (!Object.hasOwn(given, column.name)) throw new Error("'" + column.name + "' is not given");
      const value = number(column, given[column.name]);
      for (const [curve, centre, scale, factor] of column.features) seen.push(factor * curves[curve](value, centre, scale));
    }
    return seen;
  }

  function network(law, x) {
    const activate = activations[twin.activation];
    let hidden = Float64Array.from(x);
    law.weights.forEach((weight, layer) => {
      const next = Float64Array.from(law.biases[layer]);
      hidden.forEach((value, from) => {
        for (let to = 0; to < next.length; to++) next[to] += value * weight[from * next.length + to];
      });
      hidden = layer < law.weights.length - 1 ? next.map(activate) : next;
    });
    return hidden;
  }

  // The curve of quantiles of a target at one state: rational quadratics through points (z, y), straight tails.
  const curve = (target, given) => {
    const law = open(target);
    return curveOf(law, network(law, features(law.columns, given)));
  };

  function curveOf(law, out) {
    const reach = law.reach ?? twin.reach;
    const count = (out.length - 1) / 2;
    const steps = Array.from(out.slice(1, count + 1));
    const most = Math.max(...steps);
    const sizes = steps.map((v) => Math.exp(v - most));
    const total = sizes.reduce((sum, v) => sum + v, 0);
    const across = sizes.map((v) => 2 * reach * (twin.leastStep + (1 - count * twin.leastStep) * v / total));
    const up = Array.from(out.slice(count + 1), (v) =>
      2 * reach / count * (twin.leastSlope + 1 + (v > 0 ? v : Math.expm1(v))));
    const z = [-reach];
    const y = [0];
    for (let k = 0; k < count; k++) {
      z.push(z[k] + across[k]);
      y.push(y[k] + up[k]);
    }
    const base = out[0] - y[Math.floor(count / 2)];
    const chords = up.map((rise, k) => rise / across[k]);
    const slopes = [chords[0]];
    for (let k = 1; k < count; k++) slopes.push(2 * chords[k] * chords[k - 1] / (chords[k] + chords[k - 1]));
    slopes.push(chords[count - 1]);
    return { law, z, y: y.map((v) => v + base), chords, slopes };
  }

  function piece(points, at) {
    let k = 0;
    while (k < points.length - 2 && at >= points[k + 1]) k++;
    return k;
  }

  // Height and slope at a latent, on the standardised scale.
  function push(c, at) {
    const k = piece(c.z, at);
    const [left, right, low, high] = [c.z[k], c.z[k + 1], c.y[k], c.y[k + 1]];
    const [chord, start, end] = [c.chords[k], c.slopes[k], c.slopes[k + 1]];
    const share = Math.min(Math.max((at - left) / (right - left), 0), 1);
    const both = share * (1 - share);
    const bend = chord + (start + end - 2 * chord) * both;
    const inside = low + (high - low) * (chord * share * share + start * both) / bend;
    const rising = end * share * share + 2 * chord * both + start * (1 - share) * (1 - share);
    return {
      y: inside + start * Math.min(at - left, 0) + end * Math.max(at - right, 0),
      slope: chord * chord * rising / (bend * bend),
    };
  }

  // The latent of a standardised value.
  function pull(c, value) {
    if (!Number.isFinite(value)) return value;
    const k = piece(c.y, value);
    const [left, right, low, high] = [c.z[k], c.z[k + 1], c.y[k], c.y[k + 1]];
    const [chord, start, end] = [c.chords[k], c.slopes[k], c.slopes[k + 1]];
    const rise = Math.min(Math.max(value - low, 0), high - low);
    const bend = start + end - 2 * chord;
    const a = (high - low) * (chord - start) + rise * bend;
    const b = (high - low) * start - rise * bend;
    const root = Math.sqrt(Math.max(b * b + 4 * a * chord * rise, 0));
    const share = rise === 0 ? 0 : Math.min(Math.max(2 * chord * rise / (b + root), 0), 1);
    return left + (right - left) * share + Math.min(value - low, 0) / start + Math.max(value - high, 0) / end;
  }

  // From the continuous scale to the values of the data; `atom` is its place among the values, or -1.
  function collapse(law, value) {
    if (law.kind === "continuous") return { value, atom: -1 };
    let passed = 0;
    let top = law.high.length;
    while (passed < top) {
      const middle = (passed + top) >> 1;
      if (law.high[middle] <= value) passed = middle + 1;
      else top = middle;
    }
    const here = Math.min(passed, law.values.length - 1);
    if (law.kind === "lattice") return { value: law.values[here], atom: here };
    if (passed < law.values.length && value >= law.low[here]) return { value: law.values[here], atom: here };
    return { value: value - law.shift[passed], atom: -1 };
  }

  function quantile(target, given, levels) {
    const c = curve(target, given);
    const one = (level) => {
      if (!(level > 0 && level < 1)) throw new Error("quantiles must lie strictly between 0 and 1");
      return collapse(c.law, push(c, ndtri(level)).y * c.law.scale + c.law.centre).value;
    };
    return Array.isArray(levels) ? levels.map(one) : one(levels);
  }

  // Values and their probabilities, of a lattice or of the atoms.
  function masses(target, given) {
    const c = curve(target, given);
    const { law } = c;
    return Array.from(law.values, (value, i) => {
      const below = pull(c, (law.low[i] - law.centre) / law.scale);
      const above = pull(c, (law.high[i] - law.centre) / law.scale);
      // From the tail that is nearer, where nothing cancels.
      const p = below + above > 0 ? ndtr(-below) - ndtr(-above) : ndtr(above) - ndtr(below);
      return { value, label: law.levels.length ? law.levels[Math.round(value)] : null, p: Math.max(p, 0) };
    });
  }

  // Points of the continuous part, dense where the curve bends: value, density, the mass up to the next point, and
  // the deviation of a normal law that would be as wide there; null where an atom interrupts it. Of a lattice it is
  // the law before rounding, whose mass in the cell of a value is the value's probability.
  function density(target, given) {
    const c = curve(target, given);
    const { law } = c;
    const points = [];
    const ends = [-4.5, ...c.z.filter((z) => z > -4.5 && z < 4.5), 4.5];
    let before = -1;
    for (let k = 0; k < ends.length - 1; k++) {
      for (let i = 0; i < 24; i++) {
        const z = ends[k] + (ends[k + 1] - ends[k]) * i / 24;
        const at = push(c, z);
        const value = at.y * law.scale + law.centre;
        const there = law.kind === "lattice" ? { value, atom: -1 } : collapse(law, value);
        if (there.atom !== before && points.length) points.push(null);
        before = there.atom;
        const mass = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
        const [deviation, step] = [at.slope * law.scale, (ends[k + 1] - ends[k]) / 24];
        if (there.atom < 0) points.push([there.value, mass / deviation, mass * step, deviation]);
      }
    }
    return points;
  }

  // As Twin.outside: standard deviations beyond the data, of the input that is furthest out; and which are out.
  function outside(target, given) {
    const law = open(target);
    const names = [];
    let furthest = 0;
    for (const column of law.columns) {
      if (column.low === undefined) continue;
      const value = number(column, given[column.name]);
      const beyond = Math.max(column.low - value, value - column.high) / column.scale;
      if (beyond > 0) names.push(column.name);
      furthest = Math.max(furthest, beyond);
    }
    return { furthest, names };
  }

  // The joint law: target after target, each network sees the inputs and the targets before its own.
  const joint = data.joint && { ...data.joint, laws: data.joint.laws.map((law) => ({ ...law,
    weights: law.weights.map(unpack), biases: law.biases.map(unpack), values: unpack(law.values),
    low: unpack(law.low), high: unpack(law.high), shift: unpack(law.shift) })) };

  // One draw of all targets of the joint law, from a standard normal latent each.
  function together(given, z) {
    const seen = features(joint.columns, given);
    const y = joint.laws.map(() => 0);
    joint.laws.forEach((law, i) => { y[i] = push(curveOf(law, network(law, [...seen, ...y])), z[i]).y; });
    return joint.laws.map((law, i) => collapse(law, y[i] * law.scale + law.centre).value);
  }

  const far = (a, b) => a.reduce((sum, v, i) => sum + (v - b[i]) ** 2, 0);

  // Some rows of the data, as a target sees them, and how far apart rows commonly are.
  function neighbours(target) {
    const law = open(target);
    if (!law.rows) {
      const [rows, width] = twin.rows.shape;
      const numbers = unpack(twin.rows);
      // Rows with a gap in an input of this target have no place among the others.
      const whole = Array.from({ length: rows }, (_, r) => r)
        .filter((r) => law.inputs.every((place) => Number.isFinite(numbers[r * width + place])));
      law.rows = whole.map((r) => features(law.columns,
        Object.fromEntries(law.inputs.map((place, i) => [law.columns[i].name, numbers[r * width + place]]))));
      const gaps = law.rows.map((row, r) => law.rows.reduce((least, other, o) =>
        o === r ? least : Math.min(least, far(row, other)), Infinity));
      gaps.sort((a, b) => a - b);
      law.gap = gaps[Math.floor(0.99 * (gaps.length - 1))];
      law.alone = Object.fromEntries(law.inputs.map((place, i) => [law.columns[i].name, Array.from({ length: rows },
        (_, r) => numbers[r * width + place]).filter(Number.isFinite).sort((a, b) => a - b)]));
    }
    return law;
  }

  // Whether no row of the data is near this combination of inputs: nearer than rows commonly are to each other.
  function lonely(target, given) {
    const law = neighbours(target);
    if (law.columns.length < 2) return false;
    const here = features(law.columns, given);
    return law.rows.reduce((least, row) => Math.min(least, far(here, row)), Infinity) > 2.25 * law.gap;
  }

  // As `near_data` of forebear/twin/sweep.py: near in all inputs together, and in one of them alone.
  function near(target, given, column) {
    const own = neighbours(target).alone[column.name];
    if (column.low !== undefined && own.length) {
      const at = (level) => own[Math.round(level * (own.length - 1))];
      const value = given[column.name];
      const least = own.reduce((best, known) => Math.min(best, Math.abs(known - value)), Infinity);
      if (least > (at(0.95) - at(0.05)) / 16) return false;
    }
    return !lonely(target, given);
  }

  const unit = (target) => twin && Object.hasOwn(twin.laws, target) ? twin.laws[target].unit : "";
  const targets = data.targets.map((target) => target.name);
  return { data, twin, joint, together, targets, open, quantile, masses, density, outside, lonely, near, far, features,
    unpack, unit, normal: { ndtr, ndtri } };
})();
window.forebear = forebear;
