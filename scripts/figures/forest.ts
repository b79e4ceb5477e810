/** Draws differences as a forest plot: groups of rows, with one interval per variant in each row. */
import type { Difference } from '../embedded/statistics.js';

export interface Forest {
  /** Alternative text. */
  readonly label: string;
  /** What distinguishes the rows of a group. */
  readonly header: string;
  readonly axis: string;
  readonly ways: readonly string[];
  readonly groups: readonly {
    readonly label: string;
    /** One difference per variant; undefined if missing. */
    readonly rows: readonly { readonly label: string; readonly of: readonly (Difference | undefined)[] }[];
  }[];
}

const [width, left, right, step, gap] = [760, 250, 30, 20, 12];
/** Okabe and Ito's colours, which colour-blind readers can distinguish. */
const colours = ['#0072b2', '#d55e00', '#009e73'];

/** An SVG that follows the reader's colour scheme. */
export function forestPlot({ axis, groups, header, label, ways }: Forest): string {
  const ends = groups.flatMap(({ rows }) =>
    rows.flatMap(({ of }) => of.flatMap((one) => one?.interval ?? [])),
  );
  const reach = Math.ceil(5 * Math.max(0.1, ...ends.map(Math.abs))) / 5;
  const x = (value: number) => left + ((value + reach) / (2 * reach)) * (width - left - right);
  const top = 26 + ways.length * 16;
  const at = (value: number) => value.toFixed(1);
  const text = (px: number, py: number, words: string, more = '') =>
    `<text x="${at(px)}" y="${at(py)}"${more}>${words}</text>`;
  let y = top;
  const marks: string[] = [];
  for (const group of groups) {
    marks.push(text(8, y + 4, group.label));
    for (const row of group.rows) {
      marks.push(text(left - 14, y + 4, row.label, ' text-anchor="end"'));
      for (const [way, one] of row.of.entries()) {
        if (one === undefined) continue;
        const py = y + (way - (ways.length - 1) / 2) * Math.min(7, 14 / ways.length);
        const [low, high] = one.interval.map((end) => at(x(end)));
        marks.push(
          `<g stroke="${colours[way]}" fill="${colours[way]}"><line stroke-width="2" x1="${low}" x2="${high}" y1="${at(py)}" y2="${at(py)}"/><circle r="3.5" cx="${at(x(one.difference))}" cy="${at(py)}"/></g>`,
        );
      }
      y += step;
    }
    y += gap;
  }
  const bottom = y - gap;
  const ticks = [-reach, -reach / 2, 0, reach / 2, reach].map((value) => {
    const [px, sign] = [at(x(value)), value > 0 ? '+' : ''];
    const line = `<line class="${value === 0 ? 'zero' : 'tick'}" x1="${px}" x2="${px}" y1="${top - 14}" y2="${at(bottom)}"/>`;
    const number = `${sign}${Number(value.toFixed(2))}`.replace('-', '−');
    return line + text(x(value), bottom + 18, number, ' text-anchor="middle"');
  });
  const legend = ways.map(
    (name, way) =>
      `<circle r="4" cx="${left + 6}" cy="${16 + way * 16}" fill="${colours[way]}"/>${text(left + 16, 20 + way * 16, name)}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${at(bottom + 44)}" role="img" aria-label="${label}">
<style>text{font:13px system-ui,sans-serif;fill:#24292f}.tick{stroke:#d0d7de}.zero{stroke:#57606a}@media(prefers-color-scheme:dark){text{fill:#c9d1d9}.tick{stroke:#30363d}.zero{stroke:#8b949e}}</style>
${[...legend, text(left - 14, top - 18, header, ' text-anchor="end"'), ...ticks, ...marks, text((left + width - right) / 2, bottom + 38, axis, ' text-anchor="middle"')].join('\n')}
</svg>
`;
}
