/** The protocol's differences as a picture: one row a control and budget, an interval for each way to use the model. */
import { budgets, controls } from './plan.js';
import type { Difference } from './statistics.js';

/** By control and budget; undefined where there is no pair. */
export type Differences = (control: string, budget: (typeof budgets)[number]) => Difference | undefined;

interface Way {
  readonly label: string;
  readonly of: Differences;
}

const [width, left, right, top, step, gap] = [760, 250, 30, 58, 20, 12];
const colours = ['#0072b2', '#d55e00']; // Okabe and Ito: told apart by everybody

/** @param labels of the controls */
export function forestPlot(ways: readonly Way[], labels: Readonly<Record<string, string>>): string {
  const rows = controls.flatMap((control) => budgets.map((budget) => ({ control, budget })));
  const found = rows.map(({ budget, control }) => ways.map(({ of }) => of(control, budget)));
  const ends = found.flat().flatMap((one) => (one === undefined ? [] : one.interval));
  const reach = Math.ceil(5 * Math.max(0.1, ...ends.map(Math.abs))) / 5;
  const x = (value: number) => left + ((value + reach) / (2 * reach)) * (width - left - right);
  const y = (row: number) => top + row * step + Math.floor(row / budgets.length) * gap;
  const bottom = y(rows.length - 1) + step;
  const at = (value: number) => value.toFixed(1);
  const text = (px: number, py: number, words: string, more = '') =>
    `<text x="${at(px)}" y="${at(py)}"${more}>${words}</text>`;
  const ticks = [-reach, -reach / 2, 0, reach / 2, reach].map(
    (value) =>
      `<line class="${value === 0 ? 'zero' : 'tick'}" x1="${at(x(value))}" x2="${at(x(value))}" y1="${top - 14}" y2="${at(bottom)}"/>` +
      text(
        x(value),
        bottom + 18,
        `${value > 0 ? '+' : ''}${Number(value.toFixed(2))}`.replace('-', '−'),
        ' text-anchor="middle"',
      ),
  );
  const marks = rows.flatMap(({ budget, control }, row) => [
    ...(row % budgets.length === 0 ? [text(8, y(row) + 4, labels[control]!)] : []),
    text(left - 14, y(row) + 4, String(budget), ' text-anchor="end"'),
    ...found[row]!.flatMap((one, way) => {
      if (one === undefined) return [];
      const py = y(row) + (way - (ways.length - 1) / 2) * 7;
      const [low, high] = one.interval.map((end) => at(x(end)));
      return [
        `<g stroke="${colours[way]}" fill="${colours[way]}"><line stroke-width="2" x1="${low}" x2="${high}" y1="${py}" y2="${py}"/><circle r="3.5" cx="${at(x(one.difference))}" cy="${py}"/></g>`,
      ];
    }),
  ]);
  const legend = ways.map(
    ({ label }, way) =>
      `<circle r="4" cx="${left + 6}" cy="${16 + way * 16}" fill="${colours[way]}"/>${text(left + 16, 20 + way * 16, label)}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${at(bottom + 44)}" role="img" aria-label="Differences of the embedded model to controls">
<style>text{font:13px system-ui,sans-serif;fill:#24292f}.tick{stroke:#d0d7de}.zero{stroke:#57606a}@media(prefers-color-scheme:dark){text{fill:#c9d1d9}.tick{stroke:#30363d}.zero{stroke:#8b949e}}</style>
${[...legend, text(left - 14, top - 18, 'evaluations', ' text-anchor="end"'), ...ticks, ...marks, text((left + width - right) / 2, bottom + 38, 'normalised return above (right) or below (left) the control', ' text-anchor="middle"')].join('\n')}
</svg>
`;
}
