/** An agent whose messages come from a prompt set: a folder with three templates. */

import { join } from 'node:path';
import { z } from 'zod';
import { closestMatch, UserError } from '../base/errors.js';
import { packageRoot } from '../base/package.js';
import { environmentFacts, type Facts, formatShort } from '../environments/catalogue/facts.js';
import type { EnvironmentSpec, Space, TextInfo } from '../environments/environment.js';
import { count, flag, nullable, text, textOrNull } from '../prompting/context/fields.js';
import { descriptionSchema } from '../prompting/context/prompt-context.js';
import { descriptionContext } from '../prompting/context/task-context.js';
import { environmentDescription } from '../prompting/templates/description.js';
import { loadTemplates } from '../prompting/templates/rendering.js';
import { isFolder, templateFile } from '../prompting/templates/template-files.js';
import { samplesOf } from '../prompting/templates/variables.js';
import { type Agent, genericAgent, observationText } from './agent.js';
import { type Choice, listedChoices, parseAction, type ReplyFormat } from './reading.js';
import { type EnvironmentView, environmentPromptSets, viewOf } from './views.js';

export interface PromptedAgent extends Agent {
  /** SHA-256 of the set's templates and their partials; empty for `plain`. */
  readonly hash: string;
}

export interface AgentOptions {
  readonly environment: EnvironmentSpec;
  readonly options: Readonly<Record<string, unknown>>;
  readonly maxSteps: number;
  /** Name of a built-in set, path of a folder, or `plain`; the default depends on the environment. */
  readonly prompts?: string | undefined;
  readonly replyFormat: ReplyFormat;
  readonly field: string;
}

const plainSet = 'plain';
const fileNames = ['system', 'observation', 'ask-again'] as const;

/** Opens the agent of a prompt set. @throws UserError if the set is missing, invalid or for another environment */
export function openAgent(settings: AgentOptions): PromptedAgent {
  const { environment, options, replyFormat } = settings;
  const view = viewOf(environment.id, options);
  const set = settings.prompts ?? defaultSet(environment, view);
  if (set === plainSet) return { ...genericAgent(environment, replyFormat), hash: '' };
  const templates = openTemplates(set, settings, view);
  const { actionSpace, observationSpace, maxSteps = Number.POSITIVE_INFINITY } = environment;
  const stepLimit = Math.min(maxSteps, settings.maxSteps);
  const common = { json: replyFormat === 'json', vector: vectorOf(actionSpace) };
  const choices = (info?: TextInfo) => listedChoices(actionSpace, view?.actionNames, info);
  const actionsOf = (listed: readonly Choice[] | undefined) => listed?.map(({ text }) => ({ text })) ?? null;
  const system = (objective: string | null) =>
    templates.system({
      ...common,
      environment: descriptionContext(environment, options, settings.maxSteps),
      description: environmentDescription(environment, options, settings.maxSteps) ?? null,
      numeric: observationSpace.kind !== 'text' && actionSpace.kind !== 'text',
      objective,
      actions: actionsOf(choices()),
      facts: templates.facts,
    } satisfies SystemContext & { facts: Facts });
  const basePrompt = system(null);
  return {
    hash: templates.hash,
    choices,
    systemPrompt: (objective) => (objective === undefined ? basePrompt : system(objective)),
    formatObservation: (observation, { choices: now, info, steps, reward }) =>
      templates.observation({
        ...common,
        observation: observationText(observation),
        step: steps + 1,
        first: steps === 0,
        stepLimit,
        reward: reward === undefined ? null : formatShort(reward),
        score: info === undefined ? null : formatShort(info.score),
        maxScore: typeof info?.maxScore === 'number' ? formatShort(info.maxScore) : null,
        actions: actionsOf(now),
        state: view?.state(observation) ?? {},
      } satisfies ObservationContext & { state: Facts }),
    extractAction: (reply, now = choices()) => parseAction(reply, actionSpace, now, replyFormat),
    askAgain: (now) => templates.askAgain({ ...common, actions: actionsOf(now) } satisfies AskAgainContext),
  };
}

/** Chooses the default set. Text environments with fixed choices, such as bandits and probes, need no template. */
function defaultSet({ actionSpace, observationSpace }: EnvironmentSpec, view?: EnvironmentView) {
  if (view !== undefined) return view.promptSets[0];
  if (observationSpace.kind !== 'text') return 'generic';
  return actionSpace.kind === 'text' && actionSpace.choices !== undefined ? plainSet : 'text-world';
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

function openTemplates(set: string, settings: AgentOptions, view: EnvironmentView | undefined) {
  const setsFolder = join(packageRoot(), 'prompts', 'agents');
  const folder = findSet(set, setsFolder, settings, view);
  const facts = environmentFacts(settings.environment.id, settings.options);
  const state = view?.state(view.sample) ?? {};
  const samples = [
    samplesOf(systemSchema, { facts }),
    samplesOf(observationSchema, { state }),
    samplesOf(askAgainSchema),
  ];
  const templates = samples.map((templateSamples, i) => {
    const file = templateFile(folder, fileNames[i]!, fileNames, settings.field, join('agents', 'generic'));
    return { file, samples: templateSamples };
  });
  const { hash, renderers } = loadTemplates(templates, [join(packageRoot(), 'prompts'), setsFolder, folder]);
  const [system, observation, askAgain] = renderers;
  return { facts, system: system!, observation: observation!, askAgain: askAgain!, hash };
}

const builtInSets: readonly string[] = [...environmentPromptSets, 'text-world', 'generic'];

function findSet(
  set: string,
  setsFolder: string,
  { environment, field }: AgentOptions,
  view: EnvironmentView | undefined,
): string {
  if (/[\\/]/.test(set)) {
    if (isFolder(set)) return set;
    throw new UserError({ field, message: 'there is no such folder', value: set });
  }
  const alternatives = [
    ...builtInSets.filter((name) => !environmentPromptSets.includes(name) || view?.promptSets.includes(name)),
    plainSet,
    "the path of a folder (with a '/')",
  ];
  if (environmentPromptSets.includes(set) && !view?.promptSets.includes(set))
    throw new UserError({
      field,
      message: `this prompt set doesn't describe ${environment.id}`,
      value: set,
      alternatives,
    });
  if (builtInSets.includes(set)) return join(setsFolder, set);
  const near = closestMatch(set, alternatives.slice(0, -1));
  const message = 'there is no such prompt set for agents';
  throw new UserError({ field, message, value: set, near, alternatives });
}

const actionsSchema = z
  .array(z.strictObject({ text: text('Name of the action') }))
  .nullable()
  .describe('The possible actions, if they can be listed');

const vectorSchema = nullable('Form of an action, if it consists of numbers', {
  length: count('Number of components of an action'),
  numbers: text('`number` or `numbers`, preceded by `whole` for integers'),
  several: flag('True if an action has several numbers'),
  example: text('Example of an action: zeros, separated by commas'),
});

const commonShape = { json: flag('True if the reply must be a JSON object'), vector: vectorSchema };

/** Variables of `system.hbs`, in addition to the environment's `facts`. */
export const systemSchema = z.strictObject({
  ...commonShape,
  environment: descriptionSchema.describe('The environment'),
  description: textOrNull('Description of the environment, if the package has one'),
  numeric: flag('True if observations and actions are numbers'),
  objective: textOrNull('The goal of a text world, once the turn that stated it is no longer shown'),
  actions: actionsSchema,
});

/** Variables of `observation.hbs`, in addition to `state`, which holds the parts of the observation by name. */
export const observationSchema = z.strictObject({
  ...commonShape,
  observation: text('Observation text'),
  step: count('Number of the step, from 1'),
  first: flag('True for the first step'),
  stepLimit: count('Step limit of an episode'),
  reward: textOrNull('The reward of the previous step'),
  score: textOrNull('The score so far (text worlds)'),
  maxScore: textOrNull('The maximum score of the game (text worlds)'),
  actions: actionsSchema,
});

/** Variables of `ask-again.hbs`, which is sent after a reply that named no action. */
export const askAgainSchema = z.strictObject({ ...commonShape, actions: actionsSchema });

type SystemContext = z.output<typeof systemSchema>;
type ObservationContext = z.output<typeof observationSchema>;
type AskAgainContext = z.output<typeof askAgainSchema>;
