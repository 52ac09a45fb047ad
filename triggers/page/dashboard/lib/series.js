// The time that a tool's chart shows: its range, its steps, and points that are put together. Pure.
import { DAY, HOUR, bandOf } from "./scale.js";

export const RANGES = { HOUR_24: DAY, DAY_7: 7 * DAY, DAY_30: 30 * DAY, DAY_90: 90 * DAY, DAY_365: 365 * DAY };
/** Ranges for which the app keeps an aggregate. */
export const CACHED = ["HOUR_24", "DAY_7", "DAY_30"];
const HOURS_KEPT = 31 * DAY;
export const MENTIONS_KEPT = 42 * DAY;
const LEAST = 3 * HOUR;

const floor = (at, step) => Math.floor(at / step) * step;
const ceil = (at, step) => Math.ceil(at / step) * step;

/** The range of a query: a named one, up to the present hour, or from `from` to `to`. */
export function rangeOf(query, now) {
  const [from, to] = [Date.parse(query.from), Date.parse(query.to)];
  if (from < to) return fitted(from, Math.min(to, ceil(now, HOUR)), now);
  const length = RANGES[query.period] ?? RANGES.DAY_7;
  const end = ceil(now, HOUR);
  return fitted(end - length, end, now);
}

/** The time that a person chose in the chart, if it is within the range; else null. */
export function chosenIn(query, range) {
  const [from, to] = [Date.parse(query.since), Date.parse(query.until)];
  return from < to && from < range.to && to > range.from ? { from, to } : null;
}

/**
 * What a time is compared with: "before", or a number of hours ago. Of a month, the month before is seldom kept: then the
 * figure of a week ago is what people compare with.
 */
export const againstOf = (query, { from, to }) => query.against || (to - from > 20 * DAY ? "168" : "before");

/** The present hour: the same until the hour is over, and so the keys of data that are named by it. */
export const presentHour = () => Math.floor(Date.now() / HOUR) * HOUR + 1;

/**
 * Whole steps, and how the API is asked for them: {from, to, step: length of a point, unit: "hour" or "day", factor}.
 * About 24 to 120 points; hours are kept for a month.
 */
export function fitted(from, to, now) {
  const length = Math.max(LEAST, to - from);
  const byHour = length <= 10 * DAY && from >= now - HOURS_KEPT;
  const unit = byHour ? HOUR : DAY;
  const factor = byHour ? (length <= 2 * DAY ? 1 : length <= 4 * DAY ? 3 : 6) : length <= 120 * DAY ? 1 : length <= 800 * DAY ? 7 : 30;
  const step = unit * factor;
  const last = byHour ? ceil(to, HOUR) : ceil(to, DAY);
  const number = Math.max(1, Math.round((last - floor(from, unit)) / step));
  return { from: last - number * step, to: last, step, unit: byHour ? "hour" : "day", factor };
}

/** The query of the API for a range. The API takes no time after the present step. */
export function asked(range, now) {
  const unit = range.unit === "hour" ? HOUR : DAY;
  const end = ceil(now, unit) === now ? now + unit : ceil(now, unit);
  const text = (at) => new Date(at).toISOString().replace(".000Z", "Z");
  return { step: range.unit, from: text(range.from), to: text(Math.min(range.to, end)) };
}

/** Points of the API put together: counts are added, the average is that of all mentions. Known intervals stay. */
export function together(points, range, total) {
  const size = range.factor;
  const found = [];
  const unit = range.step / size;
  const byTime = new Map(points.map((point) => [point.at, point]));
  for (let at = range.from; at < range.to; at += range.step) {
    const parts = Array.from({ length: size }, (_, index) => byTime.get(at + index * unit)).filter(Boolean);
    found.push(size === 1 && parts.length && parts[0].low !== null ? { ...parts[0], at } : merged(at, parts, total));
  }
  return found;
}

function merged(at, parts, total) {
  const sum = (name) => parts.reduce((found, part) => found + (part[name] ?? 0), 0);
  const mentions = sum("total_mentions");
  const average = mentions ? parts.reduce((found, part) => found + (part.average ?? 0) * (part.total_mentions ?? 0), 0) / mentions : null;
  const [low, high] = bandOf(average, mentions, total?.confidence_interval, total?.total_mentions);
  const coverages = parts.map((part) => part.coverage).filter((each) => each !== null && each !== undefined);
  return {
    at,
    average,
    low,
    high,
    total_mentions: mentions,
    positive_count: sum("positive_count"),
    neutral_count: sum("neutral_count"),
    negative_count: sum("negative_count"),
    coverage: coverages.length ? coverages.reduce((found, each) => found + each, 0) / coverages.length : null,
    known: parts.some((part) => part.total_mentions !== null),
  };
}

/** The times of low coverage, one after the other put together. */
export function gapsOf(points, step, least = 0.5) {
  const gaps = [];
  for (const point of points) {
    if (point.coverage === null || point.coverage === undefined || point.coverage >= least) continue;
    const last = gaps.at(-1);
    if (last && last.to === point.at) last.to = point.at + step;
    else gaps.push({ from: point.at, to: point.at + step });
  }
  return gaps;
}

/** The range after a zoom: "in", "out", "earlier", "later", or {from, to}. null means the named range. */
export function zoomed(range, how, now) {
  const [length, middle] = [range.to - range.from, (range.from + range.to) / 2];
  const end = ceil(now, HOUR);
  const within = (from, to) => {
    const shift = Math.max(0, to - end);
    return { from: from - shift, to: to - shift };
  };
  if (typeof how === "object") return within(how.from, Math.max(how.to, how.from + LEAST));
  if (how === "in") return within(middle - Math.max(LEAST, length / 2) / 2, middle + Math.max(LEAST, length / 2) / 2);
  if (how === "out") return within(middle - length, middle + length);
  if (how === "earlier") return within(range.from - length / 2, range.to - length / 2);
  if (how === "later") return within(range.from + length / 2, range.to + length / 2);
  return null;
}
