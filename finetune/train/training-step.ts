/** One update: computes the gradients of all parts of a batch, then takes the optimizer step. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { append } from '../../src/base/append.js';
import { deriveSeeds } from '../../src/base/random/generator.js';
import {
  distribute,
  type ExampleResult,
  type GetInputs,
  makeBatch,
  type TokenSequence,
} from '../engine/batch.js';
import type { TrainingState } from '../engine/checkpoint.js';
import type { Objective } from '../engine/objective.js';
import {
  type AdamWSettings,
  adamWStep,
  isDecayed,
  isMuonMatrix,
  type Muon,
  type RateSchedule,
  scheduleFactor,
} from '../engine/optimisers.js';
import type { SamplerSettings } from '../engine/sampler.js';
import { buildTrainingGraph } from '../engine/training-graph.js';
import {
  addGradients,
  clipFactor,
  type Gradients,
  gradientNorm,
  openTrainingSession,
  type Parameter,
  type TrainingSession,
} from '../engine/training-session.js';
import { rejectNonFinite, type TrainingHooks } from './loop.js';
import type { Part } from './packing.js';

/** @throws UserError as `openTrainingSession` does */
export function openObjectiveSession(
  settings: Pick<SamplerSettings, 'config' | 'trainable' | 'device' | 'threads'>,
  purpose: 'train' | 'evaluate',
  objective: Objective,
): Promise<TrainingSession> {
  const { config, trainable, device, threads } = settings;
  const graph = buildTrainingGraph({ config, trainable, objective, precision: 'float32', purpose, device });
  return openTrainingSession(graph, { device, threads, optimize: true });
}

/** Results of all parts of a batch; loss and gradients are summed. */
interface BatchResult<E extends TokenSequence> {
  readonly loss: number;
  /** Empty for an evaluation session. */
  readonly gradients: Gradients;
  readonly examples: readonly ExampleResult<E>[];
}

export interface StepSettings {
  readonly seed: number;
  readonly learningRate: number;
  readonly schedule: RateSchedule;
  readonly adamw: AdamWSettings;
  readonly muon?: Muon | undefined;
  readonly maxGradientNorm: number;
}

/**
 * Takes one optimizer step on a batch, and updates the state in place. Dropout masks depend on the seed and the step.
 * @throws WorkError if the loss or the gradients aren't finite, and the errors of `runParts`; all before any change
 */
export async function takeStep<E extends TokenSequence>(
  session: TrainingSession,
  state: TrainingState,
  parts: readonly Part<E>[],
  inputsOf: GetInputs<E>,
  { adamw, maxGradientNorm, muon, schedule, seed, ...settings }: StepSettings,
  hooks: ReadHooks = {},
) {
  const seeds = deriveSeeds(seed, [1, state.optimizerSteps], parts.length);
  const { parameters } = state;
  const { loss, gradients, examples } = await runParts(session, parameters, parts, inputsOf, hooks, seeds);
  const norm = gradientNorm(gradients);
  rejectNonFinite(state.optimizerSteps + 1, { loss, 'gradient norm': norm });
  const learningRate = settings.learningRate * scheduleFactor(schedule, state.optimizerSteps);
  const scale = clipFactor(norm, maxGradientNorm);
  state.optimizerSteps++;
  for (const [index, parameter] of state.parameters.entries()) {
    const gradient = gradients.get(parameter.name)!;
    const moments = state.moments[index]!;
    if (muon !== undefined && isMuonMatrix(parameter))
      await muon.step(parameter, gradient, moments, learningRate, scale);
    else {
      const options = isDecayed(parameter) ? adamw : { ...adamw, weightDecay: 0 };
      adamWStep(parameter.values, gradient, moments, learningRate, state.optimizerSteps, options, scale);
    }
  }
  return { loss, gradientNorm: norm, learningRate, examples };
}

type ReadHooks = Pick<TrainingHooks, 'abort' | 'onRead'>;

/**
 * Runs the model on all parts of a batch. Handles signals and updates displays before each part, which can take long.
 * @param seeds dropout seeds, one per part; not needed for an evaluation session
 * @throws UserError if memory runs out; the signal's reason if aborted
 */
export async function runParts<E extends TokenSequence>(
  session: TrainingSession,
  parameters: readonly Parameter[],
  parts: readonly Part<E>[],
  inputsOf: GetInputs<E>,
  { abort, onRead }: ReadHooks = {},
  seeds: readonly number[] = [],
): Promise<BatchResult<E>> {
  let loss = 0;
  let gradients: Gradients | undefined;
  const examples: ExampleResult<E>[] = [];
  const total = parts.flat(2).length;
  for (const [index, part] of parts.entries()) {
    onRead?.(examples.length, total);
    await yieldToEventLoop();
    abort?.throwIfAborted();
    const result = await session.run(parameters, makeBatch(part, inputsOf), seeds[index] ?? 0);
    loss += result.loss;
    gradients = addGradients(gradients, result.gradients);
    append(examples, exampleResults(part, result));
  }
  onRead?.(total, total);
  return { loss, gradients: gradients ?? new Map(), examples };
}

function exampleResults<E extends TokenSequence>(
  part: Part<E>,
  { logp, outputs }: Awaited<ReturnType<TrainingSession['run']>>,
): readonly ExampleResult<E>[] {
  const columns = Object.entries(outputs).map(([name, values]) => ({ name, rows: distribute(part, values) }));
  return distribute(part, logp).map(({ example, values }, index) => ({
    example,
    logp: values,
    outputs: Object.fromEntries(columns.map(({ name, rows }) => [name, rows[index]!.values])),
  }));
}
