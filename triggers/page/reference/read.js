// Reading the contract: references, kinds, examples and requests. Pure.

/** What a reference stands for. */
export function resolve(api, value) {
  if (!value?.$ref) return value ?? {};
  return value.$ref.slice(2).split("/").reduce((found, part) => found[part], api);
}

/** The type of a value in words, such as `list of Article` or `string or null`. */
export function kind(api, schema = {}) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => (each === null ? "null" : String(each))).join(" | ");
  if (schema.anyOf) return schema.anyOf.map((each) => kind(api, each)).join(" or ");
  if (schema.type === "array") return `list of ${kind(api, schema.items)}`;
  const types = [schema.type ?? "any"].flat().map((type) => (type === "string" && schema.format ? schema.format : type));
  const bounds = [
    schema.minimum !== undefined ? `at least ${schema.minimum}` : "",
    schema.exclusiveMinimum !== undefined ? `over ${schema.exclusiveMinimum}` : "",
    schema.maximum !== undefined ? `at most ${schema.maximum}` : "",
    schema.maxLength !== undefined ? `at most ${schema.maxLength} characters` : "",
  ];
  return [types.join(" or "), ...bounds.filter(Boolean)].join(", ");
}

/** The fields of an object, or of the objects in a list. */
export function fieldsOf(api, given) {
  const schema = resolve(api, given);
  if (schema.anyOf) return schema.anyOf.flatMap((each) => fieldsOf(api, each));
  if (schema.items) return fieldsOf(api, schema.items);
  const required = schema.required ?? [];
  return Object.entries(schema.properties ?? {}).map(([name, each]) => ({ name, schema: each, isRequired: required.includes(name) }));
}

/** A body to begin with: an example, as text. */
export function exampleBody(api, content) {
  const named = Object.values(content.examples ?? {})[0]?.value ?? content.example;
  if (typeof named === "string") return named;
  if (named !== undefined) return JSON.stringify(named, null, 2);
  const fields = fieldsOf(api, content.schema).filter(({ isRequired }) => isRequired);
  return JSON.stringify(Object.fromEntries(fields.map(({ name, schema }) => [name, starter(schema)])), null, 2);
}

function starter(schema) {
  if (schema.enum) return schema.enum[0];
  const type = [schema.type].flat()[0];
  return { array: [], object: {}, integer: schema.minimum ?? 0, number: 1, boolean: true }[type] ?? "";
}

/** The path with its parts and its query. `values` are `{parameter, value}`. */
export function address(path, values) {
  const query = new URLSearchParams();
  let found = path;
  for (const { parameter, value } of values) {
    if (parameter.in === "path") found = found.replace(`{${parameter.name}}`, encodeURIComponent(value));
    if (parameter.in === "query") query.append(parameter.name, value);
  }
  return query.size ? `${found}?${query}` : found;
}

/** The request as a command line. Keys are named, not shown. */
export function curl({ url, method, headers, body }, origin) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const named = { "x-functions-key": "$FUNCTION_KEY", "X-Management-Key": "$MANAGEMENT_KEY" };
  const given = Object.entries(headers).map(([name, value]) => (named[name] ? `-H "${name}: ${named[name]}"` : `-H ${quote(`${name}: ${value}`)}`));
  return [`curl -X ${method} ${quote(origin + url)}`, ...given, ...(body ? [`-d ${quote(body)}`] : [])].join(" \\\n  ");
}

/** The body of a response to read: JSON with indents, other text as it is. */
export function shown(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
