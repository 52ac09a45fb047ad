// All reading of resources: which endpoint has what, and how its fields are named here. Views never see a raw response.
// The API's own names are used as they are; only times become milliseconds, and absent lists empty.
import { path, send } from "./http.js";
import { bandOf } from "./scale.js";

const get = (where, query, options) => send("GET", where, { query, ...options });
const post = (where, body) => send("POST", where, { body });

const MOST = 500;

/** All items of a list, page by page. */
export async function all(where, query = {}, most = 5000, options = {}) {
  const items = [];
  let cursor = null;
  do {
    const page = await get(where, { limit: MOST, ...query, cursor }, options);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor && items.length < most);
  return items;
}

export const ms = (seconds) => (seconds === null || seconds === undefined ? null : seconds * 1000);

export function toolOf(raw) {
  return { aliases: [], tickers: [], keywords: [], excluded: [], muted_sources: [], ...raw, name: raw.name };
}

/** A point of a history, with its time in milliseconds. */
export function pointOf(raw) {
  const at = Date.parse(raw.hour ?? `${raw.day}T00:00:00Z`);
  const [low, high] = raw.confidence_interval ?? [null, null];
  return { ...raw, at, low, high, average: raw.total_mentions ? raw.average_sentiment : null };
}

export function historyOf(raw) {
  return { ...raw, from: Date.parse(raw.from), to: Date.parse(raw.to), points: (raw.points ?? raw.items).map(pointOf) };
}

/** A row of the overview: its trend as points, with the band of each (scale.js), and its times in milliseconds. */
export function trendOf(raw) {
  const { from, step_seconds: seconds, mentions, average_sentiment: averages } = raw.trend;
  const begin = Date.parse(from);
  const points = averages.map((average, index) => {
    const [low, high] = bandOf(average, mentions[index], raw.confidence_interval, raw.total_mentions);
    return { at: begin + index * seconds * 1000, average, mentions: mentions[index], low, high };
  });
  const average = raw.total_mentions ? raw.average_sentiment : null;
  return { ...raw, average, points, from: begin, step: seconds * 1000, to: begin + averages.length * seconds * 1000 };
}

export const api = {
  get,
  post,
  send,
  path,
  all,

  health: () => get("health").catch((error) => (error.status === 503 && error.body ? error.body : Promise.reject(error))),
  tool: async (tool) => toolOf(await get(path("tools", tool))),
  tools: async () => (await all("tools")).map(toolOf),
  trends: async (period) => (await all("sentiment/trends", { period })).map(trendOf),
  addTool: (name) => post("tools", { name }),
  latest: (period) => all("sentiment/latest", { period }),
  sentiment: (tool, period) => get(path("tools", tool, "sentiment"), { period }),

  history: async (tool, query) => historyOf(await get(path("tools", tool, "history"), query)),
  histories: async (tools, query) => {
    const answer = await get("history", { tools, ...query });
    const span = { from: answer.from, to: answer.to, step: answer.step };
    return { ...answer, items: answer.items.map((each) => historyOf({ ...span, ...each })) };
  },

  movement: (tool, from, to, hours) => get(path("tools", tool, "movement"), { from, to, shift_hours: hours }),
  mentions: (tool, query) => get(path("tools", tool, "mentions"), query),
  mention: (tool, article) => get(path("tools", tool, "mentions", article)),

  correct: (tool, body) => post(path("tools", tool, "corrections"), body),
  undoCorrection: (tool, correction, by) => post(path("tools", tool, "corrections", correction, "undo"), by),
  splitArticle: (article, body) => post(path("articles", article, "split"), body),
  splitStory: (story, body) => post(path("stories", story, "split"), body),
  joinStories: (story, body) => post(path("stories", story, "join"), body),
  undoGrouping: (correction, by) => post(path("corrections", correction, "undo"), by),

  article: (id) => get(path("articles", id)),
  story: (id) => get(path("stories", id)),

  run: (id) => get(path("runs", id)),
};
