// The small chart of a row: the line of the sentiment with its band of uncertainty, on the fixed scale -1 to 1 or less.
import { html } from "../lib/dom.js";
import { bandPath, linePath, linear } from "../lib/scale.js";

const WIDTH = 120;
const HEIGHT = 36;

/** points: [{average, low, high}], all of the same length of time. All rows share `reach`, so that they compare. */
export function Sparkline({ points, label, reach = 1 }) {
  const x = linear(0, Math.max(1, points.length - 1), 1, WIDTH - 1);
  const y = (value) => linear(-reach, reach, HEIGHT - 1, 1)(Math.max(-reach, Math.min(reach, value)));
  const at = (value) => (value === null || value === undefined ? null : y(value));
  const line = [];
  const band = [];
  points.forEach((point, index) => {
    // Steps without mentions have no value: the line goes on at the next one, its band does not.
    if (point.average !== null) line.push([x(index), y(point.average)]);
    if (point.average !== null || points.length < 2) band.push([x(index), at(point.low), at(point.high)]);
  });
  const alone = line.length === 1 ? line[0] : null;
  return html`
    <svg class="spark" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      <path class="zero" d=${`M0 ${y(0)}H${WIDTH}`} />
      <path class="band" d=${bandPath(band)} />
      <path class="line" d=${alone ? `M${alone[0] - 3} ${alone[1]}h6` : linePath(line)} />
    </svg>
  `;
}
