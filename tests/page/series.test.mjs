import assert from "node:assert/strict";
import { test } from "node:test";
import { pieces } from "../../triggers/page/dashboard/lib/marks.js";
import { changeOf, directionOf, grouped, matches, reachOf, shares, sideOf, top } from "../../triggers/page/dashboard/lib/rows.js";
import { DAY, HOUR } from "../../triggers/page/dashboard/lib/scale.js";
import { asked, fitted, gapsOf, rangeOf, together, zoomed } from "../../triggers/page/dashboard/lib/series.js";

const NOW = Date.UTC(2026, 1, 21, 20, 7);
const END = Date.UTC(2026, 1, 21, 21);

test("a named range ends with the present hour, in steps that fit", () => {
  assert.deepEqual(rangeOf({ period: "HOUR_24" }, NOW), { from: END - DAY, to: END, step: HOUR, unit: "hour", factor: 1 });
  const week = rangeOf({ period: "DAY_7" }, NOW);
  assert.deepEqual([week.to - week.from, week.step, week.unit], [7 * DAY, 6 * HOUR, "hour"]);
  const month = rangeOf({ period: "DAY_30" }, NOW);
  assert.deepEqual([month.step, month.unit, (month.to - month.from) / DAY], [DAY, "day", 31]);
  assert.equal(rangeOf({ period: "DAY_365" }, NOW).step, 7 * DAY);
});

test("hours that are kept no longer are shown by day", () => {
  assert.equal(fitted(NOW - 40 * DAY, NOW - 39 * DAY, NOW).unit, "day");
});

test("the API is asked for whole steps up to the present one", () => {
  assert.deepEqual(asked(rangeOf({ period: "HOUR_24" }, NOW), NOW), { step: "hour", from: "2026-02-20T21:00:00Z", to: "2026-02-21T21:00:00Z" });
  assert.equal(asked(rangeOf({ period: "DAY_30" }, NOW), NOW).to, "2026-02-22T00:00:00Z");
});

const point = (at, mentions, average, more = {}) => ({ at, total_mentions: mentions, average, positive_count: mentions, neutral_count: 0, negative_count: 0, coverage: 1, low: null, high: null, ...more });

test("points that are put together add up, and average by their mentions", () => {
  const range = { from: 0, to: 6 * HOUR, step: 3 * HOUR, unit: "hour", factor: 3 };
  const [first, second] = together([point(0, 1, 0.5), point(HOUR, 3, -0.5)], range, { confidence_interval: [-0.1, 0.1], total_mentions: 16 });
  assert.deepEqual([first.total_mentions, first.average, first.low, first.high], [4, -0.25, -0.45, -0.04999999999999999]);
  assert.deepEqual([second.total_mentions, second.average, second.coverage], [0, null, null]);
});

test("a point that is alone keeps the interval that the API gives", () => {
  const range = { from: 0, to: DAY, step: DAY, unit: "day", factor: 1 };
  assert.equal(together([point(0, 9, 0.1, { low: -0.2, high: 0.4 })], range, null)[0].low, -0.2);
});

test("times of low coverage are put together", () => {
  const points = [point(0, 0, null, { coverage: 0.2 }), point(1, 0, null, { coverage: 0 }), point(2, 1, 0, { coverage: 0.9 }), point(3, 0, null, { coverage: null })];
  assert.deepEqual(gapsOf(points, 1), [{ from: 0, to: 2 }]);
});

test("a zoom stays within the time that has been, and is never shorter than three hours", () => {
  const range = { from: END - DAY, to: END };
  assert.deepEqual(zoomed(range, "in", NOW), { from: END - 18 * HOUR, to: END - 6 * HOUR });
  assert.deepEqual(zoomed(range, "out", NOW), { from: END - 48 * HOUR, to: END });
  assert.deepEqual(zoomed(range, "later", NOW), range);
  assert.deepEqual(zoomed(range, "earlier", NOW), { from: END - 36 * HOUR, to: END - 12 * HOUR });
  assert.deepEqual(zoomed(range, { from: END - 10 * HOUR, to: END - 9 * HOUR }, NOW), { from: END - 10 * HOUR, to: END - 7 * HOUR });
  assert.equal(zoomed(range, "all", NOW), null);
});

const row = (tool, mentions, more = {}) => ({ tool, tool_id: tool, total_mentions: mentions, unscored_mentions: 0, verdict: "OK", average: 0.1, confidence_interval: [0.05, 0.2], change: null, points: [], ...more });

test("what is said is clear only outside of the interval", () => {
  assert.deepEqual([[0.1, 0.3], [-0.3, -0.1], [-0.1, 0.1], null].map((interval) => sideOf(row("x", 9, { confidence_interval: interval }))), ["positive", "negative", "open", "few"]);
  assert.equal(sideOf(row("x", 3, { verdict: "TOO_FEW" })), "few");
});

test("a direction needs a change that can be seen", () => {
  const moved = (absolute) => row("x", 9, { change: { average_sentiment: { absolute } } });
  assert.deepEqual([0.2, -0.2, 0.01, null].map((each) => directionOf(moved(each))), ["up", "down", "flat", "none"]);
  assert.equal(changeOf(row("x", 1)), null);
});

test("tools are found by name, alias and ticker", () => {
  const found = row("Visual Studio Code", 1, { aliases: ["VS Code"], tickers: ["MSFT"] });
  assert.deepEqual(["studio vis", "vs", "$msft", "", "emacs"].map((search) => matches(found, search)), [true, true, true, true, false]);
});

test("groups come in a fixed order without empty ones", () => {
  const rows = [row("a", 1, { verdict: "TOO_FEW" }), row("b", 9)];
  assert.deepEqual(grouped(rows, "side").map((group) => [group.id, group.rows.length]), [["positive", 1], ["few", 1]]);
  assert.equal(grouped(rows, "none"), null);
});

test("shares add up with those of all others", () => {
  const { total, parts, others } = shares([row("a", 6), row("b", 3), row("c", 1), row("d", 0)], 2);
  assert.deepEqual([total, parts.map((part) => part.share), others], [10, [0.6, 0.3], { count: 1, share: 0.1 }]);
  assert.equal(shares([row("a", 1)]).others, null);
});

test("a tile names a tool only if its figures can be relied on", () => {
  assert.equal(top([row("a", 50, { verdict: "ONE_STORY" }), row("b", 9)], (each) => each.total_mentions).tool, "b");
  assert.equal(top([row("a", 9)], () => -1, (value) => value > 0), null);
});

test("trends share a reach that has nearly all values", () => {
  assert.equal(reachOf([row("a", 1, { points: [{ average: 0.2 }, { average: -0.4 }, { average: null }] })]), 0.5);
  assert.equal(reachOf([]), 1);
});

test("a passage is cut by code points, and marks never overlap", () => {
  const passage = { text: "😀 Nimbry is bad", names: [[2, 8]], other_names: [[2, 4]], deciding_words: [{ start: 12, end: 15, effect: -2 }] };
  assert.deepEqual(pieces(passage), [
    { kind: "text", text: "😀 " },
    { kind: "name", text: "Nimbry" },
    { kind: "text", text: " is " },
    { kind: "word", effect: -2, text: "bad" },
  ]);
});
