/** Composition root: creates everything that a config names. */
import { join } from 'node:path';
import { append } from '../../base/append.js';
import { type Problem, UserError } from '../../base/errors.js';
import { hashModules, type ModuleHashes } from '../../base/modules/sources.js';
import { type Config, type ConfigWithPolicy, modulesOf } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import { isBaseline, membersOf } from '../../config/model.js';
import { requirePrices } from '../../config/model-checks.js';
import { type ResolvedConfig, resolveDefaults, resolveModels } from '../../config/resolve.js';
import { stagesOf } from '../../config/stages.js';
import { customPrefix, isRemoteId } from '../../environments/catalogue/open.js';
import type { Environment, EnvironmentSpec } from '../../environments/environment.js';
import type { RemoteEnvironment } from '../../environments/remote/remote-environment.js';
import type { LanguageModel } from '../../models/language-model.js';
import { openPolicyFamily } from '../../policies/families.js';
import type { ParameterVector, PolicyFamily } from '../../policies/policy.js';
import { spacesOf } from '../../policies/program/tree.js';
import type { PolicyConfig } from '../../policies/settings.js';
import { loadPromptSet, type PromptSet } from '../../prompting/templates/prompt-set.js';
import { loadHelpers } from '../../prompting/templates/rendering.js';
import type { SharedBudget } from '../../proposers/budget.js';
import { createWorkers, type EvaluationWorkers } from '../../rollout/evaluation-workers.js';
import { vectorKey } from '../../rollout/replay-buffer.js';
import { openTask, withRewardModule } from '../../rollout/task.js';
import { fingerprint } from '../../runs/fingerprint.js';
import type { Manifest } from '../../runs/manifest.js';
import { openLogs, readManifest, runFiles } from '../../runs/reader.js';
import type { PreparedStage } from '../prepared-stage.js';
import { preparers } from '../stages/stages.js';
import { type OpenedModel, openModel } from './open-models.js';

/** Everything that a config names, created and validated. Nothing has been written yet. */
export interface Assembly extends Omit<OpenedModel, 'facts'> {
  /** The config, including the defaults that depend on the environment and the model. */
  readonly config: ResolvedConfig;
  readonly environment: Environment | RemoteEnvironment;
  /** Threads that play episodes; undefined if they aren't needed or can't be used. */
  readonly workers: EvaluationWorkers | undefined;
  readonly family: PolicyFamily;
  /** Policies of an earlier run (`warmup.from`). */
  readonly imported: readonly ParameterVector[];
  readonly stages: readonly PreparedStage[];
  readonly prompts: PromptSet;
  /** SHA-256 of the settings, prompts and modules that must not change within a run. */
  readonly fingerprint: string;
  readonly modules?: ModuleHashes;
  readonly sharedBudget?: SharedBudget;
}

/** Objects passed in by the calling program, which replace what the config names. */
export interface UserParts {
  readonly model?: LanguageModel | undefined;
  /** Models of stages, by stage. */
  readonly stages?: Readonly<Record<string, LanguageModel>> | undefined;
  readonly environment?: Environment | undefined;
  /**
   * Aborts the query for the server's context length, which determines the size of the history. If omitted, the server
   * isn't queried.
   */
  readonly ask?: AbortSignal | undefined;
}

/**
 * @param env environment variables, for keys and server addresses
 * @param taken policies that a resumed run recorded at its start; a new run reads them from `warmup.from`
 * @throws UserError that lists the problems: an unknown environment, an impossible policy, a missing key, a broken
 * template, …
 */
export async function assemble(
  input: Config,
  env: Readonly<Record<string, string | undefined>>,
  taken?: readonly ParameterVector[],
  own: UserParts = {},
): Promise<Assembly> {
  const problems: Problem[] = [];
  /** Runs one step and collects its problems, so later steps can report theirs too. */
  const step = async <T>(make: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      append(problems, error.problems);
      return undefined;
    }
  };
  const resolved = taken === undefined ? ((await step(() => resolveModels(input, env))) ?? input) : input;
  await step(() => requirePrices(resolved));
  // A problem with the model was already reported above; don't report it twice.
  const model =
    problems.length > 0 ? undefined : await step(() => openModel(resolved, env, own.model, own.ask));
  const environment = await step(() => openEnvironmentOf(resolved, env, own));
  if (environment === undefined) throw new UserError(problems);
  const config = resolveDefaults(resolved, { environment, ...model?.facts });
  const family = await step(() => openPolicyFamily(config.policy, environment));
  await step(() => checkRandomPrograms(config, environment));
  const prompts = await step(() => loadPrompts(config, environment));
  const preparedStages = await Promise.all(preparers.map((prepare) => step(() => prepare(config, env, own))));
  const configuredStages = preparedStages.filter((stage) => stage !== undefined);
  const imported = family && (await step(() => taken ?? importedParameters(config, family, environment.id)));
  const isIncomplete =
    model === undefined || family === undefined || prompts === undefined || imported === undefined;
  if (isIncomplete || problems.length > 0) {
    await environment.close?.();
    throw new UserError(problems);
  }
  const hash = [prompts, ...configuredStages].map((part) => part.hash).join(' ');
  const paths = modulesOf(config);
  const modules = paths.length > 0 ? hashModules(paths) : undefined;
  const { facts: _facts, ...opened } = model;
  return {
    config,
    environment,
    workers: workersFor(config),
    family,
    prompts,
    ...opened,
    stages: configuredStages,
    fingerprint: fingerprint(config, hash, modules),
    ...(modules && { modules }),
    imported,
  };
}

async function loadPrompts(
  { environment: { options }, evaluation: { maxSteps }, policy, prompts }: ConfigWithPolicy,
  environment: EnvironmentSpec,
): Promise<PromptSet> {
  const { description, helpers, set } = prompts;
  const userHelpers = helpers === undefined ? undefined : await loadHelpers(helpers);
  const ownPolicy = policy.kind === 'module';
  return loadPromptSet({ set, description, environment, options, maxSteps, ownPolicy, userHelpers });
}

async function openEnvironmentOf(
  { environment, evaluation }: Config,
  env: Readonly<Record<string, string | undefined>>,
  own: UserParts,
): Promise<Environment | RemoteEnvironment> {
  const { workers } = evaluation;
  const { reward } = evaluation;
  if (own.environment !== undefined) return withRewardModule(own.environment, reward);
  return openTask(environment, reward, env, workers === 'auto' ? 1 : workers);
}

/**
 * Creates the evaluation threads. Undefined if the main thread plays, for remote environments, which run in their own
 * processes, and for environment objects, which can't be sent to a thread.
 */
export function workersFor(config: ConfigWithPolicy): EvaluationWorkers | undefined {
  const { environment, evaluation, policy } = config;
  if (isRemoteId(environment.id) || environment.id.startsWith(customPrefix)) return undefined;
  return createWorkers(
    { environment, policy, reward: evaluation.reward, maxSteps: evaluation.maxSteps },
    evaluation.workers,
  );
}

export async function closeEnvironment({
  environment,
  workers,
}: Pick<Assembly, 'environment' | 'workers'>): Promise<void> {
  await workers?.close();
  await environment.close?.();
}

function importedParameters(
  { policy, warmup: { from: path } }: ConfigWithPolicy,
  family: PolicyFamily,
  environment: string,
): readonly ParameterVector[] {
  if (path === undefined) return [];
  const importError = (message: string) =>
    new UserError({
      field: 'warmup.from',
      message,
      value: path,
      hint: 'choose the directory of a run with the same environment and policy',
    });
  let manifest: Manifest;
  try {
    manifest = readManifest(path);
  } catch (error) {
    throw error instanceof UserError ? importError(error.problems[0]!.message) : error;
  }
  if (manifest.environment !== environment) {
    throw importError(`that run's environment is ${manifest.environment}, but this one's is ${environment}`);
  }
  if (meaningKey(loadConfig({ file: join(path, runFiles.config) }).config.policy) !== meaningKey(policy)) {
    throw importError(
      "that run's parameters have a different meaning, because its policy differs in more than low, high and decimals",
    );
  }
  const { count, low, high } = family.parameters;
  const byKey = new Map(openLogs(path).entries.map(({ parameters }) => [vectorKey(parameters), parameters]));
  for (const parameters of byKey.values()) {
    if (parameters.length !== count) {
      throw importError(`that run's number of parameters is ${parameters.length}; this one's is ${count}`);
    }
    if (parameters.some((value) => value < low || value > high)) {
      throw importError(`a policy of that run has values outside the range ${low} to ${high}`);
    }
  }
  return [...byKey.values()];
}

/** If the warm-up or a baseline draws random programs, checks that their grammar supports the environment. */
function checkRandomPrograms(config: Config, environment: EnvironmentSpec): void {
  const { model, policy, warmup } = config;
  if (policy?.kind !== 'program') return;
  const modelConfigs = [
    ...membersOf(model).map((member) => member.config),
    ...stagesOf(config).flatMap((stage) => stage.model ?? []),
  ];
  if (warmup.policies > 0 || modelConfigs.some(isBaseline)) spacesOf(environment);
}

/** The language models that an assembly may call. */
export const languageModelsOf = ({ proposer, stages }: Assembly): readonly LanguageModel[] =>
  [proposer, ...stages.map((stage) => stage.model?.proposer)].flatMap((one) => one?.model ?? []);

/** A string that is equal for policies of the same kind whose parameters have the same meaning. */
function meaningKey(policy: PolicyConfig | undefined): string {
  if (policy === undefined || policy.kind === 'module' || policy.kind === 'program') return `${policy?.kind}`;
  const { low: _low, high: _high, decimals: _decimals, ...meaning } = policy;
  return JSON.stringify(meaning);
}
