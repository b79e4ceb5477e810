import { relative } from 'node:path';
import type { z } from 'zod';
import { changingProblems, type Problem, UserError } from '../base/errors.js';
import { createGenerator, type RandomGenerator } from '../base/random/generator.js';
import { type ModelConfig, membersOf, type PortfolioConfig } from '../config/model.js';
import { placedIn } from '../config/model-checks.js';
import { createOllama } from '../models/hosted/ollama.js';
import { createOpenAI } from '../models/hosted/openai.js';
import { type Wait, waitOnClock } from '../models/hosted/retry.js';
import { type LanguageModel, ModelError } from '../models/language-model.js';
import { createLocalModel } from '../models/local/process/local-model.js';
import { type LocalConfig, localSchema, modelDirectory } from '../models/local/settings.js';
import { type Cassette, createReplayed } from '../models/replayed.js';
import { customModelSchema, ollamaSchema, openaiSchema, replayedSchema } from '../models/settings.js';
import type { ParameterVector } from '../policies/policy.js';
import { type Encoding, encodingOf, programEncoding } from '../prompting/notation/encoding.js';
import type { Baseline, Task } from '../search/baseline.js';
import { findBaseline } from '../search/baselines.js';

/** Proposes parameters: a language model, a baseline, or a portfolio of these. */
export type Proposer = SingleProposer | Portfolio;

export type SingleProposer = LanguageModel | BaselineProposer;

/** Several proposers that share one replay buffer; each candidate comes from one drawn by weight. */
export interface Portfolio extends Absent<LanguageModel> {
  readonly id: string;
  readonly members: readonly {
    readonly name: string;
    readonly weight: number;
    readonly proposer: SingleProposer;
  }[];
}

/** The language model of a proposer; undefined if it has only baselines. */
export function languageModelIn(proposer: Proposer): LanguageModel | undefined {
  const singles = 'members' in proposer ? proposer.members.map((member) => member.proposer) : [proposer];
  return singles.find((one) => one.generate !== undefined);
}

interface BaselineProposer extends Baseline, Absent<LanguageModel> {
  readonly id: string;
}

type Absent<T> = { readonly [K in Exclude<keyof T, 'id'>]?: undefined };

/**
 * Wraps a proposer as a language model for one task. A baseline writes its proposals in the answer format and draws
 * random numbers only from the call's seed.
 */
export function answering(proposer: SingleProposer, task: Task): LanguageModel {
  if (proposer.generate !== undefined) return proposer;
  const { proposeGroup } = proposer;
  const { parameters, programs } = task;
  return writing(
    proposer.id,
    programs === undefined
      ? encodingOf(parameters, 'numeric')
      : programEncoding(parameters, programs.library),
    {
      givesSeveral: proposeGroup !== undefined,
      propose: async (randoms) =>
        proposeGroup === undefined
          ? [await proposer.propose(task, randoms[0]!)]
          : proposeGroup(task, randoms),
    },
  );
}

/** Wraps a search as a language model that writes its proposals in the answer format. */
export function writing(
  id: string,
  { text }: Encoding,
  {
    givesSeveral,
    propose,
  }: {
    readonly givesSeveral: boolean;
    readonly propose: (randoms: readonly RandomGenerator[]) => Promise<readonly ParameterVector[]>;
  },
): LanguageModel {
  return {
    id,
    givesSeveral,
    async generate(_messages, { seeds, signal }) {
      const started = performance.now();
      if (signal?.aborted) {
        throw new ModelError('aborted', `${id}: the call was aborted`, { retries: 0, latencyMs: 0 });
      }
      const group = await propose(seeds.map((seed) => createGenerator(seed)));
      const latencyMs = performance.now() - started;
      return group.map((parameters) => ({
        text: text(parameters),
        finishReason: 'stop',
        usage: {},
        latencyMs,
        retries: 0,
      }));
    },
  };
}

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly wait: Wait;
  readonly cassette: Cassette | undefined;
}

/** Providers of language models. User modules load asynchronously, so `moduleModel` opens them. */
const providers = [
  provider(openaiSchema, (config, { environment, wait }) => createOpenAI(config, environment, wait)),
  provider(ollamaSchema, (config, { environment, wait }) => createOllama(config, environment, wait)),
  provider(localSchema, (config) => createLocal(config)),
  provider(replayedSchema, (config, { cassette }) => {
    if (cassette === undefined) throw new Error('the recorded run must be read before its model is created');
    return createReplayed(config, cassette);
  }),
  provider(customModelSchema, ({ id }) => {
    throw notAtHand(id);
  }),
];

/** Creates an entry of `providers`, named after its schema's `provider` literal. */
function provider<Schema extends z.ZodObject<{ provider: z.ZodLiteral<string> }>>(
  schema: Schema,
  create: (config: z.output<Schema>, surroundings: Surroundings) => LanguageModel,
) {
  return {
    name: schema.shape.provider.value,
    schema,
    create: (config: unknown, surroundings: Surroundings) => create(schema.parse(config), surroundings),
  };
}

/**
 * Creates the language model that a config names.
 * @param environment environment variables, for keys and server addresses
 * @param wait how hosted models wait before they retry a failed call
 * @param cassette recorded answers for a replay
 * @throws UserError if the model can't be opened: no API key, an invalid address, an unusable directory, …
 */
export function createModel(
  config: ModelConfig,
  environment: Surroundings['environment'],
  wait: Wait = waitOnClock,
  cassette?: Cassette,
): LanguageModel {
  const record = providers.find(({ name }) => name === config.provider);
  if (record === undefined) throw new Error(`${config.provider} isn't a language model`);
  return record.create(config, { environment, wait, cassette });
}

export function createProposer(...given: Parameters<typeof createModel>): SingleProposer {
  const [config] = given;
  const control = findBaseline(config.provider);
  if (control === undefined) return createModel(...given);
  return { id: `baseline/${control.name}`, ...control.create(config) };
}

/** Reports a model's problems under the field of the model's section, such as `critic.model`. */
export const inMember = <T>(field: string, open: () => T | Promise<T>): Promise<T> =>
  changingProblems(open, (problem) => placedIn(problem, field));

/**
 * Combines existing proposers into a portfolio.
 * @param proposers one for each member of the config
 */
export function createPortfolio(config: PortfolioConfig, proposers: readonly SingleProposer[]): Portfolio {
  const members = membersOf(config).map(({ name, weight }, i) => ({ name, weight, proposer: proposers[i]! }));
  const ids = proposers.map(({ id }) => id.replace(/^baseline\//, ''));
  return { id: `portfolio(${ids.join('+')})`, members };
}

/** Error for a run whose model was an object passed in by the calling program. */
function notAtHand(id: string): UserError {
  return new UserError({
    field: 'model',
    message:
      "this model was an object passed in by the program that started the run, so it isn't available here",
    value: id,
    hint: 'call run(config, {model, directory}) in that program, or put the model in a module (model: {provider: ./my-model.js})',
  });
}

/** Creates a local model; reports problems with its files under `model.path`. */
function createLocal(config: LocalConfig): LanguageModel {
  const path = modelDirectory(config.path);
  try {
    return createLocalModel(config);
  } catch (error) {
    throw error instanceof UserError
      ? new UserError(error.problems.map((problem) => atPath(problem, path)))
      : error;
  }
}

function atPath({ file, field, value, message, ...rest }: Problem, directory: string): Problem {
  if (file === undefined)
    return { ...rest, field: field ?? 'model.path', value: value ?? directory, message };
  const inside = relative(directory, file);
  const place = [inside.startsWith('..') ? file : inside, field].filter((part) => part !== undefined);
  const given = value === undefined ? '' : ` (${JSON.stringify(value)})`;
  return {
    ...rest,
    field: 'model.path',
    value: directory,
    message: `${place.join(', ')}${given}: ${message}`,
  };
}
