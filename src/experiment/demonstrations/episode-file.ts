/** Reads episodes from JSON files: lists of steps, each with an observation and an action. The files are untrusted. */
import { messageOf, type Problem, UserError } from '../../base/errors.js';
import {
  type Action,
  type DiscreteSpace,
  dimensionsOf,
  type EnvironmentSpec,
  type NumericSpace,
  type Space,
} from '../../environments/environment.js';
import { plural } from '../../format/numbers.js';
import { numericSpace } from '../../policies/policy.js';
import {
  type DemonstratedStep,
  type Demonstration,
  recordedDemonstrations,
} from '../../prompting/context/demonstrations.js';
import { isMapping } from '../../settings/schema.js';
import { parseJson } from '../../storage/json-depth.js';
import { readRegularFile } from '../../storage/regular-file.js';

/** In bytes; a thousand steps of a humanoid take about a third of it. */
const largestFile = 2 ** 24;

const form = 'a JSON list of {"state": …, "action": …}, one for each step';

/**
 * Reads a file that holds either one episode or the demonstrations recorded in a run.
 * @throws UserError that names the file, the step and the problem
 */
export function readEpisodes(file: string, environment: EnvironmentSpec): readonly Demonstration[] {
  const content = contentOf(file);
  const isOfRun = Array.isArray(content) && isMapping(content[0]) && 'steps' in content[0];
  return isOfRun ? shownEpisodes(content, file, environment) : [episodeOf(content, file, environment)];
}

/** @throws UserError see `readEpisodes` */
export const readEpisode = (file: string, environment: EnvironmentSpec): Demonstration =>
  episodeOf(contentOf(file), file, environment);

function episodeOf(content: unknown, file: string, environment: EnvironmentSpec): Demonstration {
  if (!Array.isArray(content) || content.length === 0) {
    const message = Array.isArray(content) ? 'holds no step' : 'holds no list of steps';
    throw new UserError({ file, message, alternatives: [form] });
  }
  const steps = content.map((step: unknown, t) => {
    const place = { file, step: `step ${t} (counted from 0)` };
    return fittingStep(columnsOf(step, place), environment, place);
  });
  return { length: steps.length, steps };
}

function shownEpisodes(
  content: readonly unknown[],
  file: string,
  environment: EnvironmentSpec,
): readonly Demonstration[] {
  const { data, error } = recordedDemonstrations.safeParse(content);
  if (data === undefined) {
    const { message, path } = error.issues[0]!;
    const found = `is damaged: ${path.join('.')}: ${message}`;
    throw new UserError({ file, message: found, remedy: 'restore it from a copy' });
  }
  for (const [i, { steps }] of data.entries())
    for (const [t, step] of steps.entries())
      fittingStep(step, environment, { file, step: `episode ${i}, step ${t} (counted from 0)` });
  return data;
}

function contentOf(file: string): unknown {
  try {
    return parseJson(readRegularFile(file, largestFile).toString('utf8'));
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (!(error instanceof SyntaxError))
      throw new UserError({ file, message: `can't be read: ${messageOf(error)}` });
    throw new UserError({
      file,
      message: `is not valid JSON: ${messageOf(error)}`,
      alternatives: [form],
      remedy: 'write numbers out (JSON has no NaN and no Infinity); of a run, name its directory',
    });
  }
}

/** Location of a step, for error messages. */
interface StepPlace {
  readonly file: string;
  readonly step: string;
}

const known = ['state', 'observation', 'action'];

/** Reads a step's action and observation; `state` is an alias for `observation`. */
function columnsOf(step: unknown, { file, step: name }: StepPlace): Record<keyof DemonstratedStep, unknown> {
  const wrong = (more: Pick<Problem, 'message' | 'value'>) =>
    new UserError({ file, ...more, alternatives: ['{"state": …, "action": …}'] });
  if (!isMapping(step)) throw wrong({ message: `${name} is no object`, value: step });
  const unknown = Object.keys(step).find((key) => !known.includes(key));
  if (unknown !== undefined) throw wrong({ message: `${name} has an unknown key`, value: unknown });
  const { action, observation, state } = step;
  if (observation !== undefined && state !== undefined)
    throw wrong({ message: `${name} has both state and observation, which are two names of one thing` });
  return { observation: observation ?? state, action };
}

/** @throws UserError if the observation or the action isn't in its space */
export function fittingStep(
  { action, observation }: Readonly<Record<keyof DemonstratedStep, unknown>>,
  { actionSpace, id, observationSpace }: EnvironmentSpec,
  { file, step }: StepPlace,
): DemonstratedStep {
  const fitting = (name: string, value: unknown, any: Space) => {
    const space = numericSpace(any, id);
    const member = memberOf(space, value);
    if (member !== undefined) return member;
    throw new UserError({
      file,
      message: `${step}: this is no ${name} of ${id}`,
      ...(value !== undefined && { value }),
      alternatives: [membersOf(space)],
      remedy: 'name demonstrations of this environment',
    });
  };
  return {
    observation: fitting('state', observation, observationSpace),
    action: fitting('action', action, actionSpace),
  };
}

/** A vector may exceed its bounds, as in an environment. A single integer may be wrapped in a list. */
function memberOf(space: NumericSpace, value: unknown): Action | undefined {
  if (space.kind === 'discrete') {
    const single: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
    return isWithin(single, space) ? single : undefined;
  }
  if (!Array.isArray(value) || value.length !== dimensionsOf(space)) return undefined;
  const isMember =
    space.kind === 'box'
      ? value.every(Number.isFinite)
      : value.every((part, i) => isWithin(part, space.spaces[i]!));
  return isMember ? (value as number[]) : undefined;
}

const isWithin = (value: unknown, { n, start = 0 }: DiscreteSpace): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= start && value < start + n;

function membersOf(space: NumericSpace): string {
  const range = ({ n, start = 0 }: DiscreteSpace) => `${start} to ${start + n - 1}`;
  switch (space.kind) {
    case 'discrete':
      return `an integer from ${range(space)}`;
    case 'tuple':
      return `a list of integers from ${space.spaces.map(range).join(', ')}`;
    case 'box':
      return `a list of ${plural(space.low.length, 'number')}`;
  }
}
