/** What a training minimises: a scalar that the graph computes from the log-probabilities of a batch's targets. */
import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import type { ParameterShape } from './trainable.js';

export interface Objective {
  /** Divides the logits: that of the sampling, so that log-probabilities are those of the answers' source. Default 1. */
  readonly temperature?: number | undefined;
  /** Whether tokens may be chosen from some only, so that log-probabilities and entropies are among these. Default false. */
  readonly constrained?: boolean | undefined;
  /** Trained parameters of the objective's own, such as those of a value head. */
  parameters?(config: DecoderConfig): readonly ParameterShape[];
  build(tokens: TokenValues): ObjectiveGraph;
}

interface ObjectiveGraph {
  /** Scalar; a sum over tokens with weights from the batch, so that the parts of a batch add up. */
  readonly loss: Value;
  /** Further outputs of the graph by name, each [C]. */
  readonly outputs?: Readonly<Record<string, Value>>;
}

/** The C targets of a batch as values of the graph. */
export interface TokenValues {
  readonly g: GraphBuilder;
  readonly precision: Precision;
  /** Log-probability of each target: [C]. */
  readonly logp: Value;
  /** The last hidden state in front of each target, after the final norm: [C, H]. */
  readonly hidden: Value;
  /** Entropy in nats of the distribution of each target: [C]. */
  entropy(): Value;
  /** A number for each target, from `Batch.inputs`: [C]. The graph has the inputs that are asked for. */
  input(name: string): Value;
  /** The number of the example, or of the family of examples, that each target belongs to: int64 [C], below C. */
  groups(of: 'sequences' | 'families'): Value;
  /** One of the objective's own parameters. */
  parameter(name: string): Value;
  /** The same value as a constant: no gradient passes it. */
  detached(value: Value): Value;
}
