// What the operations views decide without a page.
import assert from "node:assert/strict";
import test from "node:test";

import { setRegion } from "../../triggers/page/dashboard/lib/format.js";
import { filled, gravity, hostName, isOpen, localHours, progressOf, took } from "../../triggers/page/dashboard/lib/operations.js";

const at = (hour) => Array.from({ length: 24 }, (_, index) => (index === hour ? 4 : 0));

test("the rhythm is shown by the hours of the reader's zone", () => {
  const busiest = (offset) => localHours(at(23), offset).find((each) => each.share === 1).hour;
  assert.equal(busiest(0), 23);
  assert.equal(busiest(120), 1);
  assert.equal(busiest(-300), 18);
  assert.equal(busiest(330), 5); // half an hour off: the nearest hour
});

test("a feed that has brought nothing has no rhythm", () => {
  assert.ok(localHours([]).every((each) => each.share === 0));
});

test("the address of a preset is complete once all its values are given", () => {
  const template = "https://forge.example/{owner}/{repository}.atom";
  assert.equal(filled(template, { owner: "a" }), null);
  assert.equal(filled(template, { owner: "a/b", repository: "c" }), "https://forge.example/a%2Fb/c.atom");
});

test("ill feeds come before those to look at, and these before those that are well", () => {
  const order = ["ok", "new", "slow", "gone", "disabled", "failing"].sort((a, b) => gravity(a).rank - gravity(b).rank);
  assert.deepEqual(order, ["gone", "failing", "slow", "new", "disabled", "ok"]);
  assert.equal(gravity(null).tone, "plain");
});

test("a run says how far it is where it knows how much there is", () => {
  assert.deepEqual(progressOf({ parameters: { feeds: ["a", "b"] }, progress: 1 }), { done: 1, of: 2 });
  assert.deepEqual(progressOf({ parameters: { tools: 16 }, progress: 16 }), { done: 16, of: 16 });
  assert.deepEqual(progressOf({ parameters: {} }), { done: 0, of: null });
  assert.deepEqual(["QUEUED", "RUNNING", "SUCCEEDED", "PARTIAL", "FAILED"].map((status) => isOpen({ status })), [true, true, false, false, false]);
});

test("a host has its port, and what is no address has none", () => {
  assert.equal(hostName("http://127.0.0.1:7072/feed"), "127.0.0.1:7072");
  assert.equal(hostName("tiingo"), null);
});

test("a short time is told in the unit that says most", () => {
  setRegion("en", "UTC");
  assert.deepEqual([0.0341, 0.9994, 3.24, 9.96, 12, 90].map(took), ["34 ms", "999 ms", "3.2 sec", "10 sec", "12 sec", "1.5 min"]);
  assert.equal(took(null), "–");
});
