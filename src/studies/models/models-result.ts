/**
 * Results of a comparison of models: replies, proposals and effort of each contestant, and the differences
 * between them.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../base/package.js';
import type { CallRecord } from '../../runs/calls.js';
import { openLogs, readManifest, runFiles } from '../../runs/reader.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { largest, mean, sum } from '../../statistics/descriptive.js';
import { shareInterval95 } from '../../statistics/distributions.js';
import { comparePairs, summarize } from '../../statistics/paired.js';
import { type PredictionFigures, predictionFigures } from '../../statistics/predictions.js';
import { fewestForVerdict, type Judged, signTest, verdicts } from '../../statistics/tests.js';
import type { Contestant, ContestantKind, History, HistoryKind, ModelsPlan } from './models-plan.js';

/** A contestant's proposal for one history. */
interface ModelProposal {
  readonly contestant: string;
  readonly history: string;
  /** Path of the proposal's run, relative to the comparison's directory. */
  readonly run: string;
  /** Number of replies, including corrections. */
  readonly replies: number;
  readonly accepted: boolean;
  /** Number of replies that repeat parameters from the history, even if `novelty` then changed them. */
  readonly repeats: number;
  /** Number of rejected replies by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Highest mean return in the history. */
  readonly best: number;
  /** Mean return of the proposal on the episodes of the history; null if no reply was accepted. */
  readonly return: number | null;
  /** Share of the history's policies that the proposal beats; ties count half. */
  readonly beats: number | null;
  /** The return that the reply predicted; null if it didn't predict one. */
  readonly predicted: number | null;
  readonly seconds: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** In the currency of `model.price`; null if there is no price. */
  readonly cost: number | null;
}

export interface Share {
  readonly count: number;
  readonly of: number;
  /** Exact 95% confidence interval. */
  readonly interval: Interval;
}

export interface ContestantFigures {
  readonly name: string;
  readonly label: string;
  readonly kind: ContestantKind;
  /** Number of histories for which the model replied, even if no reply was accepted. */
  readonly histories: number;
  /** Number of proposals that were valid in the first reply, and number that were valid only after corrections. */
  readonly valid: { readonly first: number; readonly corrected: number };
  readonly replies: number;
  readonly repeats: number;
  readonly failures: Readonly<Record<string, number>>;
  /** Share of answered histories whose best return the proposal exceeds; rejected replies count as no improvement. */
  readonly improved: Share;
  readonly improvedBy: { readonly random: Share; readonly recorded: Share };
  /** Mean share of the history's policies that a proposal beats; null if there are no proposals. */
  readonly beats: { readonly mean: number; readonly interval: Interval | null } | null;
  readonly predictions: PredictionFigures | null;
  /** Mean per answered history; null if there is none. */
  readonly seconds: number | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Total over all histories; null if there is no price. */
  readonly cost: number | null;
  readonly costPerImprovement: number | null;
}

/** Difference in the share of improving proposals, over the histories that both answered. */
export interface ModelDifference extends Judged {
  readonly of: string;
  readonly against: string;
  readonly pairs: number;
  readonly difference: number;
  /** 95% interval. */
  readonly interval: Interval | null;
  /** McNemar's exact test; null if there are too few pairs for a verdict. */
  readonly p: number | null;
}

/** Content of `models.json`. */
export interface ModelsResult {
  readonly version: 1;
  readonly kind: 'models';
  readonly policyloop: string;
  /** Time of writing, ISO 8601. */
  readonly date: string;
  /** `incomplete` until every contestant has answered for every history. */
  readonly status: 'completed' | 'incomplete';
  readonly name: string;
  readonly environment: string;
  readonly histories: readonly { readonly name: string; readonly kind: HistoryKind }[];
  readonly contestants: readonly ContestantFigures[];
  readonly differences: readonly ModelDifference[];
  readonly proposals: readonly ModelProposal[];
  readonly failures: readonly { readonly run: string; readonly message: string }[];
}

export type ReadProposal = (contestant: Contestant, history: History) => ModelProposal | undefined;

/** Returns a function that reads the proposals of the comparison in `directory` and caches them. */
export function proposalReader(directory: string): ReadProposal {
  const known = new Map<string, ModelProposal>();
  return (contestant, history) => {
    const run = join(contestant.name, history.name);
    const read = known.get(run) ?? readProposal(directory, run, contestant, history);
    if (read !== undefined) known.set(run, read);
    return read;
  };
}

/** Reads a proposal; undefined until the model has answered. */
function readProposal(
  directory: string,
  run: string,
  { config, name }: Contestant,
  history: History,
): ModelProposal | undefined {
  const path = join(directory, run);
  if (!existsSync(join(path, runFiles.manifest))) return undefined;
  const { iterations, usage } = readManifest(path);
  if (iterations.done === 0) return undefined;
  const { calls: lines, entries } = openLogs(path);
  const calls = [...lines];
  const replies = calls.filter(({ outcome }) => outcome.kind !== 'error');
  const accepted = replies.map(acceptedOutcome).find((outcome) => outcome !== undefined);
  // True if `limits.total` prevented a correction that might have succeeded.
  const isCut =
    config.limits.total !== undefined &&
    calls.length <= config.corrections &&
    calls.at(-1)?.outcome.kind === 'rejected';
  if (replies.length === 0 || isCut) return undefined;
  const known = entries.filter(({ iteration }) => iteration === 0).map(({ score }) => score);
  const score = entries.find(({ iteration }) => iteration === 1)?.score;
  const failures: Record<string, number> = {};
  for (const { outcome } of replies) {
    if (outcome.kind !== 'rejected') continue;
    failures[outcome.failure.kind] = (failures[outcome.failure.kind] ?? 0) + 1;
  }
  return {
    contestant: name,
    history: history.name,
    run,
    replies: replies.length,
    accepted: score !== undefined,
    repeats: (failures.repeated ?? 0) + (accepted?.moved?.distance === 0 ? 1 : 0),
    failures,
    best: largest(known),
    return: score ?? null,
    beats: score === undefined ? null : mean(known.map((other) => (Math.sign(score - other) + 1) / 2)),
    predicted: predictedBy(accepted),
    seconds: usage.latencyMs / 1000,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    cost: usage.cost ?? null,
  };
}

type Accepted = Extract<CallRecord['outcome'], { kind: 'accepted' }>;

const acceptedOutcome = ({ outcome }: CallRecord): Accepted | undefined =>
  outcome.kind === 'accepted' ? outcome : undefined;

function predictedBy(accepted: Accepted | undefined): number | null {
  const predicted = accepted !== undefined && 'predicted' in accepted ? accepted.predicted : undefined;
  return typeof predicted === 'number' && Number.isFinite(predicted) ? predicted : null;
}

export function modelsResult(
  { contestants, histories, name }: ModelsPlan,
  facts: {
    readonly failures: ModelsResult['failures'];
    readonly now: Date;
    readonly read: ReadProposal;
  },
): ModelsResult {
  const read = contestants.map((contestant) => ({
    contestant,
    proposals: histories.map((history) => facts.read(contestant, history) ?? null),
  }));
  const all = read.flatMap(({ proposals }) => proposals);
  return {
    version: 1,
    kind: 'models',
    policyloop: version(),
    date: facts.now.toISOString(),
    status: all.includes(null) ? 'incomplete' : 'completed',
    name,
    environment: contestants[0]!.config.environment.id,
    histories: histories.map(({ kind, name }) => ({ name, kind })),
    contestants: read.map(({ contestant, proposals }) => figuresOf(contestant, histories, proposals)),
    differences: differencesOf(read),
    proposals: all.filter((proposal) => proposal !== null),
    failures: facts.failures,
  };
}

type Answers = readonly (ModelProposal | null)[];

const isImproving = ({ best, return: own }: ModelProposal) => own !== null && own > best;

function figuresOf(
  { kind, label, name }: Contestant,
  histories: readonly History[],
  answers: Answers,
): ContestantFigures {
  const answered = answers.filter((answer) => answer !== null);
  const proposals = answered.filter(({ accepted }) => accepted);
  const first = proposals.filter(({ replies }) => replies === 1).length;
  const of = (wanted: HistoryKind) =>
    answers.filter((answer, i) => answer !== null && histories[i]!.kind === wanted) as ModelProposal[];
  const improved = shareOf(answered);
  const beats = summarize(
    proposals.flatMap((one) => one.beats ?? []),
    [0, 1],
  );
  const costs = answered.flatMap(({ cost }) => cost ?? []);
  const cost = costs.length === 0 ? null : sum(costs);
  const each = (value: (proposal: ModelProposal) => number) =>
    answered.length === 0 ? null : mean(answered.map(value));
  const tokens = (value: (proposal: ModelProposal) => number) => (kind === 'model' ? each(value) : null);
  return {
    ...{ name, label, kind, histories: answered.length },
    valid: { first, corrected: proposals.length - first },
    replies: sum(answered.map(({ replies }) => replies)),
    repeats: sum(answered.map(({ repeats }) => repeats)),
    failures: added(answered.map(({ failures }) => failures)),
    improved,
    improvedBy: { random: shareOf(of('random')), recorded: shareOf(of('recorded')) },
    beats: beats === undefined ? null : { mean: beats.mean, interval: beats.meanInterval },
    predictions: predictionsOf(proposals),
    seconds: each(({ seconds }) => seconds),
    promptTokens: tokens(({ promptTokens }) => promptTokens),
    completionTokens: tokens(({ completionTokens }) => completionTokens),
    cost,
    costPerImprovement: cost === null || improved.count === 0 ? null : cost / improved.count,
  };
}

function shareOf(answered: readonly ModelProposal[]): Share {
  const [count, of] = [answered.filter(isImproving).length, answered.length];
  return { count, of, interval: shareInterval95(count, of) };
}

function added(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const total: Record<string, number> = {};
  for (const [kind, count] of all.flatMap((one) => Object.entries(one)))
    total[kind] = (total[kind] ?? 0) + count;
  return total;
}

const predictionsOf = (proposals: readonly ModelProposal[]): PredictionFigures | null =>
  predictionFigures(
    proposals.flatMap(({ predicted, return: observed }) =>
      predicted === null || observed === null ? [] : [[predicted, observed] as const],
    ),
  ) ?? null;

/**
 * Compares all pairs of contestants that include a model: each model minus every baseline and every earlier model.
 */
function differencesOf(
  read: readonly { readonly contestant: Contestant; readonly proposals: Answers }[],
): readonly ModelDifference[] {
  const improvements = (answers: Answers) =>
    answers.map((answer) => (answer === null ? null : Number(isImproving(answer))));
  const models = read.filter(({ contestant }) => contestant.kind === 'model');
  const baselines = read.filter(({ contestant }) => contestant.kind === 'baseline');
  const couples = models.flatMap((of, i) =>
    [...baselines, ...models.slice(0, i)].map((against) => [of, against] as const),
  );
  return verdicts(
    couples.flatMap(([of, against]) => {
      const [a, b] = [improvements(of.proposals), improvements(against.proposals)];
      const found = comparePairs(a, b, [0, 1]);
      if (found === undefined) return [];
      const counted = (sign: number) =>
        a.filter((value, i) => value !== null && b[i] !== null && value - b[i]! === sign).length;
      const [wins, losses] = [counted(1), counted(-1)];
      const { difference, pairs } = found;
      return {
        ...{ of: of.contestant.label, against: against.contestant.label, pairs, difference },
        interval: unvaryingInterval95(wins, losses, pairs) ?? found.interval,
        p: pairs < fewestForVerdict ? null : signTest(wins, losses),
      };
    }),
  );
}

/**
 * 95% interval of a difference between shares if all pairs have the same outcome and therefore no spread. Derived from
 * the exact interval of the share of such pairs. Undefined if outcomes vary.
 */
function unvaryingInterval95(wins: number, losses: number, pairs: number): Interval | undefined {
  const [share] = shareInterval95(pairs, pairs);
  if (wins + losses === 0) return [share - 1, 1 - share];
  if (wins === pairs) return [2 * share - 1, 1];
  return losses === pairs ? [-1, 1 - 2 * share] : undefined;
}
