/** The training loop: seeded order, gradient accumulation, clipping, schedule, validation, checkpoints. */
import { FailedWork } from '../../src/base/errors.js';
import { exampleLength, type TokenExample } from '../engine/batch.js';
import {
  bestParameters,
  freshState,
  keepBest,
  readCheckpoint,
  type StepLoss,
  type TrainingState,
  writeCheckpoint,
} from '../engine/checkpoint.js';
import { type Muon, openMuon, scheduleFactor } from '../engine/optimisers.js';
import {
  clipFactor,
  gradientNorm,
  type Parameter,
  type TrainingSession,
} from '../engine/training-session.js';
import {
  layOut,
  type Part,
  planEpoch,
  stepsPerEpoch,
  unitsOf,
  usableExamples,
  validationParts,
} from './packing.js';
import type { Timed } from './record.js';
import {
  type Learned,
  learned,
  type TrainingRun,
  type TrainingSettings,
  trainingIdentity,
} from './supervised.js';
import { DivergenceWatch, type TrainingAlarm } from './training-alarms.js';
import { lossAndGradients, openObjective, readParts, update } from './training-step.js';

/** Counts over the usable examples of a split, which have a nonzero weight and an answer. */
interface ReadSplit {
  readonly examples: number;
  /** Total number of tokens in the examples. */
  readonly tokens: number;
}

export type TrainingEvent =
  | {
      readonly kind: 'start';
      /** Number of completed steps; more than 0 if training resumes from a checkpoint. */
      readonly step: number;
      readonly totalSteps: number;
      readonly training: ReadSplit;
      readonly validation: ReadSplit;
      /** Lowest validation loss of earlier sessions; missing if there was none. */
      readonly best?: StepLoss | undefined;
    }
  | {
      readonly kind: 'step';
      /** Numbered from 1. */
      readonly step: number;
      readonly totalSteps: number;
      /** Loss on the step's examples before the update. */
      readonly loss: number;
      readonly gradientNorm: number;
      readonly learningRate: number;
      /** Total number of tokens in the examples, without padding; a shared prompt counts once per example. */
      readonly tokens: number;
    }
  | { readonly kind: 'validation'; readonly step: number; readonly loss: number; readonly best: boolean }
  | { readonly kind: 'checkpoint'; readonly step: number }
  | ({ readonly kind: 'alarm'; readonly step: number } & TrainingAlarm);

export type Metric = Timed<TrainingEvent>;
export type MetricOf<Kind extends Metric['kind']> = Extract<Metric, { readonly kind: Kind }>;

export interface TrainingHooks {
  onEvent?(event: TrainingEvent): void;
  /** Awaited before a validation is reported. @param number the validation's number, from 1 */
  onValidation?(step: number, number: number, parameters: readonly Parameter[]): Promise<void>;
  /** Checked after every step; if true, the run writes a checkpoint and ends. */
  stop?(): boolean;
  /** If true, takes no further steps; the result comes from the checkpoint. */
  readonly finish?: boolean | undefined;
}

export interface TrainingOutcome {
  /** The values with the lowest validation loss; without validation, the last values. */
  readonly parameters: readonly Parameter[];
  readonly step: number;
  readonly ended: 'complete' | 'early' | 'interrupted';
  readonly best: StepLoss | undefined;
}

/** @throws UserError if there is nothing to learn, training diverges, or the checkpoint belongs to another run */
export async function train(run: TrainingRun, hooks: TrainingHooks = {}): Promise<TrainingOutcome> {
  const training = usableExamples(run.training, run.config, 'training');
  const validation =
    run.validation.length === 0 ? [] : usableExamples(run.validation, run.config, 'validation');
  const owner = { identity: trainingIdentity(run), threads: run.threads };
  const state = readCheckpoint(run.checkpoint, run.parameters, owner.identity) ?? freshState(run.parameters);
  const totalSteps = stepsPerEpoch(training.length, run.settings) * run.settings.epochs;
  const goal = await learned(run, [training, validation]);
  const sessions = await openSessions(run, goal);
  try {
    hooks.onEvent?.({
      kind: 'start',
      step: state.step,
      totalSteps,
      training: readSplit(training),
      validation: readSplit(validation),
      ...(state.best && { best: stepLoss(state.best) }),
    });
    const keep = () => {
      writeCheckpoint(run.checkpoint, state, owner);
      hooks.onEvent?.({ kind: 'checkpoint', step: state.step });
    };
    const ended = await makeSteps(
      { run, goal, training, validation, totalSteps, state, sessions, keep },
      hooks,
    );
    const { best, step } = state;
    return { parameters: bestParameters(state), step, ended, best: best && stepLoss(best) };
  } finally {
    await Promise.all([sessions.training, sessions.validation, sessions.muon].map((one) => one?.close()));
  }
}

interface Sessions {
  readonly training: TrainingSession;
  readonly validation: TrainingSession | undefined;
  readonly muon: Muon | undefined;
}

async function openSessions(run: TrainingRun, { objective }: Learned): Promise<Sessions> {
  const { settings, threads } = run;
  return {
    training: await openObjective(run, 'train', objective),
    muon: settings.muon === undefined ? undefined : await openMuon(settings.muon, threads),
    validation: run.validation.length === 0 ? undefined : await openObjective(run, 'evaluate', objective),
  };
}

interface Training {
  readonly run: TrainingRun;
  readonly goal: Learned;
  readonly training: readonly TokenExample[];
  readonly validation: readonly TokenExample[];
  readonly totalSteps: number;
  readonly state: TrainingState;
  readonly sessions: Sessions;
  readonly keep: () => void;
}

/** Trains from the state's step until the last step, early stopping or an interruption. */
async function makeSteps(
  { run: { settings }, goal, training, validation, totalSteps, state, sessions, keep }: Training,
  hooks: TrainingHooks,
): Promise<TrainingOutcome['ended']> {
  const perEpoch = stepsPerEpoch(training.length, settings);
  const { schedule: kind, warmupSteps, learningRateFloor: floor } = settings;
  const schedule = { kind, warmupSteps, totalSteps, floor };
  const units = unitsOf(training, settings);
  const heldOut = validationParts(validation, settings);
  const divergence = new DivergenceWatch(state.best?.loss);
  let plan: { readonly epoch: number; readonly steps: ReturnType<typeof planEpoch> } | undefined;
  while (state.step < totalSteps && !exhausted(state, settings) && !hooks.finish) {
    const epoch = Math.floor(state.step / perEpoch);
    if (plan?.epoch !== epoch) plan = { epoch, steps: planEpoch(units, settings, epoch) };
    const chosen = plan.steps[state.step % perEpoch]!.map((index) => training[index]!);
    const parts = layOut(chosen, settings);
    const inputsOf = goal.inputs(parts);
    const { loss, gradients } = await lossAndGradients(
      sessions.training,
      state,
      parts,
      inputsOf,
      settings.seed,
    );
    const norm = gradientNorm(gradients);
    refuseNonFinite(state.step + 1, { loss, 'gradient norm': norm });
    const learningRate = settings.learningRate * scheduleFactor(schedule, state.step);
    const scale = clipFactor(norm, settings.maxGradientNorm);
    await update(state, gradients, learningRate, scale, settings.adamw, sessions.muon);
    const { step } = state;
    const tokens = tokensOf(chosen);
    hooks.onEvent?.({ kind: 'step', step, totalSteps, loss, gradientNorm: norm, learningRate, tokens });
    divergence.step(loss);
    if (sessions.validation !== undefined && (step % settings.evaluateEvery === 0 || step === totalSteps)) {
      const number = Math.ceil(step / settings.evaluateEvery);
      const loss = await validate(sessions.validation, state, heldOut, goal, number, hooks);
      const alarm = divergence.validation(loss);
      if (alarm !== undefined) hooks.onEvent?.({ kind: 'alarm', step, ...alarm });
    }
    const interrupted = hooks.stop?.() === true;
    if (interrupted || step % settings.checkpointEvery === 0 || step === totalSteps) keep();
    if (interrupted && step < totalSteps) return 'interrupted';
  }
  return state.step < totalSteps ? 'early' : 'complete';
}

const tokensOf = (examples: readonly TokenExample[]) =>
  examples.reduce((sum, example) => sum + exampleLength(example), 0);

const readSplit = (examples: readonly TokenExample[]): ReadSplit => ({
  examples: examples.length,
  tokens: tokensOf(examples),
});

const stepLoss = ({ step, loss }: StepLoss): StepLoss => ({ step, loss });

function exhausted(state: TrainingState, { patience }: TrainingSettings): boolean {
  return patience !== undefined && state.evaluationsWithoutGain >= patience;
}

/** @throws FailedWork if a value isn't finite */
export function refuseNonFinite(step: number, found: Readonly<Record<string, number>>): void {
  if (Object.values(found).every(Number.isFinite)) return;
  const values = Object.entries(found).map(([name, value]) => `the ${name} is ${value}`);
  throw new FailedWork({
    field: 'learningRate',
    message: `training has diverged: in step ${step}, ${values.join(' and ')}`,
    remedy:
      'lower the learning rate or maxGradientNorm, or warm up longer; then choose another output, because the checkpoint requires its old settings',
  });
}

async function validate(
  evaluator: TrainingSession,
  state: TrainingState,
  parts: readonly Part[],
  goal: Learned,
  number: number,
  hooks: TrainingHooks,
): Promise<number> {
  const { loss } = await readParts(evaluator, state.parameters, parts, goal.inputs(parts));
  refuseNonFinite(state.step, { 'validation loss': loss });
  const best = keepBest(state, loss, false);
  state.evaluationsWithoutGain = best ? 0 : state.evaluationsWithoutGain + 1;
  await hooks.onValidation?.(state.step, number, state.parameters);
  hooks.onEvent?.({ kind: 'validation', step: state.step, loss, best });
  return loss;
}
