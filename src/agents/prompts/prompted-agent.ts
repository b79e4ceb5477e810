/** An agent whose texts come from a prompt set: a folder with three templates. */
import { join } from 'node:path';
import { nearest, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { environmentFacts, type Facts, short } from '../../environments/catalogue/facts.js';
import type { EnvironmentSpec, Observation, Space, TextInfo } from '../../environments/environment.js';
import { descriptionContext } from '../../prompting/context/task-context.js';
import { environmentDescription } from '../../prompting/templates/description.js';
import {
  compile,
  createHandlebars,
  hashOf,
  renderer,
  withField,
} from '../../prompting/templates/rendering.js';
import { checkTemplate, type ParsedTemplate } from '../../prompting/templates/template-check.js';
import { isFile, isFolder, readPartials, readTemplate } from '../../prompting/templates/template-files.js';
import { type Shape, shapeOfData, shapeOfSchema } from '../../prompting/templates/template-scope.js';
import { type Agent, genericAgent } from '../agent.js';
import { type Choice, listedChoices } from '../choices.js';
import { type Reading, readAction } from '../reading.js';
import {
  type AskAgainContext,
  askAgainSchema,
  type ObservationContext,
  observationSchema,
  type SystemContext,
  systemSchema,
} from './context.js';
import { type EnvironmentView, environmentSets, viewOf } from './views.js';

export interface PromptedAgent extends Required<Agent> {
  /** SHA-256 of the templates that can be used; empty for `plain`. */
  readonly hash: string;
}

export interface AgentOptions {
  readonly environment: EnvironmentSpec;
  /** The options that the environment was created with. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Maximum number of steps per episode, on top of the environment's own limit. */
  readonly maxSteps: number;
  /** Name of a built-in set, path of a folder, or `plain`; defaults to the environment's own set. */
  readonly prompts?: string | undefined;
  readonly reading: Reading;
  /** The config field that names the set, for messages. */
  readonly field: string;
}

const plain = 'plain';
const fileNames = ['system', 'observation', 'ask-again'] as const;

/**
 * Opens the agent of a prompt set, or the default one for `plain`.
 * @throws UserError for a missing set or file, a syntax error, a template that uses something undefined, or a
 * set for another environment
 */
export function openAgent(given: AgentOptions): PromptedAgent {
  const { environment, options, reading } = given;
  const view = viewOf(environment.id, options);
  const set = given.prompts ?? defaultSet(environment, view);
  if (set === plain) return { ...genericAgent(environment, reading), hash: '' };
  const templates = loadTemplates(set, given, view);
  const { actionSpace, observationSpace, maxSteps = Number.POSITIVE_INFINITY } = environment;
  const stepLimit = Math.min(maxSteps, given.maxSteps);
  const common = { json: reading === 'json', vector: vectorOf(actionSpace) };
  const choices = (info?: TextInfo) => listedChoices(actionSpace, view?.words, info);
  const actionsOf = (listed: readonly Choice[] | undefined) => listed?.map(({ text }) => ({ text })) ?? null;
  const system = (objective: string | null) =>
    templates.system({
      ...common,
      environment: descriptionContext(environment, options, given.maxSteps),
      description: environmentDescription(environment, options, given.maxSteps) ?? null,
      numeric: observationSpace.kind !== 'text' && actionSpace.kind !== 'text',
      objective,
      actions: actionsOf(choices()),
      facts: templates.facts,
    } satisfies SystemContext & { facts: Facts });
  const first = system(null);
  return {
    hash: templates.hash,
    choices,
    systemPrompt: (objective) => (objective === undefined ? first : system(objective)),
    formatObservation: (observation, { choices: now, info, steps, reward }) =>
      templates.observation({
        ...common,
        observation: shown(observation),
        step: steps + 1,
        first: steps === 0,
        stepLimit,
        reward: reward === undefined ? null : short(reward),
        score: info === undefined ? null : short(info.score),
        maxScore: typeof info?.maxScore === 'number' ? short(info.maxScore) : null,
        actions: actionsOf(now),
        state: view?.state(observation) ?? {},
      } satisfies ObservationContext & { state: Facts }),
    extractAction: (reply, now = choices()) => readAction(reply, actionSpace, now, reading),
    askAgain: (now) => templates.askAgain({ ...common, actions: actionsOf(now) } satisfies AskAgainContext),
  };
}

const shown = (observation: Observation): string =>
  typeof observation === 'object' ? observation.map(short).join(', ') : String(observation);

/** Worlds of one or two steps, used for testing trainers, show their observations without a template. */
function defaultSet(
  { actionSpace, observationSpace }: EnvironmentSpec,
  view: EnvironmentView | undefined,
): string {
  if (view !== undefined) return view.sets[0];
  if (observationSpace.kind !== 'text') return 'generic';
  return actionSpace.kind === 'text' && actionSpace.choices !== undefined ? plain : 'text-world';
}

function vectorOf(space: Space): SystemContext['vector'] {
  if (space.kind !== 'box' && space.kind !== 'tuple') return null;
  const length = space.kind === 'box' ? space.low.length : space.spaces.length;
  return {
    length,
    numbers: `${space.kind === 'tuple' ? 'whole ' : ''}number${length === 1 ? '' : 's'}`,
    several: length > 1,
    example: Array(length).fill('0').join(', '),
  };
}

function loadTemplates(set: string, given: AgentOptions, view: EnvironmentView | undefined) {
  const own = join(packageRoot(), 'prompts', 'agents');
  const folder = findSet(set, own, given, view);
  const helpers = new Map();
  const handlebars = createHandlebars(helpers);
  const partials = new Map([
    ...readPartials(handlebars, join(packageRoot(), 'prompts')),
    ...readPartials(handlebars, own),
    ...readPartials(handlebars, folder),
  ]);
  const [system, observation, askAgain] = fileNames.map((name) =>
    readTemplate(handlebars, fileOfSet(folder, name, given.field), folder),
  );
  const facts = environmentFacts(given.environment.id, given.options);
  const state = view?.state(view.sample) ?? {};
  const shapes: readonly (readonly [ParsedTemplate, Shape])[] = [
    [system!, withField(shapeOfSchema(systemSchema), 'facts', shapeOfData(facts))],
    [observation!, withField(shapeOfSchema(observationSchema), 'state', shapeOfData(state))],
    [askAgain!, shapeOfSchema(askAgainSchema)],
  ];
  const checks = shapes.map(([template, shape]) => checkTemplate(template, shape, partials));
  const problems = checks.flatMap((check) => check.problems);
  if (problems.length > 0) throw new UserError(problems);
  const included = [...partials].filter(([name]) => checks.some((check) => check.included.has(name)));
  for (const [name, { program }] of included)
    handlebars.registerPartial(name, compile(handlebars, program, helpers));
  const [renderSystem, renderObservation, renderAskAgain] = shapes.map(([template]) =>
    renderer(handlebars, template, helpers),
  );
  return {
    facts,
    system: renderSystem!,
    observation: renderObservation!,
    askAgain: renderAskAgain!,
    hash: hashOf([...shapes.map(([template]) => template), ...included.map(([, partial]) => partial)]),
  };
}

const builtInSets: readonly string[] = [...environmentSets, 'text-world', 'generic'];

function findSet(
  set: string,
  own: string,
  { environment, field }: AgentOptions,
  view: EnvironmentView | undefined,
): string {
  if (/[\\/]/.test(set)) {
    if (isFolder(set)) return set;
    throw new UserError({ field, message: 'there is no such folder', value: set });
  }
  const alternatives = [
    ...builtInSets.filter((name) => !environmentSets.includes(name) || view?.sets.includes(name)),
    plain,
    "the path of a folder, with a '/' in it",
  ];
  if (environmentSets.includes(set) && !view?.sets.includes(set))
    throw new UserError({
      field,
      message: `this set does not describe ${environment.id}`,
      value: set,
      alternatives,
    });
  if (builtInSets.includes(set)) return join(own, set);
  const meant = nearest(set, [...builtInSets, plain]);
  throw new UserError({
    ...{ field, message: 'there is no such prompt set for agents', value: set, alternatives },
    ...(meant !== undefined && { remedy: `did you mean ${meant}?` }),
  });
}

function fileOfSet(folder: string, name: (typeof fileNames)[number], field: string): string {
  const file = join(folder, `${name}.hbs`);
  if (isFile(file)) return file;
  throw new UserError({
    field,
    file,
    message: `the prompt set lacks ${name}.hbs`,
    alternatives: fileNames.map((required) => `${required}.hbs`),
    remedy: `write it, or copy the one of ${join(packageRoot(), 'prompts', 'agents', 'generic')} and change it`,
  });
}
