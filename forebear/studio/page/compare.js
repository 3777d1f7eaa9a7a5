// Two runs side by side: what was asked differently, what came out differently.

import { get } from "./api.js";
import { el, fill, heading, pill, when } from "./dom.js";
import * as live from "./live.js";

export function compare(main, { a, b }) {
  const body = el("div", {}, el("p", { class: "wait" }, el("span", { class: "spin", "aria-hidden": "true" }), "Reading …"));
  fill(main, heading("Two runs side by side"), body);
  const head = (names) => el("thead", {}, el("tr", {}, el("td", {}), names.map((name, place) => el("th", { scope: "col", class: "left" },
    el("a", { href: `#/run/${encodeURIComponent([a, b][place])}` }, `${place + 1}. ${name}`), el("span", { class: "muted block" }, when((live.runs.get([a, b][place]) || {}).created))))));
  const cell = (what, value) => what === "verdict" && value !== "not asked" ? pill(value === "untested" ? "" : value) : value;
  const line = ({ what, values, same }) => el("tr", { class: same ? "same" : "differs" }, el("th", { scope: "row", class: "left" }, what,
    !same && el("span", { class: "hidden" }, " (differs)")), values.map((value) => el("td", { class: "left" }, cell(what, value))));
  const table = (label, names, rows) => el("section", {}, el("h2", {}, label), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    el("table", { class: "compare" }, head(names), el("tbody", {}, rows.map(line)))));
  get("api/compare", { a, b }).then(({ names, settings, targets }) => fill(body,
    el("p", { class: "muted" }, "Rows that differ are marked. Settings that are the same in both are left out."),
    targets.map(({ name, rows }) => table(name, names, rows)), table("Settings", names, settings)))
    .catch((error) => fill(body, el("p", { class: "wrong", role: "alert" }, error.message)));
}
