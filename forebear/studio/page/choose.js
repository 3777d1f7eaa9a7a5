// The first screen: drop a file, or choose one that lies on this machine; below it the latest runs.

import { about, get, upload } from "./api.js";
import { bytes, el, field, fill, heading, say, steps, when } from "./dom.js";
import * as live from "./live.js";
import { card } from "./runs.js";

const open = (path) => { location.hash = `#/columns?${new URLSearchParams({ file: path })}`; };

export function choose(main) {
  const wrong = el("p", { class: "wrong", role: "alert", hidden: true });
  const tell = (text) => { wrong.textContent = text; wrong.hidden = !text; };
  const recent = el("section", { "aria-labelledby": "recent-title" });
  fill(main, steps(0), heading("Which few inputs shape your target?"),
    el("p", { class: "lead" }, "Give a table: one row per measurement, one column per quantity. forebear finds the few ",
      "columns that shape the one you choose, shows the evidence, and says when the table cannot tell."),
    el("div", { class: "two" }, dropping(tell), picking(tell)), wrong, recent);
  const draw = () => {
    const latest = live.latest().slice(0, 4);
    fill(recent, latest.length > 0 && [el("h2", { id: "recent-title" }, "Latest runs"),
      el("ul", { class: "cards" }, latest.map((run) => el("li", {}, card(run)))),
      live.runs.size > latest.length && el("p", {}, el("a", { href: "#/runs" }, `All ${live.runs.size} runs`))]);
  };
  draw();
  return live.listen(draw);
}

function dropping(tell) {
  const input = el("input", { type: "file", id: "file", class: "hidden" });
  const told = el("div", { class: "sending", hidden: true });
  const zone = el("label", { for: "file", class: "drop" },
    el("span", { class: "big" }, "Drop a table here"),
    el("span", { class: "act" }, "or choose a file"),
    el("span", { class: "muted" }, ".csv, .parquet, .xlsx and others; it stays on this machine"));
  about.then(({ endings }) => input.setAttribute("accept", endings.join(","))).catch(() => {});

  async function take(file) {
    tell("");
    const { upload: most } = await about;
    if (file.size > most) {
      tell(`${file.name} has ${bytes(file.size)}: choose it by its place on the right, so that nothing is copied.`);
      return;
    }
    const bar = el("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
    const text = el("span", {}, `Sending ${file.name}`);
    const sent = upload(file, (loaded, total) => {
      bar.value = loaded / total;
      text.textContent = `Sending ${file.name}: ${bytes(loaded)} of ${bytes(total)}`;
    });
    fill(told, text, bar, el("button", { type: "button", onclick: sent.cancel }, "Cancel"));
    told.hidden = false;
    try {
      open((await sent.done).path);
    } catch (error) {
      tell(error.message);
    } finally {
      told.hidden = true;
      input.value = "";
    }
  }

  input.addEventListener("change", () => { if (input.files[0]) take(input.files[0]); });
  for (const kind of ["dragenter", "dragover"]) zone.addEventListener(kind, () => zone.classList.add("over"));
  for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length > 1) tell("One table at a time: the first was taken.");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  return el("section", { class: "give", "aria-label": "Drop a table" }, input, zone, told);
}

function picking(tell) {
  const box = el("input", { type: "text", class: "text", autocomplete: "off", spellcheck: "false",
    placeholder: "data/plant.csv" });
  const list = el("div", { class: "files" });
  const form = el("form", { class: "path", onsubmit: (event) => {
    event.preventDefault();
    if (box.value.trim()) open(box.value.trim());
  } }, field("A table on this machine", box), el("button", {}, "Open"));

  async function go(folder) {
    try {
      const found = await get("api/files", folder ? { folder } : {});
      const place = (path, text, kind) => el("li", {}, el("button", { type: "button", class: `entry ${kind}`,
        onclick: () => go(path) }, text));
      const files = found.entries.filter(({ kind }) => kind === "file");
      fill(list, el("p", { class: "muted where" }, found.folder),
        el("ul", {}, found.up && place(found.up, "One folder up", "up"),
          found.roots.length > 1 && found.roots.filter((root) => root !== found.folder)
            .map((root) => place(root, root, "folder")),
          found.entries.map((entry) => entry.kind === "folder" ? place(entry.path, entry.name, "folder")
            : el("li", {}, el("button", { type: "button", class: "entry file", onclick: () => open(entry.path) },
              el("span", { class: "name" }, entry.name),
              el("span", { class: "muted" }, `${bytes(entry.size)}, ${when(1000 * entry.changed)}`))))),
        !files.length && el("p", { class: "muted" }, "No tables in this folder."));
      if (folder) {
        say(`${found.folder}: ${files.length} tables`);
        const first = list.querySelector("button");
        if (first) first.focus();
      }
    } catch (error) {
      tell(error.message);
    }
  }
  go("");
  return el("section", { class: "pick", "aria-label": "Choose a table on this machine" }, form, list,
    el("p", { class: "muted" }, "Read where it lies: nothing is copied, so that tables of millions of rows are fine."));
}
