/** Inputs, identity and objectives of training. Only a run with the same identity can resume from a checkpoint. */
import { createHash } from 'node:crypto';
import { decoderTensors, requireTensor } from '../../src/models/local/graph/parameters.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readTensorBytes, sampledParts } from '../../src/models/local/weights/safetensors.js';
import { type Family, type InputsOf, type TokenExample, trainedLength } from '../engine/batch.js';
import type { Objective, TokenValues } from '../engine/objective.js';
import type { AdamWSettings, MuonSettings } from '../engine/optimisers.js';
import type { Trainable } from '../engine/trainable.js';
import type { Parameter } from '../engine/training-session.js';
import type { PerToken } from './objectives/sampled.js';
import { arithmetic, groupSum, likelihood } from './objectives/terms.js';
import { layOut, type OrderSettings, type Part } from './packing.js';
import type { TrainConfig } from './train-config.js';
import { openObjective, readParts } from './training-step.js';

type Configured =
  | 'epochs'
  | 'learningRate'
  | 'schedule'
  | 'warmupSteps'
  | 'learningRateFloor'
  | 'evaluateEvery'
  | 'checkpointEvery';

/** The schema of the config documents the inherited fields. */
export interface TrainingSettings extends OrderSettings, Readonly<Pick<TrainConfig, Configured>> {
  readonly adamw: AdamWSettings;
  /** If set, Muon trains the layers' matrices; requires training all weights. */
  readonly muon?: MuonSettings | undefined;
  /** DPO settings; requires packing `pairs`. Undefined means supervised training. */
  readonly dpo?: { readonly beta: number } | undefined;
  /** Weight of the tokens between answers relative to the answers' tokens; requires packing `conversations`. */
  readonly observationWeight?: number | undefined;
  /** Undefined disables gradient clipping. */
  readonly maxGradientNorm: number | undefined;
  /** Undefined disables early stopping. */
  readonly patience: number | undefined;
}

export interface TrainingRun {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  /** Initial values; training updates them in place. */
  readonly parameters: readonly Parameter[];
  readonly training: readonly TokenExample[];
  /** If empty, there is no validation, and the last values are the result. */
  readonly validation: readonly TokenExample[];
  readonly settings: TrainingSettings;
  readonly device: string;
  /** CPU threads. Their number affects the order of summation, and thus the last bits of the results. */
  readonly threads: number;
  /** Path of the checkpoint; training resumes from it if it exists. */
  readonly checkpoint: string;
}

/**
 * SHA-256 of examples, samples of the weights, and settings, except `batchTokens` and `checkpointEvery`, which a
 * resumed run may change.
 */
export function trainingIdentity(run: TrainingRun): string {
  const { config, trainable, parameters, training, validation, settings } = run;
  const hash = createHash('sha256');
  const add = (value: unknown) => hash.update(`${JSON.stringify(value)}\n`);
  const method = trainable.kind === 'all' ? 'all' : [trainable.lora, trainable.quantized?.rounded ?? null];
  if (trainable.kind === 'adapter' && trainable.int8 !== undefined) add('products in int8');
  add([config, method, { ...settings, batchTokens: undefined, checkpointEvery: undefined }]);
  if (trainable.kind === 'adapter')
    for (const { name } of decoderTensors(config)) {
      const tensor = requireTensor(trainable.base, name);
      add([name, tensor.dtype]);
      for (const [start, length] of sampledParts(tensor.length))
        hash.update(readTensorBytes(tensor, start, length));
    }
  for (const { name, shape, values } of parameters) {
    add([name, shape]);
    const { buffer, byteOffset, byteLength } = values;
    for (const [start, length] of sampledParts(byteLength))
      hash.update(new Uint8Array(buffer, byteOffset + start, length));
  }
  for (const examples of [training, validation]) {
    add(examples.length);
    for (const example of examples) add(example);
  }
  return hash.digest('hex');
}

export interface Learned {
  readonly objective: Objective;
  inputs(parts: readonly Part[]): InputsOf<TokenExample>;
}

/** Prepares objective and inputs; for DPO, runs the initial model on all pairs. @throws UserError if memory runs out */
export async function learned(
  run: TrainingRun,
  examples: readonly (readonly TokenExample[])[],
): Promise<Learned> {
  const { dpo: settings } = run.settings;
  if (settings === undefined) return { objective: sft, inputs: (parts) => sftInputs(parts.flat(2)) };
  const compared = await compare(run, examples);
  return { objective: dpo(settings.beta), inputs: (parts) => dpoInputs(parts.flat(), compared) };
}

/** Computes the log-probabilities of all answers under the initial model. */
async function compare(
  run: TrainingRun,
  examples: readonly (readonly TokenExample[])[],
): Promise<ReadonlyMap<TokenExample, Compared>> {
  const { parameters, settings } = run;
  const session = await openObjective(run, 'evaluate', likelihood(1));
  const compared = new Map<TokenExample, Compared>();
  try {
    for (const split of examples) {
      const places = new Map(split.map((example, place) => [example, place]));
      const read = await readParts(session, parameters, layOut(split, settings), () => ({}));
      for (const { example, logp } of read.examples)
        compared.set(example, { chosen: places.get(example)! % 2 === 0, referenceLogp: logp });
    }
  } finally {
    await session.close();
  }
  return compared;
}

/** −Σ weights·logp */
export const sft: Objective = {
  build: ({ g, logp, input }) => ({
    loss: g.op('Neg', [g.op('ReduceSum', [g.op('Mul', [logp, input('weights')])], { keepdims: 0 })]),
  }),
};

/** @param examples all examples that the loss averages over, so that the losses and gradients of parts add up */
export function sftInputs(examples: readonly TokenExample[]): InputsOf<TokenExample> {
  const normalizer = totalWeight(examples);
  return ({ factors, weight }) => ({
    weights: factors?.map((factor) => (factor * weight) / normalizer) ?? weight / normalizer,
  });
}

/** Σ |weight|·factor over the trained tokens: the divisor that makes the loss a mean. */
function totalWeight(examples: readonly TokenExample[]): number {
  return examples.reduce((sum, example) => sum + Math.abs(example.weight) * factorsOf(example), 0);
}

const factorsOf = (example: TokenExample): number =>
  example.factors?.reduce((sum, factor) => sum + factor, 0) ?? trainedLength(example);

export interface Compared {
  readonly chosen: boolean;
  /** Log-probabilities under the initial model. */
  readonly referenceLogp: PerToken;
}

/** DPO (Rafailov et al. 2023, arXiv 2305.18290): the mean over pairs (families) of −log σ(β·margin). */
export function dpo(beta: number): Objective {
  return {
    build(tokens) {
      const { logp, input } = tokens;
      const { number, sub, mul, neg, total } = arithmetic(tokens);
      const gain = mul(input('signs'), sub(logp, input('reference_logp')));
      const margin = groupSum(tokens, tokens.groups('families'), gain);
      return {
        loss: neg(total(mul(input('weights'), logSigmoid(tokens, mul(margin, number(beta)))))),
        outputs: { margin },
      };
    },
  };
}

/** log σ(x) = −log(1 + e⁻ˣ), computed as −m − log(e⁻ᵐ + e⁻ˣ⁻ᵐ) with m = max(0, −x) so no exponential overflows. */
function logSigmoid(tokens: TokenValues, x: string): string {
  const { number, add, sub, neg, max, exp, log } = arithmetic(tokens);
  const m = tokens.detached(max(neg(x), number(0)));
  return neg(add(m, log(add(exp(neg(m)), exp(sub(neg(x), m))))));
}

/** @param pairs all pairs that the loss averages over; both answers of a pair have the same weight */
export function dpoInputs<E extends TokenExample>(
  pairs: readonly Family<E>[],
  compared: ReadonlyMap<E, Compared>,
): InputsOf<E> {
  const total = pairs.reduce((sum, [first]) => sum + Math.abs(first!.weight), 0);
  const shares = new Map<E, number>();
  for (const pair of pairs) {
    const tokens = pair.reduce((sum, example) => sum + trainedLength(example), 0);
    for (const example of pair) shares.set(example, example.weight / (total * tokens));
  }
  return (example) => {
    const { chosen, referenceLogp } = compared.get(example)!;
    return { weights: shares.get(example)!, signs: chosen ? 1 : -1, reference_logp: referenceLogp };
  };
}
