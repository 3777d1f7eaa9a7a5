"use strict";
// Fan charts: the law of a target along one input, the others as the sliders have them; rows of the data as points.

const fans = (() => {
  const { el, svg, fmt, percent, cut, plot, line, figure, fileName, room } = charts;
  const { data } = forebear;
  const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];
  const [STOPS, MOST, MOST_LABELS, BEYOND] = [61, 6, 5, 0.5];
  const points = data.points && Object.fromEntries(
    Object.entries(data.points.columns).map(([name, packed]) => [name, forebear.unpack(packed)]));

  const FINE = Array.from({ length: 39 }, (_, i) => (i + 1) / 40);
  const WINDOW = 4;

  // As forebear/twin/peaks.py: the share of the law below the trough between two peaks; null where it has one peak.
  function trough(quantiles) {
    const whole = quantiles[quantiles.length - 1] - quantiles[0];
    const widths = quantiles.slice(WINDOW).map((v, i) => Math.max(v - quantiles[i], 1e-12 * (whole + 1e-300)));
    const least = (values) => {
      let best = Infinity;
      return values.map((v) => (best = Math.min(best, v)));
    };
    const [before, after] = [least(widths), least([...widths].reverse()).reverse()];
    const thin = widths.map((v, i) => v / Math.max(before[i], after[i]));
    const most = Math.max(...thin);
    return most >= 1.6 ? FINE[thin.indexOf(most) + WINDOW / 2] : null;
  }

  // Quartiles to draw: of the whole law, or, where it has two peaks, of either side.
  function middles(target, law, here, found) {
    if (law.kind !== "continuous") return [found.slice(1, 4)];
    const share = trough(forebear.quantile(target, here, FINE));
    if (share === null) return [found.slice(1, 4)];
    const inside = [0.25, 0.5, 0.75];
    return [inside.map((v) => share * v), inside.map((v) => share + (1 - share) * v)]
      .map((levels) => forebear.quantile(target, here, levels));
  }

  // Where to look along an input, as `stops` of forebear/twin/sweep.py has it.
  function stops(column) {
    if (column.levels.length) return column.levels.map((_, code) => code);
    const turn = column.widget === "dial";
    const low = turn ? column.from : Math.max(column.from, column.low);
    const high = turn ? column.from + column.period : Math.min(column.to, column.high);
    const values = column.values;
    if (values) return values;
    return Array.from({ length: STOPS }, (_, i) => low + (high - low) * i / (STOPS - 1));
  }

  // A hole of a few stops between others is chance: the data is no comb.
  const HOLE = 4;
  function filled(way) {
    const known = way.map(({ seen }, i) => seen ? i : -1).filter((i) => i >= 0);
    known.forEach((here, k) => {
      const next = known[k + 1];
      if (next - here <= HOLE) for (let i = here + 1; i < next; i++) way[i].seen = true;
    });
    return way;
  }

  // The law at every stop: quantiles, or of a category the chances of its labels; and whether any row is near.
  function along(target, law, column, given) {
    const way = stops(column).map((at) => {
      const here = { ...given, [column.name]: at };
      const seen = forebear.near(target, here, column);
      const found = law.levels.length ? forebear.masses(target, here).map(({ p }) => p)
        : forebear.quantile(target, here, LEVELS);
      return { at, seen, found, middle: law.levels.length ? [] : middles(target, law, here, found) };
    });
    return column.levels.length ? way : filled(way);
  }

  // Stretches of stops at which the data lies.
  function runs(way) {
    const found = [[]];
    for (const stop of way) {
      if (stop.seen) found[found.length - 1].push(stop);
      else if (found[found.length - 1].length) found.push([]);
    }
    return found.filter((run) => run.length);
  }

  // Rows whose other inputs are near the setting are drawn in full, the rest faintly.
  function cloud(target, law, column, given) {
    if (!points || !points[target] || law.levels.length) return [];
    const others = law.columns.filter((own) => own !== column);
    const rows = Array.from(points[target], (y, row) => ({ x: points[column.name][row], y, row }))
      .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
    const here = forebear.features(others, given);
    const gaps = rows.map(({ row }) => {
      const own = Object.fromEntries(others.map(({ name }) => [name, points[name][row]]));
      return others.every(({ name }) => Number.isFinite(own[name]))
        ? forebear.far(forebear.features(others, own), here) : Infinity;
    });
    const near = [...gaps].sort((a, b) => a - b)[Math.floor(0.25 * gaps.length)];
    return rows.map((row, place) => ({ ...row, near: !others.length || gaps[place] <= near }));
  }

  const jitter = (row) => ((row * 0.61803398875) % 1 - 0.5) * 0.34;

  function bounds(law, way, dots) {
    if (law.levels.length) return [0, 1.02];
    const shown = way.filter(({ seen }) => seen);
    const ends = (shown.length ? shown : way).flatMap(({ found }) => [found[0], found[4]]);
    // A few rows elsewhere must not press the law flat, nor must a few that are near and far out, as in a long tail.
    const [bottom, top] = [Math.min(...ends), Math.max(...ends)];
    const room = top > bottom ? BEYOND * (top - bottom) : Infinity;
    const held = (value) => Math.min(Math.max(value, bottom - room), top + room);
    const seen = dots.filter(({ near }) => near).map(({ y }) => y).sort((a, b) => a - b);
    if (seen.length) {
      ends.push(held(seen[Math.floor(0.005 * seen.length)]), held(seen[Math.ceil(0.995 * (seen.length - 1))]));
    }
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const margin = 0.05 * (high - low) || 0.5;
    return [low - margin, high + margin];
  }

  function drawing(target, column, given, wide) {
    const law = forebear.open(target);
    const way = along(target, law, column, given);
    const labels = column.levels;
    const dots = cloud(target, law, column, given);
    const y = bounds(law, way, dots);
    const x = labels.length ? [-0.6, labels.length - 0.4] : [way[0].at, way[way.length - 1].at];
    const turn = column.widget === "dial";
    const quarter = turn && [0, 1, 2, 3, 4].map((part) => x[0] + (x[1] - x[0]) * part / 4);
    const every = Math.ceil(labels.length / 8);
    const unit = column.unit ? ` (${column.unit})` : "";
    const p = plot({ width: wide, height: Math.round(Math.min(0.66 * wide, 250)), left: 52, right: 12, top: 10,
      bottom: 42, x, y, xLabel: cut(column.name, 36) + unit,
      xTicks: labels.length ? labels.map((_, i) => i).filter((i) => i % every === 0) : quarter || undefined,
      xText: labels.length ? (i) => cut(labels[i], Math.max(4, Math.floor(wide / 8 / Math.min(labels.length, 8)))) : fmt,
      yLabel: law.levels.length ? "probability" : cut(target, 26) + (law.unit ? ` (${law.unit})` : ""),
      yText: law.levels.length ? percent : fmt,
      label: `${target} along ${column.name}: ${law.levels.length ? "probability of its labels"
        : "median, middle half and 90% range"}` });
    const id = `clip-fan-${forebear.targets.indexOf(target)}-${law.columns.indexOf(column)}`;
    p.root.prepend(svg("clipPath", { id },
      svg("rect", { x: p.left, y: p.top, width: p.width - p.left - p.right, height: p.floor - p.top })));
    p.body.setAttribute("clip-path", `url(#${id})`);
    const marker = svg("line", { class: "now", x1: p.X(given[column.name]), x2: p.X(given[column.name]), y1: p.top,
      y2: p.floor });
    if (law.levels.length) shares(p, law, column, way);
    else if (labels.length) boxes(p, way, dots);
    else bands(p, way, dots);
    p.body.append(marker);
    return p.root;
  }

  function specks(p, dots, shift) {
    for (const { x, y, row, near } of dots) {
      p.body.append(svg("circle", { class: near ? "row near" : "row", cx: p.X(x + shift(row)), cy: p.Y(y), r: 1.9 }));
    }
  }

  // A stretch with as many peaks throughout.
  function alike(run) {
    const found = [];
    for (const stop of run) {
      const last = found[found.length - 1];
      if (last && last[0].middle.length === stop.middle.length) last.push(stop);
      else found.push(last ? [last[last.length - 1], stop].filter((own) => own.middle.length === stop.middle.length)
        : [stop]);
    }
    return found;
  }

  const area = (p, run, low, high) => {
    const upper = run.map((stop) => [p.X(stop.at), p.Y(high(stop))]);
    const lower = run.map((stop) => [p.X(stop.at), p.Y(low(stop))]).reverse();
    return line([...upper, ...lower]) + "Z";
  };

  function bands(p, way, dots) {
    const parts = runs(way).flatMap((run) => alike(run));
    for (const run of runs(way)) p.body.append(svg("path", { class: "fan ninety",
      d: area(p, run, ({ found }) => found[0], ({ found }) => found[4]) }));
    for (const run of parts) run[0].middle.forEach((_, side) => p.body.append(svg("path", { class: side ? "fan half two"
      : "fan half",
      d: area(p, run, ({ middle }) => middle[side][0], ({ middle }) => middle[side][2]) })));
    specks(p, dots, () => 0);
    for (const run of parts) run[0].middle.forEach((_, side) => p.body.append(svg("path", { class: "fan middle",
      d: line(run.map(({ at, middle }) => [p.X(at), p.Y(middle[side][1])])) })));
  }

  function boxes(p, way, dots) {
    const half = Math.min(22, 0.3 * (p.X(1) - p.X(0)));
    const shown = way.filter(({ seen }) => seen);
    const box = (name, at, low, high) => svg("rect", { class: `fan ${name}`, x: p.X(at) - half, width: 2 * half,
      y: p.Y(high), height: Math.max(p.Y(low) - p.Y(high), 0.5) });
    for (const { at, found, middle } of shown) {
      p.body.append(box("ninety", at, found[0], found[4]), 
        ...middle.map(([low, , high], side) => box(side ? "half two" : "half", at, low, high)));
    }
    specks(p, dots, jitter);
    for (const { at, middle } of shown) p.body.append(...middle.map(([, own]) => svg("path", { class: "fan middle",
      d: `M${p.X(at) - half} ${p.Y(own)}h${2 * half}` })));
  }

  // Of a category: a line for each of the labels whose chances move most.
  const moving = (law, way) => law.levels.map((label, i) => {
    const all = way.map(({ found }) => found[i]);
    return { label, i, by: Math.max(...all) - Math.min(...all) };
  }).sort((a, b) => b.by - a.by).slice(0, MOST_LABELS).sort((a, b) => a.i - b.i);

  function shares(p, law, column, way) {
    moving(law, way).forEach(({ label, i }, series) => {
      for (const run of runs(way)) {
        const d = line(run.map(({ at, found }) => [p.X(at), p.Y(found[i])]));
        if (run.length > 1) p.body.append(svg("path", { class: `curve s${series}`, d }, svg("title", {}, label)));
        if (column.levels.length || run.length === 1) for (const { at, found } of run) {
          p.body.append(svg("circle", { class: `dot s${series}`, cx: p.X(at), cy: p.Y(found[i]), r: 4 },
            svg("title", {}, `${label}: ${percent(found[i])}`)));
        }
      }
    });
  }

  const sample = (name) => el("span", { class: `swatch ${name}`, "aria-hidden": "true" });

  function legend(law, two) {
    if (law.levels.length) return null;
    return el("p", { class: "legend fans-legend" },
      el("span", { class: "entry" }, sample("middle"), "median"),
      el("span", { class: "entry" }, sample("half"), "middle half"),
      two && el("span", {}, "(where the law has two peaks: of each of them)"),
      el("span", { class: "entry" }, sample("ninety"), "90% range"),
      points && el("span", { class: "entry" }, sample("dots"), "rows of the data",
        law.columns.length > 1 && "; strong where their other inputs are near this setting"),
      el("span", { class: "entry" }, sample("now"), "the slider"));
  }

  const said = (parts) => parts.map((part) => typeof part === "string" ? part : el("b", {}, part.name));

  // One chart for each input, those that act most first; `show` draws them at a setting.
  function build(target, told) {
    const law = forebear.open(target);
    if (!law.columns.length) return null;
    const order = told.acts.map(({ input }) => input);
    const place = ({ name }) => order.includes(name) ? order.indexOf(name) : order.length;
    const columns = [...law.columns].sort((a, b) => place(a) - place(b));
    const wide = room(columns.length > 1 ? 356 : 640);
    let last = null;
    const make = (column) => {
      // What the first sentence of the page has not room for stands below its chart.
      const act = told.acts.find(({ input }, rank) => input === column.name && rank >= 3);
      const way = law.levels.length ? moving(law, along(target, law, column, explorer.values)) : [];
      const note = law.levels.length ? el("span", { class: "legend" }, way.map(({ label }, series) =>
        el("span", { class: "entry" }, el("span", { class: `key s${series}`, "aria-hidden": "true" }), cut(label, 24))))
        : act ? el("span", {}, said(act.sentence)) : null;
      const holder = figure(`Along ${cut(column.name, 40)}`, note, svg("svg", { viewBox: `0 0 ${wide} 200` }),
        fileName("fan", target, column.name));
      return { column, holder };
    };
    const shown = columns.slice(0, MOST).map(make);
    const box = el("div", { class: "fans" }, shown.map(({ holder }) => holder));
    const draw = ({ column, holder }) =>
      holder.querySelector(".drawing").replaceChildren(drawing(target, column, last, wide));
    const key = el("div", {}, legend(law, false));
    const show = (given) => {
      last = given;
      shown.forEach(draw);
      const two = box.querySelector(".two") !== null;
      if (two !== key.classList.contains("peaks")) key.replaceChildren(...[legend(law, two)].filter(Boolean));
      key.classList.toggle("peaks", two);
    };
    const rest = columns.slice(MOST);
    const more = rest.length > 0 && el("button", { type: "button", class: "more", onclick: () => {
      const added = rest.map(make);
      shown.push(...added);
      box.append(...added.map(({ holder }) => holder));
      added.forEach(draw);
      more.remove();
    } }, `Show the other ${rest.length}`);
    return { box: el("div", { class: "along" }, key, box, more), show };
  }

  // On paper: the charts of a target at typical values.
  function still(target) {
    const law = forebear.open(target.name);
    const given = Object.fromEntries(law.columns.map((column) => [column.name, column.start]));
    const way = build(target.name, target);
    if (way) way.show(given);
    return way && way.box;
  }

  return { build, still, along };
})();
