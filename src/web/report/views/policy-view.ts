import { type Content, Part } from '../../../base/text/content.js';
import { html, preformatted } from '../../../base/text/html.js';
import { formatNumber, formatParameter, plural } from '../../../base/text/numbers.js';
import { number, pageTable, text } from '../../../base/text/table.js';
import {
  type ParameterSpec,
  type ParameterVector,
  type PolicyDescription,
  weightsFrom,
} from '../../../policies/policy.js';
import type { BufferEntry } from '../../../rollout/replay-buffer.js';
import { largest } from '../../../statistics/descriptive.js';
import { maxCategories } from '../../palette.js';
import { matricesOf, type WeightedPolicy, type WeightMatrix } from '../data/policy-text.js';
import type { RunData } from '../data/proposals.js';
import { gridMap, type TaskLabels } from '../data/task-labels.js';

/** Shows a program's source or, for another policy, a readable form and the parameters. */
export function policyViews(
  { parameters, program }: Pick<BufferEntry, 'parameters' | 'program'>,
  { config, parameters: spec, policy }: Pick<RunData, 'config' | 'parameters' | 'policy'>,
  labels: TaskLabels,
): { readonly view: Content; readonly vector: Content | undefined } {
  if (program !== undefined) return { view: new Part('source-code', { source: program }), vector: undefined };
  const grid = policy.kind === 'q-table' ? gridMap(config.environment, policy.states) : undefined;
  return {
    view: policyView(parameters, policy, spec, labels, grid),
    vector: html`<details><summary>Parameter vector</summary>${preformatted(`[${parameters.join(', ')}]`)}</details>`,
  };
}

/** Shows a policy as weight matrices, a map with arrows, or a table of states or parameters. */
export function policyView(
  parameters: ParameterVector,
  policy: PolicyDescription,
  spec: ParameterSpec,
  labels: TaskLabels,
  grid?: readonly string[],
): Content {
  switch (policy.kind) {
    case 'linear':
    case 'mlp':
      return weightTables(parameters, policy, labels);
    case 'q-table':
      return actionTable(parameters, policy, spec, labels, grid);
    case 'program':
      return html`<p class="empty">The source is missing from <code>evaluations.jsonl</code>.</p>`;
    case 'module':
      return parameterTable(parameters, policy.text, spec);
  }
}

function parameterTable(parameters: ParameterVector, note: string, { names }: ParameterSpec): Content {
  const columns = [
    text('parameter', (i: number) => names?.[i] ?? `params[${i}]`),
    number('value', (i: number) => formatParameter(parameters[i]!)),
  ];
  return html`<div>${pageTable([...parameters.keys()], columns, { tall: true })}
<p class="note">${note}</p></div>`;
}

function weightTables(parameters: ParameterVector, policy: WeightedPolicy, labels: TaskLabels): Content {
  const { projection } = policy;
  const weights = weightsFrom(policy, parameters);
  const scale = largest([...weights.map(Math.abs), 0]);
  const format = (weight: number) =>
    projection === undefined ? formatParameter(weight) : formatNumber(weight, 3);
  const isLinear = policy.kind === 'linear';
  const hasDifference = isLinear && policy.discrete && policy.outputs === 2;
  const tables = matricesOf(policy, weights, labels).map(({ columns, rows }, l, all) => {
    const title =
      !isLinear && html`<h3>Layer ${l + 1}${l < all.length - 1 && ` (${policy.activation})`}</h3>`;
    const cells = columns.map((column, a) =>
      number(column, ({ weights: rowWeights }: WeightMatrix['rows'][number]) => ({
        text: format(rowWeights[a]!),
        tint: scale > 0 ? rowWeights[a]! / scale : 0,
      })),
    );
    const difference = number('difference', ({ weights: [first, second] }: WeightMatrix['rows'][number]) =>
      formatNumber(second! - first!),
    );
    const nameColumn = text('input', ({ name }: WeightMatrix['rows'][number]) => name);
    return html`${title}${pageTable(rows, [nameColumn, ...cells, ...(hasDifference ? [difference] : [])], { tall: true })}`;
  });
  const output = isLinear ? 'sum of weight × observation' : 'output of the last layer';
  return html`<div>${tables}
<p class="note">${policy.discrete ? `The policy takes the action with the highest ${output}.` : `The action is the ${output}.`}${projection !== undefined && html` These ${weights.length} weights are derived from ${plural(projection.rank, 'parameter')} (random subspace, seed ${projection.seed}).`}</p></div>`;
}

const arrows: Readonly<Record<string, string>> = {
  left: '←',
  right: '→',
  up: '↑',
  down: '↓',
  west: '←',
  east: '→',
  north: '↑',
  south: '↓',
};

/** Letters of a map with their names; no action is taken in final cells. */
const mapLetters: Readonly<Record<string, { name: string; isFinal: boolean }>> = {
  S: { name: 'start', isFinal: false },
  G: { name: 'goal', isFinal: true },
  H: { name: 'hole', isFinal: true },
  C: { name: 'cliff', isFinal: true },
};

/** Maximum number of states per row if neither a map nor bins determine it. */
const rowLength = 20;

/** Shows the action in each state: on the task's map, by two binned observations, or by the number of the state. */
function actionTable(
  parameters: ParameterVector,
  policy: PolicyDescription & { kind: 'q-table' },
  spec: ParameterSpec,
  labels: TaskLabels,
  grid: readonly string[] | undefined,
): Content {
  const actions = greedyActions(parameters, policy, spec);
  const letters = grid?.join('');
  const cell = (state: number): Content => {
    const mapCell = mapLetters[letters?.[state] ?? ''];
    if (mapCell?.isFinal)
      return html`<td class=${mapCell.name} title="state ${state}: ${mapCell.name}"><small>${mapCell.name}</small></td>`;
    const action = actions[state] ?? 0;
    const name = labels.actions[action] ?? String(action);
    const color = action < maxCategories ? `choice-${action}` : '';
    return html`<td class="${color}" title="state ${state}: ${name}">${arrows[name] ?? name}${mapCell && html`<small>${mapCell.name}</small>`}</td>`;
  };
  const [first, second] = policy.bins?.length === 2 ? policy.bins : [];
  const width = Math.min(policy.states, grid?.[0]?.length ?? (second ? second.edges.length + 1 : rowLength));
  const indices = Array.from({ length: width }, (_, c) => c);
  const starts = Array.from({ length: Math.ceil(policy.states / width) }, (_, r) => r * width);
  const names = [0, 1].map((i) => labels.observations[i] ?? `observation[${i}]`);
  const { columns, note, rows } =
    grid !== undefined
      ? {
          note: `Action in each cell (${labels.actions.map((action) => `${arrows[action] ?? ''} ${action}`.trim()).join(', ')})`,
        }
      : first && second
        ? {
            columns: binNames(second.edges),
            rows: binNames(first.edges),
            note: `Action by ${names[0]} (rows) and ${names[1]} (columns)`,
          }
        : {
            columns: indices.map((c) => `+${c}`),
            rows: starts.map(String),
            note: 'Action by state (state number = row label + column label)',
          };
  return html`<div><div class="scroll tall" tabindex="0"><table class=${grid ? 'states map' : 'states'}>
${columns && html`<thead><tr><td></td>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`}
<tbody>${starts.map((start, r) => {
    const states = indices.map((c) => start + c).filter((state) => state < policy.states);
    return html`<tr>${rows && html`<th scope="row">${rows[r]}</th>`}${states.map(cell)}</tr>`;
  })}</tbody>
</table></div>
<p class="note">${note}</p></div>`;
}

/** Returns the index of the action taken in each state; the first wins ties. */
function greedyActions(
  parameters: ParameterVector,
  policy: PolicyDescription & { kind: 'q-table' },
  spec: ParameterSpec,
): readonly number[] {
  if (policy.form === 'actions')
    return parameters.map((value) => Math.max(0, spec.choices?.indexOf(value) ?? value - spec.low));
  const count = policy.actions.length;
  return Array.from({ length: policy.states }, (_, state) => {
    const values = parameters.slice(state * count, (state + 1) * count);
    return values.indexOf(largest(values));
  });
}

function binNames(edges: readonly number[]): readonly string[] {
  const texts = edges.map((edge) => formatNumber(edge, 3));
  if (edges.length === 0) return ['all'];
  return [`< ${texts[0]}`, ...texts.slice(1).map((end, i) => `${texts[i]} … ${end}`), `≥ ${texts.at(-1)}`];
}
