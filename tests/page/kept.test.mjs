// What keeps a long table from being drawn again.
import assert from "node:assert/strict";
import test from "node:test";

import { choice, kept } from "../../triggers/page/dashboard/lib/kept.js";

const keyOf = (row) => row.id;
const row = (id, count) => ({ id, count, hours: [1, 2] });

test("rows that say the same stay the same objects, in the new order", () => {
  const before = [row("a", 1), row("b", 1), row("c", 1)];
  const after = kept(before, [row("c", 1), row("a", 2), row("d", 1)], keyOf);
  assert.deepEqual(after, [row("c", 1), row("a", 2), row("d", 1)]);
  assert.equal(after[0], before[2]);
  assert.notEqual(after[1], before[0]);
});

test("nothing new is the list as it was", () => {
  const before = [row("a", 1), row("b", 1)];
  assert.equal(kept(before, [row("a", 1), row("b", 1)], keyOf), before);
  assert.notEqual(kept(before, [row("b", 1), row("a", 1)], keyOf), before);
  assert.deepEqual(kept(before, [row("a", 1)], keyOf), [row("a", 1)]);
});

test("what is chosen tells who listens, and forgets what is gone", () => {
  const chosen = choice();
  let told = 0;
  const stop = chosen.listen(() => (told += 1));
  chosen.toggle("a", true);
  chosen.toggle("b", true);
  chosen.toggle("a", false);
  assert.deepEqual([chosen.has("a"), chosen.has("b"), chosen.all()], [false, true, ["b"]]);
  chosen.set(["b", "c"]);
  chosen.keep(new Set(["b", "c", "d"]));
  assert.equal(told, 4);
  chosen.keep(new Set(["c"]));
  assert.deepEqual([chosen.all(), told], [["c"], 5]);
  stop();
  chosen.set([]);
  assert.equal(told, 5);
});
