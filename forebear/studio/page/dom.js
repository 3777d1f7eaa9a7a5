// Elements, made as those of a report are: what comes from data only ever becomes a text node or an attribute.

export const { el, cut } = charts;

let numbers = 0;
export const fresh = (name) => `${name}-${numbers += 1}`;

export const say = (text) => { document.getElementById("said").textContent = text; };

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined &&
    child !== false).map((child) => child instanceof Node ? child : document.createTextNode(String(child))));
  return element;
}

// A label over its field, and a word of help below.
export function field(label, control, help) {
  const id = control.id || fresh("field");
  control.id = id;
  const note = help && el("p", { class: "help", id: `${id}-help` }, help);
  if (note) control.setAttribute("aria-describedby", note.id);
  return el("div", { class: "field" }, el("label", { for: id }, label), control, note);
}

export const choice = (options, value, onchange, attributes = {}) => el("select",
  { ...attributes, onchange: (event) => onchange(event.target.value) },
  options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));

export function bytes(size) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (size >= 1000 && place < units.length - 1) { size /= 1000; place += 1; }
  return `${place && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[place]}`;
}

export const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en-US")} ${count === 1 ? one : more}`;

export function when(stamp) {
  if (!stamp) return "";
  const date = new Date(stamp);
  const today = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return today ? `today, ${time}` : `${day}, ${time}`;
}

export const lasted = (seconds) => seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400
  ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;

const VERDICTS = { "certified": ["✓", "good"], "cannot tell": ["?", "unsure"], "something is missing": ["!", "bad"] };
export const pill = (word) => {
  const [sign, tone] = VERDICTS[word] || ["–", "open"];
  return el("span", { class: `pill ${tone}` }, el("span", { "aria-hidden": "true" }, sign + "\u00a0"),
    word || "untested");
};

const STATES = { waiting: ["waiting", "open"], running: ["running", "busy"], done: ["done", "good"],
  failed: ["stopped by an error", "bad"], cancelled: ["cancelled", "open"], unfinished: ["unfinished", "unsure"] };
export const state = (name) => el("span", { class: `state ${STATES[name][1]}` }, STATES[name][0]);

// A text to copy, with a button for it.
export function copyable(label, text) {
  const code = el("code", {}, text);
  const button = el("button", { type: "button", class: "small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch { // not allowed, or not there without TLS
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: press Ctrl+C";
    }
    say(`${label}: ${button.textContent}`);
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return el("div", { class: "copyable" }, el("div", { class: "bar" }, el("p", { class: "title" }, label), button),
    el("pre", { tabindex: 0, role: "region", "aria-label": label }, code));
}

export const heading = (text, ...more) => el("h1", { tabindex: -1 }, text, ...more);

// Where one is on the way from a file to a report.
const STEPS = ["File", "Columns", "Run", "Report"];
export const steps = (here) => el("ol", { class: "steps", "aria-label": "The way to a report" },
  STEPS.map((name, place) => el("li", { class: place < here ? "past" : place === here ? "here" : "",
    "aria-current": place === here && "step" }, name)));
