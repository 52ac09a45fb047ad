// Questions in front of the page, and actions that need the management key: the key is asked for when one needs it.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/dom.js";
import { t } from "../i18n/index.js";
import { Icon } from "./icons.js";
import { KeyPrompt } from "./states.js";

let opened = [];
let number = 0;
const listeners = new Set();

function show(next) {
  opened = next;
  for (const listener of [...listeners]) listener();
}

/**
 * Opens a dialog and returns what it was closed with; null if it was cancelled. `body(close)` is its content: it calls
 * `close(value)`. `label` names the dialog. A dialog may open another one in front of it. The focus goes back to where
 * it was.
 */
export function ask(label, body) {
  return new Promise((resolve) => {
    number += 1;
    const dialog = {
      id: number,
      label,
      body,
      close: (value = null) => {
        show(opened.filter((each) => each !== dialog));
        resolve(value);
      },
    };
    show([...opened, dialog]);
  });
}

/** A question whose answer changes something: says what follows, and names the action on its button. */
export const confirm = (title, text, action) =>
  ask(title, (close) => html`
    <div class="dialog-text">${text}</div>
    <div class="row end">
      <button type="button" class="button" onClick=${() => close(null)}>${t("key.cancel")}</button>
      <button type="button" class="button button-primary" onClick=${() => close(true)}>${action}</button>
    </div>
  `);

/** Runs an action of management. If the app asks for the management key, so does the page, and tries again. */
export async function managed(action) {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (error.kind !== "management") throw error;
      const given = await ask(t("key.management.title"), (close) => html`
        <${KeyPrompt} kind="management" again=${() => close(true)} cancel=${() => close(null)} />
      `);
      if (!given) throw error;
    }
  }
}

export function Dialogs() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return opened.map((each) => html`<${Dialog} key=${each.id} dialog=${each} />`);
}

function Dialog({ dialog }) {
  const { label, body, close } = dialog;
  const element = useRef(null);
  useLayoutEffect(() => {
    const shown = element.current;
    shown.showModal();
    // Else the first button has the focus, which closes the question.
    shown.querySelector("[data-focus]")?.focus();
    return () => shown.close(); // gives the focus back
  }, []);
  return html`
    <dialog
      class="dialog" ref=${element} aria-label=${label}
      onCancel=${(event) => { event.preventDefault(); close(null); }}
      onClick=${(event) => event.target === element.current && close(null)}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>${label}</h2>
          <button type="button" class="button button-plain" onClick=${() => close(null)}><${Icon} name="close" /><span class="visually-hidden">${t("word.close")}</span></button>
        </div>
        ${body(close)}
      </div>
    </dialog>
  `;
}
