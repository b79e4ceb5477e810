/** Sets up an agent run: creates its environments, agent, model and initial manifest from its config. */
import { join } from 'node:path';
import { UserError } from '../base/errors.js';
import { hashModules, type ModuleHashes } from '../base/modules/sources.js';
import { isModulePath } from '../base/modules/user-module.js';
import { evaluationSeeds } from '../base/random/seeds.js';
import { isBuiltInId, isRemoteId, makeEnvironment, openEnvironment } from '../environments/catalogue/open.js';
import type { Environment } from '../environments/environment.js';
import { isRemote } from '../environments/remote/remote-environment.js';
import { callsIn } from '../experiment/setup/open-models.js';
import { waitOnClock } from '../models/hosted/retry.js';
import type { LanguageModel } from '../models/language-model.js';
import { newUserModel } from '../models/user-model.js';
import { Ledger, usageConfig } from '../proposers/budget.js';
import { createModel } from '../proposers/create-model.js';
import { fingerprint, fixedSettings } from '../runs/fingerprint.js';
import { type Manifest, manifestHead } from '../runs/manifest.js';
import { readManifest, runFiles } from '../runs/reader.js';
import type { Agent } from './agent.js';
import { loadPlayConfig, type PlayConfig, type PlayModelConfig } from './play-config.js';
import { type Arena, localArena, remoteArena } from './player.js';
import { requirePlayer } from './players.js';
import { openAgent, type PromptedAgent } from './prompted-agent.js';
import { replyFormatOf } from './reading.js';
import { requireListedActions } from './settings.js';

/** The parts of an agent run, created from its config and checked. */
export interface PlaySetup {
  readonly config: PlayConfig;
  readonly arena: Arena;
  readonly agent: PromptedAgent;
  readonly model: LanguageModel | undefined;
  readonly ledger: Ledger;
  readonly startSeeds: readonly number[];
  readonly fingerprint: string;
  readonly prompts: { readonly hash: string };
  readonly modules?: ModuleHashes;
}

/**
 * @param env environment variables, for keys, server addresses and the Python interpreter
 * @param replacementModel replaces the config's model
 * @throws UserError if a part can't be created, or parts don't fit together; EnvironmentError if the environment fails
 */
export async function setUpPlay(
  config: PlayConfig,
  env: Readonly<Record<string, string | undefined>>,
  replacementModel?: LanguageModel,
): Promise<PlaySetup> {
  const { environment, episodes, maxSteps, player, policy, seed } = config;
  const { options } = environment;
  const countedModel = player === 'model' ? usageModel(config) : undefined;
  const parallel = Math.min(config.parallel, episodes);
  const arena = await openArena(environment, parallel, env);
  try {
    const startSeeds = evaluationSeeds(seed, episodes);
    await arena.batch.reset(startSeeds.slice(0, 1));
    await requirePlayer(player, arena);
    const agent = openAgent({
      environment: arena,
      options,
      maxSteps,
      prompts: policy.prompts,
      replyFormat: replyFormatOf(policy.act),
      field: 'policy.prompts',
    });
    const model = player === 'model' ? (replacementModel ?? (await openModel(config, env))) : undefined;
    if (model !== undefined) requireSupport(config, arena, agent, model);
    const modules = modulesOf(config);
    const hashes = modules.length === 0 ? undefined : hashModules(modules);
    return {
      config,
      arena,
      agent,
      model,
      startSeeds,
      ledger: new Ledger({
        limits: config.limits,
        ...(countedModel === undefined
          ? { price: undefined, maxTokens: undefined, usesTokens: false }
          : usageConfig(countedModel)),
      }),
      fingerprint: fingerprint(config, agent.hash, hashes),
      prompts: { hash: agent.hash },
      ...(hashes && { modules: hashes }),
    };
  } catch (error) {
    await arena.close();
    throw error;
  }
}

async function openArena(
  source: PlayConfig['environment'],
  parallel: number,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Arena> {
  if (isRemoteId(source.id)) {
    const remote = await openEnvironment({ ...source, parallel }, env);
    if (isRemote(remote)) return remoteArena(remote);
  }
  const environments: Environment[] = [];
  for (let i = 0; i < parallel; i++) environments.push(await makeEnvironment(source.id, source.options));
  return localArena(environments);
}

/** Returns the model whose usage counts; in a replay, the model of the recorded agent run. */
function usageModel({ model }: PlayConfig): PlayModelConfig {
  return model!.provider === 'replayed' ? usageModel(readRecordedConfig(model!.run)) : model!;
}

/** Reads the config of a recorded agent run. @throws UserError if the directory contains no agent run by a model */
function readRecordedConfig(run: string): PlayConfig {
  try {
    const { play } = readManifest(run);
    const { config } = loadPlayConfig(join(run, runFiles.config), [], '', true);
    if (play?.player === 'model' && config.model !== undefined) return config;
    throw new UserError({ message: 'no model played in this run, so it contains no replies' });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, hint = 'choose the directory of an agent run that a model played' } = error.problems[0]!;
    throw new UserError({ field: 'model.run', value: run, message, hint });
  }
}

async function openModel(
  { model: modelConfig, parallel }: PlayConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<LanguageModel> {
  const model = withBatch(modelConfig!, parallel);
  if (model.provider === 'module') return newUserModel(model);
  if (model.provider !== 'replayed') return createModel(model, env, waitOnClock);
  readRecordedConfig(model.run);
  const cassette = { path: model.run, model: readManifest(model.run).model, calls: callsIn(model.run) };
  // Recorded replies may have been restricted to given texts.
  return { ...createModel(model, env, waitOnClock, cassette), choosesTexts: true };
}

/** Sets the default batch of a local model: the config's `parallel`, but at most `maxInBatch`. */
const withBatch = (model: PlayModelConfig, parallel: number): PlayModelConfig =>
  model.provider === 'local' ? { ...model, batch: model.batch ?? Math.min(parallel, maxInBatch) } : model;

const maxInBatch = 64;

export function callConcurrency({ model, parallel }: PlayConfig): number {
  if (model === undefined) return 1;
  return 'concurrency' in model ? model.concurrency : parallel;
}

/** @throws UserError if the model or environment doesn't support `policy.act` or `policy.fallback` */
function requireSupport(
  { policy, environment: { id } }: PlayConfig,
  { batch }: Arena,
  agent: Agent,
  model: LanguageModel,
): void {
  if (policy.act === 'constrained' && !model.choosesTexts)
    throw new UserError({
      field: 'policy.act',
      value: policy.act,
      alternatives: ['text', 'json'],
      message: `${model.id} can't restrict replies to given texts`,
      hint: 'choose another value, or a model with provider: local',
    });
  requireListedActions(policy, (agent.choices(batch.info?.(0))?.length ?? 0) > 0, 'policy', id);
}

const modulesOf = ({ environment, model }: PlayConfig): readonly string[] => [
  ...(isModulePath(environment.id) ? [environment.id] : []),
  ...(model?.provider === 'module' ? [model.path] : []),
];

/** Creates the manifest of an agent run that is about to start. */
export function playManifest(setup: PlaySetup, run: string, now: Date): Manifest {
  const { config, ledger, model, modules, prompts } = setup;
  const { observationSpace, actionSpace, maxSteps } = setup.arena;
  return {
    ...manifestHead(run, now),
    environment: config.environment.id,
    ...(!isBuiltInId(config.environment.id) && {
      spec: { observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    }),
    model: model?.id ?? `player/${config.player}`,
    fingerprint: setup.fingerprint,
    settings: fixedSettings(config),
    prompts: prompts.hash,
    ...(modules && { modules }),
    seed: config.seed,
    iterations: { done: 0, of: config.episodes },
    confirmations: [],
    usage: ledger.totals,
    play: { player: config.player },
  };
}
