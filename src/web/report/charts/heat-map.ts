import { type Content, Part } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { distinctFormat, formatParameter, formatScore, plural } from '../../../base/text/numbers.js';
import type { ParameterSpec, PolicyDescription } from '../../../policies/policy.js';
import { type BufferEntry, bestEntry } from '../../../rollout/replay-buffer.js';
import { candidateName } from '../../../runs/summary.js';
import { largest, quantile } from '../../../statistics/descriptive.js';
import type { HeatMap } from '../../heat-map.js';
import { maxCategories } from '../../palette.js';
import { matricesOf } from '../data/policy-text.js';
import type { RunData } from '../data/proposals.js';
import { sampleEvenly } from '../data/shown-calls.js';
import type { TaskLabels } from '../data/task-labels.js';

const maxColumns = 1500;

/** Draws the parameters (rows) of up to `maxColumns` evaluations (columns) below a strip of scores. */
export function parameterHeatMap(data: RunData, labels: TaskLabels): Content {
  const { config, entries: allEntries, parameters: spec } = data;
  const best = bestEntry(allEntries);
  // More columns would be much narrower than a pixel.
  const entries = sampleEvenly(allEntries, maxColumns, best);
  const columns = entries.length;
  if (columns === 0 || spec.count === 0) return html`<p class="empty">No evaluations.</p>`;
  const names = rowNames(spec, data.policy, labels);
  const warmupCount = entries.filter((entry) => entry.source !== 'proposal').length;
  const scores = entries.map(({ score }) => score);
  const asText = distinctFormat(scores, formatScore);
  const numberByEntry = new Map(allEntries.map((entry, i) => [entry, i + 1]));
  const choices = spec.choices && spec.choices.length <= maxCategories ? spec.choices : undefined;
  const scale = largest(entries.map(({ parameters }) => largest([0, ...parameters.map(Math.abs)])));
  const heatMap: HeatMap = {
    label: `Heat map of ${plural(spec.count, 'parameter')} over ${plural(allEntries.length, 'evaluation')}.`,
    names,
    titles: spec.names?.map((name, row) => (names[row] === name ? name : `${names[row]} (${name})`)) ?? names,
    columns: entries.map(({ parameters }) => parameters),
    scores: scoreShares(entries),
    evaluations: entries.map(
      (entry) =>
        `evaluation ${numberByEntry.get(entry)} (${candidateName(entry, config)}): score ${asText(entry.score)}`,
    ),
    choices: choices?.map((value, i) => ({ value, name: choiceName(value, labels.actions[i]) })),
    scale,
    best: { column: entries.indexOf(best!), number: numberByEntry.get(best!)! },
    warmup: warmupCount,
    total: allEntries.length,
  };
  return new Part('heat-map', { map: heatMap });
}

function choiceName(choice: number, label: string | undefined): string {
  const number = formatParameter(choice);
  return label === undefined || label === number ? number : `${number} ${label}`;
}

/** Scales scores to [0, 1]. Clips low outliers, which would make all other scores look the same. */
function scoreShares(entries: readonly BufferEntry[]): readonly number[] {
  const sorted = entries.map(({ score }) => score).toSorted((a, b) => a - b);
  const [least, high, lower] = [sorted[0]!, sorted.at(-1)!, quantile(sorted, 0.25)];
  const spread = quantile(sorted, 0.75) - lower;
  const low = spread > 0 ? Math.max(least, lower - 3 * spread) : least;
  const shareOf = (score: number) => (high > low ? Math.max(0, (score - low) / (high - low)) : 1);
  return entries.map(({ score }) => Number(shareOf(score).toFixed(3)));
}

/** Names the rows by input and output, or by state, where possible; otherwise by the names of the parameters. */
function rowNames(spec: ParameterSpec, policy: PolicyDescription, labels: TaskLabels): readonly string[] {
  if ((policy.kind === 'linear' || policy.kind === 'mlp') && policy.projection === undefined) {
    const unitName = (layer: number, unit: number) => `${layer}.${unit}`;
    const names = matricesOf(policy, [], labels, unitName).flatMap(({ columns, rows }) =>
      rows.flatMap(({ name }) => columns.map((column) => `${name} → ${column}`)),
    );
    if (names.length === spec.count) return names;
  }
  if (policy.kind === 'q-table') {
    if (policy.form === 'actions') return Array.from({ length: spec.count }, (_, s) => `state ${s}`);
    const actions = labels.actions;
    return Array.from(
      { length: spec.count },
      (_, p) => `state ${Math.floor(p / actions.length)}, ${actions[p % actions.length]}`,
    );
  }
  return Array.from({ length: spec.count }, (_, i) => spec.names?.[i] ?? `params[${i}]`);
}
