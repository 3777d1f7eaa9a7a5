// All runs: where they stand, what came out, and two of them side by side.

import { post } from "./api.js";
import { el, fill, heading, lasted, many, pill, say, state, when } from "./dom.js";
import * as live from "./live.js";

export const link = (run) => `#/run/${encodeURIComponent(run.id)}`;

export const answer = ({ target, ancestors, verdict }) => el("p", { class: "answer-line" },
  el("b", {}, target), ancestors.length ? [" ← ", ancestors.join(", ")] : " depends on none of the candidates", " ", pill(verdict));

export const bar = (run) => run.live && el("progress", { max: 1, value: run.live.share,
  "aria-label": `Progress of ${run.name}` });

export function card(run, more) {
  const named = run.targets.length ? `${run.targets.join(", ")} in ${run.name}` : run.name;
  const after = run.state === "done" && run.seconds ? `, took ${lasted(run.seconds)}` : "";
  return el("article", { class: "card run" }, el("p", { class: "title" }, el("a", { href: link(run) }, named)),
    el("p", { class: "muted" }, state(run.state), " ", when(run.created), after, run.elsewhere && ", begun elsewhere"), bar(run),
    run.answers.slice(0, 4).map(answer), run.answers.length > 4 && el("p", { class: "muted" }, `and ${many(run.answers.length - 4, "more target")}`),
    run.error && el("p", { class: "wrong small" }, run.error), more && el("p", { class: "more" }, more));
}

export const deletable = (run) => run.own && run.state !== "running" && !run.making.length;

// What is lost with a run, and two buttons.
export function question(run, keep, wrong) {
  const alone = run.dropped && ![...live.runs.values()].some((other) => other.id !== run.id && other.file === run.file);
  const yes = el("button", { type: "button", class: "danger", id: `yes-${run.id}`, onclick: async () => {
    yes.disabled = true;
    try {
      await post(`api/runs/${encodeURIComponent(run.id)}/delete`, {});
      say("Deleted");
    } catch (error) {
      yes.disabled = false;
      wrong.textContent = error.message;
      wrong.hidden = false;
    }
  } }, "Yes, delete it");
  return el("span", { class: "sure" }, `Delete this run for good, with its result, its twin and its files${
    alone ? `, and the copy of ${run.name} that was dropped here` : ""}?`, yes, el("button", { type: "button", onclick: keep }, "Keep it"));
}

export function history(main) {
  const chosen = new Set();
  let asking = null;
  const wrong = el("p", { class: "wrong", role: "alert", hidden: true });
  const list = el("ul", { class: "cards history" });
  const button = el("button", { type: "button", disabled: true, onclick: () => {
    const [a, b] = [...chosen];
    location.hash = `#/compare?${new URLSearchParams({ a, b })}`;
  } }, "Compare two");
  const told = el("span", { class: "muted", role: "status" });
  const tools = el("div", { class: "finder" }, button, told);
  fill(main, heading("Runs"), tools, wrong, list);
  const mark = () => {
    button.disabled = chosen.size !== 2;
    told.textContent = chosen.size === 0 ? "Tick two finished runs to see them side by side." : chosen.size === 1
      ? "One more." : chosen.size === 2 ? "" : "Only two can be compared.";
  };
  const draw = () => {
    const runs = live.latest();
    for (const id of chosen) if (!live.runs.has(id)) chosen.delete(id);
    tools.hidden = runs.filter((run) => run.state === "done").length < 2;
    const again = document.activeElement && document.activeElement.id;
    fill(list, runs.map((run) => {
      const box = run.state === "done" && el("input", { type: "checkbox", id: `pick-${run.id}`, checked: chosen.has(run.id),
        "aria-label": `Compare ${run.targets.join(", ")} in ${run.name}, ${when(run.created)}`,
        onchange: (event) => { if (event.target.checked) chosen.add(run.id); else chosen.delete(run.id); mark(); } });
      const named = `${run.targets.join(", ")} in ${run.name}, ${when(run.created)}`;
      const ask = (id, focus) => { asking = id; draw(); document.getElementById(focus)?.focus(); };
      const more = !deletable(run) ? null : asking === run.id ? question(run, () => ask(null, `delete-${run.id}`), wrong)
        : el("button", { type: "button", class: "small", id: `delete-${run.id}`, "aria-label": `Delete ${named}`,
          onclick: () => ask(run.id, `yes-${run.id}`) }, "Delete");
      return el("li", {}, el("span", { class: "tick" }, box), card(run, more));
    }));
    if (again && document.getElementById(again)) document.getElementById(again).focus();
    if (!runs.length && live.ready()) fill(list, el("li", { class: "empty" }, el("p", {}, "No runs yet."),
      el("p", {}, el("a", { class: "button primary", href: "#/" }, "Begin with a file"))));
    mark();
  };
  draw();
  return live.listen(draw);
}
