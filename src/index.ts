/** What `import … from 'policyloop'` offers. */
export { type Assembly, assemble, experimentIn, newManifest } from './assemble.js';
export type { Config, ConfigInput } from './config.js';
export type {
  Action,
  BoxSpace,
  DiscreteSpace,
  Environment,
  EnvironmentSpec,
  Observation,
  Space,
  Step,
  TupleSpace,
} from './environments/environment.js';
export type { Frame, Point, Role, Shape } from './environments/frame.js';
export {
  type EnvironmentSource,
  environmentIds,
  environmentInfo,
  makeEnvironment,
  openEnvironment,
} from './environments/index.js';
export {
  EnvironmentError,
  type EnvironmentFailure,
  type EpisodeBatch,
  type Move,
  type RemoteEnvironment,
} from './environments/remote-environment.js';
export { type Problem, UserError } from './errors.js';
export { type Evaluation, evaluate } from './evaluation.js';
export { type Experiment, type Outcome, runExperiment, type StopRequests } from './experiment.js';
export { loadConfig, parseConfig, resolvedYaml } from './load-config.js';
export type { Manifest } from './manifest.js';
export {
  type ChatMessage,
  type Completion,
  type GenerateOptions,
  type LanguageModel,
  ModelError,
} from './models/language-model.js';
export type { LocalConfig } from './models/local/config.js';
export { type LocalModels, openLocalModels } from './models/local/index.js';
export { createPolicyFamily } from './policies/index.js';
export type { ParameterSpec, ParameterVector, Policy, PolicyFamily } from './policies/policy.js';
export { formatParameters, parseParameters } from './prompting/parameter-format.js';
export type { ParseFailure } from './prompting/parse-failure.js';
export { createGenerator, type RandomGenerator } from './random.js';
export { readRun } from './recorded-run.js';
export type { Animation } from './render/animation.js';
export { gifAnimation } from './render/gif-animation.js';
export { svgAnimation } from './render/svg-animation.js';
export { replay } from './replay.js';
export { type BufferEntry, createReplayBuffer, type ReplayBuffer } from './replay-buffer.js';
export { rollout } from './rollout.js';
export { createRunDirectory, type RunDirectory, resumeRunDirectory } from './run-directory.js';
export type { CallRecord, Confirmation, EpisodeRecord, RunEvent } from './run-log.js';
