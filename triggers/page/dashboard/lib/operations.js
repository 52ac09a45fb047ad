// Reading and changing what operators look after: feeds, quarantine, runs, the cache, queues. The counterpart of api.js,
// which has what readers look at. Views never see a raw response.
import { all } from "./api.js";
import { duration, number } from "./format.js";
import { path, send } from "./http.js";

const get = (where, query, options) => send("GET", where, { query, ...options });
const post = (where, body = {}) => send("POST", where, { body });
const MANAGED = { management: true };
export const OPML = "text/x-opml";

export const operations = {
  feeds: () => all("feeds"),
  feed: (id) => get(path("feeds", id)),
  attempts: (id) => get(path("feeds", id, "history"), { limit: 100 }),
  presets: () => get("presets"),
  preview: (url) => post("feeds/preview", { url }),
  addFeed: (fields) => post("feeds", fields),
  changeFeed: (id, fields) => send("PATCH", path("feeds", id), { body: fields }),
  removeFeed: (id) => send("DELETE", path("feeds", id)),
  fetchFeed: (id) => post(path("feeds", id, "fetch")),
  bulk: (action, ids, more = {}) => post("feeds/bulk", { action, filter: { ids }, ...more }),
  exportOpml: () => get("feeds/export", {}, { as: OPML }),
  importOpml: (text) => send("POST", "feeds/import", { raw: text, type: OPML }),

  quarantine: (status) => get("quarantine", { status, limit: 100 }, MANAGED),
  effects: (id) => get(path("quarantine", id, "preview"), {}, MANAGED),
  review: (id, fields) => post(path("quarantine", id, "review"), fields),

  runs: (query) => get("runs", { limit: 100, ...query }),
  run: (id) => get(path("runs", id)),

  health: () => get("health").catch((error) => (error.status === 503 && error.body ? error.body : Promise.reject(error))),
  cacheHealth: () => get("cache/health"),
  refreshCache: () => post("cache/refresh"),
  queues: async () => (await get("queues", {}, MANAGED)).items,
  redrive: (name) => post(path("queues", name, "redrive")),
};

/** The host of a URL with its port, as the API names hosts. */
export function hostName(url) {
  try {
    return new URL(url).host;
  } catch {
    return null;
  }
}

/** The URL of a preset with its values, for a look at it before it is added; null while a value is missing. */
export function filled(template, values) {
  let complete = true;
  const url = template.replace(/\{(\w+)\}/g, (whole, name) => {
    if (!values[name]) complete = false;
    return encodeURIComponent(values[name] ?? "");
  });
  return complete ? url : null;
}

/**
 * The 24 hours of a feed's rhythm from midnight in the reader's zone: [{hour, share}]. The API counts by UTC hour;
 * `offset` is the reader's distance from UTC in minutes, which may be half an hour off a full one: then the nearest.
 */
export function localHours(distribution, offset = -new Date().getTimezoneOffset()) {
  const total = distribution.reduce((sum, count) => sum + count, 0);
  const shift = Math.round(offset / 60);
  return Array.from({ length: 24 }, (_, hour) => {
    const count = distribution[(((hour - shift) % 24) + 24) % 24] ?? 0;
    return { hour, share: total ? count / total : 0 };
  });
}

const short = (value, unit, digits) => number(value, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: digits });

/** A length of time that may be short: 34 ms, 3.2 s, 12 s, then minutes. */
export function took(seconds) {
  if (seconds === null || seconds === undefined || seconds >= 10) return duration(seconds);
  return seconds < 1 ? short(Math.round(seconds * 1000), "millisecond", 0) : short(seconds, "second", 1);
}

export const ILL = ["gone", "failing", "blocked", "stale", "silent", "empty"];

/** How grave a verdict on a feed is: the tone of its badge, and its place when feeds are sorted by condition. */
export function gravity(verdict) {
  if (ILL.includes(verdict)) return { tone: "bad", rank: ILL.indexOf(verdict) };
  if (verdict === "lying" || verdict === "moved" || verdict === "slow") return { tone: "warning", rank: 10 };
  if (verdict === "disabled") return { tone: "plain", rank: 20 };
  if (verdict === "new" || !verdict) return { tone: "plain", rank: 15 };
  return { tone: "good", rank: 30 };
}

export const isOpen = (run) => run.status === "QUEUED" || run.status === "RUNNING";

/** How far a run is: {done, of}; `of` is null where the run does not know how much there is. */
export function progressOf(run) {
  const { parameters = {} } = run;
  const feeds = Array.isArray(parameters.feeds) ? parameters.feeds.length : null;
  const of = feeds ?? (typeof parameters.tools === "number" ? parameters.tools : null);
  return { done: run.progress ?? 0, of };
}
