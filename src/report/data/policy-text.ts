import { formatParameter } from '../../format/numbers.js';
import { terminalTable, text } from '../../format/table.js';
import { layersOf, networkWeights } from '../../policies/mlp.js';
import {
  linearWeights,
  type ParameterSpec,
  type ParameterVector,
  type PolicyDescription,
} from '../../policies/policy.js';
import { formatParameters } from '../../prompting/notation/grammar.js';
import type { TaskLabels } from './task-labels.js';

/** Number of decimals for weights derived from parameters. */
const weightDecimals = 3;

/** Maps parameters to weights if they are coordinates in a random subspace; undefined otherwise. */
export function projectedWeights(
  policy: PolicyDescription,
): ((parameters: ParameterVector) => ParameterVector) | undefined {
  if (policy.kind !== 'linear' && policy.kind !== 'mlp') return undefined;
  if (policy.projection === undefined) return undefined;
  return (parameters) => weightsOf(policy, parameters);
}

/** A policy whose parameters are weights, or coordinates in a subspace of weights. */
export type WeightedPolicy = PolicyDescription & { kind: 'linear' | 'mlp' };

export const weightsOf = (policy: WeightedPolicy, parameters: ParameterVector): ParameterVector =>
  policy.kind === 'mlp' ? networkWeights(policy, parameters) : linearWeights(policy, parameters);

/** The policy as text: a table of weights for each layer, or the parameters in the answer format. */
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
  const weights = weightsOf(policy, parameters);
  const decimals = projection === undefined ? spec.decimals : weightDecimals;
  const tables = matricesOf(policy, labels.observations, labels.actions).map(
    ({ title, rows, columns, start }) => {
      const cells = columns.map((column, a) => ({
        title: column,
        kind: 'number' as const,
        cell: (row: number) => formatParameter(weights[start + row * columns.length + a]!.toFixed(decimals)),
      }));
      const table = terminalTable<number>(
        [...rows.keys()],
        [text(title, (row) => rows[row]!), ...cells],
        width,
      );
      return table;
    },
  );
  if (projection === undefined) return tables;
  return [
    vector,
    '',
    `these define ${weights.length} weights in a random subspace of rank ${projection.rank} (seed ${projection.seed}):`,
    ...tables,
  ];
}

interface Matrix {
  readonly title: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly start: number;
}

/** The weight matrices; the last row of each holds the biases, if any. */
export function matricesOf(
  policy: WeightedPolicy,
  observations: readonly string[],
  outputs: readonly string[],
): readonly Matrix[] {
  if (policy.kind === 'linear') {
    return [
      { title: '', rows: policy.bias ? [...observations, 'bias'] : observations, columns: outputs, start: 0 },
    ];
  }
  const units = (count: number) => Array.from({ length: count }, (_, j) => `unit ${j}`);
  const layers = layersOf(policy);
  return layers.map((layer, l) => ({
    title: `layer ${l + 1}`,
    rows: [...(l === 0 ? observations : units(layer.inputs)), 'bias'],
    columns: l === layers.length - 1 ? outputs : units(layer.units),
    start: layer.weights,
  }));
}
