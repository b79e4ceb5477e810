/** A run in flight while a model learns: its prompts, evaluations and memory. */

import { createGenerator } from '../../../src/base/random/generator.js';
import { callSeed, evaluationSeeds } from '../../../src/base/random/seeds.js';
import type { BaselineName } from '../../../src/config/baselines.js';
import type { Config } from '../../../src/config/config.js';
import { randomPolicies } from '../../../src/experiment/evaluate.js';
import { Prompter } from '../../../src/experiment/prompter.js';
import { assemble, closeEnvironment } from '../../../src/experiment/setup/assemble.js';
import type { AnswerGrammar, ChatMessage, LanguageModel } from '../../../src/models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../../src/policies/policy.js';
import { encodingFor } from '../../../src/prompting/notation/encoding.js';
import { answerGrammar } from '../../../src/prompting/notation/grammar.js';
import { type EvaluationSetup, evaluatePolicy } from '../../../src/rollout/evaluation.js';
import { type BufferEntry, createReplayBuffer, vectorKey } from '../../../src/rollout/replay-buffer.js';
import { emptyRun } from '../../../src/runs/reader.js';
import { largest, mean } from '../../../src/statistics/descriptive.js';
import type { SampledReply } from '../../engine/sampler.js';
import { searchWithBaseline } from '../learning/baseline-search.js';
import type { Candidate, CandidateGroup } from './reward.js';

export interface RunState {
  /** Number of completed iterations. */
  readonly iteration: number;
  readonly entries: readonly BufferEntry[];
}

export interface RunInFlight {
  readonly parameters: ParameterSpec;
  readonly state: RunState;
  prompt(): readonly ChatMessage[];
  readonly grammar: AnswerGrammar;
  /** Evaluates the replies to the current prompt; reuses earlier evaluations of the same parameters. */
  evaluateReplies(
    replies: readonly Pick<SampledReply, 'text' | 'isComplete'>[],
    constrained: boolean,
  ): Promise<CandidateGroup>;
  /** Evaluates parameters that don't come from a reply. */
  evaluate(
    parameters: ParameterVector,
  ): Promise<{ readonly score: number; readonly returns: readonly number[] }>;
  /** Ends the iteration: stores the first new evaluation, as in a run with one candidate per iteration. */
  advance(group: CandidateGroup): Promise<void>;
  close(): Promise<void>;
}

/** Placeholder for a run's model: the sampler supplies the replies. */
const placeholderModel: LanguageModel = {
  id: 'learning',
  generate: () => Promise.reject(new Error("this placeholder can't generate replies; the sampler does")),
};

/** @throws UserError for an unknown environment, or policies or prompts that don't suit it */
export async function openRun(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  savedState?: RunState,
): Promise<RunInFlight> {
  const assembly = await assemble(config, env, undefined, { model: placeholderModel });
  const { environment, family } = assembly;
  const { evaluation, seed } = config;
  const setup: EvaluationSetup = {
    environment,
    family,
    maxSteps: evaluation.maxSteps,
    record: 'none',
    workers: assembly.workers,
  };
  const seeds = evaluationSeeds(seed, evaluation.episodes);
  const buffer = createReplayBuffer(savedState?.entries);
  const prompter = new Prompter({ ...assembly, buffer, recorded: emptyRun });
  let lastIteration = savedState?.iteration ?? 0;
  const entriesByKey = new Map(buffer.entries.map((entry) => [vectorKey(entry.parameters), entry]));
  const evaluateOnce = async (parameters: ParameterVector, iteration: number, candidate: number) => {
    const source = iteration === 0 ? 'warm-up' : 'proposal';
    const origin = { iteration, group: iteration, candidate, source } as const;
    const earlierEntry = entriesByKey.get(vectorKey(parameters));
    if (earlierEntry !== undefined) return { ...earlierEntry, ...origin };
    const { entry } = await evaluatePolicy(setup, parameters, seeds, origin);
    entriesByKey.set(vectorKey(parameters), entry);
    return entry;
  };
  if (savedState === undefined)
    for (const [i, parameters] of randomPolicies(config, family, []).entries())
      buffer.append([await evaluateOnce(parameters, 0, i)]);
  const encoding = encodingFor(family, config.prompts.set);
  return {
    parameters: family.parameters,
    get state() {
      return { iteration: lastIteration, entries: [...buffer.entries] };
    },
    prompt: () => prompter.messages(lastIteration + 1),
    grammar: answerGrammar(encoding.spec),
    async evaluateReplies(replies, constrained) {
      const candidates: Candidate[] = [];
      for (const { text, isComplete } of replies) {
        const finishReason = isComplete ? 'stop' : 'length';
        const context = { finishReason, ...(constrained && { constrained }) } as const;
        const parsed = encoding.read(text, context);
        if (!parsed.ok) candidates.push({ kind: 'unreadable', text, failure: parsed.failure.kind });
        else {
          const { parameters, returns, score } = await evaluateOnce(
            parsed.value,
            lastIteration + 1,
            candidates.length,
          );
          const isRepeat = buffer.find(parameters) !== undefined;
          candidates.push({ kind: 'evaluated', text, parameters, isRepeat, returns, score });
        }
      }
      return { history: [...buffer.entries], candidates, environment: environment.id };
    },
    evaluate: (parameters) => evaluateOnce(parameters, lastIteration + 1, 0),
    async advance({ candidates }) {
      lastIteration++;
      for (const [i, one] of candidates.entries())
        if (one.kind === 'evaluated' && buffer.find(one.parameters) === undefined)
          return buffer.append([await evaluateOnce(one.parameters, lastIteration, i)]);
    },
    close: () => closeEnvironment(assembly),
  };
}

interface PlayedBaseline {
  readonly label: string;
  readonly bestReturns: readonly number[];
  /** Mean number of episodes per run. */
  readonly episodes: number;
}

/** Runs a baseline search in each run, with the run's number of iterations, warm-up and episodes. */
export async function playBaseline(
  name: BaselineName,
  configs: readonly Config[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<PlayedBaseline> {
  const results: { readonly label: string; readonly best: number; readonly episodes: number }[] = [];
  for (const config of configs) {
    const run = await openRun(config, env);
    const { label, history } = await searchWithBaseline(name, {
      parameters: run.parameters,
      warmup: run.state.entries,
      count: config.iterations,
      randomOf: (iteration) => createGenerator(callSeed(config.seed, iteration, 0, 0)),
      evaluate: async (parameters) => (await run.evaluate(parameters)).score,
    });
    const best = largest(history.map(({ score }) => score));
    results.push({ label, best, episodes: history.length * config.evaluation.episodes });
    await run.close();
  }
  return {
    label: results[0]!.label,
    bestReturns: results.map(({ best }) => best),
    episodes: mean(results.map(({ episodes }) => episodes)),
  };
}
