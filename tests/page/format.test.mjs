import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../triggers/page/dashboard/lib/format.js";

format.setRegion("en-GB", "Europe/Berlin");

test("a sentiment has its sign, and zero has none", () => {
  assert.deepEqual([0.123, -0.3, 0, -0.001, null].map((value) => format.signed(value)), ["+0.12", "\u22120.30", "0.00", "0.00", "\u2013"]);
});

test("large counts are short", () => {
  assert.deepEqual([0, 9999, 12345].map(format.compact), ["0", "9,999", "12.3k"]);
});

test("times are in the reader's zone, UTC days stay", () => {
  assert.equal(format.clock("2026-02-21T23:30:00Z"), "00:30");
  assert.equal(format.utcDay("2026-02-21"), "21 Feb 2026");
  assert.equal(format.full("not a time"), "\u2013");
});

test("relative times and lengths name the largest unit", () => {
  assert.equal(format.relative(0, 5 * 60_000), "5 min ago");
  assert.equal(format.duration(7200), "2 hrs");
});

test("only links to the web are links", () => {
  assert.equal(format.webUrl("https://example.com/a"), "https://example.com/a");
  for (const text of ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//x", "", null]) assert.equal(format.webUrl(text), null, text);
  assert.equal(format.hostOf("https://www.example.com/a"), "example.com");
});
