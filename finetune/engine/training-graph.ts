/** Builds the graph of a training step from the decoder that is also used for generation. */
import type { TokenBlocks } from '../../src/models/local/graph/blocks.js';
import { emitDecoder, headInput, headLogits } from '../../src/models/local/graph/decoder.js';
import { GraphBuilder, type Precision, type Value } from '../../src/models/local/graph/graph.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { longRopeStart } from '../../src/models/local/weights/rope.js';
import { droppedValues, emitGradients, recordingSource } from './autodiff.js';
import type { Objective, TokenValues } from './objective.js';
import { type ParameterShape, type TrainableSpec, trainedParameters, trainedSource } from './trainable.js';

export interface TrainingGraphSettings {
  readonly config: DecoderConfig;
  readonly trainable: TrainableSpec;
  readonly objective: Objective;
  /** float64 is used in gradient tests. */
  readonly precision: Precision;
  /** `evaluate` computes no gradients and uses no dropout. */
  readonly purpose: 'train' | 'evaluate';
  readonly device?: string;
}

export function allTrainedParameters({
  config,
  trainable,
  objective,
}: Pick<TrainingGraphSettings, 'config' | 'trainable' | 'objective'>): readonly ParameterShape[] {
  return [...trainedParameters(config, trainable), ...(objective.parameters?.(config) ?? [])];
}

/**
 * N is the number of tokens in the batch, C the number of targets. Sequences are concatenated, with one padding token
 * at the end.
 * Inputs:
 * - `input_ids`, `positions` and, if rotary embeddings depend on it, `sequence_tokens`: int32 [1, N]
 * - `blocks.*`: locate the sequences for attention (see `TokenBlocks`)
 * - `selected`: int32 [C], index of the token before each target; repeats if a token has several continuations
 * - `targets`: int32 [C]
 * - `allowed`: int32 [C, K], if the objective is constrained
 * - the objective's inputs, each [C], every trained parameter by name, and random numbers if dropout is on
 * Outputs: `loss`, `logp` [C], the objective's outputs [C] and, for training, `grad.<parameter>`. Only selected
 * rows reach the head. Also returns the forward graph, and `cheapValues`, which the backward pass recomputes.
 */
export function buildTrainingGraph(settings: TrainingGraphSettings) {
  const { config, trainable, objective, precision, purpose, device } = settings;
  const g = new GraphBuilder(device);
  const keptValues = new Set<Value>();
  const source = trainedSource(g, config, trainable, precision, purpose === 'train');
  const parameters = recordingSource(source, config.modules.attentionOutput, keptValues);
  const ids = g.input('input_ids', 'int32', [1, 'N']);
  const positions = g.input('positions', 'int32', [1, 'N']);
  const { blocks, inverses } = emitBlockInputs(g);
  const selectedRows = g.input('selected', 'int32', ['C']);
  const targets = g.input('targets', 'int32', ['C']);
  const build = { g, config, parameters, precision };
  const cache = config.layers.map(() => []);
  const decoder = emitDecoder(build, { ids, positions, blocks, cache, ...lengthInput(g, config) });
  for (const value of decoder.stream) keptValues.add(value);
  // With shaders, a GPU keeps all values in its own memory; otherwise, the backward pass recomputes cheap ones.
  const cheapValues = g.usesShaders
    ? new Set<Value>()
    : droppedValues(g.describe('layers').nodes, keptValues);
  const hidden = headInput(build, decoder.hidden, selectedRows);
  const logits = applyTemperature(g, headLogits(build, hidden), objective, precision);
  const maskedLogits = objective.constrained ? maskDisallowed(g, logits, precision) : logits;
  const { logp, entropy, constants } = logProbabilities(g, maskedLogits, targets);
  for (const { name, shape } of objective.parameters?.(config) ?? []) g.input(name, precision, shape);
  const values = tokenValues(g, precision, { logp, hidden, entropy }, constants);
  const { loss, outputs = {} } = objective.build(values);
  const forward = g.outline('forward');
  if (purpose === 'train') {
    const trained = allTrainedParameters(settings);
    const names = trained.map(({ name }) => name);
    const results = emitGradients(g, loss, names, precision, { constants, cheapValues, inverses });
    for (const { name, shape } of trained) g.output(`grad.${name}`, results.get(name)!, precision, shape);
  }
  g.output('loss', loss, precision, []);
  g.output('logp', logp, precision, ['C']);
  for (const [name, value] of Object.entries(outputs)) g.output(name, value, precision, ['C']);
  return { ...g.build(purpose, ids), forward, cheapValues };
}

/** Adds the inputs that describe the attention blocks; also returns the inverse of each gather. */
function emitBlockInputs(g: GraphBuilder): { blocks: TokenBlocks; inverses: ReadonlyMap<Value, Value> } {
  const input = (name: string, shape: readonly string[]) => g.input(`blocks.${name}`, 'int32', shape);
  const prompts = input('prompts', ['F', 'P']);
  const replies = input('replies', ['F', 'G', 'A']);
  const slots = input('slots', ['N']);
  const blocks = {
    prompts,
    replies,
    slots,
    promptPositions: input('prompt_positions', ['F', 'P']),
    replyPositions: input('reply_positions', ['F', 'G', 'A']),
  };
  const flatIndices = [prompts, replies].map((indices) => g.op('Reshape', [indices, g.integers([-1])]));
  const inverses = new Map([
    [prompts, input('prompt_slots', ['N'])],
    [replies, input('reply_slots', ['N'])],
    [slots, g.op('Concat', flatIndices, { axis: 0 })],
  ]);
  return { blocks, inverses };
}

/** Adds an input with the length of each token's sequence, if rotary embeddings depend on it. */
function lengthInput(g: GraphBuilder, { layers }: DecoderConfig): { sequenceTokens?: Value } {
  if (longRopeStart(layers) === undefined) return {};
  return { sequenceTokens: g.input('sequence_tokens', 'int32', [1, 'N']) };
}

function applyTemperature(
  g: GraphBuilder,
  logits: Value,
  { temperature = 1 }: Objective,
  precision: Precision,
): Value {
  return temperature === 1 ? logits : g.op('Div', [logits, g.floats(precision, [temperature], [])]);
}

/** Lowers the logits [C, V] of ids outside `allowed` until their probability is 0. Rows of −1 are unconstrained. */
function maskDisallowed(g: GraphBuilder, logits: Value, precision: Precision): Value {
  const allowed = g.cast(g.input('allowed', 'int32', ['C', 'K']), 'int64');
  const large = g.floats(precision, [1e9], []);
  const isId = g.cast(g.op('Less', [g.integers([-1]), allowed]), precision);
  const isConstrained = g.op('ReduceMax', [isId], { axes: [-1], keepdims: 1 });
  const floor = g.op('Expand', [g.op('Mul', [isConstrained, g.op('Neg', [large])]), g.op('Shape', [logits])]);
  const ids = g.op('Max', [allowed, g.integers([0])]);
  const boost = g.op('Mul', [isId, large]);
  return g.op('Add', [logits, g.op('ScatterElements', [floor, ids, boost], { axis: 1, reduction: 'add' })]);
}

function tokenValues(
  g: GraphBuilder,
  precision: Precision,
  values: Pick<TokenValues, 'logp' | 'hidden' | 'entropy'>,
  constants: Value[],
): TokenValues {
  const inputs = new Map<string, Value>();
  const input = (name: string, type: Precision | 'int32') => {
    const value = inputs.get(name) ?? g.input(name, type, ['C']);
    inputs.set(name, value);
    return value;
  };
  return {
    g,
    precision,
    ...values,
    input: (name) => input(name, precision),
    groups: (kind) => g.cast(input(kind, 'int32'), 'int64'),
    parameter: (name) => name,
    detach(value) {
      const constant = g.op('Identity', [value]);
      constants.push(constant);
      return constant;
    },
  };
}

/** Emits logp [C] and entropy [C]. Each row's maximum cancels out, so it is treated as a constant without gradient. */
function logProbabilities(
  g: GraphBuilder,
  logits: Value,
  targets: Value,
): { logp: Value; entropy: () => Value; constants: Value[] } {
  const maximum = g.op('ReduceMax', [logits], { axes: [-1], keepdims: 1 });
  const shifted = g.op('Sub', [logits, maximum]);
  const powers = g.op('Exp', [shifted]);
  const sum = g.op('ReduceSum', [powers, g.integers([-1])], { keepdims: 1 });
  const column = g.op('Reshape', [g.cast(targets, 'int64'), g.integers([-1, 1])]);
  const targetLogits = g.op('GatherElements', [shifted, column], { axis: 1 });
  const logarithm = g.op('Log', [sum]);
  const logp = g.op('Reshape', [g.op('Sub', [targetLogits, logarithm]), g.integers([-1])]);
  /** log Σ eˣ − Σ x·eˣ / Σ eˣ */
  const entropy = () => {
    const productSum = g.op('ReduceSum', [g.op('Mul', [shifted, powers]), g.integers([-1])], { keepdims: 1 });
    return g.op('Reshape', [g.op('Sub', [logarithm, g.op('Div', [productSum, sum])]), g.integers([-1])]);
  };
  return { logp, entropy, constants: [maximum] };
}
