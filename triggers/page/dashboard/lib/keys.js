// The keys of the reader: only in sessionStorage, only in headers. They end with the tab.

const NAMES = { function: "toolpulse.function-key", management: "toolpulse.management-key" };
const HEADERS = { function: "x-functions-key", management: "X-Management-Key" };
const memory = new Map();
const listeners = new Set();

export function key(kind) {
  if (memory.has(kind)) return memory.get(kind);
  try {
    return sessionStorage.getItem(NAMES[kind]) ?? "";
  } catch {
    return "";
  }
}

/** Keeps a key for the session; an empty text forgets it. */
export function keep(kind, text) {
  const value = text.trim();
  memory.set(kind, value);
  try {
    if (value) sessionStorage.setItem(NAMES[kind], value);
    else sessionStorage.removeItem(NAMES[kind]);
  } catch {
    // Without storage the key lasts until the page is left.
  }
  for (const listener of [...listeners]) listener(kind);
}

export function onKeys(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The headers of a request. The management key goes only with a request that needs it. */
export function headers(withManagement) {
  const found = {};
  if (key("function")) found[HEADERS.function] = key("function");
  if (withManagement && key("management")) found[HEADERS.management] = key("management");
  return found;
}
