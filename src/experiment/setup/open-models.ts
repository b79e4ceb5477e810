/** Opens a config's proposer. */
import { join } from 'node:path';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import {
  isBaseline,
  languageModelOf,
  type ModelConfig,
  membersOf,
  type SingleModelConfig,
} from '../../config/model.js';
import { dependsOnContext, type ResolutionInputs } from '../../config/resolve.js';
import { stageModelsOf } from '../../config/stages.js';
import { waitOnClock } from '../../models/hosted/retry.js';
import { type LanguageModel, type ModelContext, ModelError } from '../../models/language-model.js';
import { localContextTokens } from '../../models/local/process/local-model.js';
import type { Cassette } from '../../models/replayed.js';
import type { ReplayedConfig } from '../../models/settings.js';
import { baselineProposer } from '../../proposers/baseline-proposer.js';
import { portfolioProposer } from '../../proposers/combined/portfolio.js';
import { relayProposer } from '../../proposers/combined/relay.js';
import { createModel, openLanguageModel, withMemberField } from '../../proposers/create-model.js';
import { languageModelProposer } from '../../proposers/language-model.js';
import type { Proposer } from '../../proposers/proposer.js';
import { callId } from '../../runs/calls.js';
import { runsBelow } from '../../runs/finder.js';
import { requireConfig } from '../../runs/open-run.js';
import { openLogs, readManifest, runFiles } from '../../runs/reader.js';

/** A run's proposer, and the configs that determine how its usage is counted. */
export interface OpenedModel {
  readonly proposer: Proposer;
  /** Config used to count usage: the run's own model or, in a replay, the model of the recorded run. */
  readonly countedModel: ModelConfig;
  /** The stages' own models, by stage; in a replay, those of the recorded run. */
  readonly countedStages: Readonly<Record<string, ModelConfig>>;
  /** Facts on which the config's defaults depend. */
  readonly facts: Omit<ResolutionInputs, 'environment'>;
}

/** @param ownModel replaces the config's model, or the language model of a portfolio or relay */
export async function openModel(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  ownModel: LanguageModel | undefined,
  querySignal?: AbortSignal,
): Promise<OpenedModel> {
  const recording = config.model.provider === 'replayed' ? openRecording(config.model, config) : undefined;
  const countedModel = recording?.model ?? config.model;
  const replayed = recording && createModel(config.model, env, waitOnClock, recording.cassette);
  const open = async (model: SingleModelConfig): Promise<Proposer> => {
    if (isBaseline(model) && (ownModel === undefined || model !== config.model))
      return baselineProposer(model, countedModel.provider === 'portfolio' ? 1 : config.candidates);
    return languageModelProposer(ownModel ?? replayed ?? (await openLanguageModel(model, env)));
  };
  const members: Parameters<typeof combine>[1][number][] = [];
  for (const { config: member, end, field, name, weight } of membersOf(countedModel))
    members.push({ name, weight, end, proposer: await withMemberField(field, () => open(member)) });
  const opened = combine(countedModel, members);
  const proposer = replayed === undefined ? opened : { ...opened, id: replayed.id, model: replayed };
  // Query the context only after opening the model, which reports problems with its files.
  const isAsked = recording === undefined && dependsOnContext(config);
  const modelConfig = languageModelOf(config.model);
  const contextTokens = !isAsked
    ? undefined
    : modelConfig?.provider === 'local'
      ? localContextTokens(modelConfig)
      : (await contextOf(config.model, proposer.model, querySignal !== undefined, querySignal))?.tokens;
  return {
    proposer,
    countedModel,
    countedStages: recording?.stages ?? stageModelsOf(config),
    facts: { contextTokens, recorded: recording?.recorded },
  };
}

const combine = (
  { provider }: ModelConfig,
  members: readonly (Parameters<typeof portfolioProposer>[0][number] &
    Parameters<typeof relayProposer>[0][number])[],
): Proposer =>
  provider === 'relay'
    ? relayProposer(members)
    : provider === 'portfolio'
      ? portfolioProposer(members)
      : members[0]!.proposer;

/**
 * The context length of a section's language model. Queries its server if `mayQuery` is true. If the query
 * fails, returns only what the config states: the first real request will report the error.
 */
export async function contextOf(
  section: ModelConfig,
  model: LanguageModel | undefined,
  mayQuery: boolean,
  signal?: AbortSignal,
): Promise<ModelContext | undefined> {
  const config = languageModelOf(section);
  const tokens = config?.provider === 'ollama' ? config.contextTokens : undefined;
  const statedContext = tokens === undefined ? undefined : { tokens };
  if (!mayQuery && (config?.provider === 'ollama' || config?.provider === 'openai')) return statedContext;
  try {
    return await model?.context?.(signal);
  } catch (error) {
    if (error instanceof ModelError) return statedContext;
    throw error;
  }
}

export interface Recording {
  readonly cassette: Cassette;
  /** Config of the model that answered; its price and `maxTokens` apply to the recorded calls. */
  readonly model: ModelConfig;
  /** The recorded run's own stage models. */
  readonly stages: Readonly<Record<string, ModelConfig>>;
  /** Config of the recorded run. */
  readonly recorded: Config;
}

/**
 * Opens the recorded run. In a directory of runs, such as a setting of a sweep, opens the one with the config's seed.
 * @throws UserError naming `model.run` if there is no such run, or if several have the seed
 */
export function openRecording(model: ReplayedConfig, { seed }: Pick<Config, 'seed'>): Recording {
  try {
    const runs = runsOf(model.run);
    // With `onChange: warn`, a single recorded run can be replayed with any seed.
    const isAnySeed = model.onChange === 'warn' && runs.length === 1;
    const [match, another] = isAnySeed ? runs : runs.filter((run) => run.seed === seed);
    if (match === undefined) throw otherSeedError(runs, seed);
    if (another !== undefined)
      throw new UserError({
        message: `several runs in this directory have the seed ${seed}`,
        alternatives: [match.path, another.path],
        hint: 'choose one of them, or the directory of a single setting',
      });
    const { path } = match;
    const recorded = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true }).config;
    const cassette = { path, model: readManifest(path).model, calls: callsIn(path) };
    if (recorded.model.provider === 'replayed')
      return { ...openRecording(recorded.model, recorded), cassette, recorded };
    return { cassette, model: recorded.model, stages: stageModelsOf(recorded), recorded };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const hint = 'choose a run directory; list your runs with policyloop list';
    throw new UserError({ hint, ...error.problems[0]!, field: 'model.run', value: model.run });
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

const otherSeedError = (runs: readonly SeededRun[], seed: number): UserError =>
  new UserError({
    message: `this config has the seed ${seed}, but no recorded run has it`,
    alternatives: runs.map((run) => String(run.seed)),
    hint: `set seed=${runs[0]!.seed}`,
  });
