import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY, HOUR, bandOf, bandPath, linePath, linear, nearest, roundUp, ticks, timeTicks } from "../../triggers/page/dashboard/lib/scale.js";

test("ticks are round numbers within the bounds", () => {
  assert.deepEqual(ticks(-1, 1, 4), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(ticks(0, 37, 4), [0, 10, 20, 30]);
  assert.deepEqual(ticks(3, 3), [3]);
});

test("the top of an axis of counts is round and not below the count", () => {
  assert.deepEqual([0, 1, 4, 5, 37, 101].map(roundUp), [1, 1, 4, 5, 40, 150]);
});

test("ticks of days are midnights of the reader's zone, also where the clocks change", () => {
  const found = timeTicks(Date.UTC(2026, 9, 23, 12), Date.UTC(2026, 9, 27, 12), 6, "Europe/Berlin");
  assert.deepEqual(
    found.map((tick) => new Date(tick.at).toISOString()),
    ["2026-10-23T22:00:00.000Z", "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z", "2026-10-26T23:00:00.000Z"],
  );
  assert.ok(found.every((tick) => tick.kind === "day"));
});

test("ticks of hours are whole hours, and never more than asked for", () => {
  const found = timeTicks(0, DAY, 8, "UTC");
  assert.deepEqual(found.map((tick) => tick.at / HOUR), [0, 3, 6, 9, 12, 15, 18, 21, 24]);
  assert.equal(found[0].kind, "day");
  assert.equal(found[1].kind, "hour");
});

test("a year has ticks of months, ten years of years", () => {
  const year = timeTicks(Date.UTC(2025, 0, 5), Date.UTC(2026, 0, 5), 6, "UTC");
  assert.ok(year.length >= 4 && year.every((tick) => new Date(tick.at).getUTCDate() === 1));
  const years = timeTicks(Date.UTC(2016, 0, 1), Date.UTC(2026, 0, 1), 6, "UTC");
  assert.ok(years.every((tick) => tick.kind === "year" && new Date(tick.at).getUTCMonth() === 0));
});

test("a line breaks where a value is missing", () => {
  assert.equal(linePath([[0, 1], [1, null], [2, 3], [3, 4]]), "M0 1M2 3L3 4");
});

test("a band is closed, and needs two points", () => {
  assert.equal(bandPath([[0, 1, 2], [1, 1, 2]]), "M0 1L1 1L1 2L0 2Z");
  assert.equal(bandPath([[0, 1, 2], [1, null, null]]), "");
});

test("positions follow values", () => {
  assert.equal(linear(0, 10, 100, 200)(5), 150);
  assert.equal(linear(3, 3, 100, 200)(3), 150);
});

test("the nearest point is found", () => {
  assert.equal(nearest([0, 10, 20], 14), 1);
  assert.equal(nearest([0, 10, 20], 16), 2);
  assert.equal(nearest([], 3), -1);
});

test("the band of a step is wider the fewer mentions it has, and stays within the scale", () => {
  assert.deepEqual(bandOf(0.25, 25, [0.125, 0.375], 100), [0, 0.5]);
  assert.deepEqual(bandOf(0.75, 1, [0.625, 0.875], 100), [-0.5, 1]);
  assert.deepEqual(bandOf(null, 0, [0, 1], 3), [null, null]);
  assert.deepEqual(bandOf(0.5, 3, null, 3), [null, null]);
});
