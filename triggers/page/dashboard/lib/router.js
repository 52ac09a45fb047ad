// The URL is the state: the path names the view and its subject, the query its settings. Pure, except for `navigate`.

export const BASE = "/api/dashboard";

/** The path below BASE as decoded segments, and the query as an object. */
export function parse(pathname, search) {
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname;
  const segments = below.split("/").filter(Boolean).map(decoded);
  return { segments, query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The URL of a view: `href(["tools", id], {period: "DAY_7"})`. Empty values are left out. */
export function href(segments, query = {}) {
  const path = [BASE, ...segments.map(encodeURIComponent)].join("/");
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(kept).toString();
  return text ? `${path}?${text}` : path;
}

/** The values of the segments if they match a pattern such as "tools/:tool", else null. */
export function match(pattern, segments) {
  const parts = pattern.split("/").filter(Boolean);
  if (parts.length !== segments.length) return null;
  const values = {};
  for (const [index, part] of parts.entries()) {
    if (part.startsWith(":")) values[part.slice(1)] = segments[index];
    else if (part !== segments[index]) return null;
  }
  return values;
}

/** The query with a change: values that equal their default, or are empty, are dropped. */
export function changed(query, change, defaults = {}) {
  const next = { ...query, ...change };
  for (const [name, value] of Object.entries(next)) {
    if (value === undefined || value === null || value === "" || String(value) === String(defaults[name] ?? "")) {
      delete next[name];
    }
  }
  return next;
}

const listeners = new Set();

export function onNavigate(listener) {
  listeners.add(listener);
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
}

/** Goes to a URL of the dashboard. `replace` leaves no entry in the history, for settings that change often. */
export function navigate(url, { replace = false } = {}) {
  if (url === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  for (const listener of [...listeners]) listener();
}

/** Whether a click on a link is one that the app follows itself. */
export function isOwnClick(event, anchor) {
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const { origin, pathname } = new URL(anchor.href, location.href);
  const inside = pathname === BASE || pathname.startsWith(`${BASE}/`);
  return plain && !event.defaultPrevented && !anchor.target && !anchor.download && origin === location.origin && inside;
}
