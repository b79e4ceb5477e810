/** Performs one update: optimizer steps on the episodes that were just played. */

import { createGenerator, deriveSeeds, shuffled } from '../../src/base/random/generator.js';
import { exampleLength } from '../engine/batch.js';
import type { TrainingState } from '../engine/checkpoint.js';
import type { Parameter, TrainingSession } from '../engine/training-session.js';
import type { PolicyUpdateFigures } from '../train/events.js';
import type { PolicyObjective, RlExample } from '../train/objectives/sampled.js';
import type { ObjectiveSettings } from '../train/objectives/settings.js';
import { layOut } from '../train/packing.js';
import { policyStatistics } from '../train/policy-statistics.js';
import { openObjectiveSession, runParts, takeStep } from '../train/training-step.js';
import type { ScoredSequence } from './credit.js';
import type { SampledSequence } from './learning/episode.js';
import type { LearningSettings } from './learning/settings.js';

/** First spawn key of the minibatch order; `takeStep` uses 1. */
const orderStream = 2;

export interface UpdateSessions {
  readonly training: TrainingSession;
  /** Computes the values that the objective needs before an update; undefined if it needs none. */
  readonly reading: TrainingSession | undefined;
  close(): Promise<void>;
}

/** @throws UserError as `openTrainingSession` does */
export async function openSessions(
  graph: Parameters<typeof openObjectiveSession>[0],
  { objective, reading: readingObjective }: PolicyObjective,
  needsReading: boolean,
): Promise<UpdateSessions> {
  const training = await openObjectiveSession(graph, 'train', objective);
  const reading = needsReading ? await openObjectiveSession(graph, 'evaluate', readingObjective) : undefined;
  const close = async () => void (await Promise.all([training.close(), reading?.close()]));
  return { training, reading, close };
}

/** True if the objective penalizes the KL divergence from the initial policy. */
export const needsReference = (settings: ObjectiveSettings): boolean => 'kl' in settings && settings.kl !== 0;

/** Updates `state` in place. @throws UserError if training diverges or memory runs out */
export async function runUpdate(
  { training }: UpdateSessions,
  objective: PolicyObjective,
  state: TrainingState,
  sequences: readonly RlExample[],
  settings: LearningSettings,
): Promise<PolicyUpdateFigures> {
  const { batchTokens, betas, epochs, minibatches, updates, warmupSteps, weightDecay } = settings;
  const totalSteps = updates * epochs * minibatches;
  const optimizer = {
    ...settings,
    schedule: { kind: settings.schedule, warmupSteps, totalSteps, floor: 0 },
    adamw: { betas, epsilon: 1e-8, weightDecay },
  };
  let firstFigures: Omit<PolicyUpdateFigures, 'tokens'> | undefined;
  let clipShare = 0;
  for (let count = 0; count < epochs * minibatches; count++) {
    const stepsDone = state.optimizerSteps;
    const part = minibatch(sequences, stepsDone, settings);
    const inputsOf = objective.inputs(part, Math.min(1, stepsDone / totalSteps));
    const parts = layOut(part, packingOf(batchTokens));
    const { examples, ...figures } = await takeStep(training, state, parts, inputsOf, optimizer);
    const statistics = policyStatistics(examples, settings.objective);
    firstFigures ??= { ...figures, ...statistics };
    clipShare = statistics.clipShare;
  }
  return { ...firstFigures!, clipShare, tokens: sequences.reduce((sum, one) => sum + exampleLength(one), 0) };
}

/** The sequences of one optimizer step; all sequences if any minibatch would have fewer than two. */
function minibatch(
  sequences: readonly RlExample[],
  step: number,
  { minibatches, seed }: LearningSettings,
): readonly RlExample[] {
  if (sequences.length < 2 * minibatches) return sequences;
  const epoch = Math.floor(step / minibatches);
  const [order] = deriveSeeds(seed, [orderStream, epoch], 1);
  return shuffled(sequences, createGenerator(order!)).filter(
    (_, place) => place % minibatches === step % minibatches,
  );
}

const packingOf = (batchTokens: number) => ({ packing: 'rows', batchTokens }) as const;

/** Evaluates policy and reference before the update. The returned function adds the results, if any, to a sequence. */
export async function scoreBeforeUpdate(
  { reading }: UpdateSessions,
  parameters: readonly Parameter[],
  sequences: readonly SampledSequence[],
  reference: readonly Parameter[] | undefined,
  { batchTokens }: Pick<LearningSettings, 'batchTokens'>,
): Promise<(sequence: SampledSequence) => ScoredSequence> {
  if (reading === undefined) return (sequence) => sequence;
  const evaluate = async (values: readonly Parameter[]) => {
    const parts = layOut(sequences, packingOf(batchTokens));
    const { examples } = await runParts(reading, values, parts, () => ({}));
    return new Map(examples.map((one) => [one.example, one]));
  };
  const oldResults = await evaluate(parameters);
  const referenceResults = reference && (await evaluate(reference));
  return (sequence) => {
    const { logp, outputs } = oldResults.get(sequence)!;
    return {
      ...sequence,
      oldLogp: logp,
      ...(outputs.values && { oldValues: outputs.values }),
      ...(referenceResults && { referenceLogp: referenceResults.get(sequence)!.logp }),
    };
  };
}
