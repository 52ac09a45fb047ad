// Data that stays fresh without a reload: kept by key, asked for again while the tab is visible, shared by components.
import { useEffect, useRef, useState } from "./dom.js";
import { onKeys } from "./keys.js";

const entries = new Map();
const connection = { lost: false, since: null, attempts: 0, retryAt: null };
const connectionListeners = new Set();
const readListeners = new Set();
const RETRY_SECONDS = [2, 4, 8, 15, 30];
const MAX_KEPT = 60;

function entryOf(key) {
  if (!entries.has(key)) {
    entries.set(key, { data: undefined, error: null, at: 0, loading: null, users: new Set(), load: null, every: 0 });
    for (const [old, entry] of entries) {
      if (entries.size <= MAX_KEPT) break;
      if (!entry.users.size && old !== key) entries.delete(old);
    }
  }
  return entries.get(key);
}

function tell(entry) {
  for (const listener of [...entry.users]) listener();
}

function reload(entry) {
  if (entry.loading) return entry.loading;
  const run = async () => {
    try {
      entry.data = await entry.load();
      entry.error = null;
      entry.at = Date.now();
      connected();
      for (const listener of [...readListeners]) listener();
    } catch (error) {
      entry.error = error;
      if (error.kind === "offline") disconnected();
      else connected();
    } finally {
      entry.loading = null;
      tell(entry);
    }
  };
  entry.loading = run();
  tell(entry);
  return entry.loading;
}

function connected() {
  if (!connection.lost) return;
  Object.assign(connection, { lost: false, since: null, attempts: 0, retryAt: null });
  for (const listener of [...connectionListeners]) listener();
  for (const entry of entries.values()) if (entry.users.size && entry.error) reload(entry);
}

function disconnected() {
  const seconds = RETRY_SECONDS[Math.min(connection.attempts, RETRY_SECONDS.length - 1)];
  connection.since ??= Date.now();
  connection.lost = true;
  connection.attempts += 1;
  connection.retryAt = Date.now() + seconds * 1000;
  for (const listener of [...connectionListeners]) listener();
}

function tick() {
  if (document.hidden) return;
  const now = Date.now();
  if (connection.lost) {
    const waiting = [...entries.values()].find((each) => each.users.size && each.error?.kind === "offline" && each.load);
    if (now >= connection.retryAt && waiting) reload(waiting);
    return;
  }
  for (const entry of entries.values()) {
    const retry = entry.error?.kind === "unavailable" ? (entry.error.retryAfter ?? 5) * 1000 : null;
    const due = retry !== null ? (entry.failedAt ??= now) + retry <= now : entry.every && now - entry.at >= entry.every * 1000;
    if (entry.users.size && due && !entry.loading && (retry !== null || !entry.error)) {
      entry.failedAt = null;
      reload(entry);
    }
  }
}

let started = false;
function start() {
  if (started) return;
  started = true;
  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
  addEventListener("online", () => {
    connection.retryAt = 0;
    tick();
  });
  onKeys(() => {
    for (const entry of entries.values()) if (entry.users.size && entry.error) reload(entry);
  });
}

const isOld = (entry) => entry.data === undefined || Date.now() - entry.at > Math.min(entry.every || 30, 30) * 1000;

/** Asks for data before a component uses them, as useLive would. */
export function prime(key, load, every = 30) {
  const entry = entryOf(key);
  if (entry.users.size) return;
  Object.assign(entry, { load, every });
  if (isOld(entry)) reload(entry);
}

/**
 * The data under `key`: {data, error, loading, at, reload}. `data` stays while it is asked for again, and while that
 * fails. `load` may close over what `key` says, and nothing else. A null key asks for nothing.
 */
export function useLive(key, load, every = 30) {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (key === null) return undefined;
    start();
    const entry = entryOf(key);
    const listener = () => redraw((count) => count + 1);
    Object.assign(entry, { load, every });
    entry.users.add(listener);
    if (isOld(entry)) reload(entry);
    else listener();
    return () => entry.users.delete(listener);
  }, [key]);
  const entry = key === null ? null : entries.get(key);
  return {
    data: entry?.data,
    error: entry?.error ?? null,
    loading: key !== null && (!entry || Boolean(entry.loading) || (entry.data === undefined && !entry.error)),
    at: entry?.at ?? 0,
    reload: () => key !== null && reload(entryOf(key)),
  };
}

/** What was last there, with `beside` as it was then: while other data are read, the page keeps its place and its focus. */
export function useSteady(live, beside) {
  const last = useRef({ data: undefined, beside });
  if (live.data !== undefined) last.current = { data: live.data, beside };
  return { live: { ...live, data: live.error && live.error.kind !== "offline" ? live.data : last.current.data }, beside: last.current.beside };
}

/** Asks again for everything on the page whose key begins so: after a change that a person made. */
export function refresh(prefix = "") {
  const waiting = [];
  for (const [key, entry] of entries) {
    if (!key.startsWith(prefix)) continue;
    entry.at = 0;
    if (entry.users.size) waiting.push(reload(entry));
  }
  return Promise.all(waiting);
}

/** Tries at once what the lost connection holds up. */
export function retryNow() {
  connection.retryAt = 0;
  tick();
}

export function useConnection() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    connectionListeners.add(listener);
    return () => connectionListeners.delete(listener);
  }, []);
  return connection;
}

/** The newest time at which something on the page was read, in milliseconds. */
export function newestRead() {
  return Math.max(0, ...[...entries.values()].filter((each) => each.users.size).map((each) => each.at));
}

/** The newest time at which something was read; redraws when something is. */
export function useNewestRead() {
  const [at, set] = useState(newestRead);
  useEffect(() => {
    const listener = () => set(newestRead());
    readListeners.add(listener);
    return () => readListeners.delete(listener);
  }, []);
  return Math.max(at, newestRead());
}

/** Redraws every `seconds` while the tab is visible, for relative times. */
export function useNow(seconds = 15) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return now;
}
