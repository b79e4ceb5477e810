/**
 * The model calls of runs, plays and training runs, added up by hour. After a file has been read once, only
 * appended lines are read.
 */
import { basename, join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { unlessRefused } from '../../base/errors.js';
import { isByBaseline } from '../../config/model.js';
import { readOwnJson } from '../../storage/files.js';
import { Tail } from '../../storage/tail.js';
import { type CallPurpose, type CallRecord, faultsOf, purposeOf } from '../calls.js';
import type { Manifest } from '../manifest.js';
import { logsIn, readManifest } from '../reader.js';
import { trainingFiles } from '../training-files.js';
import { UsageSum } from './usage-sum.js';

/** `action`: a move in a game; `rollout`: a reply sampled by a training run. */
export type UsagePurpose = CallPurpose | 'action' | 'rollout';

export interface HourOfUsage {
  /** Start of the hour, in milliseconds. */
  readonly start: number;
  readonly model: string;
  readonly purpose: UsagePurpose;
  readonly sum: UsageSum;
}

export interface UsageSource {
  readonly path: string;
  readonly kind: 'run' | 'play' | 'training';
}

const hour = 3_600_000;

/** Maximum time to work without a pause, in milliseconds. */
const longestWork = 50;

type Line = Readonly<Record<string, unknown>>;

/** Keeps the sums of each source between readings. */
export class HourlyUsage {
  readonly #files = new Map<string, UsageFile>();
  readonly #clock: () => number;
  #isStopped = false;

  /** @param clock returns the current time in milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Reads the lines appended to the sources, with pauses for other work.
   * @param patience milliseconds after which it returns, while reading continues in the background
   * @returns the hours of the sources that have been read to the end, and the number of these sources
   */
  async read(
    sources: readonly UsageSource[],
    patience?: number,
  ): Promise<{ readonly hours: readonly HourOfUsage[]; readonly read: number }> {
    const reading = this.#readAll(sources);
    await (patience === undefined ? reading : Promise.race([reading, setTimeout(patience)]));
    const files = sources.flatMap(({ path }) => this.#files.get(path) ?? []).filter(({ isRead }) => isRead);
    return { hours: files.flatMap(({ hours }) => hours), read: files.length };
  }

  /** Ends reading in the background. */
  stop(): void {
    this.#isStopped = true;
  }

  async #readAll(sources: readonly UsageSource[]): Promise<void> {
    let pause = this.#clock() + longestWork;
    for (const source of sources) {
      const file = this.#files.get(source.path) ?? new UsageFile(source);
      this.#files.set(source.path, file);
      for (let isMore = true; isMore; ) {
        isMore = file.look();
        if (this.#clock() < pause) continue;
        await setImmediate();
        if (this.#isStopped) return;
        pause = this.#clock() + longestWork;
      }
    }
  }
}

/** The sums of one source. */
class UsageFile {
  readonly #tail: Tail;
  readonly #source: UsageSource;
  #hours = new Map<string, HourOfUsage>();
  /** True once the end of the file was reached. */
  isRead = false;
  #modelOf: ((purpose: UsagePurpose) => string | undefined) | undefined;

  constructor(source: UsageSource) {
    this.#source = source;
    const { kind, path } = source;
    this.#tail = new Tail(kind === 'training' ? join(path, trainingFiles.metrics) : logsIn(path).calls);
  }

  get hours(): readonly HourOfUsage[] {
    return [...this.#hours.values()];
  }

  /** Reads the next part of the file. @returns whether there may be more */
  look(): boolean {
    const { kind } = this.#source;
    const state = this.#tail.look((item) => {
      if (typeof item !== 'object' || item === null) return;
      if (kind === 'training') this.#addStep(item as Line);
      else this.#addCall(item as Partial<CallRecord>);
    });
    if (state === 'again') this.#hours = new Map();
    this.isRead ||= state === 'done';
    return state !== 'done';
  }

  #addStep({ kind, replyTokens, sampledTokens, time }: Line): void {
    if (kind !== 'step' || !isCount(sampledTokens)) return;
    const sum = this.#sumAt(time, 'rollout');
    if (sum === undefined) return;
    sum.completionTokens += sampledTokens;
    if (isCount(replyTokens) && replyTokens > 0) sum.calls += Math.round(sampledTokens / replyTokens);
  }

  #addCall(call: Partial<CallRecord>): void {
    const { attempt = 0, completion, cost, outcome, time } = call;
    if (typeof outcome !== 'object' || outcome === null || isByBaseline(call)) return;
    const purpose = this.#source.kind === 'play' ? 'action' : purposeOf({ ...call, attempt });
    const sum = this.#sumAt(time, purpose);
    if (sum === undefined) return;
    const usage: Line = { ...completion?.usage };
    const count = (value: unknown) => (isCount(value) ? value : 0);
    sum.calls++;
    if (outcome.kind === 'error') sum.failed++;
    sum.promptTokens += count(usage.promptTokens);
    sum.cachedTokens += count(usage.cachedTokens);
    sum.completionTokens += count(usage.completionTokens);
    sum.reasoningTokens += count(usage.reasoningTokens);
    if (isCount(cost)) {
      sum.cost += cost;
      sum.priced++;
    } else if (count(usage.promptTokens) + count(usage.completionTokens) > 0) sum.unpriced++;
    const { latencyMs } = outcome.kind === 'error' ? outcome : { latencyMs: 0, ...completion };
    if (isCount(latencyMs)) sum.addLatency(latencyMs);
    for (const kind of kindsOfFailure({ ...call, outcome } as CallRecord)) sum.addFailure(kind);
  }

  #sumAt(time: unknown, purpose: UsagePurpose): UsageSum | undefined {
    const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    this.#modelOf ??= modelsOf(this.#source);
    const model = this.#modelOf(purpose);
    if (Number.isNaN(at) || model === undefined) return undefined;
    const start = hour * Math.floor(at / hour);
    const key = `${start} ${purpose}`;
    const known = this.#hours.get(key);
    if (known !== undefined) return known.sum;
    const sum = new UsageSum();
    this.#hours.set(key, { start, model, purpose, sum });
    return sum;
  }
}

const isCount = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0;

/** Kinds of the faults of a call, as in `faultMeaning`, and the reason for a rejection as `rejected: …`. */
function kindsOfFailure(call: CallRecord): readonly string[] {
  const { outcome } = call;
  const faults = faultsOf(call).filter((kind) => typeof kind === 'string');
  const reason: unknown = outcome.kind === 'rejected' ? outcome.failure?.kind : undefined;
  return typeof reason === 'string' ? [...faults, `rejected: ${reason}`] : faults;
}

/** The only part of `training.json` that is read here. */
interface About {
  readonly base?: { readonly model?: unknown };
}

/** Returns a function that names the model for a purpose, or returns undefined for baselines, people and replays. */
function modelsOf({ kind, path }: UsageSource): (purpose: UsagePurpose) => string | undefined {
  if (kind === 'training') {
    const about = unlessRefused(() => readOwnJson(join(path, trainingFiles.about))) as
      | About
      | null
      | undefined;
    const model = about?.base?.model;
    return () => `local/${typeof model === 'string' ? basename(model) : 'unknown'}`;
  }
  const manifest = unlessRefused(() => readManifest(path));
  if (manifest === undefined) return () => 'unknown';
  const { model, settings = {} } = manifest;
  // Replays repeat recorded calls, which are already counted.
  if (model.startsWith('replayed/')) return () => undefined;
  return (purpose) => {
    if (purpose === 'feedback' && settings['feedback.from'] === 'person') return undefined;
    return ownModel(settings, purpose) ?? languageModelIn(model);
  };
}

/** The model set in the `critic` or `feedback` section; undefined if there is none. */
function ownModel(settings: NonNullable<Manifest['settings']>, purpose: UsagePurpose): string | undefined {
  const [provider, name, path] = ['provider', 'name', 'path'].map(
    (key) => settings[`${purpose}.model.${key}`],
  );
  if (typeof provider !== 'string') return undefined;
  return [provider, name ?? (typeof path === 'string' ? basename(path) : undefined)]
    .filter(Boolean)
    .join('/');
}

/** The first language model in an id such as `portfolio/shares(openai/gpt-5-mini+gp)`; undefined if there is none. */
function languageModelIn(id: string): string | undefined {
  if (/^(?:control|player)\//.test(id)) return undefined;
  const members = /^portfolio\/\w+\((.*)\)$/s.exec(id)?.[1]?.split('+');
  // Only the names of baselines contain no slash.
  return members === undefined ? id : members.filter((member) => member.includes('/'))[0];
}
