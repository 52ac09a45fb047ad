// The stories of the chosen time: what each did to the figure, its articles, splitting it and joining it with another.
import { html, useId, useState } from "../../lib/dom.js";
import { api } from "../../lib/api.js";
import { joinStories, splitStory } from "../../lib/corrections.js";
import { dayAndClock, number } from "../../lib/format.js";
import { useLive } from "../../lib/live.js";
import { t } from "../../i18n/index.js";
import { Change, Sentiment } from "../../components/badge.js";
import { Icon } from "../../components/icons.js";
import { Empty, Live } from "../../components/states.js";
import { Headline } from "./articles.js";
import { useFeedNames } from "./feed-names.js";

export function Stories({ tool, movement }) {
  const there = movement.stories.filter((story) => story.mentions + story.unscored_mentions > 0).sort((a, b) => b.mentions - a.mentions);
  if (!there.length) return html`<div class="inset"><${Empty} title=${t("tool.empty.stories")} /></div>`;
  return html`<ul class="articles">${there.map((story) => html`<${Story} key=${story.event_id ?? story.headline} tool=${tool} story=${story} others=${there} />`)}</ul>`;
}

function Story({ tool, story, others }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const count = story.mentions + story.unscored_mentions;
  const joinable = others.filter((each) => each.event_id && each.event_id !== story.event_id);
  return html`
    <li class="article">
      <span class="article-said"><${Sentiment} value=${story.average_sentiment} /></span>
      <div class="article-body">
        <span class="headline">${story.headline}</span>
        <div class="article-foot">
          <p class="quiet small meta">
            <span>${t("story.articles", { count, n: number(count) })}</span>
            ${story.effect !== null && html`<span><${Change} value=${story.effect} /> ${t("why.effect")}</span>`}
          </p>
          ${story.event_id && html`
            <div class="row article-actions">
              <button type="button" class="button button-small button-plain" aria-expanded=${open ? "true" : "false"} aria-controls=${id} onClick=${() => setOpen(!open)}><${Icon} name=${open ? "minus" : "plus"} />${t(open ? "story.close" : "story.open")}</button>
              ${joinable.length > 0 && html`
                <details class="menu inline">
                  <summary class="button button-small button-plain"><${Icon} name="link" />${t("story.join")}</summary>
                  <div class="menu-body">${joinable.slice(0, 12).map((each) => html`<button key=${each.event_id} type="button" class="button button-plain start wrap" onClick=${(event) => { event.currentTarget.closest("details").open = false; joinStories(tool, story.event_id, each); }}>${each.headline}</button>`)}</div>
                </details>
              `}
            </div>
          `}
        </div>
        ${story.event_id && html`<div id=${id}>${open && html`<${Members} tool=${tool} eventId=${story.event_id} />`}</div>`}
      </div>
    </li>
  `;
}

function Members({ tool, eventId }) {
  const story = useLive(`story ${eventId}`, () => api.story(eventId));
  const names = useFeedNames((story.data?.members ?? []).some((member) => !member.publisher_name));
  const [picked, setPicked] = useState([]);
  const pick = (member, wanted) => setPicked(wanted ? [...picked, member] : picked.filter((each) => each !== member));
  return html`
    <${Live} of=${story}>
      ${(found) => html`
        <ul class="members">
          ${found.members.map((member) => html`
            <li key=${member.source_id}>
              ${found.members.length > 1 && html`<input type="checkbox" checked=${picked.includes(member.source_id)} aria-label=${t("story.split.pick", { headline: member.headline })} onChange=${(event) => pick(member.source_id, event.currentTarget.checked)} />`}
              <div><${Headline} mention=${member} /><p class="quiet tiny meta"><span>${dayAndClock(member.published_at)}</span><span>${member.publisher_name ?? names.get(member.sources?.[0]) ?? member.sources?.[0]}</span>${!member.reason && html`<span>${t("story.first")}</span>`}</p></div>
            </li>
          `)}
        </ul>
        ${picked.length > 0 && picked.length < found.members.length && html`<button type="button" class="button button-small" onClick=${async () => (await splitStory(tool, eventId, picked)) && setPicked([])}><${Icon} name="split" />${t("story.split")}</button>`}
      `}
    <//>
  `;
}
