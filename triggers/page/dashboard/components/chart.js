// A chart over time: lines with bands of uncertainty above, stacked bars below, gaps hatched. Drawn as SVG, so that
// theme, print, zoom of the page and forced colours need no code. A time is chosen by drag, touch or keys.
import { html, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../lib/dom.js";
import { clock, dayAndClock, month, number, shortDay, signed, timeZone } from "../lib/format.js";
import { DAY, bandPath, linePath, linear, nearest, roundUp, ticks, timeTicks } from "../lib/scale.js";
import { t } from "../i18n/index.js";

const LEFT = 44;
const RIGHT = 8;
const TOP = 10;
const AXIS = 22;
const BETWEEN = 16;
const MIN_DRAG = 5;
export const COLOURS = [1, 2, 3, 4, 5, 6].map((each) => `var(--series-${each})`);
/** Lines differ by their dashes too, so that colour is not all that tells them apart. */
export const DASHES = ["", "7 3", "2 3", "10 3 2 3", "5 2 1 2 1 2", "1 4"];

const TICK_TEXT = {
  hour: clock,
  day: shortDay,
  month,
  year: (at) => String(new Date(at).getUTCFullYear()),
};

function useWidth(element) {
  const [width, setWidth] = useState(720);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry.contentRect.width))));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

/**
 * from, to, step: the time in milliseconds, and the length of one step.
 * lines: [{name, points: [{at, value, low, high}], colour?, dash?}], one value for each step.
 * bars: [{at, parts: [{kind: "positive"|"neutral"|"negative"|"plain", value}]}], one for each step; may be absent.
 * gaps: [{from, to}], times of which little is known, hatched.
 * domain: [low, high] of the lines; valueText formats a value. chosen: {from, to} or null; onChoose(from, to) or null.
 * onZoom({from, to}) | onZoom("in" | "out" | "all" | "earlier" | "later"), if the chart can be zoomed.
 */
export function TimeChart(props) {
  const { from, to, step, lines = [], bars, gaps = [], domain, valueText = signed, label, chosen, onChoose, onZoom, barsName = t("word.mentions"), height = 300 } = props;
  const frame = useRef(null);
  const width = useWidth(frame);
  const id = useId().replaceAll(":", "");
  const [cursor, setCursor] = useState(null);
  const [drag, setDrag] = useState(null);

  const lower = bars?.length ? (lines.length ? Math.round(height * 0.28) : height - TOP - AXIS) : 0;
  const upper = lines.length ? height - TOP - AXIS - (lower ? lower + BETWEEN : 0) : 0;
  const x = linear(from, to, LEFT, width - RIGHT);
  const starts = useMemo(() => Array.from({ length: Math.max(1, Math.round((to - from) / step)) }, (_, index) => from + index * step), [from, to, step]);
  const middles = starts.map((each) => x(Math.min(each + step / 2, to)));
  const [low, high] = domain ?? extent(lines);
  const y = linear(low, high, TOP + upper, TOP);
  const most = roundUp(Math.max(1, ...(bars ?? []).map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0))));
  const base = TOP + upper + (upper ? BETWEEN : 0) + lower;
  const tall = linear(0, most, 0, lower);

  const timeAt = (position) => from + ((position - LEFT) / (width - LEFT - RIGHT)) * (to - from);
  const snapped = (a, b) => {
    const first = Math.max(0, Math.floor((Math.min(a, b) - from) / step));
    const last = Math.min(starts.length - 1, Math.floor((Math.max(a, b) - from - 1) / step));
    return [starts[first], Math.min(to, starts[Math.max(first, last)] + step)];
  };
  const place = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.max(LEFT, Math.min(width - RIGHT, event.clientX - box.left));
  };
  const pressed = (event) => {
    if (event.button !== 0 || !onChoose) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag({ start: place(event), end: place(event) });
  };
  const moved = (event) => {
    const position = place(event);
    setCursor(nearest(middles, position));
    if (drag) setDrag({ ...drag, end: position });
  };
  const released = () => {
    if (!drag) return;
    setDrag(null);
    if (Math.abs(drag.end - drag.start) >= MIN_DRAG) onChoose(...snapped(timeAt(drag.start), timeAt(drag.end)));
    else if (chosen) onChoose(null, null);
    else {
      const index = nearest(middles, drag.start);
      onChoose(starts[index], Math.min(to, starts[index] + step));
    }
  };
  const typed = (event) => {
    const go = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (go !== undefined) {
      const before = cursor ?? (go < 0 ? starts.length : -1);
      const next = Math.max(0, Math.min(starts.length - 1, before + go));
      setCursor(next);
      if (event.shiftKey && onChoose) {
        const anchor = chosen && cursor !== null ? (starts[cursor] <= chosen.from ? chosen.to - 1 : chosen.from) : starts[Math.max(0, Math.min(starts.length - 1, before))];
        onChoose(...snapped(Math.min(anchor, starts[next]), Math.max(anchor + 1, starts[next] + step)));
      }
    } else if (event.key === " " && cursor !== null && onChoose) onChoose(starts[cursor], Math.min(to, starts[cursor] + step));
    else if (event.key === "Enter" && chosen && onZoom) onZoom(chosen);
    else if (event.key === "Escape" && (chosen || onZoom)) chosen ? onChoose?.(null, null) : onZoom("all");
    else if ((event.key === "+" || event.key === "=") && onZoom) onZoom("in");
    else if (event.key === "-" && onZoom) onZoom("out");
    else return;
    event.preventDefault();
  };

  const shade = drag && Math.abs(drag.end - drag.start) >= MIN_DRAG ? snapped(timeAt(drag.start), timeAt(drag.end)) : chosen && [chosen.from, chosen.to];
  const at = cursor === null ? null : Math.min(cursor, starts.length - 1);
  return html`
    <div class="chart" ref=${frame}>
      <svg
        viewBox=${`0 0 ${width} ${height}`} height=${height} tabindex="0" role="application" aria-roledescription=${t("word.chart")} aria-label=${label}
        aria-describedby=${`${id}-help`}
        onPointerDown=${pressed} onPointerMove=${moved} onPointerUp=${released} onPointerCancel=${() => setDrag(null)}
        onPointerLeave=${() => drag || setCursor(null)} onKeyDown=${typed} onBlur=${() => setCursor(null)}
      >
        <defs><pattern id="gap-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch-line" d="M0 0V6" /></pattern></defs>
        ${gaps.map((gap) => html`<rect key=${gap.from} class="gap" x=${x(Math.max(from, gap.from))} y=${TOP} width=${Math.max(2, x(Math.min(to, gap.to)) - x(Math.max(from, gap.from)))} height=${base - TOP} />`)}
        ${upper > 0 && ticks(low, high, upper > 120 ? 4 : 2).map((value) => html`
          <g key=${value}>
            <path class=${value === 0 && low < 0 ? "zero" : "grid"} d=${`M${LEFT} ${y(value)}H${width - RIGHT}`} />
            <text x=${LEFT - 6} y=${y(value) + 3.5} text-anchor="end">${valueText(value, 1)}</text>
          </g>
        `)}
        ${lower > 0 && [0, most].map((value) => html`
          <g key=${`b${value}`}>
            <path class="grid" d=${`M${LEFT} ${base - tall(value)}H${width - RIGHT}`} />
            <text x=${LEFT - 6} y=${base - tall(value) + (value ? 9 : 0)} text-anchor="end">${number(value)}</text>
          </g>
        `)}
        ${timeTicks(from, to, Math.max(2, Math.floor((width - LEFT) / 86)), timeZone()).map((tick) => html`
          <g key=${tick.at}>
            <path class="grid" d=${`M${x(tick.at)} ${base}v4`} />
            <text x=${x(tick.at)} y=${height - 5} text-anchor=${x(tick.at) > width - 30 ? "end" : "middle"}>${TICK_TEXT[tick.kind](tick.at)}</text>
          </g>
        `)}
        ${lower > 0 && bars.map((bar, index) => {
          const wide = Math.max(1, (x(from + step) - x(from)) * 0.78);
          let top = base;
          return bar.parts.map((part) => {
            const size = tall(part.value);
            top -= size;
            return part.value > 0 && html`<rect key=${`${index}${part.kind}`} class=${`bar-${part.kind}`} x=${x(bar.at + step / 2) - wide / 2} y=${top} width=${wide} height=${size} />`;
          });
        })}
        ${lines.map((line, index) => {
          const colour = line.colour ?? COLOURS[index % COLOURS.length];
          const known = line.points.filter((point) => point.value !== null && point.value !== undefined);
          const middle = (point) => x(Math.min(point.at + step / 2, to));
          return html`
            <g key=${line.name}>
              <path class="band" style=${{ fill: colour }} d=${bandPath(line.points.map((point) => [middle(point), point.low === null || point.low === undefined ? null : y(Math.max(low, point.low)), point.high === null || point.high === undefined ? null : y(Math.min(high, point.high))]))} />
              <path class="line" style=${{ stroke: colour }} stroke-dasharray=${line.dash ?? DASHES[index % DASHES.length]} d=${linePath(known.map((point) => [middle(point), y(point.value)]))} />
              ${known.length <= 40 && known.map((point) => html`<circle key=${point.at} class="dot" cx=${middle(point)} cy=${y(point.value)} r="3" style=${{ fill: colour }} />`)}
            </g>
          `;
        })}
        ${shade && html`
          <g>
            <rect class="chosen" x=${x(shade[0])} y=${TOP} width=${x(shade[1]) - x(shade[0])} height=${base - TOP} />
            <path class="chosen-edge" d=${`M${x(shade[0])} ${TOP}V${base}M${x(shade[1])} ${TOP}V${base}`} />
          </g>
        `}
        ${at !== null && html`<path class="cursor" d=${`M${middles[at]} ${TOP}V${base}`} />`}
      </svg>
      <p id=${`${id}-help`} class="visually-hidden">${t("chart.help")}</p>
      <div class="visually-hidden" aria-live="polite">${at !== null && stepText(at)}</div>
      ${at !== null && html`
        <div class="chart-tip" aria-hidden="true" style=${middles[at] > width / 2 ? { right: `${width - middles[at] + 12}px` } : { left: `${middles[at] + 12}px` }}>
          <strong>${stepName(starts[at], step)}</strong>
          <dl>
            ${lines.map((line, index) => {
              const point = line.points.find((each) => each.at === starts[at]);
              return html`
                <dt key=${line.name} class="clip"><span class="swatch" style=${{ background: line.colour ?? COLOURS[index % COLOURS.length] }}></span>${line.name}</dt>
                <dd>${valueText(point?.value ?? null)}${point?.low !== null && point?.low !== undefined && html` <span class="quiet">${valueText(point.low)} … ${valueText(point.high)}</span>`}</dd>
              `;
            })}
            ${bars && (bars.find((each) => each.at === starts[at])?.parts ?? []).map((part) => html`<dt key=${part.kind}>${part.kind === "plain" ? barsName : t(`word.${part.kind}`)}</dt><dd>${number(part.value)}</dd>`)}
          </dl>
        </div>
      `}
    </div>
  `;

  function stepText(index) {
    const values = lines.map((line) => `${line.name} ${valueText(line.points.find((each) => each.at === starts[index])?.value ?? null)}`);
    const bar = bars?.find((each) => each.at === starts[index]);
    if (bar) values.push(`${barsName} ${number(bar.parts.reduce((sum, part) => sum + part.value, 0))}`);
    return `${stepName(starts[index], step)}: ${values.join(", ")}`;
  }
}

/** The name of a step: a UTC day by its date, an hour by its time. */
export const stepName = (at, step) => (step >= DAY ? shortDay(at + step / 2) : dayAndClock(at));

function extent(lines) {
  const values = lines.flatMap((line) => line.points.flatMap((point) => [point.value, point.low, point.high])).filter((value) => value !== null && value !== undefined);
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values, 0), Math.max(...values, 0)];
  return low === high ? [low, low + 1] : [low, high];
}

export const Legend = ({ names }) => html`
  <ul class="legend">
    ${names.map((name, index) => html`
      <li key=${name}>
        <svg width="26" height="8" aria-hidden="true" class="icon-line"><path d="M0 4H26" style=${{ stroke: COLOURS[index % COLOURS.length], strokeWidth: 2.5, strokeDasharray: DASHES[index % DASHES.length] }} /></svg> ${name}
      </li>
    `)}
  </ul>
`;

/** A chart with its figures as a table beside it: the reader switches. rows: [[cell, …]], head: [name, …]. */
export function ChartOrTable({ name, chart, head, rows, actions }) {
  const [asTable, setAsTable] = useState(false);
  return html`
    <div class="stack tight">
      <div class="chart-bar">${actions}<button type="button" class="button button-small" aria-pressed=${asTable ? "true" : "false"} onClick=${() => setAsTable(!asTable)}>${t("word.table")}</button></div>
      ${asTable
        ? html`<div class="table-frame table-low" tabindex="0" role="region" aria-label=${name}><table class="table"><caption class="visually-hidden">${name}</caption>
            <thead><tr>${head.map((each, index) => html`<th key=${index} scope="col" class=${index ? "numeric" : ""}>${each}</th>`)}</tr></thead>
            <tbody>${rows().map((row, at) => html`<tr key=${at}>${row.map((cell, index) => html`<td key=${index} class=${index ? "numeric" : ""}>${cell}</td>`)}</tr>`)}</tbody>
          </table></div>`
        : chart}
    </div>
  `;
}

export function useDebounced(value, milliseconds = 200) {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
