// One request to the API, and what its failure means. Knows no resources: api.js does.
import { headers } from "./keys.js";

export const ROOT = "/api/v1/";
const TIMEOUT_MS = 30_000;

/**
 * kind: "key" (the function key is missing or wrong), "management" (the management key is), "forbidden", "absent",
 * "refused" (the request breaks a rule; `field` names what, `allowed` says what it must be), "failed" (the app's fault), "unavailable" (try again),
 * "offline" (no answer came at all).
 */
export class ApiError extends Error {
  constructor(kind, { status = 0, title = "", detail = "", field = null, retryAfter = null, id = null, allowed = null } = {}) {
    super(detail || title || kind);
    Object.assign(this, { kind, status, title, detail, field, retryAfter, id, allowed });
  }
}

/** The kind of failure that a status and its problem document mean. */
export function kindOf(status, problem) {
  if (status === 401) return problem?.title === "Not allowed" ? "management" : "key";
  if (status === 403) return "forbidden";
  if (status === 404) return "absent";
  if (status === 429 || status === 502 || status === 503 || status === 504) return "unavailable";
  return status >= 500 ? "failed" : "refused";
}

/** The path and query below /api/v1/. Lists of values are joined with commas; empty values are left out. */
export function urlOf(path, query = {}) {
  const kept = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
    .map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : String(value)]);
  const text = new URLSearchParams(kept).toString();
  return ROOT + path + (text ? `?${text}` : "");
}

/** A path from parts of which each is one segment: `path("tools", id, "history")`. */
export const path = (...parts) => parts.map((part) => encodeURIComponent(part)).join("/");

/**
 * Sends a request and returns the JSON of the response (null if it has none), or with `as` its text, of that media type.
 * Throws ApiError.
 */
export async function send(method, where, { query, body, raw, type, as, management = method !== "GET", signal } = {}) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const options = {
    method,
    headers: { Accept: as ? `${as}, application/json` : "application/json", ...headers(management) },
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    cache: "no-store",
    credentials: "same-origin",
    referrerPolicy: "no-referrer",
    redirect: "error",
  };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  } else if (raw !== undefined) {
    options.body = raw;
    options.headers["Content-Type"] = type;
  }
  let response, text;
  try {
    response = await fetch(urlOf(where, query), options);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new ApiError("offline", { title: "No answer", detail: error.name === "TimeoutError" ? "timeout" : "" });
  }
  if (response.ok && as) return text;
  const value = parsed(text);
  if (response.ok) return value;
  throw new ApiError(kindOf(response.status, value), {
    status: response.status,
    title: value?.title ?? response.statusText,
    detail: value?.detail ?? "",
    field: value?.field ?? null,
    allowed: value?.allowed ?? null,
    retryAfter: Number(response.headers.get("Retry-After")) || null,
    id: value?.correlation_id ?? null,
  });
}

function parsed(text) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
