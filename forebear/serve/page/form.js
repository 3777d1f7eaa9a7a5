// A form from the schema: a slider and a number for what is a number, a list for what has labels.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

// The columns of a component: its second form is a list of rows, each an object of cells.
export function columnsOf(component) {
  return component.anyOf[1].items.properties;
}

export function makeInputs(place, columns, changed) {
  const fields = Object.entries(columns).map(([name, column], number) => field(name, column, `input-${number}`, changed));
  place.replaceChildren(...fields.map((one) => one.shown));
  if (!fields.length) place.replaceChildren(element("p", {}, "The laws depend on no input."));
  return () => Object.fromEntries(fields.map((one) => [one.name, one.read()]));
}

function field(name, column, id, changed) {
  const unit = column["x-unit"] ? [" ", element("span", { class: "unit" }, column["x-unit"])] : [];
  const label = element("label", { for: id }, name, ...unit);
  const made = column.enum ? choices(column, id, changed) : number(name, column, id, changed);
  const told = column.description ? [element("p", { class: "seen", id: `${id}-seen` }, column.description)] : [];
  return { name, read: made.read, shown: element("div", { class: "input" }, label, made.shown, ...told) };
}

function choices(column, id, changed) {
  const options = column.enum.map((label, place) =>
    element("option", { value: place, selected: label === column.default }, label === null ? "(missing)" : String(label)));
  const list = element("select", { id }, ...options);
  list.addEventListener("change", changed);
  return { shown: element("div", { class: "row" }, list), read: () => column.enum[Number(list.value)] };
}

function number(name, column, id, changed) {
  const widget = column["x-widget"], seen = column["x-seen"];
  const exact = element("input", {
    id, type: "number", step: "any", value: column.default, "aria-describedby": column.description ? `${id}-seen` : null,
    required: column.type === "number" });
  const slider = element("input", {
    type: "range", min: widget.from, max: widget.to, step: widget.step, value: column.default,
    "aria-label": `${name}, slider` });
  const judge = () => {
    const value = Number(exact.value);
    exact.classList.toggle("far", Boolean(seen) && exact.value !== "" && (value < seen.low || value > seen.high));
  };
  slider.addEventListener("input", () => { exact.value = slider.value; judge(); changed(); });
  exact.addEventListener("input", () => { if (exact.value !== "") slider.value = exact.value; judge(); changed(); });
  return {
    shown: element("div", { class: "row" }, slider, exact),
    // An empty field is a gap where the column may have some; elsewhere the server says what is missing.
    read: () => (exact.value === "" ? null : Number(exact.value)),
  };
}
