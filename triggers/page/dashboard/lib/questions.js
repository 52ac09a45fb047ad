// What a view asks the API first, as [key, load, seconds] of useLive. ahead.js and the shell ask before the view itself is
// loaded and drawn, so that its data come together, and not one after the other.
import { api } from "./api.js";
import { match } from "./router.js";
import { CACHED, MENTIONS_KEPT, againstOf, asked, chosenIn, presentHour, rangeOf } from "./series.js";

export const OVERVIEW = { period: "DAY_7", sort: "-mentions", show: "all", group: "none", q: "", compare: "" };
export const PERIODS = ["HOUR_24", "DAY_7", "DAY_30"];
export const TOOL = { period: "DAY_7", from: "", to: "", since: "", until: "", show: "articles", sentiment: "", against: "" };
export const ARTICLES = 15;

export const iso = (at) => new Date(at).toISOString().replace(".000Z", "Z");

export const periodOf = (query) => (PERIODS.includes(query.period) ? query.period : OVERVIEW.period);
export const trends = (period) => [`trends ${period}`, () => api.trends(period), 30];

export const tool = (id) => [`tool ${id}`, () => api.tool(id), 60];
export const history = (id, range, now) => [`tool ${id} ${range.from} ${range.to} ${range.unit} history`, () => api.history(id, asked(range, now)), 30];
export const aggregate = (id, period) => [`tool ${id} ${period} aggregate`, () => api.sentiment(id, period), 30];
export const movement = (id, { from, to }, against) => [
  `tool ${id} ${from} ${to} ${against} movement`,
  () => api.movement(id, iso(from), iso(to), against === "before" ? null : against),
  30,
];
export const mentions = (id, since, until, sentiment) => [
  `tool ${id} ${since} ${until} mentions ${sentiment}`,
  () => api.mentions(id, { since, until, sentiment, limit: ARTICLES }),
  30,
];

/** A named range for which the app keeps an aggregate, or null. */
export const cachedOf = (query) => (!query.from && CACHED.includes(query.period) ? query.period : null);

/** Only an id is asked for ahead: of a name, the view waits until it knows whose it is. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function ofTool(id, given, now) {
  const query = { ...TOOL, ...given };
  if (!ID.test(id)) return [tool(id)];
  const range = rangeOf(query, now);
  const time = chosenIn(query, range) ?? range;
  const found = [tool(id), history(id, range, now)];
  if (cachedOf(query)) found.push(aggregate(id, query.period));
  if (time.from < now - MENTIONS_KEPT) return found;
  found.push(movement(id, time, againstOf(query, time)));
  if (query.show !== "stories") found.push(mentions(id, iso(time.from), iso(time.to), query.sentiment));
  return found;
}

/** What the view at this place asks first; nothing for a view that asks by itself. */
export function firstOf({ segments, query }, now = presentHour()) {
  if (!segments.length) return [trends(periodOf(query))];
  const found = match("tools/:tool", segments);
  return found ? ofTool(found.tool, query, now) : [];
}
