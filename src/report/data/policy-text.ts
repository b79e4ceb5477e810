import { formatParameter } from '../../format/numbers.js';
import { terminalTable, text } from '../../format/table.js';
import { layersOf, networkWeights } from '../../policies/mlp.js';
import {
  linearWeights,
  outputNames,
  type ParameterSpec,
  type ParameterVector,
  type PolicyDescription,
} from '../../policies/policy.js';
import { formatParameters } from '../../prompting/notation/grammar.js';

/** Decimals of derived weights; parameters have their own number of decimals. */
const weightDecimals = 3;

/** Maps parameters to weights if they span a random subspace; undefined otherwise. */
export function projectedWeights(
  policy: PolicyDescription,
): ((parameters: ParameterVector) => ParameterVector) | undefined {
  if (policy.kind !== 'linear' && policy.kind !== 'mlp') return undefined;
  if (policy.projection === undefined) return undefined;
  return (parameters) => weightsOf(policy, parameters);
}

/** A policy whose parameters are weights, or coordinates of weights. */
export type WeightedPolicy = PolicyDescription & { kind: 'linear' | 'mlp' };

export const weightsOf = (policy: WeightedPolicy, parameters: ParameterVector): ParameterVector =>
  policy.kind === 'mlp' ? networkWeights(policy, parameters) : linearWeights(policy, parameters);

/** A table of weights for each layer, or the parameters in the answer format. */
export function policyLines(
  policy: PolicyDescription,
  spec: ParameterSpec,
  parameters: ParameterVector,
  width: number | undefined,
): readonly string[] {
  if (policy.kind === 'program') return ['its source is missing from evaluations.jsonl'];
  const vector = formatParameters(parameters, spec);
  if (policy.kind !== 'linear' && policy.kind !== 'mlp')
    return [vector.length > 2000 ? `${vector.slice(0, 1999)}…` : vector];
  const { projection } = policy;
  const weights = weightsOf(policy, parameters);
  const decimals = projection === undefined ? spec.decimals : weightDecimals;
  const tables = matricesOf(policy).map(({ title, rows, columns, start }) => {
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
  });
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

/** The weight matrices, each with its biases as the last row. */
export function matricesOf(
  policy: WeightedPolicy,
  observations = Array.from(
    { length: policy.observations },
    (_, i) => `observation[${i}]`,
  ) as readonly string[],
  outputs = outputNames(policy),
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
