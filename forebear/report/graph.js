"use strict";
// The graph: inputs on the left, targets on the right; a node is a button.

const graphs = (() => {
  const { el, svg, percent, cut, room } = charts;
  const ACTIONS = ["location", "scale", "shape", "dependence"];
  const MEANINGS = [["location", "mostly moves it"], ["scale", "mostly widens or narrows it"],
    ["shape", "mostly changes its shape"], ["dependence", "mostly changes how targets go together"],
    ["kept", "kept by request"]];
  const ROW = 30;
  // Of the whole width; names on both sides have a third each.
  let [WIDTH, LEFT, RIGHT, NODE, LETTERS] = [720, 240, 480, 234, 25];
  function measure() {
    WIDTH = room(720);
    LEFT = Math.round(Math.max(WIDTH / 3, WIDTH / 2 - 120));
    RIGHT = WIDTH - LEFT;
    NODE = LEFT - 6;
    LETTERS = Math.max(8, Math.floor((LEFT - 28) / 8));
  }

  // The largest of an ancestor's shares; "plain" where there is no certificate.
  function action(target, ancestor) {
    if (ancestor.kept) return "kept";
    const effect = target.effects.find(({ unit }) => unit === ancestor.name);
    return effect ? ACTIONS.reduce((best, each) => effect[each] > effect[best] ? each : best) : "plain";
  }

  function edge(target, ancestor, y1, y2) {
    const kind = action(target, ancestor);
    const how = { kept: " (kept by request)", plain: "" }[kind] ?? ": " + MEANINGS.find(([name]) => name === kind)[1];
    const often = ancestor.frequency < 1 ? `, ${percent(ancestor.frequency)} of runs` : "";
    const pull = 0.46 * (RIGHT - LEFT);
    const bend = `M${LEFT + 8} ${y1}C${LEFT + pull} ${y1} ${RIGHT - pull} ${y2} ${RIGHT - 14} ${y2}`;
    return [
      svg("path", { class: `edge ${kind}`, d: bend, "stroke-opacity": 0.3 + 0.7 * ancestor.frequency },
        svg("title", {}, ancestor.name + " → " + target.name + how + often)),
      svg("path", { class: `head ${kind}`, d: `M${RIGHT - 7} ${y2}l-9 -4.5v9z` }),
    ];
  }

  function node(name, y, goal, about) {
    const [x, away] = goal ? [RIGHT, 14] : [LEFT, -14];
    // A name that is cut is said whole by the title: a label must hold what is seen, and what is seen is no word.
    const whole = name.length <= LETTERS;
    return svg("g", { class: goal ? "node goal" : "node source", ...(whole && { "aria-label": about }) },
      svg("title", {}, whole ? name : about),
      svg("rect", { class: "hit", x: goal ? x - 10 : x - NODE + 10, y: y - 13, width: NODE, height: 26, rx: 13 }),
      svg("circle", { cx: x, cy: y, r: 5 }),
      svg("text", { x: x + away, y: y + 4.5, "text-anchor": goal ? "start" : "end" },
        cut(name, LETTERS)));
  }

  // Click, Enter and the space bar act; up and down go to the neighbours, and act there if `follow`.
  function press(nodes, act, follow) {
    nodes.forEach(([name, group], place) => {
      group.setAttribute("role", "button");
      group.setAttribute("tabindex", "0");
      group.addEventListener("click", () => act(name));
      group.addEventListener("keydown", (event) => {
        const next = nodes[place + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || 0)];
        if (event.key === "Enter" || event.key === " ") act(name);
        else if (event.key.startsWith("Arrow") && next && next[0] !== name) {
          next[1].focus();
          if (follow) act(next[0]);
        } else return;
        event.preventDefault();
      });
    });
  }

  // Inputs that can stand in for one another are held together by a bracket.
  function brackets(targets, left) {
    const classes = new Map(targets.flatMap((target) => target.classes).map((names) => [names.join("\n"), names]));
    return [...classes.values()].map((names) => {
      const heights = names.filter((name) => left.has(name)).map((name) => left.get(name)).sort((a, b) => a - b);
      if (heights.length < 2) return svg("g", {});
      const ways = heights.map((y) => `M${LEFT + 9} ${y}h7`).join("");
      return svg("path", { class: "bracket", d: `${ways}M${LEFT + 16} ${heights[0]}V${heights[heights.length - 1]}` },
        svg("title", {}, `${names.join(", ")}: any one of them would do`));
    });
  }

  // Stand-ins next to the input whose place they could take.
  function beside(inputs, targets) {
    const after = new Map();
    targets.flatMap((target) => target.classes).forEach(([name, ...others]) => after.set(name, others));
    const moved = new Set([...after.values()].flat().filter((name) => !after.has(name)));
    return inputs.filter((name) => !moved.has(name))
      .flatMap((name) => [name, ...(after.get(name) || []).filter((other) => moved.delete(other))]);
  }

  // Draws, and gives back the figure and a function that lights up a target; `hidden` inputs are only counted.
  function draw(targets, inputs, hidden, select) {
    measure();
    const lines = inputs.length + (hidden ? 1 : 0);
    const rows = Math.max(lines, targets.length);
    const at = (place, count) => 16 + ROW / 2 + ROW * (place + (rows - count) / 2);
    const edges = svg("g", {});
    const root = svg("svg", { viewBox: `0 0 ${WIDTH} ${ROW * rows + 26}`, class: "graph", role: "group",
      "aria-label": "Graph: inputs on the left, targets on the right" }, edges);
    const left = new Map(inputs.map((name, i) => [name, at(i, lines)]));
    const drawn = targets.flatMap((target, i) => target.ancestors.map((ancestor) => {
      const parts = edge(target, ancestor, left.get(ancestor.name), at(i, targets.length));
      return { from: ancestor.name, to: target.name, parts };
    }));
    drawn.forEach(({ parts }) => edges.append(...parts));
    brackets(targets, left).forEach((part) => root.append(part));
    const used = new Set(drawn.map(({ from }) => from));
    const sources = inputs.map((name) => [name, node(name, left.get(name), false,
      used.has(name) ? `Input ${name}: show what it shapes` : `Input ${name} shapes nothing here`)]);
    const goals = targets.map(({ name }, i) =>
      [name, node(name, at(i, targets.length), true, `Target ${name}: show its evidence`)]);
    let held = null;
    let lit = null;
    function light() {
      for (const { from, to, parts } of drawn) {
        const on = held === null ? to === lit : from === held;
        parts.forEach((part) => part.classList.toggle("on", on));
        if (on) edges.append(...parts);
      }
      sources.forEach(([name, group]) => group.setAttribute("aria-pressed", String(name === held)));
      goals.forEach(([name, group]) => group.setAttribute("aria-pressed", String(held === null && name === lit)));
    }
    const hold = (name) => { held = held === name ? null : name; light(); };
    const show = (name) => { held = null; lit = name; light(); };
    sources.filter(([name]) => !used.has(name)).forEach(([, group]) => group.classList.add("unused"));
    press(sources.filter(([name]) => used.has(name)), hold, false);
    press(goals, (name) => { show(name); select(name); }, true);
    root.append(...[...sources, ...goals].map(([, group]) => group));
    if (hidden) {
      const verb = hidden === 1 ? "shapes" : "shape";
      const noun = inputs.length ? "more" : hidden === 1 ? "input" : "inputs";
      const narrow = LEFT < 220;
      root.append(svg("text", { class: "tick", x: narrow ? 4 : LEFT - 14, y: at(inputs.length, lines) + 4,
        "text-anchor": narrow ? "start" : "end" },
        `${hidden} ${noun} that ${verb} nothing here`));
    }
    return { root, show };
  }

  // What the looks of the edges of these targets mean.
  function legend(targets) {
    const seen = new Set(targets.flatMap((target) => target.ancestors.map((ancestor) => action(target, ancestor))));
    const sample = (name) => svg("svg", { viewBox: "0 0 34 10", class: "sample", "aria-hidden": "true" },
      svg("path", { class: `edge on ${name}`, d: "M1 5H33" }));
    const shown = MEANINGS.filter(([name]) => seen.has(name))
      .map(([name, text]) => el("span", { class: "entry" }, sample(name), text));
    if (targets.some(({ classes }) => classes.length)) {
      shown.push(el("span", { class: "entry" }, svg("svg", { viewBox: "0 0 34 10", class: "sample",
        "aria-hidden": "true" }, svg("path", { class: "bracket", d: "M14 1h7v8h-7" })), "any one of these would do"));
    }
    return shown;
  }

  return { draw, legend, beside };
})();
