// What the server knows of the runs, kept up to date by its stream of events; every tab has the same.

export const runs = new Map();
const listeners = new Set();
let source = null;
let known = false;

export const latest = () => [...runs.values()].sort((a, b) => a.created < b.created ? 1 : -1);
export const listen = (listener) => { listeners.add(listener); return () => listeners.delete(listener); };
export const ready = () => known;

function trouble(text) {
  const box = document.getElementById("trouble");
  box.hidden = !text;
  if (box.textContent !== text) box.textContent = text;
}

function hear(event) {
  const message = JSON.parse(event.data);
  if (message.runs) {
    runs.clear();
    for (const run of message.runs) runs.set(run.id, run);
    known = true;
  }
  if (message.run) runs.set(message.run.id, message.run);
  if (message.gone) runs.delete(message.gone);
  trouble(message.trouble || "");
  for (const listener of [...listeners]) listener(message.run ? message.run.id : message.gone || null);
}

function open() {
  if (source) return;
  source = new EventSource("api/events");
  source.onmessage = hear;
  source.onerror = () => {
    const gone = source.readyState === EventSource.CLOSED;
    trouble(gone ? "This page is no longer connected: the studio was restarted. Open the address it printed."
      : "The studio does not answer. If it was stopped, start it again; this page goes on by itself.");
    if (gone) {
      source = null;
      setTimeout(() => { if (!document.hidden) open(); }, 3000);
    }
  };
}

// A browser has few connections for one server: tabs that nobody sees give theirs back.
function close() {
  if (source) source.close();
  source = null;
}

export function start() {
  open();
  document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
  addEventListener("pagehide", close);
}
