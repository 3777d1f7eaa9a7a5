// The second screen: every column with what it holds and what it is used as; what is in the way; what it will take.

import { get, post } from "./api.js";
import { choice, copyable, el, field, fill, fresh, heading, many, say, steps } from "./dom.js";
import { CHANGES, IN_TIME, MISSING, ROWS, RULES, USES, USES_IN_TIME, asked, load, made as restored, save, use, used, usual } from "./settings.js";

// A column with cells to be mended is not among them: nobody leaves it out without being told to.
const AUTO = ["left out"];
const PAGE = 150;

export function columns(main, { file, again }) {
  if (!file) { location.hash = "#/"; return null; }
  let made = load(file);
  let table = null;
  let asking = 0;
  let gone = false;
  let timer = null;
  const title = heading("Reading the table …");
  const body = el("div", {});
  fill(main, steps(1), title, body);
  fill(body, el("p", { class: "wait" }, el("span", { class: "spin", "aria-hidden": "true" }),
    "Large tables take a minute: rows are drawn from the whole file."));

  const parts = { told: el("div", { class: "problems", role: "status", "aria-live": "polite" }), foot: el("div", { class: "foot" }),
    same: el("details", { class: "same" }) };

  async function check() {
    const mine = asking += 1;
    let content;
    parts.foot.setAttribute("aria-busy", "true");
    try {
      content = await post("api/check", { file, asked: asked(made, table ? table.columns : []) });
    } catch (error) {
      if (mine !== asking || gone) return;
      if (!table) { failed(error); return; }
      content = { ...table, problems: [error.message], estimate: null };
    }
    if (mine !== asking || gone) return;
    const before = table;
    table = { ...content, columns: content.columns.map((column) => ({ ...column, auto: auto(before, column), first: firstKind(before, column),
      why: before ? reason(before, column) : column.why })) };
    if (!before) build();
    else if (looks(before) !== looks(table)) keepingFocus(redraw);
    conclude();
  }

  // What the table shows of a column, where another kind of it shows something else.
  const looks = ({ columns: all }) => JSON.stringify(all.map(({ kind: word, range, auto: out, missing }) => [word, range, out, missing]));
  function keepingFocus(draw) {
    const again = document.activeElement && document.activeElement.id;
    draw();
    if (again && document.getElementById(again)) document.getElementById(again).focus();
  }
  const past = () => made.rows === IN_TIME;
  const uses = () => past() ? USES_IN_TIME : USES;

  // The first look, for which nobody has said anything, tells which columns are left out by themselves.
  function auto(before, column) {
    const known = before && before.columns.find(({ name }) => name === column.name);
    if (!known) return AUTO.includes(column.role);
    // As another kind it may be of use after all.
    if (column.kind !== known.kind && !["excluded", "-", "not asked for"].includes(column.role)) return AUTO.includes(column.role);
    return known.auto;
  }

  const firstKind = (before, column) => before ? (before.columns.find(({ name }) => name === column.name) || column).first : column.kind;

  const reason = (before, column) => column.why && AUTO.includes(column.role) ? column.why
    : (before.columns.find(({ name }) => name === column.name) || column).why;

  function failed(error) {
    title.textContent = "This table cannot be read";
    document.title = "This table cannot be read – forebear studio";
    fill(body, el("p", { class: "wrong", role: "alert" }, error.message),
      el("p", {}, el("a", { class: "button primary", href: "#/" }, "Choose another file")));
  }

  function changed(now = false) {
    save(file, made);
    clearTimeout(timer);
    timer = setTimeout(check, now ? 0 : 350);
  }

  function build() {
    title.textContent = table.name;
    document.title = `${table.name} – forebear studio`;
    const sample = table.looked_at < table.rows ? `, of which ${table.looked_at.toLocaleString("en-US")} drawn at random are looked at` : "";
    fill(body, el("p", { class: "lead" }, `${many(table.rows, "row")}${sample}, ${many(table.columns.length, "column")}. `,
      "Say what you want explained; the rest can stay as it is."),
      targets(), list(), how(), parts.told, parts.foot, parts.same);
  }

  // The one thing that must be said.
  function targets() {
    const options = () => [["", "choose a column"], ...table.columns.filter((column) => !column.auto)
      .map(({ name }) => [name, name])];
    const box = choice(options(), Object.keys(made.uses).find((name) => made.uses[name] === "target") || "", (name) => {
      for (const [other, own] of Object.entries(made.uses)) if (own === "target") delete made.uses[other];
      if (name) use(made, name, "target", "input");
      redraw();
      changed(true);
    }, { class: "wide" });
    parts.target = box;
    parts.options = options;
    return el("section", { class: "ask", "aria-label": "Target" }, field("Explain", box,
      "The target. For several, use the column “Use as” below."));
  }

  let redraw = () => {};
  function list() {
    const search = el("input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column" });
    const rows = el("tbody", {});
    const told = el("span", { class: "muted", role: "status" });
    const grouping = el("input", { type: "checkbox", id: fresh("groups"), checked: Object.keys(made.groups).length > 0 });
    const groups = el("label", { class: "check" }, grouping, "groups that are kept or removed together");
    const grid = el("table", { class: "columns" });
    const more = el("button", { type: "button" }, "Show more");
    let most = PAGE;
    const matching = () => {
      const wanted = search.value.trim().toLowerCase();
      return table.columns.filter(({ name }) => name.toLowerCase().includes(wanted));
    };
    redraw = () => {
      const found = matching();
      fill(rows, found.slice(0, most).map((column) => line(column, grouping.checked)));
      fill(grid.tHead.rows[0], ["Column", "Kind", "Missing", "Values", "Use as", grouping.checked && !past() && "Group"]
        .filter(Boolean).map((text) => el("th", { scope: "col", class: text === "Missing" ? "" : "left" }, text)));
      told.textContent = found.length < table.columns.length ? `${found.length} of ${table.columns.length}` : "";
      more.hidden = found.length <= most;
      groups.hidden = past();  // there each step is one
      const target = Object.keys(made.uses).filter((name) => made.uses[name] === "target");
      fill(parts.target, parts.options().map(([key, text]) => el("option", { value: key }, text)));
      parts.target.value = target.length === 1 ? target[0] : "";
      parts.target.options[0].textContent = target.length > 1 ? `${target.length} targets, chosen below` : "choose a column";
    };
    grid.append(el("thead", {}, el("tr", {})), rows);
    search.addEventListener("input", () => { most = PAGE; redraw(); });
    more.addEventListener("click", () => { most += 5 * PAGE; redraw(); });
    grouping.addEventListener("change", () => {
      if (!grouping.checked) made.groups = {};
      redraw();
      changed();
    });
    const all = (value, text) => el("button", { type: "button", class: "small", onclick: () => {
      for (const column of matching()) if (["input", "out"].includes(used(made, column)) && !column.auto) {
        use(made, column.name, value, usual(column));
      }
      redraw();
      changed();
      say(`${text}: ${many(matching().length, "column")}`);
    } }, text);
    redraw();
    return el("section", { "aria-labelledby": "columns-title" }, el("h2", { id: "columns-title" }, "Columns"),
      el("div", { class: "finder" }, table.columns.length > 12 && search, told,
        table.columns.length > 12 && [all("out", "Leave out all shown"), all("input", "Use all shown")],
        groups),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Columns of the table" }, grid), more);
  }

  function line(column, grouped) {
    const now = used(made, column);
    const changeUse = (value) => {
      use(made, column.name, value, usual(column));
      keepingFocus(redraw);
      changed();
    };
    const place = table.columns.indexOf(column);
    const row = el("tr", { class: now === "target" ? "is-target" : ["out"].includes(now) ? "is-out" : "" },
      el("th", { scope: "row", class: "left name" }, column.name),
      el("td", { class: "left", "data-label": "Kind" }, kind(column, place)),
      el("td", { "data-label": "Missing" }, column.missing ? column.missing.toLocaleString("en-US") : ""),
      el("td", { class: "left values", "data-label": "Values" }, column.range,
        column.copy_of && el("span", { class: "muted block" }, `a copy of ${column.copy_of}`)),
      el("td", { class: "left", "data-label": "Use as" }, choice(uses(), now, changeUse,
        { id: `use-${place}`, "aria-label": `Use ${column.name} as` }),
        column.auto && now === "out" && el("span", { class: "muted block" }, column.why)));
    if (grouped && !past()) row.append(el("td", { class: "left", "data-label": "Group" }, now === "input" &&
      el("input", { type: "text", class: "text short", value: made.groups[column.name] || "",
        "aria-label": `Group of ${column.name}`, onchange: (event) => { made.groups[column.name] = event.target.value; changed(); } })));
    return row;
  }

  // A number may be an angle, which begins anew after its period, or a label; labels may be numbers that were written as text.
  const WORDS = { real: "number", category: "labels", periodic: "angle", text: "text", timestamp: "time" };
  function kind(column, place) {
    const labelled = ["category", "text"].includes(column.first);
    if (!labelled && !["real", "periodic"].includes(column.first)) return WORDS[column.kind] || column.kind;
    if (column.auto && !made.kinds[column.name] && (column.first !== "text" || column.why.endsWith("constant"))) return WORDS[column.kind] || column.kind;
    if (labelled) return choice([["", column.first === "text" ? "text" : "labels"], ["real", "number"],
      ...column.first === "text" ? [["category", "labels"]] : []], made.kinds[column.name] || "", (value) => {
      if (value) made.kinds[column.name] = value;
      else delete made.kinds[column.name];
      changed();
    }, { id: `kind-${place}`, "aria-label": `Kind of ${column.name}` });
    const period = el("input", { type: "text", inputmode: "decimal", class: "text short", "aria-label": `Period of ${column.name}`,
      value: made.periods[column.name] || "360", onchange: (event) => {
        const value = Number(event.target.value.replace(",", "."));
        event.target.setAttribute("aria-invalid", String(!(value > 0)));
        if (value > 0) { made.periods[column.name] = value; changed(); }
      } });
    const turn = el("span", { class: "turn" }, "of", period);
    turn.hidden = !made.periods[column.name];
    const said = made.periods[column.name] ? "periodic" : made.kinds[column.name] === "category" ? "category" : "real";
    return [choice([["real", "number"], ["category", "labels"], ["periodic", "angle"]], said, (value) => {
      delete made.periods[column.name];
      delete made.kinds[column.name];
      if (value === "periodic") made.periods[column.name] = Number(period.value) || 360;
      if (value === "category") made.kinds[column.name] = value;
      turn.hidden = value !== "periodic";
      changed();
    }, { id: `kind-${place}`, "aria-label": `Kind of ${column.name}` }), turn];
  }

  function how() {
    const whole = (name, least) => el("input", { type: "number", min: least, step: 1, class: "text short", value: made[name],
      onchange: (event) => { made[name] = Math.max(least, Math.round(Number(event.target.value)) || least); changed(); } });
    const words = (name, placeholder) => el("input", { type: "text", class: "text short", value: made[name], placeholder, spellcheck: "false",
      onchange: (event) => { made[name] = event.target.value; changed(); } });
    const inTime = el("div", { class: "fields", hidden: !past() },
      field("Steps to look back", whole("lags", 0), "0 looks at the present alone. Each step adds every input and state once more."),
      field("What is explained", choice(CHANGES, made.explain, (value) => { made.explain = value; changed(); }),
        "From one row to the next of the same episode."),
      field("How long a step is", words("step", "10 min"), "Only if rows do not come evenly: 10 min, 2 h. Needs a column with the time of the row."),
      field("How old a value may be", words("tolerance", "a step"), "With a step: older ones count as missing."));
    return el("section", { "aria-labelledby": "rows-title" }, el("h2", { id: "rows-title" }, "Rows"),
      el("div", { class: "fields" },
        field("How rows hang together", choice(ROWS, made.rows, (value) => {
          made.rows = value;
          inTime.hidden = !past();
          redraw();
          changed();
        }, { id: "rows" }), "A column that tells machines, batches or episodes apart is chosen above, as its use."),
        field("Missing cells", choice(MISSING, made.missing, (value) => { made.missing = value; changed(); }))), inTime,
      el("details", {}, el("summary", {}, "More options"), el("div", { class: "fields" },
        field("Independent repeats", whole("runs", 1), "Several say how often each input is chosen; each takes as long again."),
        field("Seed", whole("seed", 0), "The same seed gives the same result."),
        field("Rows that are read at most", whole("sample", 100), "Drawn at random from the whole table."),
        field("How inputs are chosen", choice(RULES, made.rule, (value) => { made.rule = value; changed(); })),
        el("div", { class: "field" }, el("label", { class: "check" }, el("input", { type: "checkbox", id: "laws", checked: made.laws,
          onchange: (event) => { made.laws = event.target.checked; save(file, made); } }), "the report has sliders: what if?"),
          el("p", { class: "help" }, "Fits the laws of the targets, which takes about as long as the search.")),
        field("Settings", el("textarea", { class: "text", rows: 3, spellcheck: "false", placeholder: "steps=4000",
          onchange: (event) => { made.settings = event.target.value; changed(); } }, made.settings),
          "For experts: name=value, one per line, as --set on the command line."))));
  }

  function conclude() {
    const { problems, estimate } = table;
    const target = Object.keys(made.uses).filter((name) => made.uses[name] === "target");
    parts.foot.setAttribute("aria-busy", "false");
    fill(parts.told, problems.length > 0 && [el("p", { class: "title bad" }, problems.length === 1 ? "One thing is in the way"
      : `${problems.length} things are in the way`), el("ul", {}, problems.map((problem) => el("li", {}, problem)))]);
    const start = el("button", { type: "button", class: "primary", disabled: !target.length || problems.length > 0 || !estimate,
      onclick: () => begin(start) }, "Start");
    const taken = table.structure && table.structure.rows !== "independent" && ` Rows are taken as ${table.structure.rows}${
      table.structure.why ? `, because ${table.structure.why}` : ""}.`;
    fill(parts.foot, el("div", { class: "sum", role: "status" }, !target.length ? "Choose a target to go on."
      : problems.length ? "Mend what is in the way to go on."
        : estimate ? [el("strong", {}, `About ${estimate.time}, ${estimate.memory} of memory.`), taken,
          el("span", { class: "muted block" }, `A rough guess from ${estimate.source}; it may be off by a factor of three. The sliders of the report take about as long again.`)]
          : "Looking …"), start);
    parts.begin = start;
    fill(parts.same, el("summary", {}, "The same without this page"),
      table.command ? copyable("On the command line", table.command)
        : el("p", { class: "muted" }, "The command line cannot say these names; Python can."),
      copyable("In Python", table.call));
  }

  async function begin(button) {
    button.disabled = true;
    try {
      const { id } = await post("api/runs", { file, asked: asked(made, table.columns), seen: table.seen, estimate: table.estimate,
        laws: made.laws });
      location.hash = `#/run/${encodeURIComponent(id)}`;
    } catch (error) {
      button.disabled = false;
      fill(parts.told, el("p", { class: "wrong", role: "alert" }, error.message));
    }
  }

  // Whoever looks at a file sees all its columns first; what was chosen before comes on top.
  async function first() {
    if (again) {
      try {
        made = restored((await get(`api/runs/${encodeURIComponent(again)}`)).asked);
        save(file, made);
      } catch { /* the run is gone: begin afresh */ }
    }
    const kept = made;
    made = restored({});
    await check();
    made = kept;
    if (!table || gone) return;
    for (const name of Object.keys(made.uses)) if (!table.columns.some((column) => column.name === name)) delete made.uses[name];
    if (made.named && Object.keys(made.uses).length) for (const column of table.columns) {
      if (!made.uses[column.name] && !column.auto) made.uses[column.name] = "out";
    }
    delete made.named;
    redraw();
    build();
    if (Object.keys(made.uses).length || made.settings || Object.keys(made.periods).length || Object.keys(made.kinds).length || past()) await check();
    else conclude();
  }
  first();
  return () => { gone = true; clearTimeout(timer); };
}
