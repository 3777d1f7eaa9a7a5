// Draws as a picture: bars for labels and steps, a histogram with a density for what is continuous.

const SPACE = "http://www.w3.org/2000/svg";
const HEIGHT = 230, BOTTOM = 40, TOP = 10, SIDE = 14;

function svg(name, attributes, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

export function short(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

export function picture(place, law, width) {
  const root = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": law.told });
  const few = law.labels ?? distinct(law.draws);
  (few ? bars : histogram)(root, law, width, few);
  place.replaceChildren(root);
}

// Whole numbers with few values are counts: each has a bar of its own.
function distinct(draws) {
  if (!draws.every(Number.isInteger)) return null;
  const values = [...new Set(draws)].sort((a, b) => a - b);
  return values.length <= 40 ? values : null;
}

function bars(root, law, width, values) {
  const counts = new Map(values.map((value) => [value, 0]));
  for (const draw of law.draws) counts.set(draw, (counts.get(draw) ?? 0) + 1);
  const highest = Math.max(...counts.values(), 1), each = (width - 2 * SIDE) / values.length;
  const every = Math.max(1, Math.ceil((values.length * (law.labels ? 90 : 34)) / (width - 2 * SIDE)));
  values.forEach((value, place) => {
    const high = ((HEIGHT - TOP - BOTTOM) * counts.get(value)) / highest;
    const x = SIDE + each * place;
    root.append(svg("rect", { class: "bar", x: x + each * 0.1, y: HEIGHT - BOTTOM - high, width: each * 0.8, height: high }));
    if (place % every === 0) {
      const text = short(value);
      root.append(svg("text", { x: x + each / 2, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" },
        text.length > 14 ? `${text.slice(0, 13)}…` : text));
    }
  });
  root.append(svg("line", { class: "axis", x1: SIDE, x2: width - SIDE, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }));
  if (!law.labels && typeof law.mean === "number" && values.length > 1) {
    const along = (value) => {
      const next = values.findIndex((one) => one >= value);
      if (next <= 0) return SIDE + each * ((next < 0 ? values.length - 1 : 0) + 0.5);
      const share = (value - values[next - 1]) / (values[next] - values[next - 1]);
      return SIDE + each * (next - 1 + share + 0.5);
    };
    marks(root, law, along);
  }
}

function histogram(root, law, width) {
  const [low, high] = law.domain, span = high - low || 1;
  const along = (value) => SIDE + ((width - 2 * SIDE) * (Math.min(Math.max(value, low), high) - low)) / span;
  const count = Math.max(12, Math.min(60, Math.round(Math.sqrt(law.draws.length)))), counts = new Array(count).fill(0);
  for (const draw of law.draws) {
    if (draw >= low && draw <= high) counts[Math.min(count - 1, Math.floor((count * (draw - low)) / span))] += 1;
  }
  const smooth = density(law.draws, low, high), most = law.draws.length * (span / count);
  const highest = Math.max(...counts.map((c) => c / most), ...smooth.map((point) => point[1]));
  const up = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / (highest || 1);
  counts.forEach((c, place) => {
    const x = along(low + (span * place) / count), y = up(c / most);
    root.append(svg("rect", { class: "bar", x, y, width: Math.max(0, along(low + (span * (place + 1)) / count) - x - 1),
      height: HEIGHT - BOTTOM - y }));
  });
  root.append(svg("path", { class: "density", d: smooth.map(([x, y], i) => `${i ? "L" : "M"}${along(x).toFixed(1)} ${up(y).toFixed(1)}`).join("") }));
  root.append(svg("line", { class: "axis", x1: SIDE, x2: width - SIDE, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }));
  for (const tick of ticks(low, high, width)) {
    root.append(svg("line", { class: "axis", x1: along(tick), x2: along(tick), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5 }));
    root.append(svg("text", { x: along(tick), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, short(tick)));
  }
  marks(root, law, along);
}

function marks(root, law, along) {
  const floor = HEIGHT - 8;
  if (typeof law.low === "number" && typeof law.high === "number") {
    root.append(svg("line", { class: "interval", x1: along(law.low), x2: along(law.high), y1: floor, y2: floor }));
  }
  if (typeof law.mean === "number") {
    root.append(svg("line", { class: "mean", x1: along(law.mean), x2: along(law.mean), y1: TOP, y2: floor + 5 }));
  }
}

// A kernel density with Silverman's width, from a few hundred of the draws.
function density(draws, low, high) {
  const some = draws.filter((_, place) => place % Math.ceil(draws.length / 800) === 0).sort((a, b) => a - b);
  const mean = some.reduce((sum, x) => sum + x, 0) / some.length;
  const deviation = Math.sqrt(some.reduce((sum, x) => sum + (x - mean) ** 2, 0) / some.length);
  const quarter = some[Math.floor(0.75 * (some.length - 1))] - some[Math.floor(0.25 * (some.length - 1))];
  const spread = Math.min(deviation, quarter / 1.34 || deviation);
  if (!(spread > 0) || some.length < 20) return [];
  const width = 0.9 * spread * some.length ** -0.2, points = 120;
  return Array.from({ length: points + 1 }, (_, i) => {
    const x = low + ((high - low) * i) / points;
    const sum = some.reduce((total, draw) => total + Math.exp(-0.5 * ((x - draw) / width) ** 2), 0);
    return [x, sum / (some.length * width * Math.sqrt(2 * Math.PI))];
  });
}

function ticks(low, high, width) {
  const rough = ((high - low) * 80) / width, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10), found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9 * step; tick += step) found.push(Number(tick.toPrecision(10)));
  return found;
}
