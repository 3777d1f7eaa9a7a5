// What is set up for a file: what each column is used as, and how rows are read; and what the server is asked for it.

export const USES = [["input", "input"], ["target", "target"], ["keep", "always an input"], ["out", "left out"],
  ["time", "time of the row"], ["weights", "weight of the row"], ["rows", "rows with the same value belong together"],
  ["regime", "campaign, season or machine to compare"]];
// Of a record in time the same choices mean something else.
export const USES_IN_TIME = [["input", "input, now and before"], ["target", "state: explain what is next"],
  ["out", "left out"], ["time", "time of the row"], ["rows", "tells episodes apart"],
  ["regime", "campaign, season or machine to compare"]];
export const IN_TIME = "trajectory";
export const ROWS = [["auto", "find out"], ["independent", "each row stands alone"],
  ["ordered", "in order: each row follows the one before"],
  [IN_TIME, "a record in time: what happens next, given the steps before?"]];
export const CHANGES = [["change", "how much the state changes"], ["next", "the next value itself"]];
export const MISSING = [["model", "use them as they are"], ["drop", "leave out rows with a gap"],
  ["refuse", "stop and say where"]];
export const RULES = [["certified", "certified: with tests, and a verdict"], ["nsr-jump", "the published rule: faster, tests nothing"]];
const ALONE = ["time", "weights", "rows", "regime"];

export const empty = () => ({ uses: {}, kinds: {}, periods: {}, groups: {}, lags: 3, explain: "change", step: "", tolerance: "", rows: "auto", missing: "model", runs: 1, seed: 0,
  sample: 100000, rule: "certified", laws: true, settings: "" });

// Kept for this tab, so that a page that is loaded again has lost nothing.
const key = (file) => `set-up of ${file}`;
export function load(file) {
  try { return { ...empty(), ...JSON.parse(sessionStorage.getItem(key(file))) }; } catch { return empty(); }
}
export function save(file, made) {
  try { sessionStorage.setItem(key(file), JSON.stringify(made)); } catch { /* full, or switched off */ }
}

// The use of a column that can be had once goes from the column that had it.
export function use(made, name, value, usual) {
  if (ALONE.includes(value)) for (const [other, own] of Object.entries(made.uses)) {
    if (own === value) delete made.uses[other];
  }
  if (value === usual) delete made.uses[name];
  else made.uses[name] = value;
}

// What the check says of a column where nobody has said anything.
export const usual = (column) => column.auto ? "out" : "input";
export function used(made, column) {
  const value = made.uses[column.name] || usual(column);
  const known = made.rows === IN_TIME ? USES_IN_TIME : USES;
  return known.some(([key]) => key === value) ? value : value === "keep" ? "input" : "out";
}

function number(text) {
  if (/^-?\d+$/.test(text)) return Number(text);
  if (text.toLowerCase() === "none") return null;
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

export function settings(text) {
  const lines = text.split(/[\n;]+/).map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const [name, ...value] = line.split("=");
    if (!value.length) throw new Error(`'${line}' is not of the form name=value: write steps=2000`);
    return [name.trim(), number(value.join("=").trim())];
  }));
}

const named = (made, value) => Object.entries(made.uses).filter(([, own]) => own === value).map(([name]) => name);

// The options of a discovery, as the server takes them.
export function asked(made, columns) {
  const targets = named(made, "target");
  const taken = new Set(columns.filter((column) => ["input", "keep", "target"].includes(used(made, column))).map(({ name }) => name));
  const only = (values) => Object.fromEntries(Object.entries(values).filter(([name, value]) => value && taken.has(name)));
  // What is left out by itself may be of use as another kind.
  const asWell = columns.filter((column) => column.auto && !made.uses[column.name]).map(({ name }) => name);
  const kinds = { ...only(made.kinds), ...Object.fromEntries(asWell.filter((name) => made.kinds[name]).map((name) => [name, made.kinds[name]])) };
  const periodic = only(made.periods);
  if (made.rows === IN_TIME) return inTime(made, columns, kinds, periodic);
  const forced = columns.filter((column) => column.auto && ["input", "keep"].includes(made.uses[column.name]));
  const given = { targets, keep: named(made, "keep"), exclude: columns.filter((column) => made.uses[column.name] === "out")
    .map(({ name }) => name), missing: made.missing };
  // Whoever asks for a column that would be left out by itself has to name all of them.
  if (forced.some(({ name }) => made.uses[name] === "input")) given.candidates = columns
    .filter((column) => used(made, column) === "input").map(({ name }) => name);
  for (const option of ["time", "weights", "regime"]) [given[option]] = named(made, option);
  given.rows = named(made, "rows")[0] || made.rows;
  if (Object.keys(kinds).length) given.kinds = kinds;
  if (Object.keys(periodic).length) given.periodic = periodic;
  const groups = new Map();
  for (const column of columns) {
    const group = (made.groups[column.name] || "").trim();
    if (group && used(made, column) === "input") groups.set(group, [...groups.get(group) || [], column.name]);
  }
  if (groups.size) given.groups = Object.fromEntries(groups);
  return said({ ...given, ...how(made) });
}

function inTime(made, columns, kinds, periodic) {
  const as = (value) => columns.filter((column) => used(made, column) === value).map(({ name }) => name);
  const trajectory = { state: as("target"), action: as("input"), lags: made.lags, missing: made.missing, kinds, periodic,
    step: made.step.trim(), tolerance: made.tolerance.trim() };
  [trajectory.episode] = as("rows");
  [trajectory.time] = as("time");
  const [regime] = as("regime");
  if (regime) trajectory.regime = regime;
  if (made.explain === "next") trajectory.increments = false;
  return said({ trajectory, regime, missing: made.missing, ...how(made) });
}

function how(made) {
  const given = {};
  for (const option of ["runs", "seed"]) given[option] = made[option];
  if (made.rule !== "certified") given.rule = made.rule;
  if (made.sample !== 100000) given.sample = made.sample;
  const own = settings(made.settings);
  if (Object.keys(own).length) given.settings = own;
  return given;
}

// Without what is the default.
function said(given) {
  return Object.fromEntries(Object.entries(given).filter(([option, value]) => value !== undefined &&
    !(option === "runs" && value === 1) && !(option === "seed" && value === 0) && !(option === "rows" && value === "auto") &&
    !(option === "missing" && value === "model") && !(Array.isArray(value) && !value.length)));
}

// And back, from the options of an earlier run.
export function made(options) {
  const found = empty();
  const past = options.trajectory;
  const list = (names) => typeof names === "string" ? [names] : names || [];
  const each = (names, value) => { for (const name of list(names)) found.uses[name] = value; };
  each(options.candidates, "input");
  each(options.targets, "target");
  each(options.keep, "keep");
  each(options.exclude, "out");
  for (const option of ["time", "weights", "regime"]) if (options[option]) found.uses[options[option]] = option;
  if (options.rows && !["auto", "independent", "ordered"].includes(options.rows)) found.uses[options.rows] = "rows";
  else found.rows = options.rows || "auto";
  if (past) {
    found.rows = IN_TIME;
    each(past.action, "input");
    each(past.state, "target");
    if (past.episode) found.uses[past.episode] = "rows";
    if (past.time) found.uses[past.time] = "time";
    found.lags = past.lags;
    found.explain = past.increments === false ? "next" : "change";
    found.step = String(past.step ?? "");
    found.tolerance = String(past.tolerance ?? "");
  }
  // Where all inputs were named, the others were none.
  found.named = Boolean(past) || (Array.isArray(options.candidates) && options.candidates.length > 0);
  found.periods = { ...(past || options).periodic };
  found.kinds = { ...(past || options).kinds };
  for (const [group, names] of Object.entries(options.groups || {})) for (const name of names) found.groups[name] = group;
  for (const option of ["missing", "runs", "seed", "sample", "rule"]) if (options[option] !== undefined) found[option] = options[option];
  found.settings = Object.entries(options.settings || {}).map(([name, value]) => `${name}=${value === null ? "none" : value}`)
    .join("\n");
  return found;
}
