// One tool: its sentiment and mentions over time, and below, for the chosen time, what is behind them and why they moved.
import { html, useEffect, useMemo } from "../lib/dom.js";
import { day, dayAndClock, number, percent, shortDay, signed } from "../lib/format.js";
import { useLive, useSteady } from "../lib/live.js";
import { BASE } from "../lib/router.js";
import { HOUR } from "../lib/scale.js";
import { TOOL, aggregate as aggregateOf, cachedOf, history as historyOf, iso, movement as movementOf, tool as toolOf } from "../lib/questions.js";
import { MENTIONS_KEPT, RANGES, againstOf, chosenIn, gapsOf, presentHour, rangeOf, together, zoomed } from "../lib/series.js";
import { known, t } from "../i18n/index.js";
import { Change, Limits, Sentiment } from "../components/badge.js";
import { ChartOrTable, TimeChart } from "../components/chart.js";
import { Segments } from "../components/choice.js";
import { Icon } from "../components/icons.js";
import { Live, Message, Skeleton } from "../components/states.js";
import { Articles } from "./tool/articles.js";
import { MadeOf } from "./tool/made_of.js";
import { Stories } from "./tool/stories.js";
import { Why } from "./tool/why.js";

export const DEFAULTS = TOOL;
const NOTHING = [null];

export default function ToolView({ params, query, setQuery }) {
  const tool = useLive(...toolOf(params.tool));
  return html`<${Live} of=${tool} skeleton=${html`<${Waiting} />`}>${(found) => html`<${Tool} key=${found.tool_id} tool=${found} query=${query} setQuery=${setQuery} />`}<//>`;
}

const Waiting = () => html`
  <div class="stack">
    <${Skeleton} lines=${1} height="2rem" />
    <${FiguresWaiting} />
  </div>
`;

/** As high as the figures and the chart, so that what is below them stays where it is. */
const FiguresWaiting = () => html`
  <div class="tiles figures">${[1, 2, 3, 4, 5, 6].map((each) => html`<div key=${each} class=${each === 1 ? "tile lead" : "tile"}><${Skeleton} lines=${3} height="1.5rem" label="" /></div>`)}</div>
  <div class="card"><${Skeleton} lines=${1} height="25rem" /></div>
`;

function Tool({ tool, query, setQuery }) {
  useEffect(() => {
    document.title = `${tool.name} · toolpulse`;
  }, [tool.name]);
  const now = presentHour();
  const range = useMemo(() => rangeOf(query, now), [query.period, query.from, query.to, now]);
  const isNamed = !query.from;
  const { live: history, beside: shown } = useSteady(useLive(...historyOf(tool.tool_id, range, now)), range);
  const cached = cachedOf(query);
  const aggregate = useLive(...(cached ? aggregateOf(tool.tool_id, cached) : NOTHING));
  const zoom = (how) => {
    const next = zoomed(range, how, now);
    setQuery({ from: next ? iso(next.from) : "", to: next ? iso(next.to) : "", since: "", until: "" });
  };
  const chosen = chosenIn(query, range);
  const choose = (from, to) => setQuery({ since: from === null ? "" : iso(from), until: from === null ? "" : iso(to) }, { replace: true });
  return html`
    <div class="stack">
      <div class="toolbar page-head">
        <div class="tool-head">
          <a class="small back" href=${BASE}><${Icon} name="left" />${t("tool.back")}</a>
          <h1>${tool.name} ${tool.tickers.length > 0 && html`<span class="quiet ticker">${tool.tickers.join(" ")}</span>`}</h1>
          ${tool.aliases.length > 0 && html`<p class="quiet small">${t("tool.also", { names: tool.aliases.join(", ") })}</p>`}
        </div>
        <${Segments} label=${t("period.label")} value=${isNamed ? query.period : ""} options=${Object.keys(RANGES).map((each) => [each, known(`period.${each}`, known(`tool.range.${each}`, each))])} onChange=${(period) => setQuery({ period, from: "", to: "", since: "", until: "" })} />
      </div>
      <${Live} of=${history} skeleton=${html`<${FiguresWaiting} />`}>
        ${(found) => html`
          <${Figures} figure=${(cached && aggregate.data) || found.total} change=${found.change} complete=${found} />
          <${Chart} tool=${tool} history=${found} range=${shown} chosen=${chosen} choose=${choose} zoom=${zoom} />
        `}
      <//>
      <${Behind} tool=${tool} range=${range} chosen=${chosen} choose=${choose} zoom=${zoom} query=${query} setQuery=${setQuery} now=${now} />
    </div>
  `;
}

function Figures({ figure, change, complete }) {
  const average = figure.total_mentions ? figure.average_sentiment : null;
  const compared = (name) => change?.[name]?.absolute ?? null;
  const before = (name, text) => (change?.[name]?.previous === null || change?.[name]?.previous === undefined ? "" : `${t("tool.previous")} ${text(change[name].previous)}`);
  const row = { ...complete, ...figure, complete: figure.complete ?? complete.complete };
  return html`
    <ul class="tiles figures">
      <li class="tile lead">
        <span class="tile-name">${t("word.sentiment")}</span>
        <span class="tile-huge"><${Sentiment} value=${average} /> ${compared("average_sentiment") !== null && html`<${Change} value=${compared("average_sentiment")} title=${before("average_sentiment", signed)} />`}</span>
        <span class="tile-note">${figure.confidence_interval ? `${t("word.interval")} ${signed(figure.confidence_interval[0])} … ${signed(figure.confidence_interval[1])}` : figure.verdict_text}</span>
      </li>
      <li class="tile">
        <span class="tile-name">${t("word.mentions")}</span>
        <span class="tile-value">${number(figure.total_mentions)}</span>
        <span class="tile-note">${before("total_mentions", number)}</span>
      </li>
      <li class="tile">
        <span class="tile-name">${t("word.stories")}</span><span class="tile-value">${number(figure.stories)}</span><span class="tile-note">${before("stories", number)}</span>
      </li>
      <li class="tile">
        <span class="tile-name">${t("word.publishers")}</span><span class="tile-value">${number(figure.publishers)}</span><span class="tile-note">${before("publishers", number)}</span>
      </li>
      <li class="tile">
        <span class="tile-name">${t("word.coverage")}</span><span class="tile-value">${percent(figure.coverage)}</span>
        ${figure.coverage !== null && figure.coverage !== undefined && html`<span class="meter" aria-hidden="true"><span style=${{ width: `${100 * figure.coverage}%` }}></span></span>`}
      </li>
      <li class="tile"><span class="tile-name">${t("word.verdict")}</span><span><${Limits} figure=${row} /></span><span class="tile-note">${figure.verdict_text}</span></li>
    </ul>
  `;
}

function Chart({ tool, history, range, chosen, choose, zoom }) {
  const points = useMemo(() => together(history.points, range, history.total), [history, range]);
  const lines = [{ name: t("word.sentiment"), points: points.map((point) => ({ at: point.at, value: point.average, low: point.low, high: point.high })) }];
  const bars = points.map((point) => ({ at: point.at, parts: ["negative", "neutral", "positive"].map((kind) => ({ kind, value: point[`${kind}_count`] ?? 0 })) }));
  const gaps = gapsOf(points, range.step);
  const label = t("tool.chart", { tool: tool.name });
  const when = range.unit === "hour" ? dayAndClock : day;
  const buttons = [
    ["left", "earlier"],
    ["minus", "out"],
    ["plus", "in"],
    ["right", "later"],
  ];
  const names = { earlier: "chart.earlier", later: "chart.later", in: "chart.zoom.in", out: "chart.zoom.out" };
  return html`
    <section class="card" aria-label=${label}>
      <${ChartOrTable}
        name=${label}
        actions=${html`
          <span class="quiet small range-text">${t("chart.chosen", { from: when(range.from), to: when(range.to) })}</span>
          ${buttons.map(([icon, how]) => html`<button key=${how} type="button" class="button button-small button-plain" title=${t(names[how])} onClick=${() => zoom(how)}><${Icon} name=${icon} /><span class="visually-hidden">${t(names[how])}</span></button>`)}
        `}
        chart=${html`<${TimeChart} label=${label} from=${range.from} to=${range.to} step=${range.step} lines=${lines} bars=${bars} gaps=${gaps} domain=${[-1, 1]} chosen=${chosen} onChoose=${choose} onZoom=${zoom} height=${340} />`}
        head=${[t("word.from"), t("word.sentiment"), t("word.interval"), t("word.mentions"), t("word.positive"), t("word.neutral"), t("word.negative"), t("word.coverage")]}
        rows=${() => points.map((point) => [when(point.at), signed(point.average), point.low === null ? "" : `${signed(point.low)} … ${signed(point.high)}`, number(point.total_mentions), number(point.positive_count), number(point.neutral_count), number(point.negative_count), percent(point.coverage)])}
      />
      ${gaps.length > 0 && html`<p class="quiet small">${t("tool.gap")}</p>`}
    </section>
  `;
}

/** Everything below the chart is of the chosen time, or of the whole time that is shown. */
function Behind({ tool, range, chosen, choose, zoom, query, setQuery, now }) {
  const time = chosen ?? range;
  const { from, to } = time;
  const when = to - from < 3 * 24 * HOUR ? dayAndClock : shortDay;
  const isKept = from >= now - MENTIONS_KEPT;
  const against = againstOf(query, time);
  const { live: movement } = useSteady(useLive(...(isKept ? movementOf(tool.tool_id, time, against) : NOTHING)));
  return html`
    <div class="selection" role="status">
      ${chosen
        ? html`<strong>${t("tool.selection")}:</strong> <span>${t("chart.chosen", { from: when(from), to: when(to) })}</span>
            <button type="button" class="button button-small" onClick=${() => zoom(chosen)}>${t("tool.selection.zoom")}</button>
            <button type="button" class="button button-small" onClick=${() => choose(null, null)}>${t("tool.selection.clear")}</button>`
        : html`<span class="quiet">${t("tool.selection.none")}</span>`}
    </div>
    ${isKept
      ? html`
          <div class="columns wide-first">
            <div class="stack">
              <section class="card flush" aria-label=${t("tool.articles")}>
                <div class="card-head toolbar">
                  <${Segments} label=${t("tool.articles")} value=${query.show} options=${["articles", "stories"].map((each) => [each, t(`tool.${each}`)])} onChange=${(show) => setQuery({ show }, { replace: true })} />
                </div>
                ${query.show === "stories"
                  ? html`<${Live} of=${movement}>${(found) => html`<${Stories} tool=${tool} movement=${found} />`}<//>`
                  : html`<${Articles} key=${`${from} ${to} ${query.sentiment}`} tool=${tool} since=${iso(from)} until=${iso(to)} sentiment=${query.sentiment} onSentiment=${(sentiment) => setQuery({ sentiment }, { replace: true })} />`}
              </section>
            </div>
            <div class="stack">
              <${Live} of=${movement} skeleton=${html`<div class="card"><${Skeleton} lines=${8} /></div>`}>
                ${(found) => html`<${Why} movement=${found} against=${against} onAgainst=${(value) => setQuery({ against: value }, { replace: true })} /><${MadeOf} tool=${tool} movement=${found} />`}
              <//>
            </div>
          </div>
        `
      : html`<${Message} title=${t("tool.selection")}>${t("tool.kept")}<//>`}
  `;
}
