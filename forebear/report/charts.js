"use strict";
// Elements, numbers and axes. Text of the data only ever becomes a text node.

const charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(3)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  }

  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  const superscript = (text) => text.replace(/[-\d]/g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

  // Digits as people write them: a true minus, no trailing zeros, powers of ten only where they help.
  // A number of rows: every digit, in groups from five on.
  const count = (value) => value < 1e4 ? String(value) : value.toLocaleString("en-US").replace(/,/g, "\u202f");

  function fmt(value, digits = 3) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (value === 0) return "0";
    const size = Math.abs(value);
    let text;
    if (size >= 1e6 || size < 1e-4) {
      const [front, power] = value.toExponential(Math.max(digits - 2, 0)).split("e");
      text = Number(front) + "·10" + superscript(String(Number(power)));
    } else if (size >= 1e4) text = Math.round(value).toLocaleString("en-US").replace(/,/g, "\u202f");
    else text = String(Number(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1))));
    return text.replace("-", "−");
  }

  const percent = (share, digits = 0) => share === null ? "–" : (100 * share).toFixed(digits) + "%";
  const pText = (p) => p === null ? "–" : p < 1e-4 ? "< 0.0001" : fmt(p, 2);
  // A long name may break behind its signs, and not in the middle of a word.
  const broken = (text) => text.split(/(?<=[_/.:-])/).flatMap((part, place) => place ? [el("wbr"), part] : [part]);

  const cut = (text, most) => text.length <= most ? text : text.slice(0, most - 1) + "…";

  function ticks(low, high, wanted = 5) {
    const raw = (high - low) / wanted;
    if (!(raw > 0) || !Number.isFinite(raw)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].find((s) => s * power >= raw * 0.999) * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9;
      k++) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  // How wide a figure may be: its letters are as large on a phone as on a desk.
  const room = (most) => Math.round(Math.min(most, Math.max(260, document.documentElement.clientWidth - 56)));

  // A plot with axes: where numbers lie in it, and the group to draw into.
  function plot({ width = room(520), height = 280, left = 54, right = 14, top = 12, bottom = 44, x, y, xLabel, yLabel,
    xTicks, yTicks, xText = fmt, yText = fmt, label }) {
    const X = (v) => left + (v - x[0]) / (x[1] - x[0]) * (width - left - right);
    const Y = (v) => height - bottom - (v - y[0]) / (y[1] - y[0]) * (height - top - bottom);
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    const floor = height - bottom;
    for (const value of yTicks || ticks(y[0], y[1], 4)) {
      root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: Y(value), y2: Y(value) }),
        svg("text", { class: "tick", x: left - 6, y: Y(value) + 4, "text-anchor": "end" }, yText(value)));
    }
    root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: floor, y2: floor }));
    for (const value of xTicks || ticks(x[0], x[1], width < 400 ? 4 : 6)) {
      root.append(svg("line", { class: "axis", x1: X(value), x2: X(value), y1: floor, y2: floor + 4 }),
        svg("text", { class: "tick", x: X(value), y: floor + 17, "text-anchor": "middle" }, xText(value)));
    }
    if (xLabel) root.append(svg("text", { class: "label", x: (left + width - right) / 2, y: height - 6,
      "text-anchor": "middle" }, cut(xLabel, Math.floor((width - left - right) / 6.2))));
    if (yLabel) {
      const middle = (top + floor) / 2;
      root.append(svg("text", { class: "label", x: 13, y: middle, "text-anchor": "middle",
        transform: `rotate(-90 13 ${middle})` }, yLabel));
    }
    const body = svg("g", {});
    root.append(body);
    return { root, body, X, Y, floor, width, height, left, right, top };
  }

  const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");

  const KEPT_STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
    "fill-opacity", "stroke-opacity", "paint-order", "font-size", "font-weight", "font-family", "font-style"];

  // A figure that stands on its own, in light colours whatever the page's are.
  function standalone(source) {
    document.documentElement.setAttribute("data-export", "");
    const copy = source.cloneNode(true);
    const [from, to] = [source, copy].map((root) => [root, ...root.querySelectorAll("*")]);
    from.forEach((element, place) => {
      const style = getComputedStyle(element);
      for (const name of KEPT_STYLES) to[place].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "tabindex", "role", "aria-pressed", "style"]) to[place].removeAttribute(name);
    });
    const ground = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
    document.documentElement.removeAttribute("data-export");
    const [, , width, height] = source.getAttribute("viewBox").split(" ").map(Number);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.prepend(svg("rect", { width, height, fill: ground }));
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  }

  function save(blob, name) {
    const link = el("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const saveSvg = (source, name) => save(new Blob([standalone(source).text], { type: "image/svg+xml" }),
    name + ".svg");

  // Three pixels a unit: sharp at paper size.
  function asPng(source) {
    const { text, width, height } = standalone(source);
    const image = new Image();
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    return new Promise((resolve, reject) => {
      image.onload = () => {
        const canvas = el("canvas", { width: 3 * width, height: 3 * height });
        canvas.getContext("2d").drawImage(image, 0, 0, 3 * width, 3 * height);
        URL.revokeObjectURL(url);
        canvas.toBlob((blob) => blob ? resolve(blob) : reject(new Error("no image")), "image/png");
      };
      image.onerror = () => reject(new Error("the figure could not be drawn"));
      image.src = url;
    });
  }

  const savePng = (source, name) => asPng(source).then((blob) => save(blob, name + ".png"));
  const fileName = (...parts) => parts.join("-").replace(/[^\p{L}\p{N}_-]+/gu, "_").slice(0, 80);

  // A figure with its title, a line on how to read it, and buttons to take it along.
  function figure(title, note, drawing, name) {
    const holder = el("div", { class: "drawing" }, drawing);
    const current = () => holder.querySelector("svg");
    const button = (kind, action) =>
      el("button", { type: "button", class: "small", "aria-label": `Download ${title} as ${kind}`,
      onclick: () => action(current(), name) }, kind);
    return el("figure", {},
      el("div", { class: "bar" }, el("p", { class: "title" }, broken(title)),
        el("span", { class: "tools" }, button("SVG", saveSvg), button("PNG", savePng))),
      holder, note && el("figcaption", {}, note));
  }

  // What is wider than the page scrolls, by keys too.
  const scroller = (label, ...children) =>
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, children);

  // A table whose columns sort at a click; a column is {title, hint, value(row), text(row), left}.
  function table(columns, rows, { sort = -1, down = false, caption, label = caption } = {}) {
    const body = el("tbody", {});
    const state = { sort, down };
    const heads = columns.map((column, place) => {
      const arrow = el("span", { class: "arrow", "aria-hidden": "true" });
      const turn = () => {
        state.down = state.sort === place ? !state.down : false;
        state.sort = place;
        show();
      };
      return el("th", { scope: "col", class: column.left ? "left" : null, title: column.hint },
        el("button", { type: "button", onclick: turn }, column.left ? [column.title, arrow] : [arrow, column.title]));
    });
    const compare = (a, b) => {
      const missing = (v) => v === null || v === undefined;
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    };
    function show() {
      const ordered = [...rows];
      if (state.sort >= 0) {
        const { value } = columns[state.sort];
        ordered.sort((a, b) => (state.down ? -1 : 1) * compare(value(a), value(b)));
      }
      heads.forEach((head, place) => {
        const sorted = place === state.sort;
        head.setAttribute("aria-sort", sorted ? (state.down ? "descending" : "ascending") : "none");
        head.querySelector(".arrow").textContent = sorted ? (state.down ? "▼" : "▲") : "";
      });
      body.replaceChildren(...ordered.map((row) => el("tr", { class: row.mark || null },
        columns.map((column) => el("td", { class: column.left ? "left" : null },
          (column.text || column.value)(row))))));
    }
    show();
    return scroller(label, el("table", {}, caption && el("caption", {}, caption),
      el("thead", {}, el("tr", {}, heads)), body));
  }

  return { el, svg, fmt, count, percent, pText, cut, broken, ticks, room, plot, line, figure, scroller, table, fileName, standalone, asPng };
})();
