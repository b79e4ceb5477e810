/** The library: `import … from 'policyloop'`. */
import process from 'node:process';
import { type RunConfig, type RunOptions, type RunOutcome, runFromCode } from './studies/library-run.js';

/**
 * Runs or resumes an experiment in a run directory, which commands such as `list`, `show` and `report` can read.
 * @param config data, the path of a YAML file, or the name of a bundled config; paths in data are relative to the
 *   working directory
 * @returns the result; `status` is `failed` if the model or the environment failed, or every proposal was rejected
 * @throws UserError listing the problems of the config or of the objects passed in, before anything is written
 */
export function run(config: RunConfig | string, options: RunOptions = {}): Promise<RunOutcome> {
  return runFromCode(config, options, {
    cwd: process.cwd(),
    env: process.env,
    note: () => undefined,
    now: () => new Date(),
    milliseconds: () => performance.now(),
  });
}

export { type Problem, UserError } from './base/errors.js';
export { createGenerator, type RandomGenerator } from './base/random/generator.js';
export type { Config, ConfigInput } from './config/config.js';
export { loadConfig, parseConfig, resolvedYaml } from './config/load.js';
export type { UserEnvironment } from './environments/catalogue/module-environment.js';
export {
  type EnvironmentSource,
  environmentIds,
  environmentInfo,
  makeEnvironment,
  openEnvironment,
} from './environments/catalogue/open.js';
export type {
  Action,
  BoxSpace,
  DiscreteSpace,
  Environment,
  EnvironmentSpec,
  Observation,
  Space,
  Step,
  TextInfo,
  TupleSpace,
} from './environments/environment.js';
export type { Frame, Point, Role, Shape } from './environments/frame.js';
export {
  EnvironmentError,
  type EnvironmentFailure,
  type EpisodeBatch,
  type Move,
  type RemoteEnvironment,
} from './environments/remote/remote-environment.js';
export { type Outcome, runExperiment } from './experiment/experiment.js';
export type { Experiment } from './experiment/parts.js';
export { type Assembly, assemble } from './experiment/setup/assemble.js';
export { experimentIn, newManifest } from './experiment/setup/open-experiment.js';
export type { AnswerGrammar, NumberKind } from './models/language-model.js';
export {
  type ChatMessage,
  type Completion,
  type GenerateOptions,
  type LanguageModel,
  ModelError,
  type Sampling,
  type SamplingChoice,
} from './models/language-model.js';
export type { LocalConfig } from './models/local/settings.js';
export type { UserModel } from './models/user-model.js';
export { createPolicyFamily } from './policies/families.js';
export type { UserPolicyFamily } from './policies/module-policy.js';
export type { ParameterSpec, ParameterVector, Policy, PolicyFamily } from './policies/policy.js';
export type { ParseFailure } from './prompting/answer/failure.js';
export { parseParameters } from './prompting/answer/parse.js';
export { formatParameters } from './prompting/notation/grammar.js';
export { type EpisodeRecord, rollout } from './rollout/episode.js';
export { type Evaluation, evaluate } from './rollout/evaluation.js';
export type { Animation } from './rollout/pictures/animation.js';
export { svgAnimation } from './rollout/pictures/svg-animation.js';
export { replay } from './rollout/replay.js';
export { type BufferEntry, createReplayBuffer, type ReplayBuffer } from './rollout/replay-buffer.js';
export type { Transition } from './rollout/task.js';
export type { CallRecord } from './runs/calls.js';
export { createRunDirectory } from './runs/create.js';
export type { Confirmation, RunEvent } from './runs/events.js';
export type { Manifest } from './runs/manifest.js';
export { readRun } from './runs/reader.js';
export type { StopRequests } from './runs/stop-request.js';
export { type RunDirectory, resumeRunDirectory } from './runs/writer.js';
export type { RunConfig, RunOptions, RunOutcome };
