/** The graph of a training step, from the same decoder that generates. */
import { buildDecoder, languageHead } from '../../src/models/local/graph/decoder.js';
import {
  type BuiltGraph,
  GraphBuilder,
  type Precision,
  type Value,
} from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { gradients } from './autodiff.js';
import { type Trainable, trainedParameters, trainedSource } from './trainable.js';

export interface TrainingGraphSettings {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  /** float64 serves tests of gradients. */
  readonly precision: Precision;
  /** `evaluate`: the loss alone, without dropout. */
  readonly purpose: 'train' | 'evaluate';
}

/**
 * Inputs: `input_ids`, `positions`, `segments` and `prefixes` int32 [B, S], of which the last two say what each token
 * sees (`Packing`); `selected` int32 [C], rows of the flattened [B·S] whose next token counts (several times where it
 * has several continuations); `targets` int32 [C], those tokens; `weights` [C]; every trained parameter by its name.
 * Outputs: `loss` = −Σ weights·logp, `logp` [C], and for training `grad.<parameter>`. Rows without loss never reach the
 * head. Advantages as weights make it the policy gradient of REINFORCE.
 */
export function buildTrainingGraph({
  config,
  trainable,
  precision,
  purpose,
}: TrainingGraphSettings): BuiltGraph {
  const g = new GraphBuilder();
  const parameters = trainedSource(g, config, trainable, precision, purpose === 'train');
  const ids = g.input('input_ids', 'int32', ['B', 'S']);
  const positions = g.input('positions', 'int32', ['B', 'S']);
  const segments = g.input('segments', 'int32', ['B', 'S']);
  const prefixes = g.input('prefixes', 'int32', ['B', 'S']);
  const selected = g.input('selected', 'int32', ['C']);
  const targets = g.input('targets', 'int32', ['C']);
  const weights = g.input('weights', precision, ['C']);
  const build = { g, config, parameters, precision };
  const cache = config.layers.map(() => []);
  const { hidden } = buildDecoder(build, { ids, positions, packing: { segments, prefixes }, cache });
  const logits = languageHead(build, hidden, selected);
  const { logp, maximum } = logProbabilities(g, logits, targets);
  const loss = g.op('Neg', [g.op('ReduceSum', [g.op('Mul', [logp, weights])], { keepdims: 0 })]);
  const trained = trainedParameters(config, trainable);
  if (purpose === 'train') {
    const names = trained.map(({ name }) => name);
    const found = gradients(g, loss, names, precision, [maximum]);
    for (const { name, shape } of trained) g.output(`grad.${name}`, found.get(name)!, precision, shape);
  }
  g.output('loss', loss, precision, []);
  g.output('logp', logp, precision, ['C']);
  return g.build(purpose);
}

/** logp [C] of the targets, and the maximum of each row: it cancels out, so no gradient need pass it. */
function logProbabilities(g: GraphBuilder, logits: Value, targets: Value): { logp: Value; maximum: Value } {
  const maximum = g.op('ReduceMax', [logits], { axes: [-1], keepdims: 1 });
  const shifted = g.op('Sub', [logits, maximum]);
  const sum = g.op('ReduceSum', [g.op('Exp', [shifted]), g.integers([-1])], { keepdims: 1 });
  const column = g.op('Reshape', [g.cast(targets, 'int64'), g.integers([-1, 1])]);
  const chosen = g.op('GatherElements', [shifted, column], { axis: 1 });
  const logp = g.op('Reshape', [g.op('Sub', [chosen, g.op('Log', [sum])]), g.integers([-1])]);
  return { logp, maximum };
}
