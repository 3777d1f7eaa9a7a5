"use strict";
// What is known of one target: certificate, how its ancestors act, path, scores, calibration.

const evidence = (() => {
  const { el, svg, fmt, count, percent, pText, cut, plot, line, figure, table, fileName, room } = charts;
  const { data } = forebear;
  const ACTIONS = ["location", "scale", "shape", "dependence"];
  const NAMES = { location: "level", scale: "spread", shape: "shape", dependence: "with others" };
  const pSaid = (p) => p < 1e-4 ? "p " + pText(p) : "p = " + pText(p);

  function pathFigure(target) {
    const { path } = target;
    const steps = path.nsr.map((_, i) => i);
    const named = steps.length <= 24;
    const labels = ["all", ...path.removed.map((unit) => "− " + unit)];
    const slanted = named && labels.reduce((sum, text) => sum + text.length + 2, 0) * 6.4 > room(520) - 80;
    const most = Math.max(...labels.map((text) => Math.min(text.length, 16)));
    const bottom = !named ? 44 : slanted ? 24 + 4.6 * most : 30;
    const p = plot({ height: 236 + bottom, bottom, x: [-0.4, steps.length - 0.6], y: [0, 1.03],
      yTicks: [0, 0.25, 0.5, 0.75, 1],
      yLabel: "noise / (signal + noise)", xLabel: named ? null : "inputs removed", xTicks: named ? [] : undefined,
        label: `Pruning path of ${target.name}` });
    if (named) steps.forEach((step) =>
      p.root.append(svg("text",
      { class: "tick", x: p.X(step), y: p.floor + 17, "text-anchor": slanted ? "end" : "middle",
      transform: slanted ? `rotate(-35 ${p.X(step)} ${p.floor + 17})` : null }, cut(labels[step], 16),
        svg("title", {}, labels[step]))));
    const width = Math.min(26, 0.5 * (p.X(1) - p.X(0)));
    steps.slice(1).forEach((step) => {
      const rise = Math.max(path.nsr[step] - path.nsr[step - 1], 0);
      p.body.append(svg("rect", { class: "rise", x: p.X(step) - width / 2, y: p.Y(rise), width,
        height: p.floor - p.Y(rise) }));
    });
    for (const other of path.others) p.body.append(svg("path",
      { class: "run", d: line(other.map((v, i) => [p.X(i), p.Y(v)])) }));
    p.body.append(svg("path", { class: "walk", d: line(path.nsr.map((v, i) => [p.X(i), p.Y(v)])) }));
    path.nsr.forEach((v, i) =>
      p.body.append(svg("circle", { class: path.enough[i] ? "enough" : "short", cx: p.X(i), cy: p.Y(v), r: 4.5 },
      svg("title", {}, `${labels[i]}: ${fmt(v)}`))));
    const last = path.enough.lastIndexOf(true);
    if (path.units.length - last === path.chosen.length) {
      p.body.prepend(svg("line", { class: "chosen", x1: p.X(last), x2: p.X(last), y1: p.top, y2: p.floor }));
    }
    return figure("Pruning path",
      "Noise-to-signal ratio as the least telling input goes, one by one; bars are the increments. " +
      "Blue dots still hold every chosen input." + (path.others.length ? " Thin lines are the other runs." : ""),
      p.root, fileName("path", target.name));
  }

  // How many letters of a name fit into the room beside the bars; none is wider than an em, most are half of it.
  const letters = (width) => Math.floor((width - 12) / 7.6);

  function scoresFigure(target) {
    const { path } = target;
    const all = path.units.map((unit, i) =>
      ({ unit, score: path.scores[0][i] || 0, chosen: path.chosen.includes(unit) }));
    const ranked = all.sort((a, b) => b.score - a.score);
    const shown = ranked.slice(0, 20);
    const [width, row] = [room(520), 24];
    const left = Math.min(170, Math.round(0.4 * width));
    const height = row * shown.length + 12;
    const most = Math.max(...shown.map((r) => r.score), 1e-9);
    const root = svg("svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Scores of the candidates of ${target.name}` });
    shown.forEach(({ unit, score, chosen }, i) => {
      const y = 8 + row * i;
      const length = score / most * (width - left - 64);
      root.append(svg("text", { class: "name", x: left - 8, y: y + 14, "text-anchor": "end" }, cut(unit, letters(left)),
        svg("title", {}, unit)),
        svg("rect", { class: chosen ? "enough" : "gone", x: left, y: y + 3, width: Math.max(length, 1),
          height: row - 9 }),
        svg("text", { class: "tick", x: left + Math.max(length, 1) + 6, y: y + 14 }, fmt(score)));
    });
    root.append(svg("line", { class: "axis", x1: left, x2: left, y1: 4, y2: height - 2 }));
    const share = path.scored === "variation" ? "Share of the fit's variation that goes through each input"
      : "Share of the signal through each input";
    return figure("Scores", share + " while all are there; blue ones were chosen." +
      (ranked.length > shown.length ? ` The first 20 of ${ranked.length}.` : ""), root,
        fileName("scores", target.name));
  }

  function stepsTable(target) {
    const { path } = target;
    const rows = path.nsr.map((nsr, step) =>
      ({ step, removed: step ? path.removed[step - 1] : "", nsr, rise: step ? nsr - path.nsr[step - 1] : null,
      scores: path.scores[step] || null, mark: path.enough[step] && !path.enough[step + 1] ? "kept" : null }));
    const plain = [
      { title: "step", value: (r) => r.step },
      { title: "removed", left: true, value: (r) => r.removed, text: (r) => r.removed || "–" },
      { title: "NSR", hint: "noise / (signal + noise)", value: (r) => r.nsr, text: (r) => fmt(r.nsr, 4) },
      { title: "increment", hint: "what the removal added to the NSR", value: (r) => r.rise,
        text: (r) => fmt(r.rise, 2) },
    ];
    const scores = path.units.map((unit, i) =>
      ({ title: cut(unit, 14), hint: `score of ${unit}`, value: (r) => r.scores && r.scores[i],
      text: (r) => r.scores ? fmt(r.scores[i]) : "–" }));
    const scored = path.scores.length > 1 && path.units.length <= 24;
    return el("div", { class: "card" }, el("p", { class: "title" }, "Step by step"), table(plain, rows, { sort: 0, label: `Pruning path of ${target.name}, step by step` }),
      scored && el("details", {}, el("summary", {}, "Scores at every step"),
        table([plain[0], ...scores], rows, { sort: 0, label: `Scores for ${target.name} at every step` })));
  }

  // Shares as they are said: two digits.
  const share = (value) => value === null ? "–"
    : value >= 0.0995 ? percent(value) : value < 5e-7 ? "0" : fmt(100 * value, 2) + "%";

  // From an effect to its limit, on an axis of roots, which is one of shifts; the broken line is the margin.
  function interval(row, margin) {
    const [width, height] = [160, 18];
    const X = (v) => 4 + Math.sqrt(Math.min(Math.max(v, 0), 1)) * (width - 8);
    const middle = height / 2;
    const look = row.kept ? "s0" : row.limit > margin ? "s1" : "gone";
    return svg("svg", { class: "interval", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
      "aria-label": `${share(row.effect)}, at most ${share(row.limit)}` },
      svg("line", { class: "axis", x1: 4, x2: width - 4, y1: height - 1, y2: height - 1 }),
      svg("line", { class: "margin", x1: X(margin), x2: X(margin), y1: 0, y2: height }),
      svg("line", { class: "whisker " + look, x1: X(row.effect), x2: X(row.limit), y1: middle, y2: middle }),
      svg("line", { class: "whisker " + look, x1: X(row.limit), x2: X(row.limit), y1: middle - 4, y2: middle + 4 }),
      svg("circle", { class: "seen " + look, cx: X(row.effect), cy: middle, r: 3.5 }));
  }

  function verdictOf(row, c) {
    if (row.kept) return row.p < c.level ? "needed" : "kept";
    if (c.negligible.includes(row.unit)) return "negligible";
    if (!c.passes && row.p * c.rows.length < c.level) return "still shows";
    return row.limit > c.margin ? "cannot tell" : "not needed";
  }

  // Whether the rows that are tested had a part in choosing the set.
  function whoChose(c) {
    if (!c.halves || !c.halves.length) return c.fresh ? "none of which the search had read."
      : "which the search had read as well: there are too few to set others aside.";
    if (c.fresh) return "either half of which finds this set alone and tests the other's choice.";
    const found = c.halves.map(names => names.length ? `{${names.join(", ")}}` : "nothing");
    return "which the search had read as well. The halves of these rows, each alone, find " +
      (found[0] === found[1] ? `${found[0]}.` : `${found.join(" and ")}.`);
  }

  // What the table below it rests on.
  function basis(c) {
    const lines = [];
    if (c.jointly) {
      const most = c.jointly.limit >= 1 ? "what they could still explain cannot be told"
        : `they could still explain at most ${share(c.jointly.limit)} of what is left open (95% limit)`;
      lines.push(`All removed inputs together, with their pairs and whatever trees learn from them: ` +
        `${pSaid(c.jointly.p)}; ${most}.`);
    }
    lines.push(c.agrees ? "Every search ended in this set."
      : "Not every search ended in this set: of those where they ended, it was chosen by size and held-out score.");
    if (c.tested) lines.push(`Tested on ${count(c.tested)} rows, ${whoChose(c)}`);
    lines.push(`Rows were taken as ${data.structure.kind}. Level ${fmt(c.level)}, over all removed inputs; ` +
      `margin ${share(c.margin)} of what is left open.`);
    return lines;
  }

  const RANK = ["needed", "kept", "still shows", "cannot tell", "stands in", "negligible", "not needed"];
  const MOST_ROWS = 12;

  // Needed inputs first, each with what can stand in for it; then those that are nearest to needed.
  function ordered(rows, classes) {
    const limit = (row) => row.limit === null ? 1 : row.limit;
    const sorted = [...rows].sort((a, b) => RANK.indexOf(a.verdict) - RANK.indexOf(b.verdict) ||
      (a.kept ? (b.effect || 0) - (a.effect || 0) : limit(b) - limit(a)));
    const after = new Map(classes.map(([name, ...others]) => [name, others]));
    const moved = new Set(classes.flatMap(([, ...others]) => others));
    return sorted.filter(({ unit }) => !moved.has(unit)).flatMap((row) => [row,
      ...(after.get(row.unit) || []).map((name) => rows.find(({ unit }) => unit === name)).filter(Boolean)])
      .map((row, place) => ({ ...row, place }));
  }

  const VERDICTS = {
    "needed": "without it the law is another", "kept": "kept, for what it adds on rows not seen or by a close call",
    "still shows": "left out, and yet it shows in the law: something is missing",
    "cannot tell": "these rows cannot rule it out", "stands in": "would do in the place of the input above it",
    "negligible": "it shows, but too weakly to count", "not needed": "what it could still explain is below the margin",
  };

  function certificate(target) {
    const c = target.certificate;
    if (!c) return [el("p", { class: "muted" },
      "The rule that was used makes no certificate. discover(…, rule=\"certified\") does.")];
    const instead = new Set(target.classes.flatMap(([, ...others]) => others));
    const rows = ordered(c.rows.map((r) => ({ ...r, mark: r.kept ? "kept" : instead.has(r.unit) ? "stand-in" : null,
      verdict: instead.has(r.unit) && !r.kept ? "stands in" : verdictOf(r, c) })), target.classes);
    // As the twin has it, or as the name ends with it, in brackets.
    const unit = forebear.unit(target.name) || (/[([]([^()[\]]{1,12})[)\]]$/.exec(target.name) || ["", ""])[1].trim();
    const main = [
      { title: "input", left: true, value: (r) => r.unit,
        text: (r) => r.mark === "stand-in" ? [el("span", { class: "instead", "aria-hidden": "true" }, "└ or "), r.unit]
          : r.unit },
      { title: "verdict", left: true, value: (r) => RANK.indexOf(r.verdict),
        text: (r) => el("abbr", { title: VERDICTS[r.verdict] }, r.verdict) },
      { title: "what it explains, to its limit", left: true, value: (r) => r.limit,
        hint: "from what was seen to the 95% limit, against the margin, which is the broken line",
        text: (r) => interval(r, c.margin) },
      { title: "at most", hint: "95% upper limit on the share of what the chosen inputs leave open that it explains",
        value: (r) => r.limit, text: (r) => r.limit >= 1 ? "–" : share(r.limit) },
      { title: unit ? `in ${unit}` : "in units", hint: `about how far the limit could move ${target.name}`,
        value: (r) => r.limitUnits, text: (r) => r.limit >= 1 ? "–" : fmt(r.limitUnits, 2) },
      { title: "p", value: (r) => r.p, text: (r) => pText(r.p), hint: "the chance of as clear a sign if the input " +
        "did nothing; of a needed input, when it alone is taken out" },
    ];
    const more = [
      { title: "seen", hint: "share of what the chosen inputs leave open that it explains", value: (r) => r.effect,
        text: (r) => share(r.effect) },
      { title: "could be seen", hint: "the effect that would have been found four times out of five",
        value: (r) => r.detectable, text: (r) => r.detectable >= 1 ? "–" : share(r.detectable) },
      { title: "|t|", hint: "the largest statistic", value: (r) => r.statistic, text: (r) => fmt(r.statistic) },
      { title: "seen in", left: true, hint: "the side of the law that shows it most", value: (r) => SIDES[r.moves] },
    ];
    return [finder(main, more, rows, `Inputs of ${target.name}: which are needed`),
      el("p", { class: "muted" }, basis(c).join(" ")), words(rows, c)];
  }

  const SIDES = { location: "its level", scale: "its spread", shape: "its shape" };

  // A table with a box to search it, and columns that are there when asked for.
  function finder(main, more, rows, caption) {
    const holder = el("div", {});
    const state = { text: "", all: rows.length <= MOST_ROWS + 3, wide: false };
    const shown = el("span", { class: "muted", role: "status" });
    const search = el("input", { type: "search", placeholder: "Find an input or a verdict",
      "aria-label": "Find an input or a verdict", oninput: () => { state.text = search.value; fill(); } });
    const columns = el("button", { type: "button", "aria-pressed": "false", onclick: () => {
      state.wide = !state.wide;
      columns.setAttribute("aria-pressed", String(state.wide));
      fill();
    } }, "More columns");
    const open = el("button", { type: "button", onclick: () => { state.all = true; fill(); } },
      `Show all ${rows.length}`);
    function fill() {
      const wanted = state.text.trim().toLowerCase();
      const found = rows.filter((r) => [r.unit, r.verdict].some((text) => text.toLowerCase().includes(wanted)));
      const few = state.all || wanted ? found : found.slice(0, Math.max(MOST_ROWS, rows.filter((r) => r.kept).length));
      holder.replaceChildren(table(state.wide ? [...main, ...more] : main, few, { label: caption }));
      shown.textContent = few.length < rows.length ? `${few.length} of ${rows.length}` : "";
      open.hidden = few.length === rows.length || wanted !== "";
    }
    fill();
    return el("div", { class: "evidence" }, el("div", { class: "finder" }, rows.length > 8 && search, shown, columns),
      holder, open);
  }

  function words(rows, c) {
    const told = [...new Set(rows.map(({ verdict }) => verdict))].map((verdict) => [verdict, VERDICTS[verdict]]);
    return glossary("What the words in this table mean", [...told,
      ["what is left open", "how much the target still scatters once the chosen inputs are known"],
      ["at most", "the 95% limit: were the input to explain more, 19 samples out of 20 would show it"],
      ["margin", `an input that explains less than ${share(c.margin)} of what is left open does not count as needed`],
      ["p", "the chance of as clear a sign as was seen if the input did nothing at all"]]);
  }

  const glossary = (title, pairs) => el("details", { class: "words" }, el("summary", {}, title),
    el("dl", {}, pairs.map(([word, text]) => el("div", {}, el("dt", {}, word), el("dd", {}, text)))));

  function cost(target) {
    const c = target.cost;
    if (!c) return [];
    const fixed = (v) => v !== 0 && Math.abs(v) < 5e-4 ? fmt(v, 1) : v.toFixed(3).replace("-", "−");
    const rows = c.scores.map((row) => ({ ...row, said: `${fixed(row.low)} to ${fixed(row.high)}` }));
    const scores = table([
      { title: "loss", left: true, value: (r) => r.score },
      { title: "chosen", hint: "the law on the chosen inputs", value: (r) => r.pruned, text: (r) => fixed(r.pruned) },
      { title: "all", hint: "the law on all candidates", value: (r) => r.full, text: (r) => fixed(r.full) },
      { title: "difference", hint: "above 0 where pruning costs something", value: (r) => r.difference,
        text: (r) => fixed(r.difference) },
      { title: "95% interval", value: (r) => r.low, text: (r) => r.said },
    ], rows, { label: `Losses of laws of ${target.name}` });
    const told = el("p", { class: "muted" }, "Of laws on rows that they have not seen, in standard deviations of " +
      "the target: the negative logarithm of the density, and the CRPS. Lower is better.");
    const none = everyOneKept(target) && el("p", {}, "Nothing here: the search removed no candidate.");
    const left = [el("div", { class: none ? "card short" : "card" }, none || [scores, told], enough(target))];
    return [el("h3", { class: "part" }, "What pruning costs"),
      el("div", { class: "pair" }, left, c.curve.length > 2 && curveFigure(target))];
  }

  function enough(target) {
    const few = target.cost.enough;
    if (!few) return null;
    const all = target.cost.curve[0].kept.length;
    const carry = few.kept.length === 1 ? "carries" : "carry";
    const carried = `${few.kept.length} of these ${all} ${carry} ${percent(Math.min(few.share, 1), 1)}`;
    return el("p", {}, el("b", {}, carried),
      ` of what they bring together, by the density of rows not seen: ${few.kept.join(", ")}.`);
  }

  function curveFigure(target) {
    const points = [...target.cost.curve].reverse();
    const shares = points.map((point) => point.share);
    const most = points.length - 1;
    const added = points.map(({ kept }, i) => i ? kept.find((name) => !points[i - 1].kept.includes(name)) : "none");
    const named = most <= 12;
    const labels = added.map((name, i) => cut(i ? "+ " + name : name, 16));
    const slanted = labels.reduce((sum, text) => sum + text.length + 2, 0) * 6.4 > room(520) - 80;
    const longest = Math.max(...labels.map((text) => text.length));
    const p = plot({ height: 260, bottom: !named ? 44 : slanted ? 24 + 4.6 * longest : 30, x: [-0.3, most + 0.3],
      y: [Math.min(0, ...shares), Math.max(1.03, ...shares)], xTicks: named ? [] : undefined,
      xLabel: named ? null : "inputs", yLabel: "share of what all bring", yText: percent, left: 62,
      label: `Score of laws of ${target.name} on fewer inputs` });
    if (named) labels.forEach((text, i) => p.root.append(svg("text", { class: "tick", x: p.X(i), y: p.floor + 17,
      "text-anchor": slanted ? "end" : "middle",
      transform: slanted ? `rotate(-35 ${p.X(i)} ${p.floor + 17})` : null }, text, svg("title", {}, added[i]))));
    p.body.append(svg("path", { class: "walk", d: line(shares.map((v, i) => [p.X(i), p.Y(v)])) }));
    shares.forEach((v, i) => p.body.append(svg("circle", { class: "enough", cx: p.X(i), cy: p.Y(v), r: 4.5 },
      svg("title", {}, `${points[i].kept.join(", ") || "none"}: ${percent(v, 1)}`))));
    return figure("How few would do?", "Score of laws on some of the chosen inputs: 0% is none of them, 100% all.",
      p.root, fileName("curve", target.name));
  }

  function actionsFigure(target) {
    const rows = target.effects;
    const seen = ACTIONS.filter((action) => action !== "dependence" || rows.some((r) => r.dependence > 0));
    const [width, row] = [room(520), 30];
    const left = Math.min(170, Math.round(0.4 * width));
    const height = row * rows.length + 34;
    const root = svg("svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `How each ancestor of ${target.name} acts` });
    rows.forEach((r, i) => {
      const y = 6 + row * i;
      root.append(svg("text", { class: "name", x: left - 8, y: y + 17, "text-anchor": "end" }, cut(r.unit, letters(left)),
        svg("title", {}, r.unit)));
      let x = left;
      for (const action of seen) {
        const size = r[action] * (width - left - 12);
        root.append(svg("rect", { class: `share ${action}`, x, y: y + 3, width: Math.max(size - 1, 0),
          height: row - 8 }, svg("title", {}, `${action}: ${percent(r[action])}`)));
        if (size > 34) root.append(svg("text",
          { class: `onbar on-${action}`, x: x + size / 2, y: y + 17, "text-anchor": "middle" }, percent(r[action])));
        x += size;
      }
      if (seen.every((action) => !r[action])) root.append(svg("text", { class: "tick", x: left + 4, y: y + 17 },
        "nothing seen"));
    });
    let x = left;
    for (const action of seen) {
      root.append(svg("rect", { class: `share ${action}`, x, y: height - 20, width: 12, height: 12 }),
        svg("text", { class: "tick", x: x + 17, y: height - 10 }, NAMES[action]));
      x += 17 + 7 * NAMES[action].length + 14;
    }
    return figure("What each input moves",
      "Shares of what it does to the law: its level (location), its spread (scale), the rest (its shape).", root,
      fileName("actions", target.name));
  }

  function pitFigure(target) {
    const c = target.calibration;
    const bins = c.pit.length;
    const heights = c.pit.map((count) => count * bins / c.rows);
    const band = 1.96 * Math.sqrt(bins / c.rows);
    const p = plot({ height: 250, x: [0, 1], y: [0, 1.08 * Math.max(1 + band, ...heights)],
      xLabel: "place of the observation in its law (PIT)", yLabel: "density",
      xTicks: [0, 0.25, 0.5, 0.75, 1], label: `PIT histogram of ${target.name}` });
    p.body.append(svg("rect", { class: "band", x: p.X(0), width: p.X(1) - p.X(0), y: p.Y(1 + band),
      height: p.Y(Math.max(1 - band, 0)) - p.Y(1 + band) }));
    heights.forEach((v, i) =>
      p.body.append(svg("rect", { class: "bar-fill s0", x: p.X(i / bins) + 0.5, width: p.X(1 / bins) - p.X(0) - 1,
      y: p.Y(v), height: p.floor - p.Y(v) })));
    p.body.append(svg("line", { class: "walk", x1: p.X(0), x2: p.X(1), y1: p.Y(1), y2: p.Y(1) }));
    return figure("Is it calibrated?", "Flat when the law is right; the band holds 95% of the bars of a law that is.",
      p.root, fileName("pit", target.name));
  }

  function coverageFigure(target) {
    const c = target.calibration;
    const p = plot({ height: 250, x: [0, 1], y: [0, 1], xLabel: "level of the central interval",
      yLabel: "share of rows inside", xTicks: [0, 0.25, 0.5, 0.75, 1],
      yTicks: [0, 0.25, 0.5, 0.75, 1], xText: percent, yText: percent, left: 58, right: 22,
        label: `Coverage of ${target.name}` });
    p.body.append(svg("line", { class: "run", x1: p.X(0), y1: p.Y(0), x2: p.X(1), y2: p.Y(1) }),
      svg("path", { class: "curve s0", d: line(c.curve.map((v, i) => [p.X(i / (c.curve.length - 1)), p.Y(v)])) }));
    return figure("Do its intervals cover?",
      c.coverage.map(([level, share]) => `${percent(share, 1)} in the ${percent(level)} interval`).join(", ") + ".",
      p.root, fileName("coverage", target.name));
  }

  function calibration(target) {
    const c = target.calibration;
    if (!c) return [];
    const lines = [`Judged on ${count(data.judged.rows)} ${data.judged.what}.`,
      `CRPS ${fmt(c.crps)} (95% interval ${fmt(c.crpsInterval[0])} to ${fmt(c.crpsInterval[1])}), ` +
      `where the target's standard deviation is ${fmt(c.std)}.`];
    if (c.independenceP !== null) {
      const doubt = c.independenceP < 0.001 ? ", a sign that these laws still miss something" : "";
      lines.push(`Latents against the inputs: ${pSaid(c.independenceP)}${doubt}.`);
    }
    if (target.student !== null) {
      lines.push(`The network in this page is ${fmt(target.student, 2)} standard deviations from the flow that ` +
        "taught it (Wasserstein-1).");
    }
    return [el("h3", { class: "part" }, "Is the law right?"),
      el("div", { class: "pair" }, pitFigure(target), coverageFigure(target)), el("p", {}, lines.join(" ")),
      everyOneKept(target) ? null : pruned(c)];
  }

  const everyOneKept = (target) => Boolean(target.certificate) && target.certificate.rows.every((row) => row.kept);

  function pruned(c) {
    if (c.worseInterval === null) return null;
    const most = Math.max(c.worseInterval[1], 0);
    const worse = `worse than the one on all candidates by at most ${fmt(most)} in CRPS`;
    const verdict = c.worseInterval[1] < 0 ? "better than the one on all candidates"
      : `${worse}, ${percent(most / c.crps, 1)} of it`;
    return el("p", {}, el("b", {}, "Pruned against full. "), `The law on the ancestors alone is ${verdict} ` +
      `(difference ${fmt(c.worse)}, 95% interval ${fmt(c.worseInterval[0])} to ${fmt(c.worseInterval[1])}).`);
  }

  // The path and its scores: by variation a ranking worth reading, by energy the published method's own view.
  function pathAndScores(target) {
    const [title, told] = target.path.scored === "variation" ? ["Pruning path and scores", byVariation()]
      : ["The published method's view: pruning path and scores", byEnergy(target)];
    return el("details", { class: "published" }, el("summary", {}, title),
      el("p", { class: "muted" }, "Inputs are removed one by one, the least telling first, and the rise of the noise " +
        "says when to stop. " + told),
      el("div", { class: "pair" }, scoresFigure(target), pathFigure(target)), stepsTable(target));
  }

  function byVariation() {
    return "A score is what the fit would lose, as a share of its variance, if the input's value were taken from " +
      "another row: 0 for an input that does nothing. What acts on the spread alone may rank low. Go by the table " +
      "above where they disagree.";
  }

  function byEnergy(target) {
    const scores = target.path.scores[0].filter(Number.isFinite);
    const count = target.path.units.length;
    if (count < MANY) {
      return "Both come from one kernel that takes all inputs at once: what acts on the spread alone, or together " +
        "with others, may rank low. Go by the table above where they disagree.";
    }
    const near = scores.length >= MANY && Math.max(...scores) - Math.min(...scores) < 0.2;
    const range = near ? ` Here all ${scores.length} scores lie between ${fmt(Math.min(...scores), 2)} and ` +
      `${fmt(Math.max(...scores), 2)}: they rank nothing.` : "";
    return `With ${count} inputs one kernel spreads its signal nearly evenly over them: even one that does nothing ` +
      `scores about a half, and the order of removal is partly chance.${range} Go by the table above.`;
  }
  const MANY = 20;

  function alternatives(target) {
    if (!target.alternatives.length) return [];
    return [el("h3", { class: "part" }, "Other sets that would do"),
      el("ul", {}, target.alternatives.map((a) => el("li", {}, el("b", {}, a.kept.join(", ") || "no input"),
      a.closest === null ? ""
        : `; closest to being rejected: ${a.closest}, ${pSaid(a.p)}`)))];
  }

  function frequencies(target) {
    if (!target.frequencies) return [];
    const rows = Object.entries(target.frequencies).map(([unit, share]) => ({ unit, share }));
    return [el("h3", { class: "part" }, `How often, in ${data.runs} runs`), el("div", { class: "narrow" }, table([
      { title: "input", left: true, value: (r) => r.unit },
      { title: "chosen in", value: (r) => r.share,
        text: (r) => `${Math.round(r.share * data.runs)} of ${data.runs}` },
    ], rows, { sort: 1, down: true, label: `Inputs of ${target.name} by runs` }))];
  }

  function groups(target) {
    const entries = Object.entries(target.groups).filter(([unit]) => target.ancestors.some((a) => a.name === unit));
    return entries.length
      ? [el("p", { class: "muted" },
      entries.map(([unit, columns]) => `${unit} stands for ${columns.join(", ")}.`).join(" "))] : [];
  }

  return {
    pathAndScores, certificate, cost, actionsFigure, calibration, alternatives, frequencies, groups, glossary,
  };
})();
