// Editing one feed. The app judges what is sent; what it refuses stands at the field that it names.
import { html, useId, useState } from "../lib/dom.js";
import { FIELDS, changeOf, fieldsOf, formOf } from "../lib/feed-form.js";
import { refresh } from "../lib/live.js";
import { operations } from "../lib/operations.js";
import { t } from "../i18n/index.js";
import { ask, managed } from "../components/dialog.js";
import { note } from "../components/toast.js";

const said = (error) => error.detail || error.title || error.message;

/** Asks what to change of the feed, changes it, and offers to undo that. */
export async function editFeed(feed) {
  const back = await ask(t("feed.edit.title", { name: feed.source_name }), (close) => html`<${Form} feed=${feed} close=${close} />`);
  if (!back) return;
  const undo = async () => {
    try {
      await managed(() => operations.changeFeed(feed.feed_id, back));
      note(t("feed.edit.undone"));
      await refresh("feed");
    } catch (error) {
      if (error.kind !== "management") note(said(error), { tone: "bad" });
    }
  };
  note(t("feed.edit.done"), { actionName: t("word.undo"), action: undo });
  await refresh("feed");
}

function Form({ feed, close }) {
  const [form, setForm] = useState(() => formOf(feed));
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const change = changeOf(feed, form);
  const save = async (event) => {
    event.preventDefault();
    if (!change || isBusy) return;
    setBusy(true);
    try {
      await managed(() => operations.changeFeed(feed.feed_id, change.fields));
      close(change.back);
    } catch (problem) {
      setBusy(false);
      if (problem.kind === "management") return;
      setError(problem);
      document.querySelector(`dialog [name="${CSS.escape(problem.field ?? "")}"]`)?.focus();
    }
  };
  const put = (name, text) => {
    setForm({ ...form, [name]: text });
    if (error?.field === name) setError(null);
  };
  const isAtField = error && error.field in form;
  return html`
    <form class="stack" onSubmit=${save} noValidate>
      <div class="fields">
        ${fieldsOf(feed).map((name, index) => html`<${Field} key=${name} name=${name} isFirst=${index === 0} text=${form[name]} put=${put} error=${error?.field === name ? error : null} />`)}
      </div>
      ${error && !isAtField && html`<p class="bad-text" role="alert">${said(error)}</p>`}
      <div class="row end">
        <button type="button" class="button" onClick=${() => close(null)}>${t("key.cancel")}</button>
        <button type="submit" class="button button-primary" disabled=${!change || isBusy}>${t("feed.edit.save")}</button>
      </div>
    </form>
  `;
}

/** What a field means stands below it, unless the app refused it: then what is allowed. */
function Field({ name, text, put, error, isFirst }) {
  const id = useId();
  const { choices, isNumber } = FIELDS[name];
  const shared = {
    id, name, class: "input", "data-focus": isFirst || undefined,
    "aria-describedby": `${id}-about`, "aria-invalid": error ? "true" : undefined,
  };
  const isWide = name === "source_name" || name === "url" || name === "tags";
  return html`
    <div class=${isWide ? "form-field wide" : "form-field"}>
      <label for=${id}>${t(`feed.field.${name}`)}</label>
      ${choices
        ? html`<select ...${shared} value=${text} onChange=${(event) => put(name, event.currentTarget.value)}>${choices.map((each) => html`<option key=${each} value=${each} selected=${each === text}>${t(`feed.full.${each}`)}</option>`)}</select>`
        : html`<input ...${shared} autocomplete="off" spellcheck=${false} inputmode=${isNumber ? "decimal" : undefined} value=${text} onInput=${(event) => put(name, event.currentTarget.value)} />`}
      <p id=${`${id}-about`} class=${error ? "bad-text small" : "quiet small"} role=${error ? "alert" : undefined}>${error ? error.allowed ?? said(error) : t(`feed.field.${name}.about`)}</p>
    </div>
  `;
}
