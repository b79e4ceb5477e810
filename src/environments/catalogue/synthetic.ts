/** Families of synthetic tasks and their ids, such as `synthetic:survival?seed=7&observations=4`. */
import { z } from 'zod';
import { nearest, UserError } from '../../base/errors.js';
import { createGenerator } from '../../random/generator.js';
import type { Environment } from '../environment.js';
import { LimitedEnvironment } from '../limited-environment.js';
import { optionNames, parseOptions } from '../options.js';
import { drawChoices } from '../synthetic/choices.js';
import {
  drawLocomotion,
  drawPump,
  drawReach,
  drawRegulation,
  drawSurvival,
} from '../synthetic/control-tasks.js';
import type { Draw, DrawnTask } from '../synthetic/distributions.js';
import { drawGaussian, drawNetwork, drawProduct } from '../synthetic/functions.js';
import { drawGame, drawHeaps } from '../synthetic/heaps.js';
import { drawLandscape, drawSparse } from '../synthetic/landscape.js';
import { drawArm, drawBalance, drawDelayed, drawSwing } from '../synthetic/mechanics/chain-tasks.js';
import { drawHop } from '../synthetic/mechanics/hop.js';
import { drawDecisionProcess, drawGrid } from '../synthetic/walks.js';

const prefix = 'synthetic:';
/** Maximum number of attempts to draw a task for a seed. */
const mostAttempts = 60;

const seed = z.int().min(0).default(0);
const size = (low: number, high: number) => z.int().min(low).max(high).optional();
const baselineOptions = z
  .strictObject({
    seed,
    observations: size(2, 12),
    actions: size(1, 6),
    control: z.enum(['discrete', 'continuous']).optional(),
  })
  .superRefine(({ actions, control }, context) => {
    const message =
      actions === 1 && control === 'discrete'
        ? 'discrete control needs at least two actions'
        : actions !== undefined && actions > 2 && control === 'continuous'
          ? 'continuous control allows 1 or 2 actions'
          : undefined;
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['actions'], message });
  });
const seedOnly = z.strictObject({ seed });
const functionOptions = z.strictObject({ seed, parameters: size(2, 40) });
const landscapeOptions = z.strictObject({ seed, parameters: size(1, 64) });

interface Family {
  readonly options: z.ZodObject;
  /** @throws UserError if all attempts yield trivial or hopeless tasks */
  draw(options: Readonly<Record<string, unknown>>): DrawnTask;
}

const families: Readonly<Record<string, Family>> = {
  survival: family('survival', baselineOptions, drawSurvival),
  regulate: family('regulate', baselineOptions, drawRegulation),
  reach: family('reach', baselineOptions, drawReach),
  pump: family('pump', baselineOptions, drawPump),
  locomote: family('locomote', z.strictObject({ seed, observations: size(4, 12) }), drawLocomotion),
  landscape: family('landscape', landscapeOptions, drawLandscape),
  sparse: family('sparse', landscapeOptions, drawSparse),
  mdp: family(
    'mdp',
    z.strictObject({ seed, states: size(3, 200), actions: size(2, 8) }),
    drawDecisionProcess,
  ),
  grid: family('grid', z.strictObject({ seed, rows: size(2, 20), columns: size(2, 20) }), drawGrid),
  game: family('game', z.strictObject({ seed, states: size(4, 100), actions: size(2, 4) }), drawGame),
  balance: family('balance', seedOnly, drawBalance),
  swing: family('swing', seedOnly, drawSwing),
  arm: family('arm', seedOnly, drawArm),
  hop: family('hop', seedOnly, drawHop),
  gaussian: family('gaussian', functionOptions, drawGaussian),
  network: family('network', functionOptions, drawNetwork),
  choices: family('choices', z.strictObject({ seed, states: size(2, 64), actions: size(2, 4) }), drawChoices),
  heaps: family('heaps', seedOnly, drawHeaps),
  delayed: family('delayed', seedOnly, drawDelayed),
  product: family('product', functionOptions, drawProduct),
};

/** Families that this project's models are never trained on, to measure transfer to unseen generators. */
export const heldOutIds: readonly string[] = ['delayed', 'product'].map((name) => prefix + name);

/** Ids of the families; each is also the id of the family's task with seed 0. */
export const syntheticIds: readonly string[] = Object.keys(families).map((name) => prefix + name);

export const isSyntheticId = (id: string): boolean => id.startsWith(prefix);

/** The catalogue entry for an id like `synthetic:mdp?seed=7`. @throws UserError for an invalid id */
export function syntheticEntry(id: string) {
  const { inId, name, schema } = named(id);
  return {
    id: canonicalId(name, schema, parseOptions(prefix + name, schema, inId).own),
    aliases: [],
    options: optionNames(schema),
    defaults: schema.parse({}),
    maxSteps: undefined, // drawn with the task
    make: async (options: Readonly<Record<string, unknown>>) => makeSynthetic(id, options),
  };
}

/** @throws UserError for an invalid id or options, or if all attempts to draw a task fail */
export function makeSynthetic(id: string, options: Readonly<Record<string, unknown>> = {}): Environment {
  const { draw, inId, name, schema } = named(id);
  const { own, maxEpisodeSteps } = parseOptions(prefix + name, schema, withOptions(id, inId, options));
  const { linear, maxSteps, task } = draw(own);
  const limit = maxEpisodeSteps ?? maxSteps;
  const steps = limit === -1 ? undefined : limit;
  return new LimitedEnvironment(canonicalId(name, schema, own), task, steps, linear);
}

function named(id: string) {
  const [, name = '', query = ''] = /^synthetic:([^?]*)\??(.*)$/s.exec(id) ?? [];
  const found = Object.hasOwn(families, name) ? families[name]! : undefined;
  if (found === undefined) throw unknownFamily(id, name);
  return { name, schema: found.options, draw: found.draw, inId: optionsOfQuery(id, query) };
}

function family<S extends z.ZodObject>(name: string, options: S, draw: Draw<z.output<S>>): Family {
  return {
    options,
    draw(given) {
      const own = given as z.output<S> & { readonly seed: number };
      // The letters of the name give each family its own random stream.
      const letters = Array.from(name, (letter) => letter.charCodeAt(0));
      for (let attempt = 0; attempt < mostAttempts; attempt++) {
        const drawn = draw(createGenerator(own.seed, [...letters, attempt]), own);
        if (drawn !== undefined) return drawn;
      }
      throw new UserError({
        field: 'environment.options',
        message: `all ${mostAttempts} tasks drawn for ${prefix}${name} were trivial or hopeless`,
        value: given,
        remedy: 'choose another seed; if you set sizes, omit some of them',
      });
    },
  };
}

/** The id that recreates the same task: its non-default options in a fixed order. */
function canonicalId(name: string, schema: z.ZodObject, own: Readonly<Record<string, unknown>>): string {
  const chosen = Object.keys(schema.shape).filter((key) => own[key] !== undefined && own[key] !== 0);
  const query = chosen.map((key) => `${key}=${own[key]}`).join('&');
  return prefix + name + (query === '' ? '' : `?${query}`);
}

function optionsOfQuery(id: string, query: string): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const part of query === '' ? [] : query.split('&')) {
    const [, name, value] = /^([^=]+)=(.+)$/.exec(part) ?? [];
    if (name === undefined || value === undefined || name in options) {
      throw new UserError({
        field: 'environment',
        value: id,
        message: name === undefined ? `${part} is not an option` : `${name} is set twice`,
        remedy: 'write each option once, as name=value, separated by &',
      });
    }
    options[name] = /^-?[\d.]+$/.test(value) ? Number(value) : value;
  }
  return options;
}

function withOptions(
  id: string,
  inId: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const twice = Object.keys(inId).find((name) => options?.[name] !== undefined);
  if (twice === undefined) return { ...inId, ...options };
  throw new UserError({
    field: twice,
    value: options[twice],
    message: `is also set in the id ${id}`,
    remedy: 'set it only once',
  });
}

function unknownFamily(id: string, name: string): UserError {
  const suggestion = nearest(name, Object.keys(families));
  return new UserError({
    field: 'environment',
    value: id,
    message: 'unknown family of synthetic tasks',
    alternatives: syntheticIds,
    ...(suggestion === undefined ? {} : { remedy: `did you mean ${prefix}${suggestion}?` }),
  });
}
