/** Executes the commands that other processes send to an active run, such as stop, pause and set. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { loadConfig, resolvedYaml } from '../config/load.js';
import type { RunEvent, SettingChange } from '../runs/events.js';
import { refuseDifferences } from '../runs/fingerprint.js';
import { requireConfig } from '../runs/open-run.js';
import { runFiles } from '../runs/reader.js';
import {
  type Controlled,
  type ControlRequest,
  pollMs,
  Requests,
  requestText,
  watchRequests,
} from '../runs/requests.js';
import { replaceFile } from '../storage/files.js';

/** Config keys that can change during a run. `limits.total` can't, because several runs share it. */
const changeable = ['iterations', 'target', 'limits', 'confirmation'] as const;

/**
 * The config of the run at `path` after applying `key=value` overrides, and the changes that they make.
 * @throws UserError for an unknown setting or one that can't change during a run
 */
export function readChanges(
  path: string,
  overrides: readonly string[],
): { readonly config: Config; readonly changes: readonly SettingChange[] } {
  const file = requireConfig(join(path, runFiles.config));
  const was = loadConfig({ file, asWritten: true }).config;
  const { config } = loadConfig({ file, overrides, asWritten: true });
  refuseDifferences(was, config);
  const all = differencesOf(was, config);
  const fixed = all.find(
    ({ key }) => !changeable.some((section) => key.split('.')[0] === section) || key === 'limits.total',
  );
  if (fixed !== undefined)
    throw new UserError({
      ...{ field: fixed.key, value: fixed.now, message: "can't be changed during a run" },
      alternatives: changeable,
      remedy: `run policyloop stop ${path}, then policyloop resume ${path} ${overrides.join(' ')}`,
    });
  return { config, changes: all };
}

/** The settings in which two configs differ; sections are compared key by key. */
function differencesOf(was: object, now: object, prefix = ''): readonly SettingChange[] {
  const [before, after] = [was, now] as Readonly<Record<string, unknown>>[];
  const keys = [...new Set([...Object.keys(before!), ...Object.keys(after!)])];
  return keys.flatMap((key) => {
    const [a, b] = [before![key], after![key]];
    if (JSON.stringify(a) === JSON.stringify(b)) return [];
    const isSection = [a, b].every((value) => typeof value === 'object' && value !== null);
    if (prefix === '' && isSection) return differencesOf(a as object, b as object, `${key}.`);
    return [{ key: `${prefix}${key}`, was: a, now: b }];
  });
}

/** The part of an experiment, or of games being played, that commands act on. */
interface Steerable {
  readonly completed: number;
  readonly emit: (event: RunEvent) => void;
  readonly commit: () => Promise<void>;
  /** Applies changed settings; absent if none can change. */
  readonly adopt?: (config: Config) => void;
}

interface StopSignals {
  readonly finish: AbortSignal;
  readonly abort: AbortSignal;
}

export class RunCommands {
  readonly #path: string;
  readonly #requests: Requests;
  readonly #finish = new AbortController();
  readonly #abort = new AbortController();
  readonly #milliseconds: () => number;
  readonly #endWatch: () => void;
  #experiment: Steerable | undefined;
  #waiting: { readonly number: number; readonly request: ControlRequest }[] = [];
  #isPaused = false;
  #pausedMs = 0;
  /** Stop requests from the user and from other processes. */
  readonly stop: StopSignals;

  constructor(path: string, { finish, abort }: StopSignals, milliseconds: () => number) {
    this.#path = path;
    this.#requests = new Requests(path);
    this.#milliseconds = milliseconds;
    this.stop = {
      finish: AbortSignal.any([finish, this.#finish.signal]),
      abort: AbortSignal.any([abort, this.#abort.signal]),
    };
    this.#endWatch = watchRequests(() => this.#look());
  }

  /** Milliseconds spent paused, which don't count towards time limits. */
  get pausedMs(): number {
    return this.#pausedMs;
  }

  /** @param experiment receives new requests; requests left over from an earlier process are dropped with a warning */
  begin(experiment: Steerable): void {
    for (const { request } of this.#requests.next()) {
      if (request !== undefined)
        experiment.emit({
          kind: 'warning',
          message: `a request was dropped because the previous process ended before handling it: ${requestText(request)}`,
        });
    }
    this.#requests.clear();
    this.#experiment = experiment;
  }

  /** Executes pending requests, then waits while the run is paused. */
  async poll(): Promise<void> {
    await this.#executeWaiting();
    if (!this.#isPaused) return;
    const began = this.#milliseconds();
    while (this.#isPaused && !this.stop.finish.aborted && !this.stop.abort.aborted) {
      await delay(pollMs);
      await this.#executeWaiting();
    }
    this.#pausedMs += this.#milliseconds() - began;
  }

  close(): void {
    this.#endWatch();
    this.#requests.clear();
  }

  /**
   * Handles stop requests immediately, because calls may be in flight. Other requests wait for `poll`.
   */
  #look(): void {
    if (this.#experiment === undefined) return;
    for (const { number, request } of this.#requests.next()) {
      if (request?.action === 'stop') {
        this.#log(number, { action: 'stop' });
        this.#finish.abort();
        if (request.now) this.#abort.abort();
      } else if (request !== undefined) this.#waiting.push({ number, request });
    }
  }

  async #executeWaiting(): Promise<void> {
    this.#look();
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const { number, request } of waiting) {
      switch (request.action) {
        case 'pause':
        case 'resume':
          this.#isPaused = request.action === 'pause';
          this.#log(number, { action: request.action });
          break;
        case 'set':
          this.#set(number, request.overrides);
          break;
        default:
      }
    }
    await this.#experiment?.commit();
  }

  #set(number: number, overrides: readonly string[]): void {
    const experiment = this.#experiment!;
    if (experiment.adopt === undefined) {
      this.#log(number, { action: 'set', changes: [] });
      return;
    }
    try {
      const { changes, config } = readChanges(this.#path, overrides);
      replaceFile(join(this.#path, runFiles.config), resolvedYaml(config));
      experiment.adopt(config);
      this.#log(number, { action: 'set', changes });
    } catch (error) {
      // `policyloop set` validates its requests; an invalid one from another source must not end the run.
      if (!(error instanceof UserError)) throw error;
      experiment.emit({ kind: 'warning', message: `settings not changed: ${error.message}` });
      this.#log(number, { action: 'set', changes: [] });
    }
  }

  #log(
    request: number,
    done: { readonly action: Controlled['action']; readonly changes?: readonly SettingChange[] },
  ): void {
    const { completed, emit } = this.#experiment!;
    emit({ kind: 'controlled', request, iteration: completed, ...done });
  }
}
