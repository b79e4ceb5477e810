/**
 * Interface of the component that trains a run's model during the search. It must be registered, because this half of
 * the package contains no training code.
 */
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import type { AdaptConfig } from '../config/learning/adapt.js';
import { languageModelOf } from '../config/model.js';
import type { ChatMessage, SampledTokens } from '../models/language-model.js';
import type { LocalConfig } from '../models/local/settings.js';
import type { ParseFailureKind } from '../prompting/answer/parse.js';
import { remembered } from '../prompting/context/history.js';
import type { MemoryConfig } from '../prompting/settings.js';
import type { BufferEntry, Evaluated } from '../rollout/replay-buffer.js';
import { type CallRecord, currentFailure } from '../runs/calls.js';
import type { Adaptation } from '../runs/events.js';

/** Config of a run that trains its model. */
export interface AdaptingConfig extends Config {
  readonly adapt: AdaptConfig;
  readonly model: LocalConfig;
}

/** The config with `model` set to the model to train, possibly a portfolio member; undefined if no model is trained. */
export function adaptingConfig(config: Config): AdaptingConfig | undefined {
  const { adapt } = config;
  const model = languageModelOf(config.model);
  return adapt !== undefined && model?.provider === 'local' ? { ...config, adapt, model } : undefined;
}

/** Trains on the candidates of a run. Its state depends only on the run's config, seed and log. */
export interface Learner {
  /** The last iteration that the learner has observed. A resumed run must pass later ones to `observe`. */
  readonly iteration: number;
  /** Directory of the current adapter; undefined before the first update. */
  readonly adapter: string | undefined;
  /**
   * Processes the next iteration.
   * @returns the result of an update; undefined if none was due
   * @throws UserError if training diverges or memory runs out
   */
  observe(observed: ObservedIteration): Promise<Adaptation | undefined>;
  close(): Promise<void>;
}

export interface Learning {
  /**
   * The modules that the adapter will change, as suffixes of their paths.
   * @throws UserError if the model can't be trained
   */
  modules(config: AdaptingConfig): readonly string[];
  /**
   * @param run directory of the run, where the learner stores the adapter and its state
   * @param completed the last complete iteration of the run; the learner's state from later ones is discarded
   */
  open(config: AdaptingConfig, run: string, completed: number): Promise<Learner>;
}

let loadLearning: (() => Promise<Learning>) | undefined;

/** Registers the training half. Called once by each package entry point that includes it. */
export function registerLearner(load: () => Promise<Learning>): void {
  loadLearning = load;
}

/** @throws UserError if the training half of the package isn't loaded */
export function learningAtHand(): Promise<Learning> {
  if (loadLearning !== undefined) return loadLearning();
  throw new UserError({
    field: 'adapt',
    message: "training isn't available here",
    remedy: 'run it with `policyloop run`, or with `run()` from the package',
  });
}

/** The parts of an experiment that training uses. */
interface Adapting {
  readonly learner: Learner | undefined;
  readonly languageModel: { readonly adopt?: ((directory: string) => void) | undefined } | undefined;
  readonly buffer: { readonly entries: readonly BufferEntry[] };
  readonly config: { readonly memory: MemoryConfig };
  readonly completed: number;
}

/**
 * Passes an iteration to the learner. After an update, the model uses the new adapter.
 * @returns the result of an update; undefined if none was due or the model isn't trained
 */
export async function learn(
  adapting: Adapting,
  iteration: number,
  calls: readonly CallRecord[],
  entries: readonly BufferEntry[],
): Promise<Adaptation | undefined> {
  const { buffer, config, learner } = adapting;
  if (learner === undefined) return undefined;
  const history = buffer.entries.filter((entry) => entry.iteration < iteration);
  const observed = observedIteration(iteration, calls, entries, remembered(history, config.memory));
  const adapted = await learner.observe(observed);
  if (adapted !== undefined) adopt(adapting);
  return adapted;
}

/** Brings the learner and the model up to date with the run's last complete iteration. */
export async function learnAgain(adapting: Adapting, recorded: Iterable<CallRecord>): Promise<void> {
  const { buffer, completed, learner } = adapting;
  if (learner === undefined) return;
  adopt(adapting);
  if (learner.iteration >= completed) return;
  const missed = new Map<number, CallRecord[]>();
  for (const call of recorded) {
    if (call.iteration <= learner.iteration || call.iteration > completed) continue;
    missed.set(call.iteration, [...(missed.get(call.iteration) ?? []), call]);
  }
  for (let iteration = learner.iteration + 1; iteration <= completed; iteration++) {
    const entries = buffer.entries.filter((entry) => entry.iteration === iteration);
    await learn(adapting, iteration, missed.get(iteration) ?? [], entries);
  }
}

function adopt({ languageModel, learner }: Adapting): void {
  if (learner?.adapter !== undefined) languageModel?.adopt?.(learner.adapter);
}

export type ObservedAnswer = { readonly text: string; readonly sampled: SampledTokens } & (
  | (Evaluated & { readonly kind: 'evaluated'; readonly returns: readonly number[] })
  | { readonly kind: 'unreadable'; readonly failure: ParseFailureKind }
);

/**
 * The answers to one prompt. All candidates share the first prompt; a correction quotes one candidate's
 * answer, so it has its own prompt.
 */
interface ObservedPrompt {
  readonly messages: readonly ChatMessage[];
  readonly answers: readonly ObservedAnswer[];
}

export interface ObservedIteration {
  readonly iteration: number;
  /** The evaluations that the prompts could show, oldest first. */
  readonly history: readonly Evaluated[];
  readonly prompts: readonly ObservedPrompt[];
}

/**
 * Groups the iteration's answers by prompt.
 * @param entries the iteration's evaluations, one per evaluated candidate
 */
export function observedIteration(
  iteration: number,
  calls: readonly CallRecord[],
  entries: readonly BufferEntry[],
  history: readonly Evaluated[],
): ObservedIteration {
  const prompts = new Map<string, { messages: readonly ChatMessage[]; answers: ObservedAnswer[] }>();
  for (const call of calls) {
    const answer = observedAnswer(call, entries);
    if (answer === undefined) continue;
    const key = JSON.stringify(call.messages);
    const prompt = prompts.get(key) ?? { messages: call.messages, answers: [] };
    prompts.set(key, prompt);
    prompt.answers.push(answer);
  }
  return { iteration, history, prompts: [...prompts.values()] };
}

/** Undefined unless the sampled tokens are known and the answer was rejected, or accepted and evaluated unchanged. */
function observedAnswer(
  { candidate, completion, outcome }: CallRecord,
  entries: readonly BufferEntry[],
): ObservedAnswer | undefined {
  if (completion?.sampled === undefined) return undefined;
  const { sampled, text } = completion;
  if (outcome.kind === 'rejected')
    return { text, sampled, kind: 'unreadable', failure: currentFailure(outcome.failure).kind };
  const entry = entries.find((one) => one.candidate === candidate);
  // If a proposal was moved, the evaluated parameters differ from those in the answer.
  if (outcome.kind !== 'accepted' || outcome.moved !== undefined || entry === undefined) return undefined;
  const { parameters, returns, score } = entry;
  return { text, sampled, kind: 'evaluated', parameters, returns, score };
}
