import assert from "node:assert/strict";
import { test } from "node:test";

import { address, curl, exampleBody, fieldsOf, kind, resolve, shown } from "../../triggers/page/reference/read.js";

const api = {
  components: {
    schemas: {
      Tool: { type: "object", required: ["name"], properties: { name: { type: "string" }, days: { type: "integer" } } },
      Tools: { type: "object", properties: { items: { type: "array", items: { $ref: "#/components/schemas/Tool" } } } },
    },
  },
};
const tool = { $ref: "#/components/schemas/Tool" };

test("a reference is what it stands for", () => {
  assert.equal(resolve(api, tool), api.components.schemas.Tool);
  assert.deepEqual(resolve(api, { type: "string" }), { type: "string" });
});

test("the kind of a value is said in words", () => {
  assert.equal(kind(api, tool), "Tool");
  assert.equal(kind(api, { type: "array", items: tool }), "list of Tool");
  assert.equal(kind(api, { anyOf: [{ type: "string", format: "date-time" }, { type: "null" }] }), "date-time or null");
  assert.equal(kind(api, { type: "integer", minimum: 1, maximum: 500 }), "integer, at least 1, at most 500");
  assert.equal(kind(api, { type: ["string", "null"], enum: ["a", null] }), "a | null");
});

test("an object and a list of it have the same fields", () => {
  assert.deepEqual(fieldsOf(api, tool).map(({ name, isRequired }) => [name, isRequired]), [["name", true], ["days", false]]);
  assert.deepEqual(fieldsOf(api, { type: "array", items: tool }), fieldsOf(api, tool));
});

test("a body begins with the example, else with the fields that it needs", () => {
  assert.equal(exampleBody(api, { schema: tool, examples: { one: { value: { name: "x" } } } }), '{\n  "name": "x"\n}');
  assert.equal(exampleBody(api, { schema: tool }), '{\n  "name": ""\n}');
  assert.equal(exampleBody(api, { schema: tool, example: "<opml/>" }), "<opml/>");
});

test("an address has its parts and its query", () => {
  const values = [
    { parameter: { in: "path", name: "tool" }, value: "C#/.NET" },
    { parameter: { in: "query", name: "hours" }, value: "24" },
    { parameter: { in: "header", name: "If-None-Match" }, value: "x" },
  ];
  assert.equal(address("/api/v1/tools/{tool}/sentiment", values), "/api/v1/tools/C%23%2F.NET/sentiment?hours=24");
});

test("a command line names keys and does not show them", () => {
  const asked = { url: "/x", method: "POST", headers: { "x-functions-key": "secret", Accept: "it's" }, body: "{}" };
  const line = curl(asked, "http://localhost");
  assert.ok(!line.includes("secret"));
  assert.ok(line.includes('"x-functions-key: $FUNCTION_KEY"'));
  assert.ok(line.includes("'Accept: it'\\''s'"));
});

test("JSON is shown with indents, and other text as it is", () => {
  assert.equal(shown('{"a":1}'), '{\n  "a": 1\n}');
  assert.equal(shown("# TYPE x"), "# TYPE x");
});
