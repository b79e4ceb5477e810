/** The loss that training minimizes: a scalar computed from the log-probabilities of a batch's targets. */
import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import type { ParameterShape } from './trainable.js';

export interface Objective {
  /** Divides the logits. Use the sampling temperature, so that log-probabilities match the sampler's. Default: 1. */
  readonly temperature?: number | undefined;
  /** If true, log-probabilities and entropies are over the allowed ids only. Default: false. */
  readonly constrained?: boolean | undefined;
  /** The objective's own trained parameters, such as a value head. */
  parameters?(config: DecoderConfig): readonly ParameterShape[];
  build(tokens: TokenValues): ObjectiveGraph;
}

interface ObjectiveGraph {
  /** Scalar: a sum over tokens, weighted by the batch's inputs, so that the losses of a batch's parts add up. */
  readonly loss: Value;
  /** Additional outputs by name, each [C]. */
  readonly outputs?: Readonly<Record<string, Value>>;
}

/** The C targets of a batch as graph values. */
export interface TokenValues {
  readonly g: GraphBuilder;
  readonly precision: Precision;
  /** Log-probability of each target: [C]. */
  readonly logp: Value;
  /** Final hidden state (after the last norm) that predicts each target: [C, H]. */
  readonly hidden: Value;
  /** Entropy in nats of the distribution that each target is drawn from: [C]. */
  entropy(): Value;
  /** A batch input with one number per target: [C]. The graph has only the inputs that the objective requests. */
  input(name: string): Value;
  /** Index of the example or family that each target belongs to: int64 [C], each less than C. */
  groups(kind: 'sequences' | 'families'): Value;
  parameter(name: string): Value;
  /** The same value with its gradient stopped. */
  detach(value: Value): Value;
}
