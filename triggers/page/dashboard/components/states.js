// What stands where data will be, or would be: skeletons, empty, failed, offline, forbidden, absent, a key that is needed.
import { html, useEffect, useId, useRef, useState } from "../lib/dom.js";
import { relative } from "../lib/format.js";
import { keep, key } from "../lib/keys.js";
import { t } from "../i18n/index.js";
import { Icon } from "./icons.js";

/** Grey lines with the height of what is to come, so that nothing jumps. */
export const Skeleton = ({ lines = 3, height = "1.25rem", label = t("state.loading") }) => html`
  <div class="skeleton" role="status">
    <span class="visually-hidden">${label}</span>
    ${Array.from({ length: lines }, (_, index) => html`<div key=${index} class="skeleton-line" style=${{ height }}></div>`)}
  </div>
`;

/** A message with a title, a sentence and the next step. `tone`: "plain", "warning" or "bad". */
export const Message = ({ title, children, action, icon, tone = "plain", role }) => html`
  <div class=${`message message-${tone}`} role=${role}>
    ${icon && html`<${Icon} name=${icon} />`}
    <div>
      <p class="message-title">${title}</p>
      ${children && html`<div class="message-text">${children}</div>`}
      ${action && html`<div class="message-action">${action}</div>`}
    </div>
  </div>
`;

/** Nothing is there: why, and what to do next. */
export const Empty = ({ title, children, action }) => html`<${Message} title=${title} action=${action}>${children}<//>`;

const Retry = ({ again }) =>
  again && html`<button type="button" class="button" onClick=${again}><${Icon} name="refresh" />${t("state.retry")}</button>`;

/** What failed, in the API's words, and how to go on. */
export function Failure({ error, retry, what = t("state.error") }) {
  const again = html`<${Retry} again=${retry} />`;
  switch (error.kind) {
    case "key":
      return html`<${KeyPrompt} kind="function" again=${retry} />`;
    case "management":
      return html`<${KeyPrompt} kind="management" again=${retry} />`;
    case "forbidden":
      return html`<${Message} title=${t("state.forbidden")} icon="key" tone="warning" role="alert">${t("state.forbidden.text")}<//>`;
    case "offline":
      return html`<${Message} title=${t("state.offline.never")} icon="offline" tone="warning" role="alert" action=${again}>${t("state.offline.text")}<//>`;
    case "unavailable":
      return html`<${Message} title=${t("state.unavailable")} icon="warning" tone="warning" role="alert" action=${again}>
        ${error.detail} ${t("state.unavailable.text")}
      <//>`;
    case "absent":
      return html`<${Message} title=${t("state.absent")} icon="search" role="alert">${error.detail}<//>`;
    default:
      return html`<${Message} title=${what} icon="warning" tone="bad" role="alert" action=${again}>
        ${error.detail || error.title || error.message} ${error.id && t("state.error.id", { id: error.id })}
      <//>`;
  }
}

/** The state of data from useLive: its skeleton, its failure, or `children(data)`; old data stays while a read fails. */
export function Live({ of, skeleton, children, what }) {
  if (of.data !== undefined) return children(of.data);
  if (of.error) return html`<${Failure} error=${of.error} retry=${of.reload} what=${what} />`;
  return skeleton ?? html`<${Skeleton} />`;
}

/** The question for a key. It is a form of its own page area, not a browser prompt; the key never leaves this tab. */
export function KeyPrompt({ kind, again, cancel, focus = true }) {
  const [text, setText] = useState("");
  const [isTrying, setTrying] = useState(false);
  const input = useRef(null);
  const id = useId();
  useEffect(() => {
    if (focus) input.current?.focus();
  }, []);
  const use = async (event) => {
    event.preventDefault();
    if (!text.trim()) return;
    setTrying(true);
    keep(kind, text);
    await again?.();
    setTrying(false);
  };
  return html`
    <form class="key-prompt" onSubmit=${use}>
      <h2 class="key-title"><${Icon} name="key" />${t(`key.${kind}.title`)}</h2>
      <p>${t(`key.${kind}.text`)}</p>
      ${key(kind) && !isTrying && html`<p class="bad-text" role="alert">${t(`key.${kind}.wrong`)}</p>`}
      <label for=${id}>${t("key.label")}</label>
      <div class="row">
        <input
          id=${id} ref=${input} data-focus=${focus || undefined} type="password" class="input" value=${text} autocomplete="off" spellcheck=${false}
          onInput=${(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="button button-primary">${t("key.use")}</button>
        ${cancel && html`<button type="button" class="button" onClick=${cancel}>${t("key.cancel")}</button>`}
      </div>
      <p class="quiet">${t("key.where")}</p>
    </form>
  `;
}

/** A time ago, with the full time as its title. */
export const Ago = ({ at, now }) => html`<time datetime=${new Date(at).toISOString()}>${relative(at, now)}</time>`;
