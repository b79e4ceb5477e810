/** Opens a config's proposer. */
import { join } from 'node:path';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import { languageModelOf, type ModelConfig, membersOf, type SingleModelConfig } from '../../config/model.js';
import { dependsOnContext, type Facts } from '../../config/resolve.js';
import { waitOnClock } from '../../models/hosted/retry.js';
import { type LanguageModel, type ModelContext, ModelError } from '../../models/language-model.js';
import { localContext } from '../../models/local/process/local-model.js';
import type { Cassette } from '../../models/replayed.js';
import type { ReplayedConfig } from '../../models/settings.js';
import { moduleModel } from '../../models/user-model.js';
import { callId } from '../../runs/calls.js';
import { runsBelow } from '../../runs/finder.js';
import { requireConfig } from '../../runs/open-run.js';
import { openLogs, readManifest, runFiles } from '../../runs/reader.js';
import {
  createPortfolio,
  createProposer,
  inMember,
  languageModelIn,
  type Proposer,
  type SingleProposer,
} from '../proposer.js';

/** A run's proposer, and the configs that determine how its usage is counted. */
export interface OpenedModel {
  readonly model: Proposer;
  /** Config used to count usage: the run's own model or, in a replay, the model of the recorded run. */
  readonly counted: ModelConfig;
  /** The critic section of the same config. */
  readonly countedBeside: Pick<Config, 'critic'>;
  /** Facts on which the config's defaults depend. */
  readonly facts: Omit<Facts, 'environment'>;
}

export async function openModel(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  own: LanguageModel | undefined,
  ask?: AbortSignal,
): Promise<OpenedModel> {
  const recording = config.model.provider === 'replayed' ? openRecording(config.model, config) : undefined;
  const countedBeside = recording?.beside ?? { critic: config.critic };
  const counted = recording?.model ?? config.model;
  // Query the context only after opening the model, which reports problems with its files.
  const opened = async (model: Proposer): Promise<OpenedModel> => {
    const isAsked = recording === undefined && dependsOnContext(config);
    const reader = languageModelOf(config.model);
    const context = !isAsked
      ? undefined
      : reader?.provider === 'local'
        ? localContext(reader)
        : (await contextOf(config.model, model, ask !== undefined, ask))?.tokens;
    return { model, counted, countedBeside, facts: { context, recorded: recording?.recorded } };
  };
  const open = async (model: SingleModelConfig): Promise<SingleProposer> => {
    if (own !== undefined && (model === config.model || languageModelOf(model) !== undefined)) return own;
    if (model.provider === 'module') return moduleModel(model);
    const cassette = recording?.cassette;
    return createProposer(model, env, waitOnClock, cassette);
  };
  if (config.model.provider === 'portfolio') {
    const proposers: SingleProposer[] = [];
    for (const member of membersOf(config.model)) {
      proposers.push(await inMember(member.field, () => open(member.config)));
    }
    return opened(createPortfolio(config.model, proposers));
  }
  const model = await open(config.model);
  // In the replay of a portfolio, the recording answers for every member.
  if (counted.provider !== 'portfolio') return opened(model);
  const replayed = createPortfolio(
    counted,
    membersOf(counted).map(() => model),
  );
  return opened({ ...replayed, id: model.id });
}

/**
 * The context length of a section's language model. Queries its server unless `ask` is false. If the query
 * fails, returns only what the config states: the first real request will report the error.
 */
export async function contextOf(
  section: ModelConfig,
  model: Proposer | undefined,
  ask: boolean,
  signal?: AbortSignal,
): Promise<ModelContext | undefined> {
  const config = languageModelOf(section);
  const tokens = config?.provider === 'ollama' ? config.contextTokens : undefined;
  const stated = tokens === undefined ? undefined : { tokens };
  if (!ask && (config?.provider === 'ollama' || config?.provider === 'openai')) return stated;
  try {
    return await (model && languageModelIn(model))?.context?.(signal);
  } catch (error) {
    if (error instanceof ModelError) return stated;
    throw error;
  }
}

export interface Recording {
  readonly cassette: Cassette;
  /** Config of the model that answered; its price and `maxTokens` apply to the recorded calls. */
  readonly model: ModelConfig;
  /** The recorded critic section, which may name another model. */
  readonly beside: Pick<Config, 'critic'>;
  /** Config of the recorded run. */
  readonly recorded: Config;
}

/**
 * Opens the recorded run. In a directory of runs, such as a setting of a sweep, it is the one with the config's seed.
 * @throws UserError naming `model.run` if there is no such run
 */
export function openRecording(model: ReplayedConfig, { seed }: Pick<Config, 'seed'>): Recording {
  try {
    const runs = runsOf(model.run);
    // With `onChange: warn`, a single recorded run can be replayed under any seed.
    const isAnySeed = model.onChange === 'warn' && runs.length === 1;
    const [own, another] = isAnySeed ? runs : runs.filter((run) => run.seed === seed);
    if (own === undefined) throw otherSeed(runs, seed);
    if (another !== undefined)
      throw new UserError({
        message: `several runs in this directory have the seed ${seed}`,
        alternatives: [own.path, another.path],
        hint: 'choose one of them, or the directory of a single setting',
      });
    const { path } = own;
    const recorded = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true }).config;
    const cassette = { path, model: readManifest(path).model, calls: callsIn(path) };
    if (recorded.model.provider === 'replayed')
      return { ...openRecording(recorded.model, recorded), cassette, recorded };
    return { cassette, model: recorded.model, beside: { critic: recorded.critic }, recorded };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, hint, alternatives } = error.problems[0]!;
    throw new UserError({
      field: 'model.run',
      value: model.run,
      message,
      ...(alternatives && { alternatives }),
      hint: hint ?? 'choose a run directory; list your runs with policyloop list',
    });
  }
}

/** The calls of a run, read from disk each time they are iterated over. */
export function callsIn(path: string): Cassette['calls'] {
  const { calls } = openLogs(path);
  return {
    *[Symbol.iterator]() {
      for (const call of calls) yield { ...call, id: callId(call) };
    },
  };
}

interface SeededRun {
  readonly path: string;
  readonly seed: number;
}

/** The run itself or, for a directory of runs, the runs in it. */
function runsOf(path: string): readonly SeededRun[] {
  const runs = runsBelow(path).map((run) => ({ path: run, seed: readManifest(run).seed }));
  return runs.length > 0 ? runs : [{ path, seed: readManifest(path).seed }];
}

const otherSeed = (runs: readonly SeededRun[], seed: number): UserError =>
  new UserError({
    message: `this config has the seed ${seed}, but no recorded run has it`,
    alternatives: runs.map((run) => String(run.seed)),
    hint: `set seed=${runs[0]!.seed}`,
  });
