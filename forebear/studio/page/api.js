// Requests to the server this page came from. Every error is one line, and says what to do.

async function answer(response) {
  let content = {};
  try { content = await response.json(); } catch { /* no JSON: the status says it */ }
  if (response.status === 401) throw new Error("You are no longer signed in: open the address that forebear printed.");
  if (!response.ok) throw new Error(content.error || `the studio answered with ${response.status}`);
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
      else reject(new Error(content.error || `the studio answered with ${request.status}`));
    };
    request.send(file);
  });
  return { done, cancel: () => request.abort() };
}

export const about = get("api/about");
