// A time ago, or until then. It is drawn again only when it says something else: a table has hundreds of them.
import { html, useEffect, useRef, useState } from "../lib/dom.js";
import { full, relative } from "../lib/format.js";

const EVERY_MS = 5_000;
const listeners = new Set();
let timer = null;

function watch(listener) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (!document.hidden) for (const each of [...listeners]) each();
  }, EVERY_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size) return;
    clearInterval(timer);
    timer = null;
  };
}

/** `say(at, now)` is its text; the full time is its title. */
export function Since({ at, say = relative }) {
  const [, redraw] = useState(0);
  const last = useRef("");
  last.current = say(at, Date.now());
  useEffect(() => watch(() => say(at, Date.now()) !== last.current && redraw((count) => count + 1)), [at, say]);
  return html`<time datetime=${at} title=${full(at)}>${last.current}</time>`;
}
