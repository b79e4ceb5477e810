/** Supervised training: a model learns the replies of a dataset, or to prefer the better replies of pairs. */
import { mkdirSync, rmSync } from 'node:fs';
import { isSampled } from '../../src/runs/training/samples.js';
import { argmax } from '../../src/statistics/descriptive.js';
import { contentHash } from '../dataset/lineage.js';
import { type Conversation, encodeExample, replyEndId } from '../dataset/read-dataset.js';
import { exampleLength, type GetInputs, makeBatch, type TokenExample } from '../engine/batch.js';
import {
  bestParameters,
  identityOf,
  initialState,
  keepBest,
  readCheckpoint,
  type StepLoss,
} from '../engine/checkpoint.js';
import { sessionBytes } from '../engine/memory.js';
import type { Objective } from '../engine/objective.js';
import { openMuon } from '../engine/optimisers.js';
import { buildTrainingGraph } from '../engine/training-graph.js';
import { guardMemory, type Parameter, parameterCount } from '../engine/training-session.js';
import { templateAlarms } from './alarms.js';
import type { EventOf, TrainingEvent } from './events.js';
import { evaluationStoppedError, rejectNonFinite, runLoop, type TrainingHooks } from './loop.js';
import { openModel, type PlannedModel, planModelTraining, writeResult } from './method.js';
import { type ComparedExample, dpo, dpoInputs, sft, sftInputs } from './objectives/supervised.js';
import { likelihood } from './objectives/terms.js';
import {
  epochParts,
  joinExamples,
  layOut,
  type OrderSettings,
  type Part,
  paddedLength,
  planEpoch,
  stepsPerEpoch,
  unitsOf,
  usableExamples,
  validationGroupSize,
} from './packing.js';
import { chooseSamplePrompts, openPromptSampler } from './samples.js';
import type { TrainingResult } from './session.js';
import { fixedSettings, type TrainConfig } from './train-config.js';
import { openObjectiveSession, runParts, takeStep } from './training-step.js';

export interface ConversationSplits {
  readonly training: readonly Conversation[];
  /** If empty, there is no validation, and the last weights are the result. */
  readonly validation: readonly Conversation[];
}

export interface FineTuneResult extends TrainingResult {
  /** The values with the lowest validation loss; without validation, the last values. */
  readonly parameters: readonly Parameter[];
}

/**
 * Trains, resuming from the checkpoint in the output if it exists.
 * @throws UserError if the model or the examples are unusable, memory runs out, training diverges, or the checkpoint
 * belongs to another run
 */
export async function fineTune(
  config: TrainConfig,
  data: ConversationSplits,
  hooks: TrainingHooks = {},
): Promise<FineTuneResult> {
  const plan = planModelTraining(config);
  const model = await openModel(plan, config);
  return guardMemory('training', () => learn(config, data, plan, model, hooks));
}

type OpenedModel = Awaited<ReturnType<typeof openModel>>;

async function learn(
  config: TrainConfig,
  data: ConversationSplits,
  { checkpoint, method }: PlannedModel,
  model: OpenedModel,
  hooks: TrainingHooks,
): Promise<FineTuneResult> {
  const { betas, checkpointEvery, evaluateEvery, optimizer, weightDecay } = config;
  const { parameters, threads, tokenizer } = model;
  const order = orderOf(config);
  const [training, validation] = encodeSplits(config, data, model);
  const examples = [training.length, validation.length, ...training, ...validation];
  const identityParts = [fixedSettings(config), contentHash(config.model), ...examples];
  const owner = { identity: identityOf(identityParts, parameters), threads };
  const state = readCheckpoint(checkpoint, parameters, owner.identity) ?? initialState(parameters);
  const { epochs, maxSteps = Number.POSITIVE_INFINITY } = config;
  const epochSteps = stepsPerEpoch(training.length, order);
  const totalSteps = Math.min(maxSteps, epochs * epochSteps);
  const work = tokenCount(validation) / 3;
  const heldOutParts = epochParts(validation, { ...order, batchExamples: validationGroupSize });
  hooks.onEvent?.({
    kind: 'start',
    step: state.step,
    totalSteps,
    work: (tokenCount(training) * totalSteps) / epochSteps + Math.ceil(totalSteps / evaluateEvery) * work,
    parameters: parameterCount(parameters),
    sessionBytes: estimateBytes(model, epochParts(training, order), heldOutParts),
    training: splitSize(training),
    validation: splitSize(validation),
    ...(state.best && { best: stepLoss(state.best) }),
  });
  mkdirSync(config.output, { recursive: true });
  // Open these at their first use, so that --finish writes its result at once.
  const objective = lazy(() => prepareObjective(config, model, [training, validation]));
  const sessionOf = (purpose: 'train' | 'evaluate') =>
    lazy(async () => openObjectiveSession(model, purpose, (await objective.get()).objective));
  const [trainer, evaluator] = [sessionOf('train'), sessionOf('evaluate')];
  const muon = optimizer.kind === 'muon' ? await openMuon({ ...optimizer, weightDecay }, threads) : undefined;
  const prompts = chooseSamplePrompts(data.validation, config);
  const promptSampler = prompts.length === 0 ? undefined : openPromptSampler(model, prompts);
  const batchOf = batchSelector(training, order);
  const { learningRateFloor, schedule, warmupSteps } = config;
  const settings = {
    ...config,
    adamw: { betas, epsilon: 1e-8, weightDecay },
    muon,
    schedule: { kind: schedule, warmupSteps, totalSteps, floor: learningRateFloor },
  };

  async function step(): Promise<TrainingEvent> {
    const stepExamples = batchOf(state.step);
    const parts = layOut(stepExamples, order);
    const session = await trainer.get();
    // If memory is too small for both sessions, fail now rather than at the first validation.
    if (validation.length > 0) await evaluator.get();
    const inputsOf = (await objective.get()).inputs(parts);
    const { examples: _, ...figures } = await takeStep(session, state, parts, inputsOf, settings, hooks);
    state.step++;
    return { kind: 'step', step: state.step, totalSteps, ...figures, tokens: tokenCount(stepExamples) };
  }

  let lastResult: { readonly step: number; readonly result: string } | undefined;
  async function write(): Promise<string> {
    const step = state.best?.step ?? state.step;
    if (lastResult?.step !== step)
      lastResult = { step, result: await writeResult({ ...config, method }, bestParameters(state)) };
    return lastResult.result;
  }

  async function evaluate(isLast: boolean): Promise<TrainingEvent | undefined> {
    if (validation.length === 0) return undefined;
    const { step } = state;
    const isStopped = () => isLast && hooks.stop?.() === true;
    const onRead = (read: number, total: number) => {
      hooks.onRead?.(read, total, 'validation');
      if (read < total && isStopped()) throw evaluationStoppedError;
    };
    const session = await evaluator.get();
    const inputsOf = (await objective.get()).inputs(heldOutParts);
    const { loss } = await runParts(session, state.parameters, heldOutParts, inputsOf, { ...hooks, onRead });
    if (!Number.isFinite(loss) && lastResult?.step === step) rmSync(lastResult.result, { recursive: true });
    rejectNonFinite(step, { 'validation loss': loss });
    const isBest = keepBest(state, loss, false);
    state.evaluationsWithoutGain = isBest ? 0 : state.evaluationsWithoutGain + 1;
    if (promptSampler !== undefined && isSampled(Math.ceil(step / evaluateEvery))) {
      hooks.onRead?.(0, prompts.length, 'sample replies');
      hooks.onSamples?.(step, await promptSampler.answer(state.parameters, isStopped));
    }
    return { kind: 'validation', step, loss, best: isBest, work };
  }

  try {
    for (const alarm of templateAlarms(config.model, tokenizer, data.training))
      hooks.onEvent?.({ kind: 'alarm', step: state.step, ...alarm });
    const { patience = Number.POSITIVE_INFINITY } = config;
    const isOver = () => state.evaluationsWithoutGain >= patience;
    const loopSettings = { state, totalSteps, evaluateEvery, checkpointEvery, checkpoint, owner };
    const writeHook = validation.length > 0 && { write: async () => hooks.onResult?.(await write()) };
    const ended = await runLoop({ ...loopSettings, ...writeHook, step, evaluate, isOver }, hooks);
    if (ended !== 'interrupted') await write();
    const lowest = state.best && stepLoss(state.best);
    return { step: state.step, ended, lowest, result: lastResult?.result, parameters: bestParameters(state) };
  } finally {
    const opened = [trainer.opened(), evaluator.opened(), muon, promptSampler];
    await Promise.all(opened.map(async (one) => (await one)?.close()));
  }
}

function lazy<T>(open: () => Promise<T>) {
  let promise: Promise<T> | undefined;
  return { get: () => (promise ??= open()), opened: () => promise };
}

/** Estimated bytes of all sessions, given the parts of an epoch and of the validation. */
function estimateBytes({ config, device, trainable }: OpenedModel, ...splits: (readonly Part[])[]): number {
  const settings = { config, trainable, objective: sft, precision: 'float32', purpose: 'train' } as const;
  const [step, evaluation] = splits.map((parts) => {
    const largest = parts[argmax(parts.map(paddedLength))];
    return largest && makeBatch(largest, () => ({ weights: 1 }));
  });
  return sessionBytes(buildTrainingGraph({ ...settings, device }), config, step!, evaluation);
}

/** Pairs stay together, so that a step compares their replies. */
function orderOf({ batchExamples, batchTokens, objective, packing, seed }: TrainConfig): OrderSettings {
  return objective.kind === 'dpo'
    ? { seed, batchTokens, packing: 'pairs', batchExamples: 2 * batchExamples }
    : { seed, batchTokens, packing, batchExamples };
}

/** Encodes the examples of both splits as tokens. */
function encodeSplits(
  { model, observationWeight, packing }: TrainConfig,
  { training, validation }: ConversationSplits,
  { config, tokenizer }: OpenedModel,
) {
  const endId = replyEndId(model, config, tokenizer);
  const encode = (split: readonly Conversation[], field: string, weight = 0): readonly TokenExample[] => {
    const examples = split.map((conversation) => encodeExample(tokenizer, endId, conversation));
    const joined = packing === 'conversations' ? joinExamples(examples, weight) : examples;
    return usableExamples(joined, config, field);
  };
  return [
    encode(training, 'training', observationWeight),
    validation.length === 0 ? [] : encode(validation, 'validation'),
  ] as const;
}

/** Prepares objective and inputs. DPO runs the initial model on all pairs. @throws UserError if memory runs out */
async function prepareObjective(
  config: TrainConfig,
  model: OpenedModel,
  splits: readonly (readonly TokenExample[])[],
): Promise<{ readonly objective: Objective; inputs(parts: readonly Part[]): GetInputs<TokenExample> }> {
  if (config.objective.kind === 'sft') return { objective: sft, inputs: (parts) => sftInputs(parts.flat(2)) };
  const comparisons = new Map<TokenExample, ComparedExample>();
  const session = await openObjectiveSession(model, 'evaluate', likelihood(1));
  try {
    for (const split of splits) {
      const indexByExample = new Map(split.map((example, place) => [example, place]));
      const parts = layOut(split, orderOf(config));
      const { examples } = await runParts(session, model.parameters, parts, () => ({}));
      for (const { example, logp } of examples)
        comparisons.set(example, { isChosen: indexByExample.get(example)! % 2 === 0, referenceLogp: logp });
    }
  } finally {
    await session.close();
  }
  return { objective: dpo(config.objective.beta), inputs: (parts) => dpoInputs(parts.flat(), comparisons) };
}

/** Returns a function that gives the examples of a step. */
function batchSelector(training: readonly TokenExample[], order: OrderSettings) {
  const epochSteps = stepsPerEpoch(training.length, order);
  const units = unitsOf(training, order);
  let plan: { readonly epoch: number; readonly steps: ReturnType<typeof planEpoch> } | undefined;
  return (step: number): readonly TokenExample[] => {
    const epoch = Math.floor(step / epochSteps);
    if (plan?.epoch !== epoch) plan = { epoch, steps: planEpoch(units, order, epoch) };
    return plan.steps[step % epochSteps]!.map((index) => training[index]!);
  };
}

const tokenCount = (examples: readonly TokenExample[]) =>
  examples.reduce((sum, example) => sum + exampleLength(example), 0);

const splitSize = (examples: readonly TokenExample[]): NonNullable<EventOf<'start'>['training']> => ({
  examples: examples.length,
  tokens: tokenCount(examples),
});

const stepLoss = ({ step, loss }: StepLoss): StepLoss => ({ step, loss });
