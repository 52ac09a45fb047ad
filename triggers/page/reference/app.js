// The documentation: reads the contract, shows its endpoints, and sends what the reader tries.
// Text from the contract only ever becomes text nodes.

import { headers as keyHeaders, keep, key } from "../dashboard/lib/keys.js";
import { address, curl, exampleBody, fieldsOf, kind, resolve, shown } from "./read.js";

const METHODS = ["get", "post", "patch", "put", "delete"];

/** An element with attributes, properties beginning with `on`, and children. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(9).filter((child) => child != null && child !== ""));
  return element;
}

/** Text with `code` between backticks. */
function prose(text = "") {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}

const byId = (id) => document.getElementById(id);

function fieldList(api, schema, depth = 0) {
  const fields = fieldsOf(api, schema);
  if (!fields.length) return null;
  return h(
    "ul",
    { class: "fields" },
    fields.map(({ name, schema: field, isRequired }) => {
      const within = depth < 4 ? () => fieldList(api, field, depth + 1) : () => null;
      const head = [h("code", {}, name), " ", h("small", {}, kind(api, field) + (isRequired ? ", always there" : ""))];
      const about = resolve(api, field).description ?? field.description;
      const line = [...head, about ? [" ", ...prose(about)] : ""];
      if (!fieldsOf(api, field).length) return h("li", {}, line);
      const more = h("details", {}, h("summary", {}, line));
      more.addEventListener("toggle", () => more.childElementCount === 1 && more.append(within() ?? ""), { once: true });
      return h("li", {}, more);
    }),
  );
}

function input(parameter) {
  const { schema, name, example } = parameter;
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
  const label = `${name} (${parameter.in})`;
  if (values) {
    const choices = [h("option", { value: "" }, ""), ...values.map((each) => h("option", { value: each }, String(each)))];
    return h("select", { name, "aria-label": label }, choices);
  }
  const isGiven = parameter.required && example !== undefined;
  const type = schema.type === "integer" ? "number" : "text";
  const hint = example ?? schema.default ?? "";
  return h("input", { name, type, "aria-label": label, placeholder: hint, value: isGiven ? example : null, required: parameter.required });
}

function parameterTable(parameters, inputs) {
  if (!parameters.length) return null;
  const row = (each) => {
    inputs.set(each, input(each));
    const rule = [kind({}, each.schema), each.required ? "required" : "", each.schema.default !== undefined ? `default ${each.schema.default}` : ""];
    return h("tr", {}, h("td", {}, h("code", {}, each.name), h("br"), h("small", {}, `${each.in}, ${rule.filter(Boolean).join(", ")}`)), h("td", {}, prose(each.description)), h("td", {}, inputs.get(each)));
  };
  const head = h("tr", {}, ["parameter", "meaning", "value"].map((text) => h("th", { scope: "col" }, text)));
  return h("div", { class: "table" }, h("table", {}, h("thead", {}, head), h("tbody", {}, parameters.map(row))));
}

function responses(api, operation) {
  return Object.entries(operation.responses).map(([status, given]) => {
    const response = resolve(api, given);
    const content = Object.entries(response.content ?? {});
    const names = Object.entries(response.headers ?? {}).filter(([name]) => name !== "Cache-Control");
    const more = h("details", {}, h("summary", {}, h("code", {}, status), " ", prose(response.description)));
    const fill = () => {
      for (const [type, { schema }] of content) more.append(h("p", {}, h("code", {}, type), " ", h("small", {}, kind(api, schema))), fieldList(api, schema) ?? "");
      for (const [name, header] of names) more.append(h("p", {}, "Header ", h("code", {}, name), ": ", prose(header.description)));
    };
    more.addEventListener("toggle", fill, { once: true });
    return more;
  });
}

function tryIt(api, path, method, operation, inputs) {
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const area = type ? h("textarea", { rows: 8, "aria-label": "body", spellcheck: "false" }, exampleBody(api, content)) : null;
  const output = h("div", { role: "status" });
  const needsManagement = operation.security.some((each) => "managementKey" in each);
  const asked = () => {
    const values = [...inputs].map(([parameter, field]) => ({ parameter, value: field.value })).filter(({ value }) => value !== "");
    const given = Object.fromEntries(values.filter(({ parameter }) => parameter.in === "header").map(({ parameter, value }) => [parameter.name, value]));
    const headers = { ...keyHeaders(needsManagement), ...given, ...(area?.value ? { "Content-Type": type } : {}) };
    return { url: address(path, values), method: method.toUpperCase(), headers, body: area?.value || undefined };
  };
  const send = async (event) => {
    event.preventDefault();
    const request = asked();
    const started = performance.now();
    output.replaceChildren("Sending.");
    try {
      const response = await fetch(request.url, { ...request, credentials: "omit", cache: "no-store" });
      const text = await response.text();
      const took = `${Math.round(performance.now() - started)} ms`;
      const status = h("strong", { class: response.ok ? "ok" : "failed" }, `${response.status} ${response.statusText}`);
      const sent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      output.replaceChildren(h("p", {}, status, ` in ${took}`), h("details", {}, h("summary", {}, "Headers"), h("pre", {}, sent)), h("pre", { tabindex: 0 }, shown(text) || "No body."));
    } catch (error) {
      output.replaceChildren(h("p", { class: "failed" }, `The app did not answer: ${error.message}`));
    }
  };
  const showCurl = () => output.replaceChildren(h("pre", { tabindex: 0 }, curl(asked(), location.origin)));
  const buttons = h("div", { class: "buttons" }, h("button", {}, "Send"), h("button", { type: "button", class: "plain", onclick: showCurl }, "Show as curl"));
  return [area ? h("h3", {}, "Body ", h("small", {}, type)) : "", area ?? "", buttons, output, send];
}

function body(api, operation) {
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (!type) return null;
  const about = operation.requestBody.description ?? resolve(api, content.schema).description;
  return [about ? h("p", {}, prose(about)) : "", fieldList(api, content.schema) ?? ""];
}

function card(api, path, method, operation) {
  const id = operation.operationId;
  const box = h("details", { class: "operation", id });
  const lock = operation.security.some((each) => "managementKey" in each) ? "management key" : operation.security.length ? "key" : "";
  box.append(h("summary", {}, h("span", { class: "method" }, method.toUpperCase()), h("span", { class: "path" }, path), h("span", {}, operation.summary), h("small", {}, lock)));
  const fill = () => {
    const inputs = new Map();
    const table = parameterTable(operation.parameters ?? [], inputs);
    const [title, area, buttons, output, send] = tryIt(api, path, method, operation, inputs);
    const form = h("form", { onsubmit: send }, table ? h("h3", {}, "Parameters") : "", table ?? "", title, area ? body(api, operation) : "", area, buttons, output);
    box.append(h("div", {}, operation.description ? h("p", {}, prose(operation.description)) : "", form, h("h3", {}, "Answers"), responses(api, operation)));
  };
  box.addEventListener("toggle", fill, { once: true });
  box.dataset.text = `${id} ${method} ${path} ${operation.summary} ${operation.tags}`.toLowerCase();
  return box;
}

function show(api) {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => method in methods).map((method) => ({ path, method, operation: methods[method] })),
  );
  byId("version").textContent = api.info.version;
  byId("about").replaceChildren(...api.info.description.split("\n\n").map((text) => h("p", {}, prose(text))));
  byId("operations").replaceChildren(
    ...api.tags.map(({ name, description }) =>
      h("section", { "aria-label": name }, h("h2", { id: `tag-${name}` }, name), h("p", { class: "quiet" }, description), operations.filter(({ operation }) => operation.tags.includes(name)).map(({ path, method, operation }) => card(api, path, method, operation))),
    ),
  );
  byId("state").textContent = `${operations.length} endpoints`;
  const opened = byId(location.hash.slice(1));
  if (opened?.matches("details")) opened.open = true;
  opened?.scrollIntoView();
}

function find() {
  const words = byId("search").value.toLowerCase().split(/\s+/);
  for (const section of document.querySelectorAll("#operations > section")) {
    const cards = [...section.querySelectorAll("details.operation")];
    for (const each of cards) each.hidden = !words.every((word) => each.dataset.text.includes(word));
    section.hidden = cards.every((each) => each.hidden);
  }
}

for (const name of ["function", "management"]) {
  const field = byId(`${name}-key`);
  field.value = key(name);
  field.addEventListener("input", () => keep(name, field.value));
}
byId("keys").addEventListener("submit", (event) => event.preventDefault());
byId("search").addEventListener("input", find);
try {
  const response = await fetch("/api/openapi.json");
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  show(await response.json());
} catch (error) {
  byId("state").textContent = `The contract cannot be read: ${error.message}`;
}
