/** The environments that a server offers, under the names that its addresses have. */
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

/** What clients are told of an environment before they play it. */
export interface DescribedEnvironment extends EnvironmentSpec {
  /** As the prompt set `semantic` tells it to a model. */
  readonly description: string;
  /** Whether it tells a score and the commands that are understood, as text worlds do. */
  readonly tellsScore: boolean;
  readonly tellsObjective: boolean;
}

export interface OfferedEnvironment {
  /** In addresses. */
  readonly name: string;
  /** A session with a new one. @throws as `makeEnvironment` */
  open(): Promise<OpenSession>;
  /** Made once, when it is first asked for. @throws as `open` */
  describe(): Promise<DescribedEnvironment>;
}

/**
 * @param written ids, or `name=id`; none stands for all that are built in
 * @param options of each, as a config has them
 * @param cwd that the paths of modules are relative to
 * @throws UserError for two of one name, one that another program plays, and as `makeEnvironment`
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
        message: 'no option is one of all environments',
        remedy: 'name those that have it, e.g. --environments FrozenLake-v1',
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
      remedy: 'give it another one: name=id',
    });
  }
  // A wrong id or option is told now, not to the first client.
  for (const environment of offered) await environment.describe();
  return offered;
}

function readOffer(
  text: string,
  options: Readonly<Record<string, unknown>>,
  cwd: string,
): OfferedEnvironment {
  // The equals signs of an id such as synthetic:survival?seed=7 stand behind a colon.
  const [, name, id = text] = /^([\w.-]+)=(.+)$/s.exec(text) ?? [];
  if (isRemoteId(id)) {
    throw new UserError({
      field: '--environments',
      value: id,
      message: 'another program plays it',
      remedy: 'let clients reach that program itself',
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
  const told = loadPromptSet({ set: 'semantic', environment, options, maxSteps: maxSteps ?? mostSteps });
  environment.close?.();
  return {
    ...{ id, observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    description: told.description.trim(),
    tellsScore: environment.info !== undefined,
    tellsObjective: environment.objective !== undefined,
  };
}

/** As a config has it that does not say how many (evaluation.maxSteps). */
const mostSteps = 1000;
