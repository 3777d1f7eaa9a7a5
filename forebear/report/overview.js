"use strict";
// What if, over all targets: one set of sliders, and the law of every target in a line.

const overview = (() => {
  const { el, svg, fmt, percent, cut, scroller } = charts;
  const MOST = 40;
  const WIDTH = Math.min(240, Math.max(110, charts.room(720) - 250));
  const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];

  // A law as a stretch of its target's axis: the middle 90% thin, the middle half thick, the median a dot.
  function stretch(law, now, typical) {
    const low = Math.min(law.axis[0], now[0], typical[0]);
    const high = Math.max(law.axis[1], now[4], typical[4]);
    const X = (value) => 6 + (value - low) / (high - low || 1) * (WIDTH - 12);
    const bar = (q, y, series) => [svg("line", { class: `thin ${series}`, x1: X(q[0]), x2: X(q[4]), y1: y, y2: y }),
      svg("line", { class: `thick ${series}`, x1: X(q[1]), x2: X(q[3]), y1: y, y2: y }),
      svg("circle", { class: `dot ${series}`, cx: X(q[2]), cy: y, r: 4 })];
    return svg("svg", { viewBox: `0 0 ${WIDTH} 26`, width: WIDTH, height: 26, "aria-hidden": "true", class: "interval" },
      bar(typical, 20, "gone"), bar(now, 8, "s0"));
  }

  function line(target, values, start, select) {
    const law = forebear.open(target);
    const name = el("th", { scope: "row", class: "left" }, el("button", { type: "button", class: "small", title: "Show its law",
      onclick: () => select(target, true) }, cut(target, 40)), law.unit && el("span", { class: "unit" }, ` ${law.unit}`));
    if (law.levels.length) {
      const likely = [...forebear.masses(target, values)].sort((a, b) => b.p - a.p).slice(0, 3);
      return el("tr", {}, name, el("td", { class: "left", colspan: 4 },
        likely.map(({ label, p }) => `${cut(label, 20)} ${percent(p)}`).join(", ")));
    }
    const [now, typical] = [values, start].map((given) => forebear.quantile(target, given, LEVELS));
    const moved = now[2] - typical[2];
    const still = Math.abs(moved) < 1e-6 * (typical[4] - typical[0]);
    return el("tr", {}, name, el("td", { class: "left" }, stretch(law, now, typical)), el("td", {}, fmt(now[2])),
      el("td", {}, `${fmt(now[0])} to ${fmt(now[4])}`), el("td", {}, still ? "–" : `${moved > 0 ? "+" : ""}${fmt(moved)}`));
  }

  // Drawn when it is opened: most readers look at one target.
  function build(select) {
    const names = forebear.targets.slice(0, MOST);
    const columns = [...new Map(names.flatMap((name) => forebear.open(name).columns).map((column) => [column.name, column])).values()];
    const start = Object.fromEntries(columns.map((column) => [column.name, column.start]));
    const rows = el("tbody", {});
    const sliders = el("div", { class: "sliders" });
    const draw = () => rows.replaceChildren(...names.map((name) => line(name, explorer.values, start, select)));
    const put = () => sliders.replaceChildren(...columns.map((column) => explorer.control(column, moved, "all")));
    let waiting = false;
    function moved() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); explorer.views.one?.(); });
    }
    const reset = el("button", { type: "button", onclick: () => {
      Object.assign(explorer.values, start);
      put();
      moved();
    } }, "Back to typical values");
    const head = ["target", "its law", "median", "90% range", "median moved by"];
    const table = el("table", { class: "numbers" },
      el("caption", {}, "Blue: the setting of the sliders. Grey: typical values of all inputs."),
      el("thead", {}, el("tr", {}, head.map((text, place) => el("th", { scope: "col", class: place < 2 ? "left" : "" }, text)))), rows);
    explorer.views.all = () => { put(); draw(); };
    put();
    draw();
    return el("div", { class: "overview" }, el("div", { class: "controls" }, sliders, el("div", { class: "buttons" }, reset)),
      el("div", {}, scroller("All targets", table), forebear.targets.length > MOST && el("p", { class: "muted" }, `The first ${MOST} targets.`)));
  }

  function fold(select) {
    const box = el("details", { class: "all-targets" }, el("summary", {}, `What if? ${forebear.targets.length === 2 ? "Both" : `All ${forebear.targets.length}`} targets at once`));
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(build(select)); });
    return box;
  }

  return { fold };
})();
