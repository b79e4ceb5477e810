/** The environments that a server offers. */
import { basename, extname, resolve } from 'node:path';
import { UserError } from '../../base/errors.js';
import {
  environmentIds,
  isRemoteId,
  makeEnvironment,
  textEnvironmentIds,
} from '../../environments/catalogue/open.js';
import type { Environment, EnvironmentSpec } from '../../environments/environment.js';
import { isModulePath } from '../../modules/user-module.js';
import { loadPromptSet } from '../../prompting/templates/prompt-set.js';
import { type OpenSession, openSession } from './open-session.js';

export interface DescribedEnvironment extends EnvironmentSpec {
  /** The description from the prompt set `semantic`. */
  readonly description: string;
  /** Whether observations include a score and the admissible commands, as in text worlds. */
  readonly hasScore: boolean;
  readonly hasObjective: boolean;
}

export interface OfferedEnvironment {
  /** Name in URLs. */
  readonly name: string;
  /** Starts a session with a new environment. @throws the errors of `makeEnvironment` */
  open(): Promise<OpenSession>;
  /** Describes the environment; the result is computed only once. @throws the errors of `makeEnvironment` */
  describe(): Promise<DescribedEnvironment>;
}

/**
 * @param written ids or `name=id`; empty for all built-in ones
 * @param options options of every environment, as in a config
 * @param cwd base of module paths
 * @throws UserError for a duplicate name, a remote environment, or options without ids; errors of `makeEnvironment`
 */
export async function offerEnvironments(
  written: readonly string[],
  options: Readonly<Record<string, unknown>>,
  cwd: string,
): Promise<readonly OfferedEnvironment[]> {
  if (written.length === 0) {
    const [option] = Object.keys(options);
    if (option !== undefined) {
      throw new UserError({
        field: '--option',
        value: `${option}=${String(options[option])}`,
        message: 'only works with named environments',
        remedy: 'name the environments, e.g. --environments FrozenLake-v1',
      });
    }
    return [...environmentIds(), ...textEnvironmentIds()].map((id) => offer(id, id, options));
  }
  const offered = written.map((text) => readOffer(text, options, cwd));
  const names = offered.map(({ name }) => name);
  const twice = offered.findIndex(({ name }, i) => names.indexOf(name) !== i);
  if (twice >= 0) {
    throw new UserError({
      field: '--environments',
      value: written[twice],
      message: `two environments have the name ${names[twice]}`,
      remedy: 'give one of them another name: name=id',
    });
  }
  // Report an invalid id or option now, not to the first client.
  for (const environment of offered) await environment.describe();
  return offered;
}

function readOffer(
  text: string,
  options: Readonly<Record<string, unknown>>,
  cwd: string,
): OfferedEnvironment {
  // Equals signs can also follow a colon, as in the id synthetic:survival?seed=7.
  const [, name, id = text] = /^([\w.-]+)=(.+)$/s.exec(text) ?? [];
  if (isRemoteId(id)) {
    throw new UserError({
      field: '--environments',
      value: id,
      message: 'runs in another program',
      remedy: 'connect clients to that program directly',
    });
  }
  const isFile = isModulePath(id) || id.startsWith('textworld:');
  return offer(
    name ?? (isFile ? basename(id, extname(id)) : id),
    isModulePath(id) ? resolve(cwd, id) : id,
    options,
  );
}

function offer(name: string, id: string, options: Readonly<Record<string, unknown>>): OfferedEnvironment {
  const make = () => makeEnvironment(id, options);
  let described: Promise<DescribedEnvironment> | undefined;
  return {
    name,
    open: () => openSession(id, options),
    describe() {
      described ??= describe(make, options);
      return described;
    },
  };
}

async function describe(
  make: () => Promise<Environment>,
  options: Readonly<Record<string, unknown>>,
): Promise<DescribedEnvironment> {
  const environment = await make();
  const { id, observationSpace, actionSpace, maxSteps } = environment;
  const prompts = loadPromptSet({ set: 'semantic', environment, options, maxSteps: maxSteps ?? mostSteps });
  environment.close?.();
  return {
    ...{ id, observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    description: prompts.description.trim(),
    hasScore: environment.info !== undefined,
    hasObjective: environment.objective !== undefined,
  };
}

/** The default of `evaluation.maxSteps`. */
const mostSteps = 1000;
