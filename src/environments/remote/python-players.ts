/** Python processes that play one environment side by side. */
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { BridgeProcess, lastLines } from './bridge-process.js';
import { EnvironmentError, type EnvironmentFailure } from './remote-environment.js';

export interface PythonSettings {
  /** The interpreter. */
  readonly python: string;
  /** Folder whose modules an id may name, beside the working directory. */
  readonly modules?: string | undefined;
  /** Longest wait for a reset or a step; the start may take a minute in any case. */
  readonly timeoutMs: number;
  /** Episodes that a process plays at once. */
  readonly parallel: number;
  /** Processes that play side by side. */
  readonly processes: number;
}

const failed = z.object({
  failure: z.object({
    kind: z.enum(['import', 'java', 'make', 'space', 'raised', 'invalid']),
    message: z.string(),
    details: z.string(),
  }),
});

/** Why the environment was not made. */
export type Refused = z.output<typeof failed>['failure'];

/** Importing large packages takes a while, however short steps are. */
const shortestStartMs = 60_000;

interface Played<Description> {
  readonly id: string;
  /** Beside this file. */
  readonly script: string;
  /** What the script makes. */
  readonly make: object;
  readonly described: z.ZodType<Description>;
  /** What is said where the script refuses to make it, or does not start. */
  refusal(refused: Refused): UserError;
  notStarted(error: EnvironmentError): UserError;
}

/** Each process starts with the first episodes that it plays. */
export class PythonPlayers<Description> {
  readonly #played: Played<Description>;
  readonly #settings: PythonSettings;
  readonly #children = new Map<number, Promise<BridgeProcess>>();
  #description: Description | undefined;

  constructor(played: Played<Description>, settings: PythonSettings) {
    this.#played = played;
    this.#settings = settings;
  }

  /** What the first process says of the environment. @throws UserError where it can't be made */
  async description(): Promise<Description> {
    await this.#child(0);
    return this.#description!;
  }

  /** @throws EnvironmentError when the environment fails */
  async ask<S extends z.ZodType>(index: number, schema: S, request: object): Promise<z.output<S>> {
    const { id } = this.#played;
    const answer = await (await this.#child(index)).request(request);
    const failure = failed.safeParse(answer).data?.failure;
    if (failure === undefined) return understood(id, schema, answer);
    const kind: EnvironmentFailure = failure.kind === 'invalid' ? 'invalid' : 'raised';
    throw new EnvironmentError(kind, `${id}: ${failure.message}${lastLines(failure.details)}`);
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#children.values());
    await Promise.all(opened.map((each) => each.status === 'fulfilled' && each.value.close()));
  }

  #child(index: number): Promise<BridgeProcess> {
    const running = this.#children.get(index) ?? this.#start();
    this.#children.set(index, running);
    return running;
  }

  async #start(): Promise<BridgeProcess> {
    const { id, script, make, described, refusal, notStarted } = this.#played;
    const { python, timeoutMs } = this.#settings;
    const child = new BridgeProcess({
      name: id,
      command: python,
      args: ['-u', '-X', 'utf8', join(packageRoot(), 'src', 'environments', 'remote', script)],
      timeoutMs,
    });
    try {
      const answer = await child.request({ make }, Math.max(timeoutMs, shortestStartMs));
      const refused = failed.safeParse(answer).data?.failure;
      if (refused !== undefined) throw refusal(refused);
      this.#description ??= understood(id, described, answer);
      return child;
    } catch (error) {
      await child.close();
      throw error instanceof EnvironmentError ? notStarted(error) : error;
    }
  }
}

function understood<S extends z.ZodType>(id: string, schema: S, answer: unknown): z.output<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new EnvironmentError('protocol', `${id}: no answer: ${JSON.stringify(answer).slice(0, 200)}`);
}

/** Where it could not be started: what to install. */
export function notStarted(id: string, python: string, error: EnvironmentError, needs: string): UserError {
  return new UserError({
    field: 'environment',
    message: `the process that plays it can't be started\n  ${error.message.slice(id.length + 2)}`,
    value: id,
    remedy: `environment.python or POLICYLOOP_PYTHON names an interpreter (now ${python}) with ${needs}`,
  });
}
