// Short notes of what has just happened, read out by screen readers, with at most one action such as undo.
import { html, useEffect, useState } from "../lib/dom.js";
import { t } from "../i18n/index.js";
import { Icon } from "./icons.js";

let notes = [];
let number = 0;
const listeners = new Set();
const PLAIN_MS = 6_000;

function set(next) {
  notes = next;
  for (const listener of [...listeners]) listener();
}

/** Shows a note. With an action it stays until it is closed or another one comes. Returns a function that closes it. */
export function note(text, { action, actionName, tone = "plain" } = {}) {
  number += 1;
  const id = number;
  const close = () => set(notes.filter((each) => each.id !== id));
  set([...notes.filter((each) => !each.action), { id, text, action, actionName, tone, close }]);
  if (!action && tone !== "bad") setTimeout(close, PLAIN_MS);
  return close;
}

export function Toasts() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return html`
    <div class="toasts" role="status" aria-live="polite">
      ${notes.map(
        (each) => html`
          <div key=${each.id} class=${`toast toast-${each.tone}`}>
            <span>${each.text}</span>
            ${each.action && html`<button type="button" class="button" onClick=${() => { each.close(); each.action(); }}>${each.actionName}</button>`}
            <button type="button" class="button button-plain" onClick=${each.close}><${Icon} name="close" /><span class="visually-hidden">${t("word.close")}</span></button>
          </div>
        `,
      )}
    </div>
  `;
}
