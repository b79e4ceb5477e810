/** Programs in files, such as those that `policyloop show RUN --program` prints. */
import { resolve } from 'node:path';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { readRegularFile } from '../../base/files/regular-file.js';
import { safeLine } from '../../base/terminal-text.js';
import { parseConfig } from '../../config/load.js';
import { observationNames } from '../../environments/catalogue/observation-names.js';
import { openEnvironment } from '../../environments/catalogue/open.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ParameterVector, PolicyFamily } from '../../policies/policy.js';
import { programsOf } from '../../policies/policy.js';
import { ProgramFault } from '../../policies/program/program.js';
import { namesIn, syntaxTree } from '../../policies/program/syntax.js';
import { openProgramPolicies } from '../../policies/program-policies.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { programFailureText } from '../../runs/failure-text.js';
import { findRun } from '../../runs/listing/names.js';
import type { BestCandidate } from '../../runs/manifest.js';
import { choosePolicy, type OpenedRun, readPlayableRun } from '../../runs/open-run.js';

const maxFileBytes = 200_000;

/** Reads a program, which runs in the sandbox and never as a module. @throws UserError if it is invalid or too long */
async function openProgramFile(
  file: string,
  environment: EnvironmentSpec,
): Promise<{ readonly family: PolicyFamily; readonly parameters: ParameterVector }> {
  const source = programIn(readRegularFile(file, maxFileBytes).toString('utf8'));
  const family = openProgramPolicies(environment);
  return rethrowFaults(file, async () => {
    const parameters = programsOf(family)!.add(source);
    await family.prepare?.();
    family.build(parameters);
    return { family, parameters };
  });
}

/** Names that give access to the host in a module; in the sandbox, they don't exist or are harmless. */
const hostNames =
  'process global globalThis self window document require module exports Function fetch WebSocket XMLHttpRequest Worker Buffer navigator Deno Bun';

/**
 * Turns a program into a module: adds a header that names its author and hides the host's names, and replaces `import`.
 * This protects only against accidents: a program can still reach `Function` as the constructor of a function.
 */
export function programModule(program: string, author: string, environment: EnvironmentSpec): string {
  const source = programIn(program);
  const declaredNames = syntaxTree(source).body.flatMap((node) => {
    if (node.type === 'VariableDeclaration') return node.declarations.flatMap(({ id }) => [...namesIn(id)]);
    return 'id' in node ? node.id.name : [];
  });
  const hiddenNames = hostNames.split(' ').filter((name) => !declaredNames.includes(name));
  const fields = observationNames(environment).map((name, i) => (name ? `${name}: observation[${i}], ` : ''));
  const observation =
    fields.length > 0 ? `Object.assign([...observation], { ${fields.join('')}})` : 'observation';
  return `// Written by ${safeLine(author)}. Read it before you import it.
// This file isn't sandboxed: outside policyloop, it has all rights of the process that imports it.
var [${hiddenNames.join(', ')}] = [];
${source.replaceAll(/(?<![.\w$])import\b(?! *:)/g, 'undefined')}
// Outside policyloop: observations get names, constants are numbers; pass one memory per episode.
const $constants = { ${declaredNames.includes('constants') ? '...constants' : ''} };
for (const name in $constants) $constants[name] = $constants[name]?.value ?? $constants[name];
const $act = (observation, memory = {}, values = $constants) => act(${observation}, memory, values);
export { $act as act, $constants as constants };`;
}

/** Removes the header, ending and exports of an ES module, so that the sandbox can run it; keeps line numbers. */
export function programIn(text: string): string {
  return text
    .replace(/^\/\/ Written by .*\n\/\/ .*\nvar \[[\w, ]+\] = \[\];/, '\n\n')
    .replace(/\n\/\/ Outside policyloop:.*/s, '')
    .replaceAll(/^([ \t]*)export\s+(?:default\s+)?(?=(?:async\s+)?function\b|const\b|let\b|var\b)/gm, '$1')
    .replaceAll(/^[ \t]*export\s*(?:\{[^{}]*\}|default\s+act)[ \t]*(?:;[ \t]*)?$/gm, (list) =>
      list.replaceAll(/[^\n]/g, ''),
    );
}

/**
 * Finds a program of a run, with the mean return of its evaluation.
 * @param iteration defaults to the iteration of the run's best policy
 * @param candidate 1-based, only with `iteration`; defaults to the best of the iteration
 * @throws UserError if the run's policies aren't programs, or it evaluated no such program
 */
export function findProgram(
  run: OpenedRun,
  iteration: number | undefined,
  candidate: number | undefined,
): Required<Omit<BestCandidate, 'parameters'>> {
  const programs = programsOf(run.family);
  if (programs === undefined)
    throw new UserError({
      value: run.path,
      message: "this run's policies aren't programs",
      hint: 'choose a run with policy.kind: program',
    });
  const entry = choosePolicy(run, iteration ?? 'best', candidate);
  return {
    iteration: entry.iteration,
    candidate: entry.candidate,
    return: entry.score,
    program: programs.program(entry.parameters).source,
  };
}

/** Turns program faults into UserErrors that name the file. */
export async function rethrowFaults<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProgramFault)
      throw new UserError({ file, message: programFailureText(error.failure) });
    throw error;
  }
}

/** A policy that a command plays, from a run or from a program file. */
export interface PlayedPolicy {
  readonly run: Pick<OpenedRun, 'config' | 'family'> & {
    readonly manifest: Pick<OpenedRun['manifest'], 'environment' | 'modules' | 'seed'>;
  };
  readonly entry: BufferEntry;
  /** The program file; absent for a run. */
  readonly file?: string;
}

export interface PolicyRequest {
  /** A run, or a program file. */
  readonly run: string;
  readonly runsDir: string;
  /** Environment to play; required for a program file, invalid for a run. */
  readonly environment?: string | undefined;
  /** Defaults to the iteration of the run's best policy. */
  readonly iteration?: number | undefined;
}

export async function openPlayedPolicy(
  { environment: id, iteration, run: name, runsDir }: PolicyRequest,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): Promise<PlayedPolicy> {
  if (!/\.m?js$/.test(name)) {
    if (id !== undefined)
      throw new UserError({ field: '--environment', value: id, message: 'only applies to .js files' });
    const run = await readPlayableRun(findRun(name, { cwd, runsDir }));
    return { run, entry: choosePolicy(run, iteration ?? 'best') };
  }
  if (id === undefined)
    throw new UserError({
      field: '--environment',
      message: 'a program file needs an environment to act in',
      hint: 'add one, such as --environment CartPole-v1; list them with policyloop environments',
    });
  if (iteration !== undefined)
    throw new UserError({
      field: '--iteration',
      value: iteration,
      message: 'a program file has only one program',
      hint: 'omit --iteration',
    });
  const policy = { kind: 'program' } as const;
  const config = { ...parseConfig({ environment: id, policy, model: { provider: 'random' } }, cwd), policy };
  const environment = await openEnvironment(config.environment, env, 1);
  await environment.close?.();
  const file = resolve(cwd, name);
  const { family, parameters } = await openProgramFile(file, environment);
  const manifest = { environment: environment.id, seed: config.seed };
  const entry = {
    ...({ iteration: 0, group: 0, candidate: 0, source: 'warm-up', parameters } as const),
    returns: [],
    lengths: [],
    score: Number.NaN,
  };
  return { run: { config, family, manifest }, entry, file };
}
