import { formatParameter } from '../../../base/text/numbers.js';
import { number, terminalTable, text } from '../../../base/text/table.js';
import { layersOf } from '../../../policies/mlp.js';
import {
  type ParameterSpec,
  type ParameterVector,
  type PolicyDescription,
  weightsFrom,
} from '../../../policies/policy.js';
import { formatParameters } from '../../../prompting/notation/grammar.js';
import type { TaskLabels } from './task-labels.js';

/** Number of decimals for weights derived from parameters. */
const weightDecimals = 3;

/** Returns the weights of a policy whose parameters are coordinates in a random subspace; undefined for others. */
export const projectedWeights = (policy: PolicyDescription, parameters: ParameterVector) =>
  'projection' in policy && policy.projection !== undefined ? weightsFrom(policy, parameters) : undefined;

/** A policy whose parameters are weights, or coordinates in a subspace of weights. */
export type WeightedPolicy = PolicyDescription & { kind: 'linear' | 'mlp' };

/** Formats the policy as text: a table of weights for each layer, the parameters in the answer format, or both. */
export function policyLines(
  policy: PolicyDescription,
  spec: ParameterSpec,
  parameters: ParameterVector,
  labels: TaskLabels,
  width: number | undefined,
): readonly string[] {
  if (policy.kind === 'program') return ['its source is missing from evaluations.jsonl'];
  const vector = formatParameters(parameters, spec);
  if (policy.kind !== 'linear' && policy.kind !== 'mlp')
    return [vector.length > 2000 ? `${vector.slice(0, 1999)}…` : vector];
  const { projection } = policy;
  const weights = weightsFrom(policy, parameters);
  const decimals = projection === undefined ? spec.decimals : weightDecimals;
  const tables = matricesOf(policy, weights, labels).map(({ columns, rows, title }) => {
    const cells = columns.map((column, a) =>
      number<WeightMatrix['rows'][number]>(column, ({ weights }) =>
        formatParameter(weights[a]!.toFixed(decimals)),
      ),
    );
    return terminalTable(rows, [text(title, ({ name }) => name), ...cells], width);
  });
  if (projection === undefined) return tables;
  return [
    vector,
    '',
    `these parameters define ${weights.length} weights in a random subspace of rank ${projection.rank} (seed ${projection.seed}):`,
    ...tables,
  ];
}

export interface WeightMatrix {
  readonly title: string;
  /** Names of the outputs. */
  readonly columns: readonly string[];
  /** One row per input, with its weights; the last row is the bias, if there is one. */
  readonly rows: readonly { readonly name: string; readonly weights: readonly number[] }[];
}

/** Arranges the weights in a matrix for each layer. @param unitName names a hidden unit; layers count from 1 */
export function matricesOf(
  policy: WeightedPolicy,
  weights: ParameterVector,
  { actions, observations }: TaskLabels,
  unitName = (_layer: number, unit: number) => `unit ${unit}`,
): readonly WeightMatrix[] {
  const matrix = (title: string, names: readonly string[], columns: readonly string[], start: number) => ({
    title,
    columns,
    rows: names.map((name, i) => {
      const from = start + i * columns.length;
      return { name, weights: weights.slice(from, from + columns.length) };
    }),
  });
  if (policy.kind === 'linear')
    return [matrix('', policy.bias ? [...observations, 'bias'] : observations, actions, 0)];
  const unitNames = (l: number, count: number) => Array.from({ length: count }, (_, j) => unitName(l, j));
  return layersOf(policy).map((layer, l, layers) => {
    const inputs = l === 0 ? observations : unitNames(l, layer.inputs);
    const outputs = l === layers.length - 1 ? actions : unitNames(l + 1, layer.units);
    return matrix(`layer ${l + 1}`, [...inputs, 'bias'], outputs, layer.weightOffset);
  });
}
