/** Learns from a dataset: seeded order, gradient accumulation, clipping, schedule, validation. */
import { exampleLength, type TokenExample } from '../engine/batch.js';
import { bestParameters, freshState, keepBest, readCheckpoint, type StepLoss } from '../engine/checkpoint.js';
import { openMuon, scheduleFactor } from '../engine/optimisers.js';
import { clipFactor, gradientNorm, type Parameter } from '../engine/training-session.js';
import type { EventOf, TrainingEvent } from './events.js';
import { type Ended, type LoopHooks, refuseNonFinite, runLoop } from './loop.js';
import { layOut, planEpoch, stepsPerEpoch, unitsOf, usableExamples, validationParts } from './packing.js';
import { learned, type TrainingRun, trainingIdentity } from './supervised.js';
import { DivergenceWatch } from './training-alarms.js';
import { lossAndGradients, openObjective, readParts, update } from './training-step.js';

export interface TrainingHooks extends LoopHooks {
  /** Awaited before a validation is reported. @param number the validation's number, from 1 */
  onValidation?(step: number, number: number, parameters: readonly Parameter[]): Promise<void>;
}

export interface TrainingOutcome {
  /** The values with the lowest validation loss; without validation, the last values. */
  readonly parameters: readonly Parameter[];
  readonly step: number;
  readonly ended: Ended;
  readonly best: StepLoss | undefined;
}

/** @throws UserError if there is nothing to learn, training diverges, or the checkpoint belongs to another run */
export async function train(run: TrainingRun, hooks: TrainingHooks = {}): Promise<TrainingOutcome> {
  const { checkpoint, settings, threads } = run;
  const training = usableExamples(run.training, run.config, 'training');
  const validation =
    run.validation.length === 0 ? [] : usableExamples(run.validation, run.config, 'validation');
  const owner = { identity: trainingIdentity(run), threads };
  const state = readCheckpoint(checkpoint, run.parameters, owner.identity) ?? freshState(run.parameters);
  const totalSteps = stepsPerEpoch(training.length, settings) * settings.epochs;
  const { objective, inputs } = await learned(run, [training, validation]);
  const session = await openObjective(run, 'train', objective);
  const muon = settings.muon === undefined ? undefined : await openMuon(settings.muon, threads);
  const evaluator = validation.length === 0 ? undefined : await openObjective(run, 'evaluate', objective);
  const heldOut = validationParts(validation, settings);
  const divergence = new DivergenceWatch(state.best?.loss);
  const batchOf = batches(training, settings);
  const { schedule: kind, warmupSteps, learningRateFloor: floor } = settings;

  async function step(): Promise<readonly TrainingEvent[]> {
    const chosen = batchOf(state.step);
    const parts = layOut(chosen, settings);
    const { loss, gradients } = await lossAndGradients(session, state, parts, inputs(parts), settings.seed);
    const norm = gradientNorm(gradients);
    refuseNonFinite(state.step + 1, { loss, 'gradient norm': norm });
    const learningRate =
      settings.learningRate * scheduleFactor({ kind, warmupSteps, totalSteps, floor }, state.step);
    const scale = clipFactor(norm, settings.maxGradientNorm);
    await update(state, gradients, learningRate, scale, settings.adamw, muon);
    state.step++;
    divergence.step(loss);
    const tokens = tokensOf(chosen);
    return [{ kind: 'step', step: state.step, totalSteps, loss, gradientNorm: norm, learningRate, tokens }];
  }

  async function evaluate(): Promise<readonly TrainingEvent[]> {
    if (evaluator === undefined) return [];
    const { step } = state;
    const { loss } = await readParts(evaluator, state.parameters, heldOut, inputs(heldOut));
    refuseNonFinite(step, { 'validation loss': loss });
    const best = keepBest(state, loss, false);
    state.evaluationsWithoutGain = best ? 0 : state.evaluationsWithoutGain + 1;
    await hooks.onValidation?.(step, Math.ceil(step / settings.evaluateEvery), state.parameters);
    const alarm = divergence.validation(loss);
    return [
      { kind: 'validation', step, loss, best },
      ...(alarm === undefined ? [] : [{ kind: 'alarm', step, ...alarm } as const]),
    ];
  }

  try {
    hooks.onEvent?.({
      kind: 'start',
      step: state.step,
      totalSteps,
      training: readSplit(training),
      validation: readSplit(validation),
      ...(state.best && { best: stepLoss(state.best) }),
    });
    const { checkpointEvery, evaluateEvery, patience = Number.POSITIVE_INFINITY } = settings;
    const isOver = () => state.evaluationsWithoutGain >= patience;
    const loop = { state, totalSteps, evaluateEvery, checkpointEvery, checkpoint, owner };
    const ended = await runLoop({ ...loop, step, evaluate, isOver }, hooks);
    const { best } = state;
    return { parameters: bestParameters(state), step: state.step, ended, best: best && stepLoss(best) };
  } finally {
    await Promise.all([session, evaluator, muon].map((one) => one?.close()));
  }
}

/** Returns a function that gives the examples of a step. */
function batches(training: readonly TokenExample[], settings: TrainingRun['settings']) {
  const perEpoch = stepsPerEpoch(training.length, settings);
  const units = unitsOf(training, settings);
  let plan: { readonly epoch: number; readonly steps: ReturnType<typeof planEpoch> } | undefined;
  return (step: number): readonly TokenExample[] => {
    const epoch = Math.floor(step / perEpoch);
    if (plan?.epoch !== epoch) plan = { epoch, steps: planEpoch(units, settings, epoch) };
    return plan.steps[step % perEpoch]!.map((index) => training[index]!);
  };
}

const tokensOf = (examples: readonly TokenExample[]) =>
  examples.reduce((sum, example) => sum + exampleLength(example), 0);

const readSplit = (examples: readonly TokenExample[]): NonNullable<EventOf<'start'>['training']> => ({
  examples: examples.length,
  tokens: tokensOf(examples),
});

const stepLoss = ({ step, loss }: StepLoss): StepLoss => ({ step, loss });
