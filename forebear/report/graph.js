"use strict";
// The graph: inputs on the left, targets on the right; a node is a button.

const graphs = (() => {
  const { el, svg, percent, cut } = charts;
  const ACTIONS = ["location", "scale", "shape", "dependence"];
  const MEANINGS = [["location", "location: mostly moves it"], ["scale", "scale: mostly stretches it"],
    ["shape", "shape: mostly changes its shape"], ["dependence", "dependence: how outputs move together"],
    ["kept", "kept by request"]];
  const [ROW, WIDTH, LEFT, RIGHT, NODE] = [30, 720, 240, 480, 234];

  // The largest of an ancestor's shares; "plain" where there is no certificate.
  function action(target, ancestor) {
    if (ancestor.kept) return "kept";
    const effect = target.effects.find(({ unit }) => unit === ancestor.name);
    return effect ? ACTIONS.reduce((best, each) => effect[each] > effect[best] ? each : best) : "plain";
  }

  function edge(target, ancestor, y1, y2) {
    const kind = action(target, ancestor);
    const how = { kept: " (kept by request)", plain: "" }[kind] ?? `: mostly its ${kind}`;
    const often = ancestor.frequency < 1 ? `, ${percent(ancestor.frequency)} of runs` : "";
    const bend = `M${LEFT + 8} ${y1}C${LEFT + 110} ${y1} ${RIGHT - 110} ${y2} ${RIGHT - 14} ${y2}`;
    return [
      svg("path", { class: `edge ${kind}`, d: bend, "stroke-opacity": 0.3 + 0.7 * ancestor.frequency },
        svg("title", {}, ancestor.name + " → " + target.name + how + often)),
      svg("path", { class: `head ${kind}`, d: `M${RIGHT - 7} ${y2}l-9 -4.5v9z` }),
    ];
  }

  function node(name, y, goal, about) {
    const [x, away] = goal ? [RIGHT, 14] : [LEFT, -14];
    return svg("g", { class: goal ? "node goal" : "node source", "aria-label": about },
      svg("title", {}, name),
      svg("rect", { class: "hit", x: goal ? x - 10 : x - NODE + 10, y: y - 13, width: NODE, height: 26, rx: 13 }),
      svg("circle", { cx: x, cy: y, r: 5 }),
      svg("text", { x: x + away, y: y + 4.5, "text-anchor": goal ? "start" : "end" }, cut(name, 25)));
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

  // Draws, and gives back the figure and a function that lights up a target; `hidden` inputs are only counted.
  function draw(targets, inputs, hidden, select) {
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
      root.append(svg("text", { class: "tick", x: LEFT - 14, y: at(inputs.length, lines) + 4, "text-anchor": "end" },
        `${hidden} ${noun} that ${verb} nothing here`));
    }
    return { root, show };
  }

  // What the looks of the edges of these targets mean.
  function legend(targets) {
    const seen = new Set(targets.flatMap((target) => target.ancestors.map((ancestor) => action(target, ancestor))));
    const sample = (name) => svg("svg", { viewBox: "0 0 34 10", class: "sample", "aria-hidden": "true" },
      svg("path", { class: `edge on ${name}`, d: "M1 5H33" }));
    return MEANINGS.filter(([name]) => seen.has(name))
      .map(([name, text]) => el("span", { class: "entry" }, sample(name), text));
  }

  return { draw, legend };
})();
