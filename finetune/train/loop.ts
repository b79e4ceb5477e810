/** The training loop, shared by all kinds of training. Read this file first. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { WorkError } from '../../src/base/errors.js';
import type { Sample } from '../../src/runs/training/samples.js';
import { type CheckpointOwner, type TrainingState, writeCheckpoint } from '../engine/checkpoint.js';
import type { TrainingEvent } from './events.js';

/** `early`: training ended before its last step, for example at a limit. */
export type TrainingEnding = 'complete' | 'early' | 'interrupted';

export interface TrainingLoop {
  readonly state: TrainingState;
  readonly totalSteps: number;
  /** Steps between evaluations; there is also one after the last step. */
  readonly evaluateEvery: number;
  readonly checkpointEvery: number;
  readonly checkpoint: string;
  readonly owner: CheckpointOwner;
  /** Draws the next samples and learns from them. */
  step(): Promise<TrainingEvent>;
  /** Evaluates the weights and keeps the best ones. Returns undefined if there is nothing to evaluate them on. */
  evaluate(isLast: boolean): Promise<TrainingEvent | undefined>;
  /** Writes a result before the last evaluation, which can take long and may be stopped. */
  write?(): Promise<void>;
  /** True once training is finished, which may be before its last step (early stopping). */
  isOver?(): boolean;
  /** State other than weights that the next step depends on; stored in checkpoints. */
  progress?(): string | undefined;
}

/** Receives the events of training, and can end it early. */
export interface TrainingHooks {
  onEvent?(event: TrainingEvent): void;
  /** Receives the samples of some evaluations, each time before the evaluation's event. */
  onSamples?(step: number, samples: readonly Sample[]): void;
  /** Receives the directory of a result that exists before the last evaluation. */
  onResult?(result: string): void;
  /** If true after a step, in the last validation or before a numeric baseline, the run ends with a checkpoint. */
  stop?(): boolean;
  /** Abandons a supervised step or evaluation before it changes anything; the run writes a checkpoint and ends. */
  readonly abort?: AbortSignal | undefined;
  /** Called before the baseline searches that are reported. */
  onBaselines?(): void;
  /** Receives the number of examples processed so far in a step, a validation or sample replies, and their total. */
  onRead?(read: number, total: number, purpose?: 'validation' | 'sample replies'): void;
  /** If true after a step, or when training resumes, training ends early with a result. */
  isSpent?(): boolean;
}

/** Thrown if `stop` ends the last evaluation. */
export const evaluationStoppedError = new Error('the last evaluation was stopped');

/** Trains from the state's step until the last step, an early end or an interruption. */
export async function runLoop(
  { state, totalSteps, ...training }: TrainingLoop,
  hooks: TrainingHooks,
): Promise<TrainingEnding> {
  const isOver = () =>
    state.step >= totalSteps ||
    (state.step > 0 && hooks.isSpent?.() === true) ||
    training.isOver?.() === true;
  const isDue = (every: number) => state.step % every === 0;
  let [hasStepped, isStopped] = [false, false];
  const report = (event: TrainingEvent | undefined) => event && hooks.onEvent?.(event);
  const tryWork = async (work: () => Promise<TrainingEvent | undefined>) => {
    try {
      report(await work());
      return true;
    } catch (error) {
      if (error !== hooks.abort?.reason && error !== evaluationStoppedError) throw error;
      isStopped = true;
      return false;
    }
  };
  for (;;) {
    const isLast = isOver();
    if (state.evaluated < state.step && (isLast || (isDue(training.evaluateEvery) && !isStopped))) {
      if (isLast) await training.write?.();
      if (await tryWork(() => training.evaluate(isLast))) state.evaluated = state.step;
    }
    const isAtEnd = state.evaluated === state.step && isOver();
    if (isStopped || (hasStepped && (isAtEnd || isDue(training.checkpointEvery)))) {
      state.progress = training.progress?.();
      writeCheckpoint(training.checkpoint, state, training.owner);
      report({ kind: 'checkpoint', step: state.step });
    }
    if (isAtEnd) return state.step < totalSteps ? 'early' : 'complete';
    if (isStopped) return 'interrupted';
    if (await tryWork(training.step)) hasStepped = true;
    // Handle signals that arrived during the step.
    await yieldToEventLoop();
    isStopped ||= hooks.stop?.() === true;
  }
}

/** @throws WorkError if a value isn't finite */
export function rejectNonFinite(
  step: number,
  numbers: Readonly<Record<string, number>>,
  field = 'learningRate',
  advice = 'lower the learning rate or maxGradientNorm, or warm up longer',
): void {
  if (Object.values(numbers).every(Number.isFinite)) return;
  const texts = Object.entries(numbers).map(([name, value]) => `the ${name} is ${value}`);
  throw new WorkError({
    field,
    message: `training has diverged: in step ${step}, ${texts.join(' and ')}`,
    hint: `${advice}; then choose another output, because the checkpoint only fits the old settings`,
  });
}
