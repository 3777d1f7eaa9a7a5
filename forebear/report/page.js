"use strict";
// The page: answers, graph, and everything about the target that is selected, drawn when it is selected.

(() => {
  const { el, svg, cut, figure } = charts;
  const { data } = forebear;
  const byName = new Map(data.targets.map((target) => [target.name, target]));
  const [MOST_SENTENCES, PAGE, MOST_TARGETS, MOST_INPUTS, MOST_IDLE, MOST_PRINTED] = [8, 40, 24, 40, 12, 24];
  const STATES = {
    "certified": ["✓", "good"], "cannot tell": ["?", "unsure"], "something is missing": ["!", "bad"],
    "untested": ["–", "open"],
  };
  let selected = null;
  const listeners = [];

  // A p-value stays on one line.
  const unbroken = (text) => text.replace(/p ([=<]) /g, "p\u00a0$1\u00a0");
  const said = (parts) => parts.map((part) => typeof part === "string" ? unbroken(part) : el("b", {}, part.name));
  const spoken = (parts) => parts.map((part) => typeof part === "string" ? part : part.name).join("");
  const badge = ({ state, why }) => el("span",
    { class: `badge ${STATES[state][1]}`, title: [state, ...why].join("\n") },
    el("span", { "aria-hidden": "true" }, STATES[state][0]), el("span", { class: "hidden" }, state + ": "));
  const pill = (state) => el("span", { class: `pill ${STATES[state][1]}` },
    el("span", { "aria-hidden": "true" }, STATES[state][0] + "\u00a0"), state);
  // Why the verdict is what it is: what speaks against it, or what bears it out.
  const backing = (target) => target.why.length + target.because.length > 0 && el("ul", { class: "why" },
    target.why.map((reason) => el("li", {}, unbroken(reason))),
    target.because.map((parts) => el("li", {}, said(parts))));

  const WORDS = [
    ["median", /median/, "half of all values lie below it, half above"],
    ["90% range", /90% range/, "from where 5% of all values lie below to where 5% lie above"],
    ["two states", /two states|in two/, "the values gather around two places, with few between"],
    ["mean", /mean/, "the average"],
    ["chance", /chance/, "how often in a hundred cases"],
    ["what is left open", /left open/, "how much the target still scatters once the chosen inputs are known"],
    ["95% limit", /95% limit/, "were there more to explain, 19 samples out of 20 would show it"],
    ["90% intervals", /90% interval/, "ranges that should hold nine rows out of ten"],
    ["CRPS", /CRPS/, "how far a whole law lies from what was then observed, in the target's units; less is better"],
    ["latents", /latents/, "where each row lies in its own law; nothing that matters should show in them"],
    ["certified", /certified/, "the set passes every test, each input in it is needed, and rows not seen bear it out"],
    ["cannot tell", /cannot tell/, "it may be right, but these rows leave a doubt, which is named"],
    ["something is missing", /something is missing/, "the law still depends on what was left out"],
  ];

  // The words of a part of the page that not everyone uses.
  function words(element) {
    const text = element.textContent;
    const found = WORDS.filter(([, pattern]) => pattern.test(text)).map(([word, , meaning]) => [word, meaning]);
    return found.length ? evidence.glossary("What the words mean", found) : null;
  }

  // Arrow keys move among the children of a list; one of them is in the tab order.
  function roving(list, items) {
    list.addEventListener("keydown", (event) => {
      const all = items();
      const here = all.indexOf(document.activeElement);
      const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: all.length - 1 }[event.key];
      if (here < 0 || to === undefined || !all[to]) return;
      event.preventDefault();
      all[to].focus();
    });
  }

  function answers() {
    const section = document.getElementById("answers");
    const many = data.targets.length > MOST_SENTENCES;
    // With several targets the reasons of a verdict stand with the one that is selected.
    const alone = data.targets.length === 1;
    const list = el("ul", { class: many ? "answers many" : "answers" });
    const item = (target) => {
      const button = el("button",
        { type: "button", class: "answer", "aria-pressed": "false", onclick: () => select(target.name, true) },
        many ? badge(target) : pill(target.state), el("span", { class: "told" }, said(target.headline)));
      button.target = target.name;
      return el("li", {}, button);
    };
    const mark = () => list.querySelectorAll(".answer").forEach((b) => b.setAttribute("aria-pressed",
      String(b.target === selected)));
    roving(list, () => [...list.querySelectorAll(".answer")]);
    listeners.push(mark);
    const taken = data.structure.told && el("p", { class: "muted" }, `Rows were taken as ${data.structure.told}.`);
    if (!many) {
      list.append(...data.targets.map(item));
      section.append(...[list, alone && backing(data.targets[0]), taken].filter(Boolean));
      section.append(...[words(section)].filter(Boolean));
      return;
    }
    const count = (state) => data.targets.filter((target) => target.state === state).length;
    const none = data.targets.filter((target) => !target.ancestors.length).length;
    const tally = Object.keys(STATES).filter(count).map((state) => `${count(state)} ${state}`);
    section.append(el("p", { class: "lead" },
      `${data.targets.length} targets: ${tally.join(", ")}; ${none} depend on none of the candidates.`),
      ...[taken].filter(Boolean));
    const search = el("input", { type: "search", placeholder: "Find a target or an input",
      "aria-label": "Find a target or an input", oninput: () => fillList(PAGE) });
    const filter = el("select", { "aria-label": "Which targets", onchange: () => fillList(PAGE) },
      [["", "all targets"], ...Object.keys(STATES).filter(count).map((state) => [state, state]),
        ["none", "no ancestor"], ["some", "with ancestors"]]
        .map(([value, text]) => el("option", { value }, text)));
    const told = el("span", { class: "muted", role: "status" });
    const more = el("button", { type: "button", onclick: () => fillList(list.children.length + 5 * PAGE) },
      "Show more");
    function fillList(most) {
      const wanted = search.value.trim().toLowerCase();
      const named = ({ name, ancestors }) => [name, ...ancestors.map((a) => a.name)]
        .some((text) => text.toLowerCase().includes(wanted));
      const kind = ({ state, ancestors }) => ["", state, ancestors.length ? "some" : "none"].includes(filter.value);
      const found = data.targets.filter((target) => named(target) && kind(target));
      list.replaceChildren(...found.slice(0, most).map(item));
      more.hidden = found.length <= most;
      told.textContent = `${found.length} of ${data.targets.length}`;
      mark();
    }
    fillList(PAGE);
    section.append(el("div", { class: "finder" }, search, filter, told), list, more);
  }

  function graph() {
    const section = document.getElementById("graph");
    section.replaceChildren();
    const used = new Set(data.targets.flatMap((target) => target.ancestors.map((a) => a.name)));
    const whole = data.targets.length <= MOST_TARGETS && used.size <= MOST_INPUTS;
    const legend = el("p", { class: "legend" });
    const holder = figure(whole ? "Inputs and the laws they shape" : "What shapes the selected target", null,
      svg("svg", { viewBox: "0 0 720 60" }), "graph");
    const box = holder.querySelector(".drawing");
    holder.append(legend);
    section.append(holder);
    const put = (drawn, targets) => {
      box.replaceChildren(drawn.root);
      legend.replaceChildren(...graphs.legend(targets));
      drawn.show(selected);
    };
    if (whole) {
      const idle = data.inputs.filter((name) => !used.has(name));
      const fits = idle.length <= MOST_IDLE;
      const swapped = new Set(data.targets.flatMap(({ classes }) => classes.flat()));
      const shown = graphs.beside(fits ? data.inputs
        : data.inputs.filter((name) => used.has(name) || swapped.has(name)), data.targets);
      const drawn = graphs.draw(data.targets, shown, data.inputs.length - shown.length, select);
      put(drawn, data.targets);
      follow = () => drawn.show(selected);
    } else {
      follow = () => {
        const target = byName.get(selected);
        const chosen = target.ancestors.map((ancestor) => ancestor.name);
        const names = graphs.beside([...new Set([...chosen, ...target.classes.flat()])], [target]);
        const idle = target.path.units.filter((unit) => !names.includes(unit)).length;
        put(graphs.draw([target], names, idle, select), [target]);
      };
      if (selected !== null) follow();
    }
  }
  let follow = () => {};
  listeners.push(() => follow());

  // On another width figures are drawn anew, so that their letters keep their size.
  let drawnAt = charts.room(720);
  function fit() {
    if (Math.abs(charts.room(720) - drawnAt) < 24) return;
    drawnAt = charts.room(720);
    graph();
    if (selected !== null) detail();
  }
  addEventListener("resize", () => requestAnimationFrame(fit));

  // With one target its verdict and what bears it out stand at the top, and nowhere again.
  const heading = (target, again) => [el("h2", { class: "target" }, el("span", {}, target.name),
    (data.targets.length > 1 || again) && [" ", pill(target.state)]),
    again && el("p", { class: "lead" }, said(target.headline)),
    (data.targets.length > 1 || again) && backing(target), evidence.groups(target)];

  const known = (target) => [
    el("h3", { class: "part" }, "Which inputs are needed"), evidence.certificate(target),
    target.effects.length > 0 && el("div", { class: "pair" }, evidence.actionsFigure(target)),
    evidence.cost(target), evidence.frequencies(target), evidence.alternatives(target), evidence.calibration(target),
    evidence.pathAndScores(target),
  ];

  const all = (parts) => parts.flat(3).filter(Boolean);

  function detail() {
    const target = byName.get(selected);
    const section = document.getElementById("detail");
    section.setAttribute("aria-label", "Evidence on " + target.name);
    const alone = data.explorer && data.targets.length > 1;
    const play = [el("h3", { class: "part" }, alone ? `What if? ${target.name}` : "What if?"),
      explorer.build(target.name, target)];
    section.replaceChildren(...all(data.explorer ? play : [heading(target, false), play, known(target)]));
  }

  // On paper nothing can be selected: the evidence on the other targets is there too, unless they are very many.
  function printed() {
    const section = document.getElementById("others");
    addEventListener("beforeprint", () => {
      fit();
      const others = data.targets.filter((target) => target.name !== selected);
      if (others.length > MOST_PRINTED) return;
      section.replaceChildren(...others.map((target) => el("section", {}, all([heading(target, false), forebear.twin && fans.still(target), known(target)]))));
    });
    addEventListener("afterprint", () => section.replaceChildren());
  }

  function columns(table) {
    const unused = table.rows.filter((row) => !["target", "candidate", "kept"].includes(row[4].split(":")[0])).length;
    const told = `Every column of the table (${table.rows.length}${unused ? `, ${unused} not used` : ""})`;
    const line = (cell, row) => el("tr", {}, row.map((text) => el(cell, {}, text)));
    return el("details", { class: "columns" }, el("summary", {}, told), table.told && el("p", {}, table.told),
      charts.scroller("Columns of the table", el("table", {}, el("thead", {}, line("th", table.head)), el("tbody", {}, table.rows.map((row) => line("td", row))))));
  }

  function about() {
    const { about: made } = data;
    const section = document.getElementById("about");
    const text = (value) => value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const pair = ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, text(value)));
    const pairs = (entries) => el("dl", {}, entries.map(pair));
    const facts = [["forebear", made.version], ...Object.entries(made.versions)];
    if (made.data) facts.push(["rows", charts.count(made.data.rows)], ["columns used", made.data.columns]);
    facts.push(["seed", made.settings.seed ?? "–"], ["seconds", made.seconds]);
    section.append(el("p", {}, "To make this again:"), el("pre", { tabindex: 0 }, el("code", {}, made.call)));
    if (made.command) section.append(el("p", {}, "or, on the command line:"),
      el("pre", { tabindex: 0 }, el("code", {}, made.command)));
    section.append(pairs(facts));
    if (made.data) section.append(el("p", { class: "hash" }, "SHA-256 of the columns used: ",
      el("code", {}, made.data.hash)));
    if (data.columns) section.append(columns(data.columns));
    section.append(el("details", {}, el("summary", {}, "Every setting"), pairs(Object.entries(made.settings))));
    section.append(el("p", { class: "muted" },
      "forebear claims observational dependence, never causation. This page is complete in itself and sends " +
      "nothing anywhere."));
  }

  function select(name, move = false) {
    if (!byName.has(name)) throw new Error("no target '" + name + "'");
    if (name !== selected) {
      selected = name;
      detail();
      listeners.forEach((listen) => listen());
    }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (move) document.getElementById("detail").scrollIntoView({ behavior: still ? "auto" : "smooth" });
  }

  const first = byName.get(data.first) ?? data.targets[0];
  document.title = (data.targets.length === 1 ? spoken(first.sentence).split(/[;.] |, as far|\.$/)[0] : "What shapes " +
    cut(forebear.targets.join(", "), 60)) + " – forebear";
  document.getElementById("origin").textContent = [data.source,
    data.rows === null ? null
      : `${charts.count(data.rows)} rows`].filter(Boolean).join(", ");
  answers();
  // Of a single target the graph says no more than the sentence: it stands behind the evidence.
  if (data.targets.length === 1) document.getElementById("others").before(document.getElementById("graph"));
  if (!data.explorer) graph();
  if (data.targets.length > 1 && forebear.twin) document.getElementById("detail").before(overview.fold(select));
  if (first) select(first.name);
  if (data.explorer) document.body.classList.add("in-cell");
  else {
    about();
    printed();
  }
  Object.assign(forebear, { select, selected: () => selected });
})();
