/** The training loop: seeded order, accumulated batches, clipping, schedule, validation, checkpoints. */
import { createHash } from 'node:crypto';
import { UserError } from '../src/errors.js';
import type { DecoderConfig } from '../src/models/local/hf-config.js';
import { deriveSeeds } from '../src/random.js';
import { type AdamWSettings, adamWStep, zeroMoments } from './adamw.js';
import { exampleLength, makeBatch, type TokenExample, totalWeight } from './batch.js';
import { readCheckpoint, type TrainingState, writeCheckpoint } from './checkpoint.js';
import { meanLoss, usableExamples, validationParts } from './examples.js';
import { accumulate, clipFactor, type Gradients, gradientNorm } from './gradient.js';
import { isMuonMatrix, type Muon, type MuonSettings, openMuon } from './muon.js';
import { type OrderSettings, planEpoch, stepsPerEpoch, unitsOf } from './order.js';
import { layOut, type Part } from './packing.js';
import { type Schedule, scheduleFactor } from './schedule.js';
import type { Trainable } from './trainable.js';
import { type TrainingAlarm, watchDivergence } from './training-alarms.js';
import { buildTrainingGraph } from './training-graph.js';
import { openTrainingSession, type Parameter, type TrainingSession } from './training-session.js';

export interface TrainingSettings extends OrderSettings {
  readonly epochs: number;
  /** Peak learning rate. */
  readonly learningRate: number;
  readonly schedule: Schedule['kind'];
  readonly warmupSteps: number;
  /** Share of the peak at which `linear` and `cosine` end. */
  readonly learningRateFloor: number;
  readonly adamw: AdamWSettings;
  /** Given: the matrices of the layers are trained by Muon, in a training of all weights. */
  readonly muon?: MuonSettings | undefined;
  /** The gradient's norm over all parameters is brought down to this. Undefined: it is not. */
  readonly maxGradientNorm: number | undefined;
  /** Steps between validations; each also ends an interval of early stopping. */
  readonly evaluateEvery: number;
  /** Validations without a lower loss after which training ends. Undefined: it never does. */
  readonly patience: number | undefined;
  /** Steps between checkpoints. */
  readonly checkpointEvery: number;
}

export interface TrainingRun {
  readonly config: DecoderConfig;
  readonly trainable: Trainable;
  /** First values; they are changed. */
  readonly parameters: readonly Parameter[];
  readonly training: readonly TokenExample[];
  /** May be empty: then nothing is validated and the last values are the result. */
  readonly validation: readonly TokenExample[];
  readonly settings: TrainingSettings;
  readonly device: string;
  readonly threads: number;
  /** Where the state is kept; training goes on from it when it exists. */
  readonly checkpoint: string | undefined;
}

/** What is read of a split: an example without weight or answer is not. */
export interface ReadSplit {
  readonly examples: number;
  /** Tokens of the examples. */
  readonly tokens: number;
}

export type TrainingEvent =
  | {
      readonly kind: 'start';
      /** Steps already made: 0, or those of the checkpoint that training goes on from. */
      readonly step: number;
      readonly totalSteps: number;
      readonly training: ReadSplit;
      readonly validation: ReadSplit;
      /** The lowest validation loss before; absent where there was none. */
      readonly best?: { readonly step: number; readonly loss: number };
    }
  | {
      readonly kind: 'step';
      /** 1 for the first. */
      readonly step: number;
      readonly totalSteps: number;
      /** Weighted mean over the answers' tokens, before the update. */
      readonly loss: number;
      readonly gradientNorm: number;
      readonly learningRate: number;
      /** Tokens of the examples: without padding, and with its prompt for each. */
      readonly tokens: number;
    }
  | { readonly kind: 'validation'; readonly step: number; readonly loss: number; readonly best: boolean }
  | { readonly kind: 'checkpoint'; readonly step: number }
  | ({ readonly kind: 'alarm'; readonly step: number } & TrainingAlarm);

export interface TrainingHooks {
  onEvent?(event: TrainingEvent): void;
  /** Asked after every step; true writes a checkpoint and ends the training. */
  stop?(): boolean;
}

export interface TrainingOutcome {
  /** Of the lowest validation loss, where there was validation; else the last. */
  readonly parameters: readonly Parameter[];
  readonly step: number;
  readonly ended: 'complete' | 'early' | 'interrupted';
  readonly best: { readonly step: number; readonly loss: number } | undefined;
}

/**
 * @throws UserError when there is nothing to learn from, an example is longer than the context, the loss is no longer a
 * number, or the checkpoint belongs to another training
 */
export async function train(run: TrainingRun, hooks: TrainingHooks = {}): Promise<TrainingOutcome> {
  const { settings } = run;
  const examples = usableExamples(run.training, run.config, 'training');
  const validation =
    run.validation.length === 0 ? [] : usableExamples(run.validation, run.config, 'validation');
  const fingerprint = fingerprintOf(run);
  const state = restore(run, fingerprint);
  const perEpoch = stepsPerEpoch(examples.length, settings);
  const totalSteps = perEpoch * settings.epochs;
  const { schedule: kind, warmupSteps, learningRateFloor: floor } = settings;
  const schedule = { kind, warmupSteps, totalSteps, floor };
  const units = unitsOf(examples, settings);
  const heldOut = validationParts(validation, settings);
  const open = (purpose: 'train' | 'evaluate') =>
    openTrainingSession(buildTrainingGraph({ ...run, precision: 'float32', purpose }), {
      device: run.device,
      threads: run.threads,
      optimize: true,
    });
  const session = await open('train');
  const muon = settings.muon === undefined ? undefined : await openMuon(settings.muon, run.threads);
  const evaluator = validation.length === 0 ? undefined : await open('evaluate');
  const keep = () => {
    if (run.checkpoint === undefined) return;
    writeCheckpoint(run.checkpoint, state, fingerprint);
    hooks.onEvent?.({ kind: 'checkpoint', step: state.step });
  };
  const divergence = watchDivergence();
  let ended: TrainingOutcome['ended'] = 'complete';
  try {
    hooks.onEvent?.({
      kind: 'start',
      step: state.step,
      totalSteps,
      training: readSplit(examples),
      validation: readSplit(validation),
      ...(state.best && { best: { step: state.best.step, loss: state.best.loss } }),
    });
    let plan: { readonly epoch: number; readonly steps: ReturnType<typeof planEpoch> } | undefined;
    while (state.step < totalSteps && !exhausted(state, settings)) {
      const epoch = Math.floor(state.step / perEpoch);
      if (plan?.epoch !== epoch) plan = { epoch, steps: planEpoch(units, settings, epoch) };
      const chosen = plan.steps[state.step % perEpoch]!.map((index) => examples[index]!);
      const parts = layOut(chosen, settings);
      const { loss, gradients } = await lossAndGradients(session, state, parts, settings.seed);
      const norm = gradientNorm(gradients);
      refuseNonFinite(state.step + 1, loss, norm);
      const learningRate = settings.learningRate * scheduleFactor(schedule, state.step);
      const scale = clipFactor(norm, settings.maxGradientNorm);
      await update(state, gradients, learningRate, scale, settings.adamw, muon);
      const tokens = chosen.reduce((sum, example) => sum + exampleLength(example), 0);
      const { step } = state;
      hooks.onEvent?.({ kind: 'step', step, totalSteps, loss, gradientNorm: norm, learningRate, tokens });
      divergence.step(loss);
      if (evaluator !== undefined && (step % settings.evaluateEvery === 0 || step === totalSteps)) {
        const alarm = divergence.validation(await validate(evaluator, state, heldOut, hooks));
        if (alarm !== undefined) hooks.onEvent?.({ kind: 'alarm', step, ...alarm });
      }
      const interrupted = hooks.stop?.() === true;
      if (interrupted || step % settings.checkpointEvery === 0 || step === totalSteps) keep();
      if (interrupted && step < totalSteps) {
        ended = 'interrupted';
        break;
      }
    }
  } finally {
    await session.close();
    await evaluator?.close();
    await muon?.close();
  }
  if (ended === 'complete' && state.step < totalSteps) ended = 'early';
  return outcome(state, ended);
}

function readSplit(examples: readonly TokenExample[]): ReadSplit {
  return {
    examples: examples.length,
    tokens: examples.reduce((sum, example) => sum + exampleLength(example), 0),
  };
}

/** Early stopping. */
function exhausted(state: TrainingState, { patience }: TrainingSettings): boolean {
  return patience !== undefined && state.evaluationsWithoutGain >= patience;
}

function fingerprintOf({ config, trainable, training, validation, settings }: TrainingRun): string {
  const what = trainable.kind === 'all' ? 'all' : [trainable.lora, trainable.quantized?.bits ?? null];
  return (
    createHash('sha256')
      // With fewer tokens at once the same examples make up a step, so that a training can go on after memory ran out.
      .update(JSON.stringify([config, what, { ...settings, batchTokens: undefined }, training, validation]))
      .digest('hex')
  );
}

function restore(run: TrainingRun, fingerprint: string): TrainingState {
  const { checkpoint, parameters } = run;
  const found = checkpoint === undefined ? undefined : readCheckpoint(checkpoint, parameters, fingerprint);
  return (
    found ?? {
      parameters,
      moments: parameters.map(zeroMoments),
      step: 0,
      best: undefined,
      evaluationsWithoutGain: 0,
    }
  );
}

async function lossAndGradients(
  session: TrainingSession,
  state: TrainingState,
  parts: readonly Part[],
  seed: number,
): Promise<{ loss: number; gradients: Gradients }> {
  const normalizer = totalWeight(parts.flat(3));
  const seeds = deriveSeeds(seed, [1, state.step], parts.length);
  let loss = 0;
  let gradients: Gradients | undefined;
  for (const [index, part] of parts.entries()) {
    const result = await session.run(state.parameters, makeBatch(part, normalizer), seeds[index]!);
    loss += result.loss;
    gradients = accumulate(gradients, result.gradients);
  }
  return { loss, gradients: gradients! };
}

function refuseNonFinite(step: number, loss: number, norm: number): void {
  if (Number.isFinite(loss) && Number.isFinite(norm)) return;
  throw new UserError({
    field: 'learningRate',
    message: `training has diverged: in step ${step} the loss is ${loss} and the gradient's norm ${norm}`,
    remedy:
      'lower the learning rate, warm up longer or clip the gradient; the last checkpoint is from before',
  });
}

async function update(
  state: TrainingState,
  gradients: Gradients,
  learningRate: number,
  scale: number,
  adamw: AdamWSettings,
  muon: Muon | undefined,
): Promise<void> {
  state.step++;
  for (const [index, parameter] of state.parameters.entries()) {
    const gradient = gradients.get(parameter.name)!;
    const moments = state.moments[index]!;
    if (muon !== undefined && isMuonMatrix(parameter))
      await muon.step(parameter, gradient, moments, learningRate, scale);
    else adamWStep(parameter.values, gradient, moments, learningRate, state.step, adamw, scale);
  }
}

async function validate(
  evaluator: TrainingSession,
  state: TrainingState,
  parts: readonly Part[],
  hooks: TrainingHooks,
): Promise<number> {
  const loss = await meanLoss(evaluator, state.parameters, parts);
  const best = state.best === undefined || loss < state.best.loss;
  if (best) {
    const values = state.parameters.map((parameter) => parameter.values.slice());
    state.best = { step: state.step, loss, values };
  }
  state.evaluationsWithoutGain = best ? 0 : state.evaluationsWithoutGain + 1;
  hooks.onEvent?.({ kind: 'validation', step: state.step, loss, best });
  return loss;
}

function outcome(
  { parameters, step, best }: TrainingState,
  ended: TrainingOutcome['ended'],
): TrainingOutcome {
  return {
    parameters:
      best === undefined
        ? parameters
        : parameters.map(({ name, shape }, index) => ({ name, shape, values: best.values[index]! })),
    step,
    ended,
    best: best === undefined ? undefined : { step: best.step, loss: best.loss },
  };
}
