/**
 * Proximal policy optimization (Schulman et al. 2017, arXiv 1707.06347) with a value head on the decoder's
 * last hidden state. Policy and value losses are means over the tokens of an optimizer step. The KL penalty
 * doesn't appear here, because it is part of the rewards.
 */

import type { Value } from '../../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import type { Objective, TokenValues } from '../../engine/objective.js';
import type { ParameterShape } from '../../engine/trainable.js';
import {
  type PolicyContext,
  type PolicyObjective,
  policyInputs,
  type RlExample,
  requireField,
  tokenMean,
} from './sampled.js';
import type { PpoSettings } from './settings.js';
import { arithmetic, clippedSurrogate, importanceRatio, likelihood, oldLogp, policyLoss } from './terms.js';

/** Names of the value head's parameters, which are initialized to 0. */
const valueHead = { weight: 'value_head.weight', bias: 'value_head.bias' } as const;

const parameters = ({ hidden }: DecoderConfig): readonly ParameterShape[] => [
  { name: valueHead.weight, shape: [1, hidden] },
  { name: valueHead.bias, shape: [1] },
];

export function ppo(settings: PpoSettings, { temperature, reused }: PolicyContext): PolicyObjective {
  const objective: Objective = {
    temperature,
    parameters,
    build(tokens) {
      const { number, add, mul } = arithmetic(tokens);
      const oldLogps = oldLogp(tokens, reused);
      const ratio = importanceRatio(tokens, oldLogps);
      const gain = clippedSurrogate(tokens, ratio, tokens.input('advantages'), settings.clip);
      const policy = policyLoss(tokens, oldLogps, gain, settings);
      const values = valuesOf(tokens);
      const critic = mul(valueLoss(tokens, values, settings.valueClip), number(settings.valueCoefficient));
      return { loss: add(policy.loss, critic), outputs: { ...policy.outputs, values } };
    },
  };
  return {
    objective,
    reading: likelihood(temperature, { parameters, outputs: (tokens) => ({ values: valuesOf(tokens) }) }),
    inputs(update, progress) {
      const common = policyInputs(update, tokenMean(update), settings, reused, progress);
      return (example: RlExample) => ({
        ...common(example),
        returns: requireField(example, 'returns'),
        old_values: requireField(example, 'oldValues'),
      });
    },
  };
}

/** Estimated value of the state before each target token: [C]. */
function valuesOf({ g, hidden, parameter }: TokenValues): Value {
  const column = g.op('Gemm', [hidden, parameter(valueHead.weight), parameter(valueHead.bias)], {
    transB: 1,
  });
  return g.op('Reshape', [column, g.integers([-1])]);
}

/** ½ Σ weights·max((V − R)², (clip(V, V_old ± clip) − R)²) */
function valueLoss(tokens: TokenValues, values: Value, clip: number): Value {
  const { number, add, sub, mul, min, max, total } = arithmetic(tokens);
  const [returns, oldValues] = [tokens.input('returns'), tokens.input('old_values')];
  const clipped = max(min(values, add(oldValues, number(clip))), sub(oldValues, number(clip)));
  const squaredError = (value: Value) => mul(sub(value, returns), sub(value, returns));
  const largerSquare = max(squaredError(values), squaredError(clipped));
  return mul(total(mul(tokens.input('weights'), largerSquare)), number(0.5));
}
