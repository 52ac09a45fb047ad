// Putting things right: what a person says is asked for with name and reason, sent, shown, and can be undone.
import { html, useState } from "./dom.js";
import { api } from "./api.js";
import { refresh } from "./live.js";
import { t } from "../i18n/index.js";
import { ask, managed } from "../components/dialog.js";
import { note } from "../components/toast.js";

const AUTHOR = "toolpulse.author";

function authorBefore() {
  try {
    return sessionStorage.getItem(AUTHOR) ?? "";
  } catch {
    return "";
  }
}

function keepAuthor(name) {
  try {
    sessionStorage.setItem(AUTHOR, name);
  } catch {
    // Then it is asked for again.
  }
}

/** Asks who says so and why; `effect` says what follows. Returns {author, reason?}, or null. */
export const signed = (title, effect, action) =>
  ask(title, (close) => html`<${Sign} effect=${effect} action=${action} close=${close} />`);

function Sign({ effect, action, close }) {
  const [author, setAuthor] = useState(authorBefore);
  const [reason, setReason] = useState("");
  const done = (event) => {
    event.preventDefault();
    if (!author.trim()) return;
    keepAuthor(author.trim());
    close({ author: author.trim(), ...(reason.trim() ? { reason: reason.trim() } : {}) });
  };
  return html`
    <form class="stack tight" onSubmit=${done}>
      <p>${effect}</p>
      <label class="stack tight">${t("correct.author")}<input class="input" required data-focus=${!authorBefore() || undefined} maxlength="100" value=${author} autocomplete="name" onInput=${(event) => setAuthor(event.currentTarget.value)} /></label>
      <label class="stack tight">${t("correct.reason")}<input class="input" maxlength="1000" value=${reason} autocomplete="off" onInput=${(event) => setReason(event.currentTarget.value)} /></label>
      <div class="row end">
        <button type="button" class="button" onClick=${() => close(null)}>${t("key.cancel")}</button>
        <button type="submit" class="button button-primary" data-focus=${Boolean(authorBefore()) || undefined}>${action}</button>
      </div>
    </form>
  `;
}

/**
 * Sends a correction and offers to undo it. `send(by)` makes it, `undo(made, by)` undoes it; both may answer with a run,
 * which is waited for. `what` says afterwards what has happened. What begins with one of `changed` is read again, once
 * more after each of `later`, in milliseconds. Returns whether it was made.
 */
export async function correct({ title, effect, action, what, send, undo, changed, later = [] }) {
  const by = await signed(title, effect, action);
  if (!by) return false;
  try {
    const made = await managed(() => send(by));
    await followed(made, changed, later);
    note(what, {
      actionName: t("word.undo"),
      action: async () => {
        try {
          await followed(await managed(() => undo(made, { author: by.author })), changed, later);
          note(t("correct.undone"));
        } catch (error) {
          note(t("correct.failed", { why: error.message }), { tone: "bad" });
        }
      },
    });
    return true;
  } catch (error) {
    if (error.kind !== "management") note(t("correct.failed", { why: error.message }), { tone: "bad" });
    return false;
  }
}

const WAIT_MS = 700;
const MAX_WAITS = 40;
/** Articles are grouped within seconds of a correction, without a run that could be waited for. */
const GROUPED_MS = [2_000, 6_000];

/** Waits for the run of a correction, if there is one, and reads everything that it changed again. */
async function followed(answer, changed, later) {
  if (answer?.run_id) {
    const close = note(t("correct.running"));
    for (let waits = 0; waits < MAX_WAITS; waits += 1) {
      const run = await api.run(answer.run_id);
      if (!["QUEUED", "RUNNING"].includes(run.status)) break;
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
    close();
  }
  const again = () => Promise.all(changed.map((prefix) => refresh(prefix)));
  for (const wait of later) setTimeout(again, wait);
  await again();
}

const onTool = (tool) => ({
  changed: [`tool ${tool.tool_id}`, "trends"],
  undo: (made, by) => api.undoCorrection(tool.tool_id, made.correction_id, by),
});

/** verdict: "not_this_tool", "positive", "neutral", "negative" or "right". */
export const judge = (tool, mention, verdict) =>
  correct({
    ...onTool(tool),
    title: t(`correct.${verdict}`),
    effect: t(`correct.${verdict}.effect`, { tool: tool.name, headline: mention.headline ?? mention.source_id }),
    action: t(`correct.${verdict}`),
    what: t(`correct.${verdict}.done`, { tool: tool.name }),
    send: (by) => api.correct(tool.tool_id, { article: mention.source_id, verdict, ...by }),
  });

export const muteSource = (tool, source, name) =>
  correct({
    ...onTool(tool),
    title: t("correct.mute"),
    effect: t("correct.mute.effect", { tool: tool.name, source: name }),
    action: t("correct.mute"),
    what: t("correct.mute.done", { tool: tool.name, source: name }),
    send: (by) => api.correct(tool.tool_id, { source, ...by }),
  });

const onGroups = (tool) => ({
  changed: [`tool ${tool.tool_id}`, "story ", "article ", "trends"],
  later: GROUPED_MS,
  undo: (made, by) => api.undoGrouping(made.correction_id, by),
});

/** `names`: {source, headline} as people know them. */
export const splitArticle = (tool, article, source, names) =>
  correct({
    ...onGroups(tool),
    title: t("correct.out"),
    effect: t("correct.out.effect", { ...names, tool: tool.name }),
    action: t("correct.out"),
    what: t("correct.out.done", names),
    send: (by) => api.splitArticle(article, { source, ...by }),
  });

export const splitStory = (tool, eventId, articles) =>
  correct({
    ...onGroups(tool),
    title: t("correct.split"),
    effect: t("correct.split.effect", { count: articles.length, n: articles.length }),
    action: t("correct.split"),
    what: t("correct.split.done"),
    send: (by) => api.splitStory(eventId, { articles, ...by }),
  });

export const joinStories = (tool, eventId, other) =>
  correct({
    ...onGroups(tool),
    title: t("correct.join"),
    effect: t("correct.join.effect", { other: other.headline }),
    action: t("correct.join"),
    what: t("correct.join.done"),
    send: (by) => api.joinStories(eventId, { story: other.event_id, ...by }),
  });
