// Which screen is shown, by what stands behind the # of the address.

import { about } from "./api.js";
import { choose } from "./choose.js";
import { columns } from "./columns.js";
import { compare } from "./compare.js";
import { el, fill, heading } from "./dom.js";
import * as live from "./live.js";
import { run } from "./run.js";
import { history } from "./runs.js";

const SCREENS = { "": choose, columns, runs: history, run, compare };
const main = document.getElementById("main");
let leave = null;

function show(first) {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  if (leave) leave();
  leave = null;
  const screen = SCREENS[name];
  const parameters = Object.fromEntries(new URLSearchParams(query));
  if (screen) leave = screen(main, parameters, ...rest.map(decodeURIComponent)) || null;
  else fill(main, heading("There is nothing here"), el("p", {}, el("a", { href: "#/" }, "Begin with a file")));
  document.getElementById("nav-new").toggleAttribute("aria-current", name === "" || name === "columns");
  document.getElementById("nav-runs").toggleAttribute("aria-current", ["runs", "run", "compare"].includes(name));
  const title = main.querySelector("h1");
  document.title = `${title ? title.textContent : "forebear"} – forebear studio`;
  scrollTo(0, 0);
  if (!first && title) title.focus({ preventScroll: true });
}

addEventListener("hashchange", () => show(false));
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
live.listen(() => {
  const active = live.latest().filter(({ state }) => state === "running" || state === "waiting").length;
  const count = document.getElementById("nav-count");
  count.hidden = !active;
  count.textContent = active;
  count.setAttribute("aria-label", `, ${active} under way`);
});
about.then(({ version, folder }) => {
  document.getElementById("about").textContent = `forebear ${version}. Runs and uploads are kept in ${folder}. ` +
    "Nothing leaves this machine.";
}).catch(() => {});
// What is dropped beside the zone must not replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
live.start();
show(true);
