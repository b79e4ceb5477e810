/** Does what other processes ask of a run that is being played: stops, pauses, changes what may change, and logs it. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { loadConfig, resolvedYaml } from '../../config/load.js';
import { type Controlled, type ControlRequest, Requests, requestText } from '../../runs/control.js';
import type { RunEvent, SettingChange } from '../../runs/events.js';
import { refuseDifferences } from '../../runs/fingerprint.js';
import { requireConfig } from '../../runs/open-run.js';
import { runFiles } from '../../runs/reader.js';
import { replaceFile } from '../../storage/files.js';

/** Sections of the config that a run takes over while it goes. `limits.total` belongs to all runs of a plan. */
const changeable = ['iterations', 'target', 'limits', 'confirmation'] as const;

/**
 * What `key=value` changes of the run at `path`, and its config then.
 * @throws UserError for what is no setting, and for what can't change while a run goes
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
      ...{ field: fixed.key, value: fixed.now, message: "can't change while a run is played" },
      alternatives: changeable,
      remedy: `policyloop stop ${path}, then policyloop resume ${path} ${overrides.join(' ')}`,
    });
  return { config, changes: all };
}

/** The settings in which two configs differ, those of a section each for itself. */
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

/** What requests are about. */
interface Steerable {
  /** Iterations, games or steps that are complete. */
  readonly completed: number;
  readonly emit: (event: RunEvent) => void;
  readonly commit: () => Promise<void>;
  /** Takes over settings that changed. Absent: none can. */
  readonly adopt?: (config: Config) => void;
}

interface StopSignals {
  readonly finish: AbortSignal;
  readonly abort: AbortSignal;
}

/** How often requests are looked for while the model is waited for, and during a pause. */
const lookMs = 250;

export class Control {
  readonly #path: string;
  readonly #requests: Requests;
  readonly #finish = new AbortController();
  readonly #abort = new AbortController();
  readonly #milliseconds: () => number;
  readonly #onAnswer: (answer: Extract<ControlRequest, { action: 'answer' }>) => void;
  readonly #timer: NodeJS.Timeout;
  #experiment: Steerable | undefined;
  #waiting: { readonly number: number; readonly request: ControlRequest }[] = [];
  #isPaused = false;
  #pausedMs = 0;
  /** The user's requests to stop, and those of other processes. */
  readonly stop: StopSignals;

  /** @param onAnswer told what a person answers elsewhere to the question of the run */
  constructor(
    path: string,
    { finish, abort }: StopSignals,
    milliseconds: () => number,
    onAnswer: (answer: Extract<ControlRequest, { action: 'answer' }>) => void = () => undefined,
  ) {
    this.#path = path;
    this.#onAnswer = onAnswer;
    this.#requests = new Requests(path);
    this.#milliseconds = milliseconds;
    this.stop = {
      finish: AbortSignal.any([finish, this.#finish.signal]),
      abort: AbortSignal.any([abort, this.#abort.signal]),
    };
    this.#timer = setInterval(() => {
      try {
        this.#look();
      } catch {
        // The run itself meets what is wrong with its directory.
      }
    }, lookMs).unref();
  }

  /** Time that was spent in pauses: it counts for no limit. */
  get pausedMs(): number {
    return this.#pausedMs;
  }

  /** @param experiment that requests are about; those to an earlier process, which ended before it heeded them, are void */
  begin(experiment: Steerable): void {
    for (const { request } of this.#requests.next()) {
      if (request !== undefined)
        experiment.emit({
          kind: 'warning',
          message: `the process before this one ended before it could ${requestText(request)}`,
        });
    }
    this.#requests.clear();
    this.#experiment = experiment;
  }

  /** Does what was asked for since the last time, and waits while the run is paused. */
  async heed(): Promise<void> {
    await this.#heedWaiting();
    if (!this.#isPaused) return;
    const began = this.#milliseconds();
    while (this.#isPaused && !this.stop.finish.aborted && !this.stop.abort.aborted) {
      await delay(lookMs);
      await this.#heedWaiting();
    }
    this.#pausedMs += this.#milliseconds() - began;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#requests.clear();
  }

  /** A stop and an answer are heeded at once, for calls may be under way; what changes the run waits for the end of its iteration. */
  #look(): void {
    if (this.#experiment === undefined) return;
    for (const { number, request } of this.#requests.next()) {
      if (request?.action === 'stop') {
        this.#log(number, { action: 'stop' });
        this.#finish.abort();
        if (request.now) this.#abort.abort();
      } else if (request?.action === 'answer') this.#onAnswer(request);
      else if (request !== undefined) this.#waiting.push({ number, request });
    }
  }

  async #heedWaiting(): Promise<void> {
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
      // The command that asks has checked it; what came another way must not end the run.
      if (!(error instanceof UserError)) throw error;
      experiment.emit({ kind: 'warning', message: `not set: ${error.message}` });
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
