/** Describes linear and network policies: how the weights are arranged, and which parameter is which weight. */
import { formatShort } from '../../environments/catalogue/facts.js';
import { layersOf } from '../../policies/mlp.js';
import { outputNames, type PolicyDescription, type Projection } from '../../policies/policy.js';
import type { LinearContext, NetworkContext } from './prompt-context.js';

export function linearContext(policy: PolicyDescription & { kind: 'linear' }): LinearContext {
  const { observations, outputs, bias, discrete, projection } = policy;
  const columns = outputNames(policy);
  const row = (label: string, i: number) => ({
    label,
    parameters: columns.map((_, a) => `params[${i * outputs + a}]`).join(', '),
  });
  const rows = Array.from({ length: observations }, (_, i) => row(`observation[${i}]`, i));
  if (bias) rows.push(row('bias', observations));
  return {
    observations,
    outputs,
    bias,
    biasStart: observations * outputs,
    discrete,
    single: outputs === 1,
    columns: columns.join(', '),
    rows: projection === undefined ? rows : [],
    projection: projection === undefined ? null : projectionContext(projection),
  };
}

/** Definition of each activation function shown in the prompt; null if it needs no explanation. */
const definitions = {
  tanh: null,
  relu: 'relu(x) = max(0, x)',
  'leaky-relu': 'leaky-relu(x) = max(0.2 * x, x)',
};

export function networkContext(policy: PolicyDescription & { kind: 'mlp' }): NetworkContext {
  const { activation, discrete, hidden, observations, projection } = policy;
  const layers = layersOf(policy);
  const vectorName = projection === undefined ? 'params' : 'w';
  return {
    observations,
    hiddenLayers: hidden.length,
    oneLayer: hidden.length === 1,
    activation,
    definition: definitions[activation],
    discrete,
    columns: outputNames(policy).join(', '),
    layers: layers.map(({ biasOffset, inputs, units, weightOffset }, l) => {
      const isLast = l === layers.length - 1;
      const indexText = units === 1 ? 'i' : `${units} * i + j`;
      return {
        number: l + 1,
        last: isLast,
        inputs,
        units,
        lastUnit: units - 1,
        input: l === 0 ? 'observation' : `h${l}`,
        output: isLast ? (discrete ? 'score' : 'action') : `h${l + 1}`,
        weights: `${vectorName}[${weightOffset === 0 ? '' : `${weightOffset} + `}${indexText}]`,
        biases: `${vectorName}[${biasOffset}${units === 1 ? '' : ' + j'}]`,
      };
    }),
    projection: projection === undefined ? null : projectionContext(projection),
  };
}

const projectionContext = ({ basis, scale }: Projection): LinearContext['projection'] => ({
  weights: basis.length,
  lastWeight: basis.length - 1,
  scale: scale === 1 ? null : formatShort(scale),
});
