// What the overview makes of its rows: groups, filters, shares, and the tools worth a tile. Pure.

const CLEARLY = 0.05;

/** What is said, as far as the interval tells: "positive", "negative", "open" or "few". */
export function sideOf(row) {
  if (row.verdict !== "OK" || !row.confidence_interval) return "few";
  const [low, high] = row.confidence_interval;
  return low > 0 ? "positive" : high < 0 ? "negative" : "open";
}

/** The change of the average, or null. */
export const changeOf = (row) => row.change?.average_sentiment.absolute ?? null;

export function directionOf(row) {
  const change = changeOf(row);
  if (change === null) return "none";
  return change > CLEARLY ? "up" : change < -CLEARLY ? "down" : "flat";
}

const isLimited = (row) => row.verdict !== "OK" || row.complete === false || (row.coverage !== null && row.coverage < 0.9);

export const FILTERS = {
  all: () => true,
  reliable: (row) => row.verdict === "OK",
  limited: (row) => row.total_mentions + row.unscored_mentions > 0 && isLimited(row),
  silent: (row) => row.total_mentions + row.unscored_mentions === 0,
};

/** Whether all words of the search begin or occur in the name, an alias or a ticker. */
export function matches(row, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const names = [row.tool, ...(row.aliases ?? []), ...(row.tickers ?? [])].map((name) => name.toLowerCase());
  return words.every((word) => names.some((name) => name.includes(word.replace(/^\$/, ""))));
}

const GROUPS = {
  side: [sideOf, ["positive", "open", "negative", "few"]],
  direction: [directionOf, ["up", "flat", "down", "none"]],
  verdict: [(row) => row.verdict ?? "NONE", ["OK", "ONE_PUBLISHER", "ONE_STORY", "MOSTLY_UNSCORED", "TOO_FEW", "NONE"]],
};

/** [{id, rows}] in a fixed order, without empty groups; null if there is no such grouping. */
export function grouped(rows, by) {
  if (!(by in GROUPS)) return null;
  const [of, order] = GROUPS[by];
  const found = Map.groupBy ? Map.groupBy(rows, of) : fallback(rows, of);
  return order.filter((id) => found.has(id)).map((id) => ({ id, rows: found.get(id) }));
}

function fallback(rows, of) {
  const found = new Map();
  for (const row of rows) found.set(of(row), [...(found.get(of(row)) ?? []), row]);
  return found;
}

/** The largest shares of all mentions, and what the others have together. */
export function shares(rows, most = 6) {
  const total = rows.reduce((sum, row) => sum + row.total_mentions, 0);
  const largest = [...rows].filter((row) => row.total_mentions).sort((a, b) => b.total_mentions - a.total_mentions);
  const parts = largest.slice(0, most).map((row) => ({ row, share: row.total_mentions / total }));
  const left = largest.slice(most);
  const rest = left.reduce((sum, row) => sum + row.total_mentions, 0);
  return { total, parts, others: left.length ? { count: left.length, share: rest / total } : null };
}

/** The row with the highest value, among those that can be relied on; null without any. */
export function top(rows, value, accept = () => true) {
  let best = null;
  for (const row of rows) {
    const found = value(row);
    if (row.verdict === "OK" && found !== null && found !== undefined && accept(found) && (best === null || found > value(best))) best = row;
  }
  return best;
}

/** The reach of the axis that all trends share: the smallest round one that has nearly all of them. */
export function reachOf(rows) {
  const values = rows.flatMap((row) => row.points.filter((point) => point.average !== null).map((point) => Math.abs(point.average)));
  values.sort((a, b) => a - b);
  const high = values[Math.floor(values.length * 0.98)] ?? 1;
  return [0.25, 0.5, 0.75].find((each) => each >= high) ?? 1;
}
