// The page to try a twin: it asks what every program may ask, and shows the calls.

import { columnsOf, element, makeInputs } from "./form.js";
import { picture, short } from "./draw.js";

const $ = (id) => document.getElementById(id);
const state = { schema: null, twins: [], twin: null, read: () => ({}), domains: {}, laws: [], asked: 0, timer: 0 };

function trouble(line) {
  $("trouble").hidden = !line;
  $("trouble").textContent = line ?? "";
}

// Busy servers say when to come again.
async function ask(operation, content, tries = 4) {
  const reply = await fetch(`v1/${state.twin.path}${operation}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
  if (reply.status === 503 && tries > 1) {
    await new Promise((done) => setTimeout(done, 1000 * Number(reply.headers.get("Retry-After") ?? 1)));
    return ask(operation, content, tries - 1);
  }
  const told = await reply.json();
  if (!reply.ok) throw new Error(told.error);
  return told;
}

function settings() {
  const whole = (id, other) => ($(id).value === "" ? other : Number($(id).value));
  return { n: whole("n", 1000), seed: whole("seed", 0), level: whole("level", 90) / 100 };
}

async function renew() {
  const number = ++state.asked;
  const given = [state.read()], { n, seed, level } = settings();
  calls(given, n, seed);
  try {
    const [sample, mean, interval] = await Promise.all([
      ask("sample", { given, n, seed }), ask("mean", { given, outside: "ignore" }),
      ask("interval", { given, level, outside: "ignore" })]);
    if (number !== state.asked) return; // a newer question is under way
    trouble();
    $("note").hidden = !sample.notes.length;
    $("note").textContent = sample.notes.join(" ");
    state.laws = Object.keys(state.twin.targets).map((name) => ({
      name, column: state.twin.targets[name], draws: sample.draws[name][0], mean: mean.mean[name][0],
      low: interval.low[name][0], high: interval.high[name][0], level }));
    show();
  } catch (error) {
    if (number === state.asked) trouble(error.message);
  }
}

function soon() {
  clearTimeout(state.timer);
  state.timer = setTimeout(renew, 120);
}

function show() {
  const place = $("laws");
  while (place.children.length > state.laws.length) place.lastChild.remove();
  state.laws.forEach((law, number) => {
    const shown = place.children[number] ?? place.appendChild(
      element("div", { class: "law" }, element("h2"), element("p"), element("div"), element("p", { class: "key" })));
    const [title, told, drawn, key] = shown.children;
    title.textContent = law.name;
    const unit = law.column["x-unit"] ? ` ${law.column["x-unit"]}` : "";
    law.labels = law.column.enum;
    law.told = sentence(law, unit);
    told.textContent = law.told;
    key.textContent = law.labels ? "Bars: shares of the draws."
      : `Bars and line: the draws. Upright line: the mean. Thick line: the interval of ${Math.round(100 * law.level)}%.`;
    law.domain = domain(law);
    picture(drawn, law, Math.max(280, drawn.clientWidth));
  });
}

function sentence(law, unit) {
  if (law.labels) {
    const shares = law.labels.map((label) => [label, law.draws.filter((draw) => draw === label).length / law.draws.length]);
    shares.sort((a, b) => b[1] - a[1]);
    return shares.slice(0, 4).map(([label, share]) => `${label}: ${(100 * share).toFixed(0)}%`).join(", ");
  }
  const percent = Math.round(100 * law.level);
  return `Mean ${short(law.mean)}${unit}, ${percent}% between ${short(law.low)} and ${short(law.high)}${unit}.`;
}

// The axis grows when it must and never shrinks, so that a law is seen to move.
function domain(law) {
  if (law.labels) return null;
  const sorted = [...law.draws].sort((a, b) => a - b), at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const wide = (at(0.995) - at(0.005)) || Math.abs(at(0.5)) || 1;
  const now = [at(0.005) - 0.15 * wide, at(0.995) + 0.15 * wide], before = state.domains[law.name] ?? now;
  const grown = [Math.min(now[0], before[0]), Math.max(now[1], before[1])];
  state.domains[law.name] = grown;
  return grown;
}

function calls(given, n, seed) {
  const body = JSON.stringify({ given, n, seed }), url = new URL(`v1/${state.twin.path}sample`, document.baseURI).href;
  const quoted = body.replaceAll("'", "'\\''");
  $("curl").textContent = `curl --json '${quoted}' \\\n  -H "Authorization: Bearer $TOKEN" ${url}`;
  $("python").textContent = [
    "import json, os, urllib.request", "",
    `asked = r"""${body}"""`,
    "headers = {\"Authorization\": f\"Bearer {os.environ['TOKEN']}\", \"Content-Type\": \"application/json\"}",
    `request = urllib.request.Request("${url}", asked.encode(), headers)`,
    "draws = json.load(urllib.request.urlopen(request))[\"draws\"]"].join("\n");
}

function choose(name) {
  const prefix = state.twins.length === 1 ? "" : `${name}.`, parts = state.schema.components.schemas;
  const path = state.twins.length === 1 ? "" : `${encodeURIComponent(name)}/`;
  const laws = state.schema.paths[`/v1/${path}sample`].post["x-laws"];
  state.twin = { name, path, targets: columnsOf(parts[`${prefix}Targets`]) };
  state.domains = {};
  $("title").textContent = name;
  document.title = `${name} – forebear serve`;
  $("lead").textContent = Object.entries(laws).map(([target, inputs]) =>
    `${target} given ${inputs.length ? inputs.join(", ") : "nothing"}`).join("; ") + ".";
  state.read = makeInputs($("inputs"), columnsOf(parts[`${prefix}Inputs`]), soon);
  renew();
}

async function start() {
  const reply = await fetch("openapi.json");
  if (!reply.ok) throw new Error((await reply.json()).error);
  state.schema = await reply.json();
  const posts = Object.entries(state.schema.paths).filter(([path]) => path.endsWith("/sample"));
  state.twins = posts.map(([, path]) => path.post.tags[0]);
  $("twin").append(...state.twins.map((name) => element("option", {}, name)));
  $("twins").hidden = state.twins.length === 1;
  $("twin").addEventListener("change", () => choose($("twin").value));
  for (const id of ["n", "seed", "level"]) $(id).addEventListener("input", soon);
  $("form").addEventListener("submit", (event) => { event.preventDefault(); renew(); });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText($(button.dataset.copy).textContent);
      $("copied").textContent = "copied";
    });
  }
  addEventListener("resize", () => show());
  choose(state.twins[0]);
}

start().catch((error) => trouble(error.message));
