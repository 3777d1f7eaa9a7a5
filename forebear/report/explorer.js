"use strict";
// What if: sliders for the inputs of a target, and its law at once; settings can be pinned and compared.

const explorer = (() => {
  const { el, svg, fmt, percent, cut, broken, plot, line, figure, scroller, fileName, room } = charts;
  const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];
  const MOST_PINS = 4;
  const MOST_BARS = 40;
  // Values rounded to so many steps are drawn as a curve: bars would show nothing but which values the data lacks.
  const MOST_VALUES = 100;
  const isFine = (law) => law.kind === "lattice" && !law.levels.length && law.values.length > MOST_VALUES;
  const columns = forebear.twin ? forebear.twin.columns : [];
  // One state for the whole page: a setting stays when another target is looked at.
  const values = Object.fromEntries(columns.map((column) => [column.name, column.start]));
  const pins = [];

  const short = (column, value) => column.levels.length ? column.levels[value] : fmt(value, 4) +
    (column.unit ? " " + column.unit : "");
  const words = (law, given) => law.columns.map((c) => `${c.name} = ${short(c, given[c.name])}`).join(", ")
    || "whatever the inputs";

  // A number as people type it: with a decimal point or comma, spaces or marks between thousands, any minus sign.
  function read(text) {
    let plain = text.trim().replace(/[\u2212\u2013]/g, "-").replace(/[\s\u202f\u00a0'\u2019]/g, "");
    const [comma, point] = [plain.lastIndexOf(","), plain.lastIndexOf(".")];
    if (comma >= 0 && point >= 0) plain = plain.replace(comma > point ? /\./g : /,/g, "");
    else if (plain.split(",").length > 2) plain = plain.replace(/,/g, "");
    plain = plain.replace(",", ".");
    return plain === "" ? NaN : Number(plain);
  }

  // Views of the same values, on one target and on all: where one moves a slider the other follows.
  const views = {};

  function control(column, changed, prefix = "input") {
    const id = `${prefix}-${columns.findIndex(({ name }) => name === column.name)}`;
    const name = el("label", { for: id }, broken(column.name),
      column.unit && el("span", { class: "unit" }, " " + column.unit));
    if (column.widget === "choices") {
      const choice = el("select", { id, onchange: () => { values[column.name] = Number(choice.value); changed(); } },
        column.levels.map((level, place) => el("option", { value: place, selected: place === values[column.name] },
          level)));
      return el("div", { class: "control" }, name, choice);
    }
    const slider = el("input", { type: "range", id, min: column.from, max: column.to, step: column.step });
    const box = el("input", { type: "text", inputmode: "decimal", class: "exact", autocomplete: "off",
      spellcheck: "false", "aria-label": column.name + ", exact value" });
    const angle = column.widget === "dial" ? el("span", {}) : null;
    const show = () => {
      slider.value = String(values[column.name]);
      if (document.activeElement !== box) box.value = String(values[column.name]);
      slider.setAttribute("aria-valuetext", short(column, values[column.name]));
      const degrees = Math.round(360 * values[column.name] / column.period);
      if (angle) angle.textContent = `${degrees}°, one turn is ${fmt(column.period, 5)}`.replace("-", "−");
    };
    const set = (value) => { values[column.name] = value; show(); changed(); };
    slider.addEventListener("input", () => set(Number(Number(slider.value).toPrecision(10))));
    box.addEventListener("input", () => {
      const value = read(box.value);
      box.setAttribute("aria-invalid", String(!Number.isFinite(value)));
      if (Number.isFinite(value)) set(value);
    });
    box.addEventListener("blur", () => { box.setAttribute("aria-invalid", "false"); show(); });
    show();
    const marks = column.low !== undefined ? el("div", { class: "ends" },
      el("span", {}, "data from " + fmt(column.low, 3)), el("span", {}, "to " + fmt(column.high, 3)))
        : el("div", { class: "ends" }, angle);
    return el("div", { class: "control" }, el("div", { class: "row" }, name, box), slider, marks);
  }

  // The law stays in sight on a phone while the sliders below it move.
  const wide = () => room(720);
  const tall = () => wide() < 480 ? 190 : 300;

  // Where the law is bounded on the page: the data's stretch, and more if a setting needs it.
  function axis(target, law, settings) {
    let [low, high] = law.axis;
    for (const { given } of settings) {
      const [a, b] = forebear.quantile(target, given, [0.01, 0.99]);
      low = Math.min(low, a);
      high = Math.max(high, b);
    }
    return [low, high];
  }

  // A network of few points has kinks that mean nothing: every bit of mass is spread by a fifth of the deviation of
  // the narrowest fifth of the law, or by the distance to the next bit where that is more.
  function smooth(points) {
    let sum = 0;
    const [, , , narrow] = [...points].sort((a, b) => a[3] - b[3]).find((point) => (sum += point[2]) >= 0.2);
    const bits = points.map(([y, d, mass]) => ({ y, mass, h: Math.max(0.2 * narrow, mass / d) }));
    const at = (y) => bits.reduce((total, bit) => {
      const z = (y - bit.y) / bit.h;
      return Math.abs(z) > 5 ? total : total + bit.mass / bit.h * Math.exp(-z * z / 2);
    }, 0) / Math.sqrt(2 * Math.PI);
    return points.map(([y, , mass]) => [y, at(y), mass]);
  }

  // High enough for the bulk of every law; a needle is cut rather than making all else flat.
  function ceiling(lines) {
    let most = 0;
    for (const points of lines) {
      const kept = points.filter(Boolean).sort((a, b) => a[1] - b[1]);
      const total = kept.reduce((sum, point) => sum + point[2], 0);
      let sum = 0;
      const bulk = kept.find((point) => (sum += point[2]) >= 0.9 * total);
      if (bulk) most = Math.max(most, Math.min(kept[kept.length - 1][1], 2.2 * bulk[1]));
    }
    return 1.06 * most || 1;
  }

  function strips(p, target, settings) {
    settings.forEach(({ given, series }, place) => {
      const q = forebear.quantile(target, given, LEVELS);
      const y = p.floor + 34 + 16 * place;
      const clip = (v) => Math.min(Math.max(p.X(v), p.left), p.width - p.right);
      p.root.append(
        svg("line", { class: `thin s${series}`, x1: clip(q[0]), x2: clip(q[4]), y1: y, y2: y }),
        svg("line", { class: `thick s${series}`, x1: clip(q[1]), x2: clip(q[3]), y1: y, y2: y }),
        svg("circle", { class: `dot s${series}`, cx: clip(q[2]), cy: y, r: 4.5 },
          svg("title", {}, LEVELS.map((l, i) => `${percent(l)}: ${fmt(q[i], 4)}`).join("\n"))));
    });
  }

  function drawDensity(target, law, settings) {
    const exact = settings.map(({ given }) => forebear.density(target, given));
    const lines = law.kind !== "atoms" ? exact.map(smooth) : exact;
    const x = axis(target, law, settings);
    const y = [0, ceiling(lines)];
    const unit = law.unit ? `${target} (${law.unit})` : target;
    const p = plot({ width: wide(), height: tall() + 16 * settings.length, left: 56, bottom: 58 + 16 * settings.length, x,
      y,
      xLabel: cut(unit, 60), yLabel: "density", label: `Conditional law of ${target}` });
    const window_ = ([v]) => v >= x[0] - (x[1] - x[0]) && v <= x[1] + (x[1] - x[0]);
    const id = "clip-law";
    p.root.prepend(svg("clipPath", { id },
      svg("rect", { x: p.left, y: p.top, width: p.width - p.left - p.right, height: p.floor - p.top })));
    p.body.setAttribute("clip-path", `url(#${id})`);
    lines.forEach((points, place) => {
      const { series } = settings[place];
      const runs = points.reduce((found, point) => {
        if (point === null) found.push([]);
        else if (window_(point)) found[found.length - 1].push([p.X(point[0]), p.Y(Math.min(point[1], 4 * y[1]))]);
        return found;
      }, [[]]).filter((run) => run.length > 1);
      for (const run of runs) {
        if (series === 0) p.body.append(svg("path", { class: "area s0",
          d: `${line(run)}L${run[run.length - 1][0].toFixed(2)} ${p.floor}L${run[0][0].toFixed(2)} ${p.floor}Z` }));
        p.body.append(svg("path", { class: `curve s${series}`, d: line(run) }));
      }
    });
    if (law.kind === "atoms") drawAtoms(p, target, settings);
    strips(p, target, settings);
    return p.root;
  }

  // An atom has a probability, not a density: a stem as high as its share of the plot.
  function drawAtoms(p, target, settings) {
    settings.forEach(({ given, series }, place) => {
      for (const { value, p: mass } of forebear.masses(target, given)) {
        const x = p.X(value) + 4 * place;
        const top = p.floor - mass * (p.floor - p.top - 16);
        p.root.append(svg("line", { class: `stem s${series}`, x1: x, x2: x, y1: p.floor, y2: top }),
          svg("circle", { class: `dot s${series}`, cx: x, cy: top, r: 4 }));
        if (place === 0 && mass > 0.005) {
          const near = x > p.width - 150;
          p.root.append(svg("text", { class: "note", x: x + (near ? -8 : 8), y: Math.max(top + 4, p.top + 10),
            "text-anchor": near ? "end" : "start" },
              `${percent(mass, mass < 0.1 ? 1 : 0)} at exactly ${fmt(value)}`));
        }
      }
    });
  }

  // Where bars stand, and which places are named: labels side by side, numbers where they lie, with room for values
  // that the data skips. Numbers that lie very unevenly stand side by side too.
  function places(masses, names) {
    const [count, most] = [masses.length, wide() < 480 ? 8 : 16];
    const values = masses.map(({ value }) => value);
    const step = Math.min(...values.slice(1).map((value, i) => value - values[i]));
    const steps = count > 1 ? Math.round((values[count - 1] - values[0]) / step) : 0;
    if (masses.some(({ label }) => label !== null) || count < 2 || steps > 2 * count + 10) {
      const every = Math.ceil(count / most);
      return { at: names.map((_, i) => i), step: 1, text: (i) => names[i],
        marks: names.map((_, i) => i).filter((i) => i % every === 0) };
    }
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((k) => (steps + 1) / k <= most) || steps;
    const first = Math.round(values[0] / step);
    const marks = Array.from({ length: steps + 1 }, (_, i) => i).filter((i) => (first + i) % every === 0);
    return { at: values, step, marks: marks.map((i) => values[0] + i * step), text: (value) => fmt(value, 4) };
  }

  function drawBars(target, law, settings) {
    const all = settings.map(({ given }) => forebear.masses(target, given));
    // Of a long lattice, the stretch that holds the laws.
    let [from, to] = [0, all[0].length - 1];
    if (all[0].length > MOST_BARS) {
      const [low, high] = axis(target, law, settings);
      const inside = all[0].map(({ value }) => value >= low && value <= high);
      [from, to] = [Math.max(inside.indexOf(true), 0), Math.max(inside.lastIndexOf(true), 0)];
    }
    const shown = all.map((masses) => masses.slice(from, to + 1));
    const count = shown[0].length;
    const most = Math.max(...shown.flat().map(({ p }) => p));
    const names = shown[0].map(({ value, label }) => label === null ? fmt(value, 4) : label);
    const { at, step, marks, text } = places(shown[0], names);
    const letters = Math.floor((wide() - 70) / Math.max(marks.length, 1) / 7);
    const p = plot({ width: wide(), height: tall() + 4, left: 56, x: [at[0] - 0.6 * step, at[count - 1] + 0.6 * step],
      y: [0, Math.min(1, 1.1 * most) || 1], xLabel: cut(target, 60), yLabel: "probability", xTicks: marks,
      xText: (x) => cut(text(x), Math.max(letters, 4)), label: `Conditional law of ${target}` });
    const width = (p.X(step) - p.X(0)) * (count > MOST_BARS ? 0.95 : 0.72) / settings.length;
    shown.forEach((masses, place) => {
      const { series } = settings[place];
      masses.forEach(({ p: mass }, i) => {
        const x = p.X(at[i]) + (place - settings.length / 2) * width;
        p.body.append(svg("rect", { class: `bar-fill s${series}`, x, y: p.Y(mass), width: Math.max(width - 1, 0.5),
          height: p.floor - p.Y(mass) },
          svg("title", {}, `${names[i]}: ${percent(mass, 1)}`)));
        if (settings.length * count <= wide() / 50) p.body.append(svg("text",
          { class: "tick", x: x + width / 2, y: p.Y(mass) - 4,
          "text-anchor": "middle" }, percent(mass, mass < 0.1 ? 1 : 0)));
      });
    });
    return p.root;
  }

  // The same latents at every setting, spread evenly: a cloud that moves with the sliders and does not flicker.
  const CLOUD = 300;
  let latents = null;
  function cloud(given) {
    const count = forebear.joint.targets.length;
    if (!latents) {
      // Steps by powers of the root of x^(count + 1) = x + 1 fill a cube evenly (Roberts' sequence).
      let root = 2;
      for (let i = 0; i < 40; i++) root = (1 + root) ** (1 / (count + 1));
      latents = Array.from({ length: CLOUD }, (_, n) => Array.from({ length: count }, (__, i) =>
        forebear.normal.ndtri(Math.min(Math.max((0.5 + (n + 1) / root ** (i + 1)) % 1, 1e-4), 1 - 1e-4))));
    }
    return latents.map((z) => forebear.together(given, z));
  }

  function correlation(a, b) {
    const mean = (v) => v.reduce((sum, x) => sum + x, 0) / v.length;
    const [ma, mb] = [mean(a), mean(b)];
    const product = (u, mu, v, mv) => u.reduce((sum, x, i) => sum + (x - mu) * (v[i] - mv), 0);
    return product(a, ma, b, mb) / Math.sqrt(product(a, ma, a, ma) * product(b, mb, b, mb));
  }

  // Draws of two targets together, at every setting.
  function drawTogether(target, other, settings) {
    const places = [target, other].map((name) => forebear.joint.targets.indexOf(name));
    const clouds = settings.map(({ given }) => cloud(given).map((y) => places.map((place) => y[place])));
    const laws = [target, other].map((name) => forebear.open(name));
    const ends = laws.map((law, i) => {
      const [low, high] = axis([target, other][i], law, settings);
      return law.levels.length ? [-0.5, law.levels.length - 0.5] : [low, high];
    });
    const [xTicks, yTicks] = laws.map(({ levels }) => levels.length ? levels.map((_, i) => i) : undefined);
    const [xText, yText] = laws.map(({ levels }) => levels.length ? (i) => cut(levels[i], 8) : fmt);
    const p = plot({ width: wide(), height: Math.min(380, wide()), left: 62, x: ends[0], y: ends[1], xLabel: cut(target, 60), xTicks, yTicks,
      xText, yText, yLabel: cut(other, 40), label: `Draws of ${target} and ${other} together` });
    clouds.forEach((points, place) => {
      const { series } = settings[place];
      for (const [a, b] of points) {
        if (a < ends[0][0] || a > ends[0][1] || b < ends[1][0] || b > ends[1][1]) continue;
        p.body.append(svg("circle", { class: `speck s${series}`, cx: p.X(a), cy: p.Y(b), r: series ? 2.2 : 2.8 }));
      }
    });
    const said = clouds.map((points) => fmt(correlation(points.map(([a]) => a), points.map(([, b]) => b)), 2));
    return { root: p.root, said };
  }

  // Beside the law of the target: how it moves together with another one, where the model is joint.
  function pair(target) {
    if (!forebear.joint || !forebear.joint.targets.includes(target)) return null;
    const others = forebear.joint.targets.filter((name) => name !== target);
    const choice = el("select", { "aria-label": "Together with" },
      others.map((name) => el("option", { value: name }, cut(name, 60))));
    const told = el("p", { class: "muted" });
    const holder = figure("Together with another target", `${CLOUD} draws of both at each setting, from the joint ` +
      "law; the same latents everywhere.", svg("svg", { viewBox: "0 0 720 380" }), fileName("together", target));
    let last = null;
    function show(settings) {
      last = settings;
      const { root, said } = drawTogether(target, choice.value, settings);
      holder.querySelector(".drawing").replaceChildren(root);
      told.textContent = `Correlation of these draws: ${said.join(", ")}` +
        (said.length > 1 ? " (the sliders first, then what is pinned)." : ".");
    }
    choice.addEventListener("change", () => last && show(last));
    return { box: el("div", { class: "together" }, el("p", {}, "Together with ", choice), holder, told), show };
  }

  const hasBars = (law) => law.kind === "lattice" && !isFine(law);
  const draw = (target, law, settings) => (hasBars(law) ? drawBars : drawDensity)(target, law, settings);

  // To a thousandth of the spread of the law or better: what is less is nothing beside it.
  function quantiles(target, given) {
    const found = forebear.quantile(target, given, LEVELS);
    const spread = found[found.length - 1] - found[0];
    if (!(spread > 0)) return found.map((v) => fmt(v, 4));
    const places = Math.min(Math.max(3 - Math.floor(Math.log10(spread)), 0), 12);
    return found.map((v) => {
      const said = Number(v.toFixed(places));
      return fmt(said, said === 0 ? 1 : Math.max(Math.floor(Math.log10(Math.abs(said))) + 1 + places, 1));
    });
  }

  function numbers(target, law, settings, remove) {
    const labels = law.levels.length > 0;
    const heads = labels ? law.levels.slice(0, 8).map((level) => cut(level, 14))
      : LEVELS.map((level) => percent(level));
    const atoms = law.kind === "atoms" ? Array.from(law.values) : [];
    const cells = (given) => labels ? forebear.masses(target, given).slice(0, 8).map(({ p }) => percent(p, 1))
      : [...quantiles(target, given),
        ...(atoms.length ? forebear.masses(target, given).slice(0, 3).map(({ p }) => percent(p, 1)) : [])];
    const row = ({ given, series, pin }) => el("tr", {},
      el("th", { scope: "row", class: "left" }, el("span", { class: `key s${series}`, "aria-hidden": "true" }),
        pin ? words(law, given) : el("strong", {}, words(law, given))),
      cells(given).map((text) => el("td", {}, text)),
      el("td", { class: "act" },
        pin && el("button", { type: "button", class: "small", "aria-label": "Remove the setting " + words(law, given),
        onclick: () => remove(pin) }, "✕")));
    return scroller("Quantiles of " + target, el("table", { class: "numbers" },
      el("caption", {}, labels ? "Probability of each label" : "Quantiles of " + target),
      el("thead", {}, el("tr", {}, el("th", { class: "left", scope: "col" }, "setting"),
        heads.map((h) => el("th", { scope: "col" }, h)),
        atoms.slice(0, 3).map((v) => el("th", { scope: "col" }, `exactly ${fmt(v)}`)),
          el("th", {}, el("span", { class: "hidden" }, "remove")))),
      el("tbody", {}, settings.map(row))));
  }

  function warning(target, given) {
    const out = forebear.outside(target, given);
    if (out.names.length) {
      const verb = out.names.length > 1 ? "lie" : "lies";
      return `Outside the data: ${out.names.join(", ")} ${verb} beyond every row, by ` +
        `${fmt(out.furthest, 2)} standard deviations. The curve is an extrapolation.`;
    }
    if (forebear.lonely(target,
      given)) return "No row of the data is near this combination. The curve is an extrapolation.";
    return "";
  }

  function build(target, told) {
    if (!forebear.twin) return missing();
    const law = forebear.open(target);
    const status = el("p", { class: "status", role: "status" });
    const holder = figure("Conditional law of " + target, hasBars(law) ? null :
      "Under the curve: the median (dot), the middle half (thick) and the middle 90% (thin) of each setting." +
      (isFine(law) ? " The data is rounded; the curve is the law before rounding, smoothed a little." : "") +
      (law.kind === "continuous" ? " The curve is smoothed a little, these are not." : ""),
      svg("svg", { viewBox: "0 0 720 340" }), fileName("law", target));
    const under = el("div", {});
    const both = pair(target);
    const ways = fans.build(target, told);
    const pinButton = el("button", { type: "button", onclick: () => {
      const free = [1, 2, 3, 4].find((series) => !pins.some((pin) => pin.series === series));
      pins.push({ given: { ...values }, series: free });
      now();
    } }, "Pin this setting");
    const reset = el("button", { type: "button", onclick: () => {
      for (const column of law.columns) values[column.name] = column.start;
      views.one();
      views.all?.();
    } }, "Back to typical values");

    function now() {
      const settings = [{ given: values, series: 0 }, ...pins.map((pin) => ({ ...pin, pin }))];
      holder.querySelector(".drawing").replaceChildren(draw(target, law, settings));
      under.replaceChildren(numbers(target, law, settings,
        (pin) => { pins.splice(pins.indexOf(pin), 1); now(); pinButton.focus(); }));
      if (both) both.show(settings);
      if (ways) ways.show(values);
      const said = warning(target, values);
      if (status.textContent !== said) status.textContent = said;
      status.classList.toggle("on", said !== "");
      pinButton.disabled = pins.length >= MOST_PINS;
    }
    let waiting = false;
    function redraw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; now(); views.all?.(); });
    }
    views.one = () => {
      sliders.replaceChildren(...law.columns.map((column) => control(column, redraw)));
      now();
    };
    const sliders = el("div", { class: "sliders" }, law.columns.map((column) => control(column, redraw)));
    if (!law.columns.length) sliders.append(el("p", {}, "No input was found to shape this target: one law for all."));
    now();
    return el("div", { class: "explorer" },
      el("div", { class: "law" }, holder),
      el("div", { class: "controls" }, sliders, law.columns.length > 0 && el("div", { class: "buttons" }, pinButton,
        reset), status),
      el("div", { class: "view" }, ways && ways.box, under, both && both.box));
  }

  const missing = () => el("p", { class: "muted" }, forebear.data.hasTable
    ? "This page was made without a twin. found.report(\"report.html\", twin=True) fits one, and then the inputs " +
      "can be moved here."
    : "This result was saved without its table, so no twin could be fitted. Discover again, or pass a twin: " +
      "found.report(\"report.html\", twin=twin).");

  return { build, control, values, views, read };
})();
