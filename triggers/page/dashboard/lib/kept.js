// Rows that are read again: those that say the same are the same objects, so that only what has changed is drawn. Pure.

/** `rows` with those of `before` that are equal to them, by `keyOf`; `before` itself if nothing has changed. */
export function kept(before, rows, keyOf) {
  const old = new Map(before.map((row) => [keyOf(row), row]));
  const found = rows.map((row) => {
    const known = old.get(keyOf(row));
    return known !== undefined && JSON.stringify(known) === JSON.stringify(row) ? known : row;
  });
  return found.length === before.length && found.every((row, index) => row === before[index]) ? before : found;
}

/** What is chosen, by key: rows listen to themselves, so that choosing one draws one. */
export function choice() {
  let keys = new Set();
  const listeners = new Set();
  const set = (next) => {
    keys = next;
    for (const listener of [...listeners]) listener();
  };
  return {
    has: (key) => keys.has(key),
    all: () => [...keys],
    set: (wanted) => set(new Set(wanted)),
    toggle(key, on) {
      const next = new Set(keys);
      if (on) next.add(key);
      else next.delete(key);
      set(next);
    },
    /** Forgets what is not there any more. */
    keep(there) {
      const left = [...keys].filter((key) => there.has(key));
      if (left.length < keys.size) set(new Set(left));
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
