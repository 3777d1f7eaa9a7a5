// Requests to the server this page came from. Every error is one line, and says what to do.

// What a proxy before the studio answers by itself, and not as JSON.
const PROXY = {
  413: "The proxy before the studio lets no file of this size through: raise its limit (client_max_body_size), or " +
    "choose the file by its place.",
  502: "The proxy does not reach the studio: is it still running?",
  504: "The proxy did not wait long enough for the studio: raise its limit (proxy_read_timeout).",
};
const without = (status) => PROXY[status] || `the studio answered with ${status}`;

async function answer(response) {
  let content = {};
  try { content = await response.json(); } catch { /* no JSON: the status says it */ }
  if (response.status === 401) throw new Error("You are no longer signed in: open the address that forebear printed.");
  if (!response.ok) throw new Error(content.error || without(response.status));
  return content;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Error("The studio does not answer: was it stopped? Start it again, and open the address it prints.");
  }
  return answer(response);
}

export const get = (path, parameters = {}) => {
  const query = new URLSearchParams(parameters).toString();
  return send(query ? `${path}?${query}` : path, {});
};

export const post = (path, content) => send(path,
  { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });

// A file as it is, with how much of it has gone; fetch does not tell that.
export function upload(file, progress) {
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.open("POST", `api/upload?${new URLSearchParams({ name: file.name })}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => progress(event.loaded, event.total);
    request.onerror = () => reject(new Error("The file did not arrive: is the studio still running?"));
    request.onabort = () => reject(new Error("The upload was cancelled."));
    request.onload = () => {
      let content = {};
      try { content = JSON.parse(request.responseText); } catch { /* the status says it */ }
      if (request.status === 200) resolve(content);
      else reject(new Error(content.error || without(request.status)));
    };
    request.send(file);
  });
  return { done, cancel: () => request.abort() };
}

export const about = get("api/about");
