// One run: how far it is, and when it is done the report, its files, and how to do it again.

import { get, post } from "./api.js";
import { copyable, el, field, fill, heading, lasted, many, say, steps, when } from "./dom.js";
import * as live from "./live.js";
import { answer, deletable, question } from "./runs.js";

export function run(main, parameters, id) {
  let gone = false;
  let shown = null;
  let told = "";
  let parts = {};
  const path = `api/runs/${encodeURIComponent(id)}`;
  const view = el("div", {});
  fill(main, view);

  function draw(only) {
    if (gone || (only && only !== id)) return;
    const now = live.runs.get(id);
    if (!now) {
      if (live.ready()) fill(view, heading("There is no such run"), el("p", {}, el("a", { href: "#/runs" }, "All runs")));
      return;
    }
    const kind = `${now.state} ${now.reported} ${now.name}`;
    if (kind !== shown) {
      shown = kind;
      const again = document.activeElement === document.body || !main.contains(document.activeElement);
      parts = now.state === "done" ? finished(now) : ["waiting", "running"].includes(now.state) ? underway(now) : ended(now);
      document.title = `${view.querySelector("h1").textContent} – forebear studio`;
      if (!again) view.querySelector("h1").focus({ preventScroll: true });
    }
    if (parts.update) parts.update(now);
  }

  const title = (now) => now.targets.length ? `What shapes ${now.targets.length > 3 ? many(now.targets.length, "target") : now.targets.join(", ")}` : now.name;
  const again = (now) => now.file && el("a", { class: "button", href: `#/columns?${new URLSearchParams({ file: now.file, again: id })}` },
    "Change the set-up");
  const wrong = el("p", { class: "wrong", role: "alert", hidden: true });
  const act = (text, action, attributes = {}) => el("button", { type: "button", ...attributes, onclick: async (event) => {
    event.target.disabled = true;
    wrong.hidden = true;
    try { await action(); } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    } finally { event.target.disabled = false; }
  } }, text);
  const notes = (now) => now.notes.length > 0 && [el("h2", {}, "Notes"), el("ul", { class: "why" }, now.notes.map((note) => el("li", {}, note)))];

  // Another name, and the end of it.
  function keeping(now) {
    const box = el("input", { type: "text", class: "text", maxlength: 120, value: now.name, id: "name" });
    const name = el("form", { class: "path", onsubmit: async (event) => {
      event.preventDefault();
      wrong.hidden = true;
      try {
        await post(`${path}/name`, { name: box.value });
        say("Renamed");
      } catch (error) {
        wrong.textContent = error.message;
        wrong.hidden = false;
      }
    } }, field("Name", box), el("button", {}, "Rename"));
    const place = el("div", { class: "buttons" });
    const ask = () => {
      const sure = question(live.runs.get(id) || now, begin, wrong);
      fill(place, sure);
      sure.querySelector("button").focus();
    };
    const begin = (event) => {
      const button = el("button", { type: "button", onclick: ask }, "Delete this run");
      fill(place, button);
      if (event) button.focus();
    };
    if (deletable(now)) begin();
    else fill(place, el("p", { class: "muted" }, now.own ? "" : `This run lies in ${now.folder}: it is not the studio's to delete.`));
    return el("details", { class: "keeping" }, el("summary", {}, "Rename or delete"), name, place);
  }

  function underway(now) {
    const stages = el("ol", { class: "stages" });
    const bar = el("progress", { max: 1, value: 0, "aria-label": "Progress" });
    const line = el("p", { class: "lead", id: "line" });
    const noted = el("div", { role: "log", "aria-label": "Notes" });
    const found = el("div", {});
    const sure = el("span", { class: "sure", hidden: true }, "End it? What is done is kept. ",
      act("Yes, cancel", async () => { await post(`${path}/cancel`, {}); say("Cancelled"); }, { class: "danger" }), " ",
      el("button", { type: "button", onclick: () => { sure.hidden = true; cancel.hidden = false; cancel.focus(); } }, "Let it run"));
    const cancel = el("button", { type: "button", onclick: () => {
      sure.hidden = false;
      cancel.hidden = true;
      sure.querySelector("button").focus();
    } }, "Cancel");
    fill(view, steps(2), heading(title(now)), el("p", { class: "muted" }, `${now.name}, begun ${when(now.created)}`), line, bar, stages,
      el("p", { class: "buttons" }, cancel, sure), wrong, found, noted,
      el("p", { class: "muted" }, "You may close this page: the run goes on, and is here when you come back."));
    const STAGES = [["search", "Search for the inputs, and test them"], ["report", "Fit the laws, and write the report"]];
    return { update(state) {
      const { live: at } = state;
      const ahead = live.latest().filter((other) => other.id !== id && (other.state === "running" ||
        (other.state === "waiting" && other.created < state.created))).length;
      if (!at) {
        line.textContent = ahead ? `Waiting: ${many(ahead, "run")} before this one.` : "Waiting to start.";
        bar.hidden = true;
      } else {
        bar.hidden = false;
        bar.value = at.share;
        line.textContent = `${Math.round(100 * at.share)}%, ${at.stage}${at.left ? `: ${at.left}` : ""}`;
        const rough = `${at.phase}, ${10 * Math.floor(10 * at.share)}%`;
        if (rough !== told) say(`${told = rough} done${at.left ? `, ${at.left}` : ""}`);
      }
      const here = at ? STAGES.findIndex(([phase]) => phase === at.phase) : -1;
      fill(stages, STAGES.map(([, text], place) => el("li", { class: place < here ? "past" : place === here ? "here" : "",
        "aria-current": place === here && "step" }, text)));
      fill(found, state.answers.length > 0 && [el("h2", {}, "Found so far"), state.answers.map(answer)]);
      fill(noted, notes(state));
    } };
  }

  function ended(now) {
    const said = { failed: "This run was stopped by an error", cancelled: "This run was cancelled",
      unfinished: "This run is not finished" }[now.state];
    const go = act("Go on", () => post(`${path}/go-on`, {}), { class: "primary" });
    fill(view, steps(2), heading(said), el("p", { class: "muted" }, `${title(now)}, ${now.name}, begun ${when(now.created)}`),
      now.error && el("p", { class: "wrong", role: "alert" }, now.error),
      el("p", {}, "What was done is kept in its folder: it goes on from there."), el("p", { class: "buttons" }, go, " ", again(now)), wrong, notes(now), keeping(now));
    return {};
  }

  function finished(now) {
    const results = el("div", { class: "results" });
    const downloads = el("ul", { class: "downloads" });
    const repeat = el("div", {});
    const frame = now.reported && el("iframe", { src: `${path}/report`, title: "Report", sandbox: "allow-scripts allow-downloads",
      class: "report" });
    fill(view, steps(3), heading(title(now)), el("p", { class: "muted" }, `${now.name}, ${when(now.created)}`,
      now.seconds ? `, searched for ${lasted(now.seconds)}` : ""), results, wrong,
      now.reported ? [el("div", { class: "bar" }, el("h2", {}, "Report"), el("a", { href: `${path}/report`, target: "_blank", rel: "noopener" }, "Open in a tab of its own")), frame]
        : el("p", { class: "buttons" }, act("Write the report", () => post(`${path}/go-on`, {}), { class: "primary" })),
      el("h2", {}, "Take away"), downloads, el("h2", {}, "Do it again"), el("p", { class: "buttons" }, again(now)), repeat, notes(now), keeping(now));
    let files = [];
    get(path).then((content) => {
      if (gone) return;
      ({ files } = content);
      summarise(results, content.result);
      list();
      const said = content.again;
      fill(repeat, said && [said.command ? copyable("On the command line", said.command)
        : el("p", { class: "muted" }, "The command line cannot say these names; Python can."), copyable("In Python", said.call)],
        el("p", { class: "muted" }, `The run is in ${now.folder}: forebear report, sample, export and monitor take this folder.`));
    }).catch((error) => { wrong.textContent = error.message; wrong.hidden = false; });
    // A twin that the report did not need has to be fitted first, which takes as long as the search.
    const under = ({ maker, making }, name) => maker?.phase === name
      ? maker.stage ? `${maker.stage}, ${Math.round(100 * maker.share)}%${maker.left ? `: ${maker.left}` : ""}` : "Starting …"
      : making[0] === name ? "Starting …" : "Waits for the file before it.";
    const list = () => {
      const at = live.runs.get(id) || now;
      fill(downloads, files.map(({ name, label, about }) => {
        const making = at.making.includes(name);
        const there = at.ready.includes(name);
        const button = there ? el("a", { class: "button", href: `${path}/files/${name}`, download: true }, "Download")
          : el("button", { type: "button", disabled: making, "data-file": name, onclick: () => post(`${path}/files`, { file: name })
            .catch((error) => { wrong.textContent = error.message; wrong.hidden = false; }) }, making ? "Making …" : "Make");
        return el("li", {}, el("div", {}, el("p", { class: "title" }, label, el("span", { class: "muted" }, ` ${name}`)),
          el("p", { class: "muted" }, about), making && el("p", { class: "muted", "data-making": name }, under(at, name)), at.unmade[name] && el("p", { class: "wrong small", role: "alert" }, at.unmade[name])), button);
      }));
    };
    let before = [];
    return { update(state) {
      for (const name of state.ready) if (before.length && !before.includes(name)) say(`${name} is ready`);
      before = state.ready;
      const focused = document.activeElement && document.activeElement.dataset && document.activeElement.dataset.file;
      if (files.length) list();
      if (focused) {
        const same = downloads.querySelector(`[href$="${focused}"], [data-file="${focused}"]`);
        if (same) same.focus();
      }
    } };
  }

  // Where there is a report it says all this, with the evidence; without one this is the answer.
  function summarise(place, result) {
    if (!result || live.runs.get(id)?.reported) return;
    fill(place, result.targets.map(({ name, ancestors, verdict, reasons }) => [answer({ target: name,
      ancestors: ancestors.map((one) => one.name), verdict }), reasons.length > 0 && el("ul", { class: "why" }, reasons.map((reason) => el("li", {}, reason)))]));
  }

  fill(view, heading("…"));
  draw(null);
  const stop = live.listen(draw);
  return () => { gone = true; stop(); };
}
